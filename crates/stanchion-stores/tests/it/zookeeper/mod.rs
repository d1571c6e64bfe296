//! `zookeeper:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod faults;
mod guard;
mod kills;

use std::time::Duration;

use stanchion_core::{Acquire, Error, Key, Wait};
use stanchion_stores::Opened;
use stanchion_testkit::conformance::{Client, Faults, StoreFactory};
use stanchion_testkit::engines::{Shared, ZooKeeper};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

async fn open(url: &str) -> Opened {
    stanchion_stores::open(url).await.unwrap_or_else(|e| panic!("{url}: {e}"))
}

async fn refused(url: &str) -> Error {
    stanchion_stores::open(url).await.map(|_| ()).unwrap_err()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn request(text: &str) -> Acquire {
    Acquire::new(key(text)).wait(Wait::No)
}

fn waiting(text: &str) -> Acquire {
    Acquire::new(key(text)).wait(Wait::Forever)
}

async fn client(url: String) -> Client {
    let opened = open(&url).await;
    Client::new(opened.locks, opened.records).separate()
}

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
    let url = server.url_at(proxy.port());
    let opened = url.clone();
    StoreFactory::new(move || {
        let _ = &server;
        client(opened.clone())
    })
    .url(url)
    .faults(Wire(proxy))
}

stanchion_testkit::conformance_tests!(zookeeper_conformance, zookeeper_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(zookeeper_processes, zookeeper_server, client);
