//! A small balancer: each request goes to the next instance, in turn.
//!
//! It never sends a request twice. An instance that takes no connection is passed over; a request that was sent and not
//! answered is a 502, because nobody knows whether it ran: that is the caller's to decide, with its key.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use stanchion_core::Result;
use tokio::net::TcpStream;

type Body = Either<Incoming, Full<Bytes>>;

struct Balancer {
    instances: Vec<SocketAddr>,
    turn: AtomicUsize,
}

/// Balances until the process ends.
pub(crate) async fn run(address: SocketAddr, instances: Vec<SocketAddr>) -> Result<()> {
    let balancer = Arc::new(Balancer { instances, turn: AtomicUsize::new(0) });
    let listener = crate::listen(address).await?;
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let balancer = Arc::clone(&balancer);
        tokio::spawn(async move {
            let service = service_fn(|request| balancer.forward(request));
            server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

impl Balancer {
    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, hyper::http::Error> {
        let Some(stream) = self.connect().await else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "no instance answers; nothing was sent");
        };
        match send(stream, request).await {
            Ok(response) => Ok(response.map(Either::Left)),
            Err(_) => refuse(StatusCode::BAD_GATEWAY, "the instance died with the request; it may have run"),
        }
    }

    /// A connection to the next instance that takes one.
    async fn connect(&self) -> Option<TcpStream> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        for step in 0..self.instances.len() {
            let instance = self.instances.get(turn.wrapping_add(step) % self.instances.len())?;
            if let Ok(stream) = TcpStream::connect(instance).await {
                return Some(stream);
            }
        }
        None
    }
}

/// One request on a connection of its own. A kept one may be closed by the instance just then, and "was it sent?"
/// would have no answer.
async fn send(stream: TcpStream, request: Request<Incoming>) -> hyper::Result<Response<Incoming>> {
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

fn refuse(status: StatusCode, why: &'static str) -> Result<Response<Body>, hyper::http::Error> {
    Response::builder().status(status).body(Either::Right(Full::from(why)))
}
