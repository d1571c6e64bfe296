//! `consul:` against a real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod faults;
mod guard;
mod kills;
mod line;
mod lock_delay;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::Key;
use stanchion_testkit::conformance::{Faults, StoreFactory};
use stanchion_testkit::engines::{Consul, Shared};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

use crate::common::{factory_of, key, open, own_namespace, refused, request, separate_client, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// One request with a bare client, so that the server is seen without our code: the body of the answer.
async fn plain(server: &Consul, method: &str, path: &str, body: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.0\r\nHost: consul\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The ids of all sessions.
async fn sessions(server: &Consul) -> Vec<String> {
    let text = plain(server, "GET", "/v1/session/list", "").await;
    text.split("\"ID\":").skip(1).map(|rest| rest.split('"').nth(1).unwrap().to_owned()).collect()
}

/// Ends every session, as an operator or a lost node would.
async fn end_sessions(server: &Consul) {
    for id in sessions(server).await {
        plain(server, "PUT", &format!("/v1/session/destroy/{id}"), "").await;
    }
}

/// Names are escaped on the wire, and only transactions that write have a reply worth losing.
#[derive(Debug)]
struct Writes(Arc<FaultProxy>);

impl Faults for Writes {
    fn lose_next_reply(&self, key: &Key) {
        let name = key.as_str().replace(' ', "%20");
        let mut pending = Some(Fault::LoseReply);
        self.0.set_plan(Plan::on(move |request| {
            let writes = request.contains("\"delete\"") || request.contains("\"set\"");
            if writes && request.contains(&name) { pending.take().unwrap_or(Fault::Deliver) } else { Fault::Deliver }
        }));
    }
}

async fn server() -> Shared<Consul> {
    Shared::get().await
}

/// All clients go through the proxy; the server lives as long as the factory. Without lock-delay, which has tests of its own:
/// the suite lets holders die.
async fn consul_server() -> StoreFactory {
    let server = server().await;
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Http).await);
    let url = format!("{}?lock_delay=0s&{}", server.url_at(proxy.port()), own_namespace());
    factory_of(server, url, separate_client).patience(PATIENCE).faults(Writes(proxy))
}

stanchion_testkit::conformance_tests!(consul_conformance, consul_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(consul_processes, consul_server, separate_client);
