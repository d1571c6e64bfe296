//! Webhooks: an event is handled once, and a crash in its handler never loses it.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use stanchion_core::{ErrorKind, Fingerprint};
use stanchion_stores::{Inbox, Received};
use stanchion_testkit::engines::Postgres;
use stanchion_testkit::process::{Child, is_helper};
use stanchion_testkit::{eventually, eventually_sync};
use tokio_postgres::Client;

use crate::common::open;
use crate::kills::die;
use crate::postgres::plain;

const PATIENCE: Duration = Duration::from_secs(30);
const ORDERS: &str = "CREATE TABLE orders (number INTEGER NOT NULL)";

fn inbox() -> Inbox {
    Inbox::new("shop", Inbox::HORIZON).unwrap()
}

fn body(text: &str) -> Fingerprint {
    Fingerprint::of_bytes(text.as_bytes())
}

async fn server() -> (Postgres, Client) {
    let server = Postgres::start().await;
    open(&server.url()).await;
    let client = plain(&server.url()).await;
    client.batch_execute(ORDERS).await.unwrap();
    (server, client)
}

fn database(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    db.execute_batch(ORDERS).unwrap();
    stanchion_stores::sqlite::install(&db).unwrap();
    db
}

/// One delivery, as a handler takes it; `dies` before it commits.
async fn deliver(client: &mut Client, id: &str, dies: bool) -> Received {
    let transaction = client.transaction().await.unwrap();
    let received = inbox().receive_in_postgres(&transaction, id, body("paid")).await.unwrap();
    if received == Received::New {
        transaction.execute("INSERT INTO orders VALUES (77)", &[]).await.unwrap();
    }
    if dies {
        die();
    }
    transaction.commit().await.unwrap();
    received
}

async fn orders(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM orders", &[]).await.unwrap().get(0)
}

/// Runs this test once more, and waits for its death.
async fn helper_dies(target: &str) {
    let mut helper = Child::rerun_this_test_with(&[("TARGET", target)]);
    assert!(!helper.wait(PATIENCE).await.success(), "it was to be killed");
}

fn target() -> String {
    std::env::var("TARGET").unwrap()
}

#[tokio::test]
async fn postgres_a_handler_that_dies_loses_nothing() {
    if is_helper() {
        let received = deliver(&mut plain(&target()).await, "evt_1", true).await;
        unreachable!("it was to die: {received:?}");
    }
    let (server, mut client) = server().await;
    helper_dies(&server.url()).await;
    assert_eq!(orders(&client).await, 0);
    assert_eq!(deliver(&mut client, "evt_1", false).await, Received::New, "the next delivery is handled");
    assert_eq!(deliver(&mut client, "evt_1", false).await, Received::Duplicate);
    assert_eq!(orders(&client).await, 1);
}

/// The seed's way: the id is committed first, then the event is handled.
#[tokio::test]
async fn control_postgres_an_id_that_is_remembered_first_loses_the_event() {
    async fn seed(client: &mut Client, dies: bool) -> Received {
        let transaction = client.transaction().await.unwrap();
        let received = inbox().receive_in_postgres(&transaction, "evt_1", body("paid")).await.unwrap();
        transaction.commit().await.unwrap();
        if dies {
            die();
        }
        if received == Received::New {
            client.execute("INSERT INTO orders VALUES (77)", &[]).await.unwrap();
        }
        received
    }
    if is_helper() {
        let received = seed(&mut plain(&target()).await, true).await;
        unreachable!("it was to die: {received:?}");
    }
    let (server, mut client) = server().await;
    helper_dies(&server.url()).await;
    assert_eq!(seed(&mut client, false).await, Received::Duplicate);
    assert_eq!(orders(&client).await, 0, "the event is lost, so the test above can fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_of_twenty_deliveries_at_once_one_is_new() {
    let (server, client) = server().await;
    let mut deliveries = Vec::new();
    for _ in 0..20 {
        let mut client = plain(&server.url()).await;
        deliveries.push(tokio::spawn(async move { deliver(&mut client, "evt_1", false).await }));
    }
    let mut new = 0;
    for delivery in deliveries {
        new += u32::from(delivery.await.unwrap() == Received::New);
    }
    assert_eq!((new, orders(&client).await), (1, 1));
}

#[tokio::test]
async fn postgres_senders_bodies_and_the_horizon() {
    let (_server, mut client) = server().await;
    assert_eq!(deliver(&mut client, "evt_1", false).await, Received::New);
    {
        let transaction = client.transaction().await.unwrap();
        let e = inbox().receive_in_postgres(&transaction, "evt_1", body("refunded")).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::KeyReused, "{e}");
        let e = inbox().receive_in_postgres(&transaction, "", body("")).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        let other = Inbox::new("another shop", Inbox::HORIZON).unwrap();
        let received = other.receive_in_postgres(&transaction, "evt_1", body("refunded")).await.unwrap();
        assert_eq!(received, Received::New);
    }
    let short = Inbox::new("forgetful", Duration::from_millis(200)).unwrap();
    let client = tokio::sync::Mutex::new(client);
    let receive = || async {
        let mut client = client.lock().await;
        let transaction = client.transaction().await.unwrap();
        let received = short.receive_in_postgres(&transaction, "evt_1", body("paid")).await.unwrap();
        transaction.commit().await.unwrap();
        received
    };
    assert_eq!(receive().await, Received::New);
    eventually(PATIENCE, "the horizon passes", || async { receive().await == Received::New }).await;
}

fn deliver_to_file(db: &mut Connection, id: &str, dies: bool) -> Received {
    let transaction = db.transaction().unwrap();
    let received = inbox().receive_in_sqlite(&transaction, id, body("paid")).unwrap();
    if received == Received::New {
        transaction.execute("INSERT INTO orders VALUES (77)", []).unwrap();
    }
    if dies {
        die();
    }
    transaction.commit().unwrap();
    received
}

fn orders_in_file(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn sqlite_a_handler_that_dies_loses_nothing() {
    if is_helper() {
        let received = deliver_to_file(&mut Connection::open(target()).unwrap(), "evt_1", true);
        unreachable!("it was to die: {received:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    helper_dies(path.to_str().unwrap()).await;
    assert_eq!(orders_in_file(&db), 0);
    assert_eq!(deliver_to_file(&mut db, "evt_1", false), Received::New, "the next delivery is handled");
    assert_eq!(deliver_to_file(&mut db, "evt_1", false), Received::Duplicate);
    assert_eq!(orders_in_file(&db), 1);
}

/// The seed's way: the id is committed first, then the event is handled.
#[tokio::test]
async fn control_sqlite_an_id_that_is_remembered_first_loses_the_event() {
    fn seed(db: &mut Connection, dies: bool) -> Received {
        let transaction = db.transaction().unwrap();
        let received = inbox().receive_in_sqlite(&transaction, "evt_1", body("paid")).unwrap();
        transaction.commit().unwrap();
        if dies {
            die();
        }
        if received == Received::New {
            db.execute("INSERT INTO orders VALUES (77)", []).unwrap();
        }
        received
    }
    if is_helper() {
        let received = seed(&mut Connection::open(target()).unwrap(), true);
        unreachable!("it was to die: {received:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    helper_dies(path.to_str().unwrap()).await;
    assert_eq!(seed(&mut db, false), Received::Duplicate);
    assert_eq!(orders_in_file(&db), 0, "the event is lost, so the test above can fail");
}

#[test]
fn sqlite_senders_bodies_and_the_horizon() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = database(&folder.path().join("app.db"));
    assert_eq!(deliver_to_file(&mut db, "evt_1", false), Received::New);
    {
        let transaction = db.transaction().unwrap();
        let e = inbox().receive_in_sqlite(&transaction, "evt_1", body("refunded")).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::KeyReused, "{e}");
        let other = Inbox::new("another shop", Inbox::HORIZON).unwrap();
        assert_eq!(other.receive_in_sqlite(&transaction, "evt_1", body("refunded")).unwrap(), Received::New);
    }
    let short = Inbox::new("forgetful", Duration::from_millis(200)).unwrap();
    let mut receive = || {
        let transaction = db.transaction().unwrap();
        let received = short.receive_in_sqlite(&transaction, "evt_1", body("paid")).unwrap();
        transaction.commit().unwrap();
        received
    };
    assert_eq!(receive(), Received::New);
    eventually_sync(PATIENCE, "the horizon passes", || receive() == Received::New);
}

#[test]
fn a_horizon_out_of_range_is_refused() {
    for horizon in [Duration::ZERO, Duration::from_secs(367 * 24 * 3600)] {
        let e = Inbox::new("shop", horizon).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        assert!(e.next_step().unwrap().contains("366 days"), "{e:?}");
    }
}
