//! `kill -9` of workers at every point of a guarded call, and of the server meanwhile.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::Nats;

use crate::guard::kill::{disturbed, survives};

#[tokio::test]
async fn nats_survives_kills_at_every_point() {
    survives(Nats::start(), Nats::url).await;
}

#[tokio::test]
async fn nats_may_be_restarted_and_cut_off_meanwhile() {
    disturbed(Nats::start(), Protocol::Nats, Nats::url_at).await;
}
