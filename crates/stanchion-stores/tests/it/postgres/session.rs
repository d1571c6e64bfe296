//! `mode=session`: locks that live as long as a connection.

use std::time::Duration;

use stanchion_core::{ErrorKind, Mode, Owner};
use stanchion_testkit::engines::Postgres;
use tokio::time::Instant;

use super::{PATIENCE, open, plain, request, waiting};
use crate::common::sessions;

async fn server() -> (Postgres, String) {
    let server = Postgres::start().await;
    let url = format!("{}?mode=session", server.url());
    (server, url)
}

#[tokio::test]
async fn a_lost_connection_is_a_lost_lock_and_the_holder_learns_it() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = sessions::taken(&*locks).await;
    let admin = plain(&server.url()).await;
    admin.query("SELECT pg_terminate_backend(pid) FROM stanchion.session_holders", &[]).await.unwrap();
    sessions::lost_with_its_session(&*locks, &grant, Duration::from_secs(10)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_runs_out_takes_nothing() {
    let (server, url) = server().await;
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.wait(&waiting("k"), owner, Instant::now() + Duration::from_millis(200)).await.unwrap();
    let e = b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    a.release(&grant).await.unwrap();
    let admin = plain(&server.url()).await;
    let left: i64 =
        admin.query_one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", &[]).await.unwrap().get(0);
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_who_gives_up_leaves_no_lock_behind() {
    let (server, url) = server().await;
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    let waiter = {
        let b = std::sync::Arc::clone(&b);
        tokio::spawn(async move { b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await })
    };
    let admin = plain(&server.url()).await;
    let blocked = || async {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        admin.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 1
    };
    stanchion_testkit::eventually(PATIENCE, "the waiter blocks in the server", blocked).await;
    waiter.abort();
    waiter.await.unwrap_err();
    b.withdraw(&waiting("k"), owner).await;
    a.release(&grant).await.unwrap();
    let free = || async {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
        admin.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0
    };
    stanchion_testkit::eventually(PATIENCE, "nobody holds or awaits it", free).await;
    a.try_acquire(&request("k"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn slots_are_unsupported_and_listing_shows_live_holders_only() {
    let (_server, url) = server().await;
    let locks = open(&url).await.locks;
    let e = locks.try_acquire(&request("k").mode(Mode::Slots(2)).unwrap(), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    sessions::only_live_holders_are_listed(&*locks).await;
}
