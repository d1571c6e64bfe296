//! `kill -9` at every point of a guarded call, and an engine that dies meanwhile.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::Etcd;

use crate::guard::kill::{disturbed, survives};

#[tokio::test]
async fn etcd_survives_kills_at_every_point() {
    survives(Etcd::start(), Etcd::url).await;
}

#[tokio::test]
async fn etcd_may_be_restarted_and_cut_off_meanwhile() {
    disturbed(Etcd::options().fsync(true).start(), Protocol::Grpc, Etcd::url_at).await;
}
