//! The proxy between real sockets.

mod faults;
mod forwarding;
mod guarding;
mod pattern;

use std::net::SocketAddr;

use stanchion_core::{MemoryStore, Result};
use stanchion_http::layer::RoutePolicy;
use stanchion_http::proxy::Proxy;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::web::guard;

/// One order, for many services.
const SPELLINGS: [&str; 7] =
    ["/orders/7", "//orders/7", "/orders//7", "/orders/7/", "///orders///7///", "/orders/%37", "//%6Frders/%37//"];

/// A running proxy.
struct Running {
    at: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<()>>,
}

/// In front of `upstream`, with `policy` for everything under `/guarded` and under `/orders`.
async fn start(upstream: SocketAddr, policy: RoutePolicy) -> Running {
    run(in_front_of(upstream, policy)).await
}

fn in_front_of(upstream: SocketAddr, policy: RoutePolicy) -> Proxy {
    let pattern = |text: &str| text.parse().expect("a pattern");
    Proxy::new(guard(&MemoryStore::new()), &format!("http://{upstream}"))
        .expect("an address")
        .route(pattern("/guarded/**"), policy.clone())
        .and_then(|proxy| proxy.route(pattern("/orders/*"), policy))
        .expect("good policies")
}

async fn run(proxy: Proxy) -> Running {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("its address");
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(proxy.serve(listener, async { drop(stopped.await) }));
    Running { at, stop, served }
}
