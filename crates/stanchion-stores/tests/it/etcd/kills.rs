//! `kill -9` at every point of a guarded call, and an engine that dies meanwhile.

use std::sync::Arc;

use stanchion_testkit::engines::Etcd;
use stanchion_testkit::process;
use stanchion_testkit::{FaultProxy, Protocol};

use crate::guard::kill::{Restart, brief, disturbed, worker};

#[tokio::test]
async fn etcd_survives_kills_at_every_point() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Etcd::start().await;
    brief(&server.url()).await;
}

#[tokio::test]
async fn etcd_may_be_restarted_and_cut_off_meanwhile() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Arc::new(Etcd::options().fsync(true).start().await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Grpc).await);
    let restart = || -> Restart {
        let server = Arc::clone(&server);
        Box::pin(async move {
            server.kill();
            server.restart().await;
        })
    };
    disturbed(&proxy, &server.url_at(proxy.port()), &server.url(), restart).await;
}
