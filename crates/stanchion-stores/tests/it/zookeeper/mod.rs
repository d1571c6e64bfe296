//! `zookeeper:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod faults;
mod guard;
mod kills;

use std::time::Duration;

use stanchion_core::Key;
use stanchion_testkit::conformance::{Faults, StoreFactory};
use stanchion_testkit::engines::{Shared, ZooKeeper};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

use crate::common::{factory_of, key, open, own_namespace, refused, request, separate_client, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a key looks on the wire.
fn name(key: &Key) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b':' | b'@' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    key.as_str().bytes().map(byte).collect()
}

/// Loses the reply to the next write that names the key; reads name it as well.
fn lose_write(proxy: &FaultProxy, key: &Key) {
    let name = name(key);
    let mut done = false;
    proxy.set_plan(Plan::on(move |message| {
        // create, delete, setData, multi, create2, createContainer, createTTL
        let writes = [1, 2, 5, 14, 15, 19, 21];
        let code = message.bytes.get(8..12).and_then(|code| Some(i32::from_be_bytes(code.try_into().ok()?)));
        let hit = !done && code.is_some_and(|code| writes.contains(&code)) && message.contains(&name);
        done |= hit;
        if hit { Fault::LoseReply } else { Fault::Deliver }
    }));
}

#[derive(Debug)]
struct Wire(FaultProxy);

impl Faults for Wire {
    fn lose_next_reply(&self, key: &Key) {
        lose_write(&self.0, key);
    }
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn zookeeper_server() -> StoreFactory {
    let server = Shared::<ZooKeeper>::get().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::ZooKeeper).await;
    let url = format!("{}?{}", server.url_at(proxy.port()), own_namespace());
    factory_of(server, url, separate_client).faults(Wire(proxy))
}

stanchion_testkit::conformance_tests!(zookeeper_conformance, zookeeper_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(zookeeper_processes, zookeeper_server, separate_client);
