//! `kill -9` at every point of a guarded call, and the emulator killed and cut off meanwhile.

use std::sync::Arc;

use stanchion_testkit::engines::Dynalite;
use stanchion_testkit::{FaultProxy, Protocol, process};

use crate::guard::kill::{Restart, brief, disturbed, worker};

#[tokio::test]
async fn dynamodb_survives_kills_at_every_point() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Dynalite::options().on_disk(true).start().await;
    brief(&server.url()).await;
}

#[tokio::test]
async fn dynamodb_may_be_restarted_and_cut_off_meanwhile() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Arc::new(Dynalite::options().on_disk(true).start().await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Http).await);
    let restart = || -> Restart {
        let server = Arc::clone(&server);
        Box::pin(async move {
            server.kill();
            server.restart().await;
        })
    };
    disturbed(&proxy, &server.url_at(proxy.port()), &server.url(), restart).await;
}
