//! `redis:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod failover;
mod faults;
mod fused;
mod guard;
mod queue;
mod tls;

use std::ops::Deref;
use std::time::Duration;

use stanchion_testkit::conformance::{StoreFactory, fused as fused_suite, leases, locks, records, run_all};
use stanchion_testkit::engines::{Redis, Shared, Valkey};
use stanchion_testkit::{FaultProxy, Protocol};

use crate::common::{client, factory_of, key, open, refused, request, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs one command with a bare client, so that the server is seen without our code.
pub(crate) async fn plain(server: &Redis, words: &[&str]) -> redis::Value {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.query_async(&mut connection).await.unwrap()
}

/// All clients go through the proxy; the server lives as long as the factory.
async fn factory<S: Deref<Target = Redis> + Send + Sync + 'static>(server: S) -> StoreFactory {
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let url = server.url_at(proxy.port());
    factory_of(server, url, client).faults(proxy)
}

async fn redis_server() -> StoreFactory {
    factory(Shared::<Redis>::get().await).await
}

stanchion_testkit::conformance_tests!(redis_conformance, redis_server, suites: [records, locks, leases, fused]);
stanchion_testkit::process_tests!(redis_processes, redis_server, client);

/// One pass is enough: the protocol is the same, the server is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valkey_conforms_as_well() {
    let factory = factory(stanchion_testkit::start_or_skip!(Valkey)).await;
    run_all(&factory, &[records::CASES, locks::CASES, leases::CASES, fused_suite::CASES], &[]).await;
}
