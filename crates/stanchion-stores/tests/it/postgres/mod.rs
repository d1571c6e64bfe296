//! `postgres:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod faults;
mod fused;
mod guard;
mod payments;
mod pooler;
mod queue;
mod session;
mod tls;
mod transactional;
mod version_column;
mod xact;

use std::sync::Arc;
use std::time::Duration;

use stanchion_testkit::conformance::StoreFactory;
use stanchion_testkit::engines::{Postgres, Shared};
use stanchion_testkit::{FaultProxy, Protocol};

use crate::common::{client, factory_of, key, open, refused, request, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A bare client, so that the server is seen without our code.
pub(crate) async fn plain(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn factory(options: &str) -> StoreFactory {
    let server = Arc::new(Shared::<Postgres>::get().await);
    let upstream = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let proxy = Arc::new(FaultProxy::start(upstream, Protocol::Postgres).await);
    let url = format!("{}?{options}", server.url_at(proxy.port()));
    factory_of(server, url, client).faults(proxy)
}

async fn leases() -> StoreFactory {
    factory("sslmode=disable").await
}

async fn sessions() -> StoreFactory {
    factory("sslmode=disable&mode=session&schema=other").await
}

stanchion_testkit::conformance_tests!(lease_conformance, leases);
stanchion_testkit::conformance_tests!(fused_conformance, leases, suites: [fused]);
stanchion_testkit::process_tests!(lease_processes, leases, client);
stanchion_testkit::process_tests!(session_processes, sessions, client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // nobody takes its lock
]);
stanchion_testkit::conformance_tests!(session_conformance, sessions, suites: [locks, leases], except: [
    lost_comes_before_the_store_hands_on,
    a_late_renewal_never_revives,
    release_after_loss_says_not_held,
    slots_admit_n_and_no_more,     // advisory locks have none
    an_expired_lease_is_handed_on, // held until the session ends
    renewal_prolongs,
    evict_frees_and_fences,
    waiters_are_served_in_order,   // from the moment they block, not from the first refusal
]);

#[tokio::test]
async fn twenty_clients_open_an_empty_database_at_once() {
    let server = Postgres::start().await;
    let opens: Vec<_> = (0..20)
        .map(|i| {
            let url = server.url();
            tokio::spawn(async move {
                let store = open(&url).await;
                store
                    .locks
                    .try_acquire(&request(&format!("k{i}")), stanchion_core::Owner::random())
                    .await
                    .unwrap()
                    .fence
                    .number()
            })
        })
        .collect();
    let mut fences = Vec::new();
    for opened in opens {
        fences.push(opened.await.unwrap());
    }
    fences.sort_unstable();
    assert_eq!(fences, (1..=20).collect::<Vec<_>>(), "one schema, one counter");
}

#[tokio::test]
async fn bad_options_are_refused_with_a_next_step() {
    let xact = refused("postgres://nobody@127.0.0.1:1/x?mode=xact").await;
    assert!(xact.next_step().unwrap().contains("lock_in_transaction"), "{xact}");
    let schema = refused("postgres://nobody@127.0.0.1:1/x?schema=a;drop").await;
    assert!(schema.next_step().unwrap().contains("a-z"), "{schema}");
    let unknown = refused("postgres://nobody@127.0.0.1:1/x?tiemout=3s").await;
    assert!(unknown.to_string().contains("tiemout"), "{unknown}");
}

#[tokio::test]
async fn the_capability_says_what_the_server_is_set_to() {
    let server = Postgres::options().fsync(true).start().await;
    let power = open(&format!("{}?durability=power", server.url())).await;
    assert_eq!(power.locks.capability().survives, stanchion_core::Survives::PowerLoss);
    assert_eq!(power.locks.capability().weak, None);
    let unsafe_server = Postgres::start().await;
    let weak = open(&unsafe_server.url()).await.locks.capability();
    assert!(weak.weak.unwrap().contains("fsync=off"), "{weak:?}");
}
