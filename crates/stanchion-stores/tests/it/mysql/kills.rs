//! `kill -9` at every point of a guarded call, and a server that is killed, cut off and unheard meanwhile.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::MariaDb;

use crate::guard::kill::{disturbed, survives};

#[tokio::test]
async fn mysql_survives_kills_at_every_point() {
    survives(MariaDb::options().fsync(true).start(), MariaDb::url).await;
}

#[tokio::test]
async fn mysql_may_be_restarted_and_cut_off_meanwhile() {
    let url = |server: &MariaDb, port| format!("{}?ssl-mode=disabled", server.url_at(port));
    disturbed(MariaDb::options().fsync(true).start(), Protocol::Mysql, url).await;
}
