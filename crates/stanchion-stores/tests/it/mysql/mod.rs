//! `mysql:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod bad_input;
mod faults;
mod guard;
mod kills;
mod queue;
mod session;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use stanchion_testkit::conformance::StoreFactory;
use stanchion_testkit::engines::{MariaDb, Shared};
use stanchion_testkit::{FaultProxy, Protocol};

use crate::common::{factory_of, key, open, refused, request, separate_client, waiting};

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server of the conformance cases.
async fn server() -> Shared<MariaDb> {
    Shared::get().await
}

async fn factory(options: &str) -> StoreFactory {
    let server = Arc::new(server().await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), Protocol::Mysql).await);
    let url = format!("{}?{options}", server.url_at(proxy.port()));
    factory_of(server, url, separate_client).faults(proxy)
}

async fn leases() -> StoreFactory {
    factory("ssl-mode=disabled").await
}

async fn sessions() -> StoreFactory {
    factory("ssl-mode=disabled&mode=session&prefix=other_").await
}

stanchion_testkit::conformance_tests!(lease_conformance, leases);
stanchion_testkit::conformance_tests!(fused_conformance, leases, suites: [fused]);
stanchion_testkit::process_tests!(lease_processes, leases, separate_client);
stanchion_testkit::process_tests!(session_processes, sessions, separate_client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // nobody takes its lock
]);
stanchion_testkit::conformance_tests!(session_conformance, sessions, suites: [locks, leases], except: [
    lost_comes_before_the_store_hands_on,
    a_late_renewal_never_revives,
    release_after_loss_says_not_held,
    slots_admit_n_and_no_more,     // GET_LOCK has exclusive locks only
    shared_holders_exclude_an_exclusive_one,
    an_expired_lease_is_handed_on, // held until the session ends
    renewal_prolongs,
    evict_frees_and_fences,
    waiters_are_served_in_order,   // from the moment they block, not from the first refusal
]);
