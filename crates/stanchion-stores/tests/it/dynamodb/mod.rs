//! `dynamodb:` against dynalite, which is an emulator: what it shows is our side of the protocol, not Amazon's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod faults;
mod front;
mod guard;
mod kills;

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use stanchion_testkit::conformance::StoreFactory;
use stanchion_testkit::engines::{Dynalite, Shared};
use stanchion_testkit::{FaultProxy, Protocol};

use crate::common::{factory_of, key, open, refused, request, separate_client};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The library without our code, so that the server is seen as it is.
fn plain(server: &Dynalite) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(format!("http://127.0.0.1:{}", server.port()));
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

async fn server() -> Arc<Dynalite> {
    Arc::new(Dynalite::start().await)
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn dynalite() -> StoreFactory {
    let server = Shared::<Dynalite>::get().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let url = server.url_at(proxy.port());
    factory_of(server, url, separate_client)
        .faults(proxy)
        // Waiting is polling here, and the emulator is slow where many tests share the machine.
        .patience(2 * PATIENCE)
}

stanchion_testkit::conformance_tests!(dynamodb_conformance, dynalite, suites: [records, locks, leases, fused], except: [
    waiters_are_served_in_order, // DynamoDB has no queue: whoever looks first after a release gets it
]);
stanchion_testkit::process_tests!(dynamodb_processes, dynalite, separate_client);
