//! The idempotency kill harness.

use std::sync::Arc;

use stanchion_testkit::engines::Consul;
use stanchion_testkit::{FaultProxy, Protocol, process};

use crate::guard::kill::{Restart, brief, disturbed, worker};

#[tokio::test]
async fn consul_survives_kills_at_every_point() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Consul::options().disk(true).start().await;
    brief(&format!("{}?lock_delay=0s", server.url())).await;
}

#[tokio::test]
async fn consul_may_be_restarted_and_cut_off_meanwhile() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Arc::new(Consul::options().disk(true).start().await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Http).await);
    let restart = || -> Restart {
        let server = Arc::clone(&server);
        Box::pin(async move {
            server.kill();
            server.restart().await;
        })
    };
    let url = format!("{}?lock_delay=0s", server.url_at(proxy.port()));
    disturbed(&proxy, &url, &format!("{}?lock_delay=0s", server.url()), restart).await;
}
