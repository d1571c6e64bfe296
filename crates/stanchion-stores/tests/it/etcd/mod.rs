//! `etcd:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod cluster;
mod faults;
mod guard;
mod kills;
mod queue;
mod tls;

use std::time::Duration;

use stanchion_core::{Acquire, Error, Key, Wait};
use stanchion_stores::Opened;
use stanchion_testkit::conformance::{Client, StoreFactory};
use stanchion_testkit::engines::{Etcd, Shared};
use stanchion_testkit::{FaultProxy, Protocol};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// The leases that etcd has, asked without our code.
async fn leases(server: &Etcd) -> Vec<String> {
    let answer = server.post("/v3/lease/leases", "{}").await.unwrap();
    let ids = answer.split("\"ID\":\"").skip(1);
    ids.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

async fn revoke(server: &Etcd, lease: &str) {
    server.post("/v3/lease/revoke", &format!("{{\"ID\":\"{lease}\"}}")).await.unwrap();
}

async fn client(url: String) -> Client {
    let opened = open(&url).await;
    Client::new(opened.locks, opened.records).separate()
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn etcd_server() -> StoreFactory {
    let server = Shared::<Etcd>::get().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let url = server.url_at(proxy.port());
    let opened = url.clone();
    StoreFactory::new(move || {
        let _ = &server;
        client(opened.clone())
    })
    .url(url)
    .faults(proxy)
}

stanchion_testkit::conformance_tests!(etcd_conformance, etcd_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(etcd_processes, etcd_server, client);
