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

use stanchion_testkit::conformance::StoreFactory;
use stanchion_testkit::engines::{Etcd, Shared};
use stanchion_testkit::{FaultProxy, Protocol};

use crate::common::{factory_of, key, open, own_namespace, refused, request, separate_client, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The leases that etcd has, asked without our code.
async fn leases(server: &Etcd) -> Vec<String> {
    let answer = server.post("/v3/lease/leases", "{}").await.unwrap();
    let ids = answer.split("\"ID\":\"").skip(1);
    ids.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

async fn revoke(server: &Etcd, lease: &str) {
    server.post("/v3/lease/revoke", &format!("{{\"ID\":\"{lease}\"}}")).await.unwrap();
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn etcd_server() -> StoreFactory {
    let server = Shared::<Etcd>::get().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let url = format!("{}?{}", server.url_at(proxy.port()), own_namespace());
    factory_of(server, url, separate_client).faults(proxy)
}

stanchion_testkit::conformance_tests!(etcd_conformance, etcd_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(etcd_processes, etcd_server, separate_client);
