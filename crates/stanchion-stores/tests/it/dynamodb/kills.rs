//! `kill -9` at every point of a guarded call, and the emulator killed and cut off meanwhile.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::Dynalite;

use crate::guard::kill::{disturbed, survives};

#[tokio::test]
async fn dynamodb_survives_kills_at_every_point() {
    survives(Dynalite::options().on_disk(true).start(), Dynalite::url).await;
}

#[tokio::test]
async fn dynamodb_may_be_restarted_and_cut_off_meanwhile() {
    disturbed(Dynalite::options().on_disk(true).start(), Protocol::Http, Dynalite::url_at).await;
}
