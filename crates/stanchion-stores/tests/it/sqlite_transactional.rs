//! A claim, the caller's writes and the answer in one SQLite transaction.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use stanchion_core::claim::{Body, Claim, Event, Outcome, Response};
use stanchion_core::{Call, ClaimId, Cond, ErrorKind, Guard, Page, Policy, RecordStore, Reply};
use stanchion_stores::InTransaction;
use stanchion_stores::sqlite::{claim_in_transaction, install};
use stanchion_testkit::eventually_sync;

use crate::common::transaction::{answer, call, outside, run};
use crate::kills::{Worker, fleet};

const PATIENCE: Duration = Duration::from_secs(20);

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection
}

/// The application's own database, with our tables in it.
fn database(path: &Path) -> Connection {
    let connection = connect(path);
    connection.execute_batch("CREATE TABLE effects (key TEXT NOT NULL, body TEXT NOT NULL)").unwrap();
    install(&connection).unwrap();
    connection
}

async fn store(path: &Path) -> Arc<dyn RecordStore> {
    stanchion_stores::open(&format!("sqlite:{}", path.display())).await.unwrap().records.unwrap()
}

fn effect(db: &Connection, key: &str, body: &str) {
    db.execute("INSERT INTO effects VALUES (?1, ?2)", params![key, body]).unwrap();
}

fn effects(db: &Connection) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    let mut statement = db.prepare("SELECT key, body FROM effects").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        found.entry(row.get(0).unwrap()).or_default().push(row.get(1).unwrap());
    }
    found
}

/// One try, as an application does it.
fn pay(db: &mut Connection, call: &Call, body: &str) -> String {
    let transaction = db.transaction().unwrap();
    let claim = match claim_in_transaction(&transaction, call).unwrap() {
        InTransaction::Run(claim) => claim,
        known => return answer(known),
    };
    effect(&transaction, call.key.as_ref().unwrap().0.as_str(), body);
    claim.done(&transaction, Outcome::Ok, Response::new("200", body.to_owned())).unwrap();
    transaction.commit().unwrap();
    body.to_owned()
}

fn work(mut worker: Worker, step: fn(&mut Worker, &mut Connection, &str) -> String) {
    let mut db = connect(Path::new(&worker.target));
    for key in worker.keys() {
        let body = step(&mut worker, &mut db, &key);
        worker.answer(&key, &body);
    }
}

fn together(worker: &mut Worker, db: &mut Connection, key: &str) -> String {
    let transaction = db.transaction().unwrap();
    let claim = match claim_in_transaction(&transaction, &call("alice", key, "1")).unwrap() {
        InTransaction::Run(claim) => claim,
        known => return answer(known),
    };
    worker.pass("claimed");
    let body = worker.body();
    effect(&transaction, key, &body);
    worker.pass("written");
    claim.done(&transaction, Outcome::Ok, Response::new("200", body.clone())).unwrap();
    worker.pass("done");
    worker.pass_soon("committing");
    transaction.commit().unwrap();
    worker.pass("committed");
    body
}

/// As in articles: look, act, remember, each on its own.
fn apart(worker: &mut Worker, db: &mut Connection, key: &str) -> String {
    let call = call("alice", key, "1");
    {
        let transaction = db.transaction().unwrap();
        if let known @ InTransaction::Answer(..) = claim_in_transaction(&transaction, &call).unwrap() {
            return answer(known);
        }
    }
    worker.pass("claimed");
    let body = worker.body();
    effect(db, key, &body);
    worker.pass("written");
    let transaction = db.transaction().unwrap();
    let claim = match claim_in_transaction(&transaction, &call).unwrap() {
        InTransaction::Run(claim) => claim,
        known => return answer(known),
    };
    claim.done(&transaction, Outcome::Ok, Response::new("200", body.clone())).unwrap();
    worker.pass("done");
    worker.pass_soon("committing");
    transaction.commit().unwrap();
    worker.pass("committed");
    body
}

#[tokio::test]
async fn killed_workers_leave_exactly_one_effect_for_each_key() {
    if let Some(worker) = Worker::here() {
        return work(worker, together);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let db = database(&path);
    let report = fleet(path.to_str().unwrap()).await;
    report.assert_once(&effects(&db));
    let claims = store(&path).await.scan(ClaimId::RECORDS, Page::first(1000)).await.unwrap();
    let states: Vec<_> = claims.iter().map(|(_, record)| Claim::decode(&record.value).unwrap().state.name()).collect();
    assert_eq!(states, vec!["done"; 200], "nothing half-done is left behind");
}

#[tokio::test]
async fn control_an_effect_in_another_transaction_happens_twice() {
    if let Some(worker) = Worker::here() {
        return work(worker, apart);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let db = database(&path);
    fleet(path.to_str().unwrap()).await.assert_doubled(&effects(&db));
}

#[tokio::test]
async fn nothing_is_seen_before_the_commit_and_a_rollback_leaves_the_key_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let (mut db, store) = (database(&path), store(&path).await);
    let call = call("alice", "k", "1");
    let id = call.claim_id().unwrap().record_key();
    let transaction = db.transaction().unwrap();
    let claim = run(claim_in_transaction(&transaction, &call).unwrap());
    effect(&transaction, "k", "undone");
    claim.done(&transaction, Outcome::Ok, Response::new("200", "undone")).unwrap();
    assert_eq!(store.get(&id).await.unwrap(), None);
    transaction.rollback().unwrap();
    assert_eq!(store.get(&id).await.unwrap(), None);
    assert!(effects(&db).is_empty());
    assert_eq!(pay(&mut db, &call, "body"), "body");
    assert_eq!(pay(&mut db, &call, "again"), "body");
    assert_eq!(effects(&db)["k"], ["body"]);
    // Versions come from the store's one counter.
    let seen = store.get(&id).await.unwrap().unwrap().version;
    let next = store.put(&stanchion_core::Key::new("other").unwrap(), "v".into(), Cond::Absent, None).await.unwrap();
    assert!(next > seen, "{next:?} after {seen:?}");
    assert_eq!(pay(&mut db, &call, "again"), "body");
}

#[test]
fn another_payload_is_refused_and_another_principal_is_another_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = database(&folder.path().join("app.db"));
    pay(&mut db, &call("alice", "k", "1"), "alice's");
    {
        let transaction = db.transaction().unwrap();
        let e = claim_in_transaction(&transaction, &call("alice", "k", "2")).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::KeyReused, "{e}");
        assert!(!format!("{e} {e:?}").contains("alice's"), "{e:?}");
    }
    assert_eq!(pay(&mut db, &call("bob", "k", "2"), "bob's"), "bob's");
    assert_eq!(effects(&db)["k"].len(), 2);
}

#[test]
fn a_duplicate_waits_for_the_first_and_then_replays_or_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    for (key, commit) in [("committed", true), ("rolled back", false)] {
        let call = call("alice", key, "1");
        let transaction = db.transaction().unwrap();
        let claim = run(claim_in_transaction(&transaction, &call).unwrap());
        let (path, same) = (path.clone(), call.clone());
        let asked = Arc::new(std::sync::Barrier::new(2));
        let ready = Arc::clone(&asked);
        let duplicate = std::thread::spawn(move || {
            let mut db = connect(&path);
            ready.wait();
            pay(&mut db, &same, "second")
        });
        asked.wait();
        effect(&transaction, key, "first");
        claim.done(&transaction, Outcome::Ok, Response::new("200", "first")).unwrap();
        if commit {
            transaction.commit().unwrap()
        } else {
            transaction.rollback().unwrap()
        }
        let told = duplicate.join().unwrap();
        assert_eq!(told, if commit { "first" } else { "second" });
        assert_eq!(effects(&db)[key], [told]);
    }
}

/// A call outside any transaction, which may have had its effect.
fn dispatched(call: &Call, lease: Duration) -> Claim {
    let claim = outside(call, lease);
    claim.step(Event::Dispatch { by: claim.attempt }).unwrap()
}

#[tokio::test]
async fn what_runs_or_ran_outside_a_transaction_is_respected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let (mut db, store) = (database(&path), store(&path).await);
    let running = dispatched(&call("alice", "running", "1"), Duration::from_secs(3600));
    let doubt = running.step(Event::Doubt { by: running.attempt, reason: "timeout".into() }).unwrap();
    for (claim, kind) in [(running, ErrorKind::InProgress), (doubt, ErrorKind::OutcomeUnknown)] {
        let call = call("alice", "running", "1");
        let id = call.claim_id().unwrap();
        let cond = store.get(&id.record_key()).await.unwrap().map_or(Cond::Absent, |r| Cond::Version(r.version));
        store.put(&id.record_key(), claim.encode(), cond, None).await.unwrap();
        let transaction = db.transaction().unwrap();
        let e = claim_in_transaction(&transaction, &call).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(&id.to_string()), "the receipt: {e}");
    }
    let left = call("alice", "left", "1");
    let claim = dispatched(&left, Duration::from_millis(50));
    store.put(&left.claim_id().unwrap().record_key(), claim.encode(), Cond::Absent, None).await.unwrap();
    eventually_sync(PATIENCE, "its owner was silent for too long", || {
        let transaction = db.transaction().unwrap();
        let kind = claim_in_transaction(&transaction, &left).map(drop).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::InProgress | ErrorKind::OutcomeUnknown), "{kind}");
        kind == ErrorKind::OutcomeUnknown
    });
}

#[test]
fn a_claim_that_is_committed_without_an_answer_never_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = database(&folder.path().join("app.db"));
    let mut call = call("alice", "k", "1");
    call.policy = Arc::new(Policy::default().lease(Duration::from_millis(50)).unwrap());
    let transaction = db.transaction().unwrap();
    let _forgotten = run(claim_in_transaction(&transaction, &call).unwrap());
    transaction.commit().unwrap();
    eventually_sync(PATIENCE, "it is unknown", || {
        let transaction = db.transaction().unwrap();
        let kind = claim_in_transaction(&transaction, &call).map(drop).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::InProgress | ErrorKind::OutcomeUnknown), "{kind}");
        kind == ErrorKind::OutcomeUnknown
    });
}

#[test]
fn an_answer_belongs_into_the_transaction_of_its_claim() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = database(&folder.path().join("app.db"));
    let call = call("alice", "k", "1");
    let undone = {
        let transaction = db.transaction().unwrap();
        run(claim_in_transaction(&transaction, &call).unwrap())
    };
    // The next attempt gets the version that was rolled back, and is not taken for the first.
    let transaction = db.transaction().unwrap();
    let right = run(claim_in_transaction(&transaction, &call).unwrap());
    let e = undone.done(&transaction, Outcome::Ok, Response::new("", "wrong")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
    right.done(&transaction, Outcome::Ok, Response::new("", "right")).unwrap();
    transaction.commit().unwrap();
    assert_eq!(pay(&mut db, &call, "again"), "right");
}

#[test]
fn a_transaction_that_has_read_before_another_wrote_is_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    let mut late = connect(&path);
    let transaction = late.transaction().unwrap();
    effects(&transaction); // its view of the world begins here
    pay(&mut db, &call("alice", "k", "1"), "body");
    let e = claim_in_transaction(&transaction, &call("alice", "k", "1")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
    assert!(e.next_step().unwrap().contains("BEGIN IMMEDIATE"), "{e:?}");
    transaction.rollback().unwrap();
    assert_eq!(pay(&mut late, &call("alice", "k", "1"), "again"), "body");
}

#[test]
fn a_writer_that_does_not_end_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    let mut other = connect(&path);
    let _busy = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    db.busy_timeout(Duration::from_millis(20)).unwrap();
    let transaction = db.transaction().unwrap();
    let e = claim_in_transaction(&transaction, &call("alice", "k", "1")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
}

#[test]
fn answers_are_kept_as_the_policy_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = database(&folder.path().join("app.db"));
    let mut call = call("alice", "k", "1");
    let keep = (Duration::from_secs(60), Duration::from_secs(3600));
    call.policy = Arc::new(Policy::default().keep(keep.0, keep.1).unwrap().response_cap(4).unwrap());
    let transaction = db.transaction().unwrap();
    let claim = run(claim_in_transaction(&transaction, &call).unwrap());
    claim.done(&transaction, Outcome::Failed, Response::new("402", "too much")).unwrap();
    match claim_in_transaction(&transaction, &call).unwrap() {
        InTransaction::Answer(Outcome::Failed, Response { head, body: Body::Dropped { len: 8, .. } }) => {
            assert_eq!(head, "402");
        }
        other => panic!("{other:?}"),
    }
    let life = "SELECT expires_ms - written_ms FROM stanchion_records";
    assert_eq!(transaction.query_row(life, [], |row| row.get::<_, i64>(0)).unwrap(), 3_600_000);
}

#[tokio::test]
async fn a_guarded_call_of_the_same_key_gets_the_answer_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut db = database(&path);
    let opened = stanchion_stores::open(&format!("sqlite:{}", path.display())).await.unwrap();
    let guard = Guard::new(opened.records.unwrap(), opened.locks);
    pay(&mut db, &call("alice", "a", "1"), "in a transaction");
    let outside = |key: &str| {
        let mut call = call("alice", key, "1");
        call.policy = Arc::default();
        call
    };
    let answer = guard.call(&outside("a"), |_| async { unreachable!("it ran already") }).await.unwrap();
    assert!(answer.replayed);
    assert_eq!(answer.reply, Reply::Done(Response::new("200", "in a transaction")));
    let ran = Reply::Done(Response::new("200", "guarded"));
    guard.call(&outside("b"), |_| async { ran }).await.unwrap();
    assert_eq!(pay(&mut db, &call("alice", "b", "1"), "again"), "guarded");
    assert!(!effects(&db).contains_key("b"));
}

#[test]
fn an_old_key_and_missing_tables_are_told() {
    let mut db = Connection::open_in_memory().unwrap();
    let mut call = call("alice", "k", "1");
    {
        let transaction = db.transaction().unwrap();
        let e = claim_in_transaction(&transaction, &call).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        assert!(e.next_step().unwrap().contains("install"), "{e:?}");
    }
    install(&db).unwrap();
    let (key, fingerprint) = call.key.clone().unwrap();
    call.key = Some((key.first_sent(1_700_000_000_000), fingerprint));
    let transaction = db.transaction().unwrap();
    assert_eq!(claim_in_transaction(&transaction, &call).unwrap_err().kind(), ErrorKind::KeyExpired);
}

/// Our tables may be made inside the caller's transaction, and go with it.
#[test]
fn an_installation_can_be_rolled_back() {
    let mut db = Connection::open_in_memory().unwrap();
    let tables = |db: &Connection| {
        let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name LIKE 'stanchion%'";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let transaction = db.transaction().unwrap();
    install(&transaction).unwrap();
    assert_eq!(tables(&transaction), 2);
    transaction.rollback().unwrap();
    assert_eq!(tables(&db), 0);
    install(&db).unwrap();
    assert_eq!(tables(&db), 2);
}
