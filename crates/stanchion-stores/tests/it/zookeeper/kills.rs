//! `kill -9` at every point of a guarded call; and with the server killed and started again, and connections cut, meanwhile.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::ZooKeeper;

use crate::guard::kill::{disturbed, survives};

#[tokio::test]
async fn zookeeper_survives_kills_at_every_point() {
    survives(ZooKeeper::start(), ZooKeeper::url).await;
}

#[tokio::test]
async fn zookeeper_may_be_restarted_and_cut_off_meanwhile() {
    disturbed(ZooKeeper::start(), Protocol::ZooKeeper, ZooKeeper::url_at).await;
}
