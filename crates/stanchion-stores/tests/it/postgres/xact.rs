//! Locks inside the caller's own transaction.

use std::time::Duration;

use stanchion_core::{ErrorKind, Mode, Wait};
use stanchion_stores::postgres::{install_sql, lock_in_transaction, lock_in_transaction_of};
use stanchion_testkit::engines::Postgres;

use crate::postgres::{key, open, plain};

#[tokio::test]
async fn the_lock_ends_with_the_transaction_and_fences_grow() {
    let server = Postgres::start().await;
    open(&server.url()).await;
    let (mut a, mut b) = (plain(&server.url()).await, plain(&server.url()).await);
    let first = a.transaction().await.unwrap();
    let token = lock_in_transaction(&first, &key("k"), Mode::Exclusive, Wait::No).await.unwrap();
    let second = b.transaction().await.unwrap();
    let e = lock_in_transaction(&second, &key("k"), Mode::Exclusive, Wait::No).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    lock_in_transaction(&second, &key("other"), Mode::Exclusive, Wait::No).await.expect("the transaction goes on");
    first.commit().await.unwrap();
    let next = lock_in_transaction(&second, &key("k"), Mode::Exclusive, Wait::Forever).await.unwrap();
    assert!(next.number() > token.number());
    assert_eq!(second.query_one("SHOW lock_timeout", &[]).await.unwrap().get::<_, String>(0), "0");
}

#[tokio::test]
async fn a_wait_that_runs_out_aborts_the_transaction_and_says_so() {
    let server = Postgres::start().await;
    plain(&server.url()).await.batch_execute(&install_sql("other").unwrap()).await.unwrap();
    let (mut a, mut b) = (plain(&server.url()).await, plain(&server.url()).await);
    let first = a.transaction().await.unwrap();
    lock_in_transaction_of("other", &first, &key("k"), Mode::Shared, Wait::No).await.unwrap();
    let second = b.transaction().await.unwrap();
    lock_in_transaction_of("other", &second, &key("k"), Mode::Shared, Wait::No).await.expect("readers share");
    let wait = Wait::For(Duration::from_millis(100));
    let e = lock_in_transaction_of("other", &second, &key("k"), Mode::Exclusive, wait).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    assert!(e.next_step().unwrap().contains("aborted"), "{e:?}");
    assert!(second.query("SELECT 1", &[]).await.is_err(), "only a rollback is possible");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_lock_is_named() {
    let server = Postgres::start().await;
    open(&server.url()).await;
    let (mut a, mut b) = (plain(&server.url()).await, plain(&server.url()).await);
    let (first, second) = (a.transaction().await.unwrap(), b.transaction().await.unwrap());
    lock_in_transaction(&first, &key("x"), Mode::Exclusive, Wait::No).await.unwrap();
    lock_in_transaction(&second, &key("y"), Mode::Exclusive, Wait::No).await.unwrap();
    let (x, y) = (key("x"), key("y"));
    // The one that is not chosen gets its lock when the other's transaction ends.
    let one = async {
        let got = lock_in_transaction(&first, &y, Mode::Exclusive, Wait::Forever).await;
        first.rollback().await.unwrap();
        got
    };
    let two = async {
        let got = lock_in_transaction(&second, &x, Mode::Exclusive, Wait::Forever).await;
        second.rollback().await.unwrap();
        got
    };
    let (one, two) = tokio::join!(one, two);
    let kinds: Vec<_> = [one, two].into_iter().filter_map(|r| r.err().map(|e| e.kind())).collect();
    assert_eq!(kinds, [ErrorKind::Deadlock]);
}
