//! The idempotency kill harness.

use stanchion_testkit::Protocol;
use stanchion_testkit::engines::Consul;

use crate::guard::kill::{disturbed, survives};

fn url(server: &Consul, port: u16) -> String {
    format!("{}?lock_delay=0s", server.url_at(port))
}

#[tokio::test]
async fn consul_survives_kills_at_every_point() {
    survives(Consul::options().disk(true).start(), |server| url(server, server.port())).await;
}

#[tokio::test]
async fn consul_may_be_restarted_and_cut_off_meanwhile() {
    disturbed(Consul::options().disk(true).start(), Protocol::Http, url).await;
}
