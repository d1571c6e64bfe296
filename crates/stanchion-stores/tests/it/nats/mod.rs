//! `nats:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod cluster;
mod faults;
mod forgets;
mod guard;
mod kills;
mod tls;

use std::time::Duration;

use stanchion_core::Key;
use stanchion_testkit::conformance::{Faults, StoreFactory};
use stanchion_testkit::engines::{Nats, Shared};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

use crate::common::{factory_of, key, open, refused, request, separate_client, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes a stream with a bare client, as somebody else would.
async fn make_stream(url: &str, name: &str, settings: &str) {
    let client = async_nats::connect(url).await.unwrap();
    let config = format!("{{\"name\":\"KV_{name}\",\"subjects\":[\"$KV.{name}.>\"],{settings}}}");
    let made = client.request(format!("$JS.API.STREAM.CREATE.KV_{name}"), config.into()).await.unwrap();
    let made = String::from_utf8_lossy(&made.payload).into_owned();
    assert!(!made.contains("\"error\""), "{made}");
}

/// How a user's key looks on the wire.
fn subject(key: &Key) -> String {
    let mut subject = "$KV.stanchion.u.".to_owned();
    for byte in key.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => subject.push(char::from(byte)),
            b'/' => subject.push('.'),
            _ => subject += &format!("={byte:02X}"),
        }
    }
    subject
}

#[derive(Debug)]
struct Wire(FaultProxy);

impl Faults for Wire {
    /// Reads name the key as well, but not as the subject of the message.
    fn lose_next_reply(&self, key: &Key) {
        self.0.set_plan(Plan::first(format!("PUB {} ", subject(key)), Fault::LoseReply));
    }
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn nats_server() -> StoreFactory {
    let server = Shared::<Nats>::get().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Nats).await;
    let url = server.url_at(proxy.port());
    factory_of(server, url, separate_client).faults(Wire(proxy))
}

stanchion_testkit::conformance_tests!(nats_conformance, nats_server, suites: [records, locks, leases, fused], except: [
    waiters_are_served_in_order, // JetStream has no queue: whoever writes first has the lock
]);
stanchion_testkit::process_tests!(nats_processes, nats_server, separate_client);
