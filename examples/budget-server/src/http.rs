//! MCP over Streamable HTTP. Stateless: each request carries all it needs, so that any instance can answer it.

use std::net::SocketAddr;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use stanchion_core::Result;

use crate::server::Server;

const BODY_MAX_BYTES: usize = 64 * 1024;

/// Serves until the process ends. Only loopback names are accepted as `Host`, and no web page's `Origin`.
pub(crate) async fn run(address: SocketAddr, server: Server) -> Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_MAX_BYTES)
        .enforce_origin_validation();
    let service = StreamableHttpService::new(move || Ok(server.clone()), NeverSessionManager::default().into(), config);
    let listener = crate::listen(address).await?;
    loop {
        // A connection that broke before it was accepted is its client's loss.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}
