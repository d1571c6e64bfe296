//! `mode=session`: locks that live as long as a connection.

use std::time::Duration;

use stanchion_core::{ErrorKind, Mode, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::eventually;
use tokio::time::Instant;

use super::{PATIENCE, open, request, waiting};

async fn server() -> (MariaDb, String) {
    let server = MariaDb::start().await;
    let url = format!("{}?mode=session", server.url());
    (server, url)
}

#[tokio::test]
async fn a_lost_connection_is_a_lost_lock_and_the_holder_learns_it() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    let id = server.ask("SELECT connection FROM stanchion_sessions").unwrap();
    server.ask(&format!("KILL {id}")).unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Lost));
    assert_eq!(locks.release(&grant).await.unwrap(), Released::NotHeld);
    let free = || async {
        let next = locks.try_acquire(&request("k"), Owner::random()).await;
        next.is_ok_and(|next| next.fence.number() > grant.fence.number())
    };
    eventually(PATIENCE, "the server lets the lock of the ended session go", free).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_runs_out_or_is_given_up_takes_nothing() {
    let (_server, url) = server().await;
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.wait(&waiting("k"), owner, Instant::now() + Duration::from_millis(100)).await.unwrap();
    let e = b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    assert_eq!(e.holder().unwrap().fence, Some(grant.fence));
    let waiter = {
        let b = std::sync::Arc::clone(&b);
        tokio::spawn(async move { b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await })
    };
    tokio::task::yield_now().await;
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
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].fence, Some(grant.fence));
    locks.release(&grant).await.unwrap();
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
}
