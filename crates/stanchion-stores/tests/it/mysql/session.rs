//! `mode=session`: locks that live as long as a connection.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Grant, LockBackend, Mode, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use super::{PATIENCE, key, open, request, waiting};
use crate::common::sessions;

async fn server() -> (MariaDb, String) {
    let server = MariaDb::start().await;
    let url = format!("{}?mode=session", server.url());
    (server, url)
}

#[tokio::test]
async fn a_lost_connection_is_a_lost_lock_and_the_holder_learns_it() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = sessions::taken(&*locks).await;
    end_session(&server);
    sessions::lost_with_its_session(&*locks, &grant, PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_runs_out_or_is_given_up_takes_nothing() {
    let (server, url) = server().await;
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.wait(&waiting("k"), owner, Instant::now() + Duration::from_millis(100)).await.unwrap();
    let e = b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    assert_eq!(e.holder().unwrap().fence, Some(grant.fence));
    let waiter = {
        let b = Arc::clone(&b);
        tokio::spawn(async move { b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await })
    };
    let blocked = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT GET_LOCK(%'";
    let blocks = || async { server.ask(blocked).is_ok_and(|count| count.trim() == "1") };
    eventually(PATIENCE, "it waits in the server", blocks).await;
    waiter.abort();
    drop(waiter.await);
    b.withdraw(&waiting("k"), owner).await;
    a.release(&grant).await.unwrap();
    eventually(PATIENCE, "it is free", || async { a.try_acquire(&request("k"), Owner::random()).await.is_ok() }).await;
}

#[tokio::test]
async fn long_names_that_differ_in_case_or_end_are_different_locks() {
    let (_server, url) = server().await;
    let locks = open(&url).await.locks;
    let long = "x".repeat(500);
    for name in ["Deploy", "deploy", "DEPLOY", &format!("{long}1"), &format!("{long}2")] {
        locks.try_acquire(&request(name), Owner::random()).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let e = locks.try_acquire(&request("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
}

#[tokio::test]
async fn shared_locks_are_unsupported_and_listing_shows_live_holders_only() {
    let (_server, url) = server().await;
    let locks = open(&url).await.locks;
    let e = locks.try_acquire(&request("k").mode(Mode::Shared).unwrap(), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.next_step().unwrap().contains("mode=lease"));
    sessions::only_live_holders_are_listed(&*locks).await;
}

/// Ends the one session that holds a lock.
fn end_session(server: &MariaDb) {
    let id = server.ask("SELECT connection FROM stanchion_sessions").unwrap();
    server.ask(&format!("KILL {id}")).unwrap();
}

const STALL: Duration = Duration::from_millis(500);

/// A lock that is held through a proxy, and others who talk to the server itself.
struct Held {
    locks: Arc<dyn LockBackend>,
    others: Arc<dyn LockBackend>,
    grant: Grant,
    proxy: FaultProxy,
    server: MariaDb,
}

impl Held {
    async fn start(options: &str) -> Self {
        let (server, direct) = server().await;
        let proxy = FaultProxy::start(server.addr(), Protocol::Mysql).await;
        let url = format!("{}?mode=session&ssl-mode=disabled&{options}", server.url_at(proxy.port()));
        let (locks, others) = (open(&url).await.locks, open(&direct).await.locks);
        let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        Self { locks, others, grant, proxy, server }
    }

    fn stall_renewal(&self) {
        self.proxy.set_plan(Plan::first("IS_USED_LOCK", Fault::DelayReply(STALL)));
    }

    /// A renewal that is given up before it is answered.
    async fn give_up_a_renewal(&self) {
        self.stall_renewal();
        let given_up = tokio::time::timeout(STALL / 5, self.locks.renew(&self.grant, self.grant.ttl)).await;
        assert!(given_up.is_err(), "void: it was answered in time");
    }

    async fn assert_lost(&self) {
        let renewed = self.locks.renew(&self.grant, self.grant.ttl).await;
        assert!(matches!(renewed, Renewal::Lost), "{renewed:?}");
    }

    async fn assert_release_is_unknown(&self) {
        let e = self.locks.release(&self.grant).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    }

    async fn freed(&self, why: &str) {
        let free = || async { self.others.try_acquire(&request("k"), Owner::random()).await.is_ok() };
        eventually(PATIENCE, why, free).await;
    }
}

/// The late answer of a renewal that was given up says what was true before the session ended.
#[tokio::test]
async fn an_answer_that_was_given_up_is_not_taken_for_that_of_the_next_renewal() {
    let held = Held::start("").await;
    held.give_up_a_renewal().await;
    end_session(&held.server);
    held.freed("another one takes it").await;
    held.assert_lost().await;
}

#[tokio::test]
async fn a_release_after_a_renewal_that_was_given_up_does_not_say_that_the_lock_was_lost() {
    let held = Held::start("").await;
    held.give_up_a_renewal().await;
    held.assert_release_is_unknown().await;
    held.freed("it ends with its connection").await;
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_is_unknown_and_the_lock_is_free() {
    let held = Held::start("").await;
    held.proxy.set_plan(Plan::first("RELEASE_LOCK", Fault::LoseReply));
    held.assert_release_is_unknown().await;
    held.freed("it is free").await;
}

#[tokio::test]
async fn a_session_that_does_not_answer_in_time_is_lost_and_closed() {
    let held = Held::start("timeout=300ms").await;
    held.stall_renewal();
    held.assert_lost().await;
    held.freed("it is closed").await;
    assert_eq!(held.locks.release(&held.grant).await.unwrap(), Released::NotHeld);
}

#[tokio::test]
async fn old_records_are_tidied_away_in_this_mode_too() {
    let (server, url) = server().await;
    let records = open(&url).await.records.unwrap();
    server.ask("INSERT INTO stanchion_records (k, version, written) VALUES ('old', 7, 1)").unwrap();
    let mut version = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    for _ in 0..4096 {
        version = records.put(&key("k"), "v".into(), Cond::Version(version), None).await.unwrap();
    }
    eventually(PATIENCE, "the old one is gone", || async {
        server.ask("SELECT COUNT(*) FROM stanchion_records WHERE k = 'old'").is_ok_and(|count| count.trim() == "0")
    })
    .await;
}

/// A look that began before a row was written finds it with a time that is still to come.
#[tokio::test]
async fn a_holder_from_the_near_future_is_shown() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.ask("UPDATE stanchion_sessions SET since = since + 60000000").unwrap();
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].fence, Some(grant.fence));
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
}
