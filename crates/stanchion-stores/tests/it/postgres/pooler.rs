//! Behind PgBouncer.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{ErrorKind, Owner, Released};
use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
use tokio::time::Instant;

use super::{PATIENCE, key, open, refused, request, waiting};

/// Hands the lock from one store to another and returns how long the waiter slept.
async fn hand_over(a: &str, b: &str) -> Duration {
    let (a, b) = (open(a).await.locks, open(b).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    let start = Instant::now();
    assert_eq!(a.release(&grant).await.unwrap(), Released::Released);
    while b.try_acquire(&waiting("k"), owner).await.is_err() {
        b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await.unwrap();
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_work_through_transaction_pooling() {
    let postgres = Postgres::start().await;
    let bouncer = PgBouncer::start(&postgres, PoolMode::Transaction).await;
    hand_over(&bouncer.url(), &bouncer.url()).await;
    let records = open(&bouncer.url()).await.records.unwrap();
    let writer = open(&bouncer.url()).await.records.unwrap();
    let watched = tokio::spawn(async move { records.changed(&key("r"), None, Instant::now() + PATIENCE).await });
    writer.put(&key("r"), "v".into(), stanchion_core::Cond::Absent, None).await.unwrap();
    watched.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_of_a_pooler_exclude_each_other() {
    let postgres = Postgres::start().await;
    let bouncer = PgBouncer::start(&postgres, PoolMode::Transaction).await;
    let inside = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (locks, inside) = (open(&bouncer.url()).await.locks, Arc::clone(&inside));
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                let owner = Owner::random();
                let grant = loop {
                    match locks.try_acquire(&waiting("k"), owner).await {
                        Ok(grant) => break grant,
                        Err(_) => locks.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await.unwrap(),
                    }
                };
                assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0, "two holders");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                locks.release(&grant).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_direct_listen_url_wakes_behind_a_pooler() {
    let postgres = Postgres::start().await;
    let bouncer = PgBouncer::start(&postgres, PoolMode::Transaction).await;
    let direct = postgres.url().replace(':', "%3A").replace('/', "%2F").replace('@', "%40");
    let url = format!("{}?listen_url={direct}", bouncer.url());
    hand_over(&url, &url).await;
}

#[tokio::test]
async fn session_mode_refuses_transaction_pooling() {
    let postgres = Postgres::start().await;
    let bouncer = PgBouncer::start(&postgres, PoolMode::Transaction).await;
    let e = refused(&format!("{}?mode=session", bouncer.url())).await;
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    assert!(e.next_step().unwrap().contains("mode=lease"));
    let direct = PgBouncer::start(&postgres, PoolMode::Session).await;
    open(&format!("{}?mode=session", direct.url())).await;
}
