//! `kill -9` at every point of a guarded call, and a server that is killed, cut off and unheard meanwhile.

use std::sync::Arc;

use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::process;
use stanchion_testkit::{FaultProxy, Protocol};

use crate::guard::kill::{Restart, brief, disturbed, worker};

#[tokio::test]
async fn mysql_survives_kills_at_every_point() {
    if process::is_helper() {
        return worker().await;
    }
    let server = MariaDb::options().fsync(true).start().await;
    brief(&server.url()).await;
}

#[tokio::test]
async fn mysql_may_be_restarted_and_cut_off_meanwhile() {
    if process::is_helper() {
        return worker().await;
    }
    let server = Arc::new(MariaDb::options().fsync(true).start().await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Mysql).await);
    let restart = || -> Restart {
        let server = Arc::clone(&server);
        Box::pin(async move {
            server.kill();
            server.restart().await;
        })
    };
    let url = format!("{}?ssl-mode=disabled", server.url_at(proxy.port()));
    disturbed(&proxy, &url, &server.url(), restart).await;
}
