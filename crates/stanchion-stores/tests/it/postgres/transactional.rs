//! A claim, the caller's writes and the answer in one transaction.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::claim::{Body, Claim, Event, Outcome, Response};
use stanchion_core::{Call, ClaimId, Cond, ErrorKind, Guard, Page, Policy, Ran, Reply};
use stanchion_stores::InTransaction;
use stanchion_stores::postgres::{claim_in_transaction, claim_in_transaction_of, install_sql};
use stanchion_testkit::engines::Postgres;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio_postgres::Client;

use super::payments::{effect, effects, pay, server, work};
use super::{PATIENCE, open, plain};
use crate::common::transaction::{answer, call, outside, run};
use crate::kills::{Worker, fleet};

#[tokio::test]
async fn killed_workers_leave_exactly_one_effect_for_each_key() {
    if let Some(worker) = Worker::here() {
        return work(worker, true).await;
    }
    let (server, client, records) = server().await;
    let report = fleet(&server.url()).await;
    report.assert_once(&effects(&client).await);
    let claims = records.scan(ClaimId::RECORDS, Page::first(1000)).await.unwrap();
    let states: Vec<_> = claims.iter().map(|(_, record)| Claim::decode(&record.value).unwrap().state.name()).collect();
    assert_eq!(states, vec!["done"; 200], "nothing half-done is left behind");
}

#[tokio::test]
async fn control_an_effect_in_another_transaction_happens_twice() {
    if let Some(worker) = Worker::here() {
        return work(worker, false).await;
    }
    let (server, client, _) = server().await;
    fleet(&server.url()).await.assert_doubled(&effects(&client).await);
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_answered_from_the_record() {
    let (server, client, _) = server().await;
    let upstream = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let proxy = FaultProxy::start(upstream, Protocol::Postgres).await;
    let url = format!("{}?sslmode=disable", server.url_at(proxy.port()));
    for (key, fault, survives) in [("a", Fault::LoseReply, true), ("b", Fault::LoseRequest, false)] {
        let call = call("alice", key, "1");
        let mut broken = plain(&url).await;
        proxy.set_plan(Plan::first("COMMIT", fault));
        let transaction = broken.transaction().await.unwrap();
        let claim = run(claim_in_transaction(&transaction, &call).await.unwrap());
        effect(&transaction, key, "first").await;
        claim.done(&transaction, Outcome::Ok, Response::new("200", "first")).await.unwrap();
        transaction.commit().await.unwrap_err();
        let told = pay(&mut plain(&server.url()).await, &call, "second").await;
        assert_eq!(told, if survives { "first" } else { "second" });
        assert_eq!(effects(&client).await[key], [told]);
    }
}

#[tokio::test]
async fn nothing_is_seen_before_the_commit_and_a_rollback_leaves_the_key_free() {
    let (server, mut client, records) = server().await;
    let (call, other) = (call("alice", "k", "1"), plain(&server.url()).await);
    let id = call.claim_id().unwrap().record_key();
    let transaction = client.transaction().await.unwrap();
    let claim = run(claim_in_transaction(&transaction, &call).await.unwrap());
    effect(&transaction, "k", "undone").await;
    claim.done(&transaction, Outcome::Ok, Response::new("200", "undone")).await.unwrap();
    assert_eq!(records.get(&id).await.unwrap(), None);
    transaction.rollback().await.unwrap();
    assert_eq!(records.get(&id).await.unwrap(), None);
    assert!(effects(&other).await.is_empty());
    assert_eq!(pay(&mut client, &call, "body").await, "body");
    assert_eq!(pay(&mut client, &call, "again").await, "body");
    assert_eq!(effects(&other).await["k"], ["body"]);
}

#[tokio::test]
async fn another_payload_is_refused_and_another_principal_is_another_call() {
    let (_server, mut client, _) = server().await;
    pay(&mut client, &call("alice", "k", "1"), "alice's").await;
    {
        let transaction = client.transaction().await.unwrap();
        let e = claim_in_transaction(&transaction, &call("alice", "k", "2")).await.unwrap_err();
        assert_eq!((e.kind(), e.ran()), (ErrorKind::KeyReused, Ran::No), "{e}");
        assert!(!format!("{e} {e:?}").contains("alice's"), "{e:?}");
    }
    assert_eq!(pay(&mut client, &call("bob", "k", "2"), "bob's").await, "bob's");
    assert_eq!(effects(&client).await["k"].len(), 2);
}

/// Waits until a statement waits for a row that another transaction has.
async fn somebody_waits(client: &Client) {
    eventually(PATIENCE, "the second transaction waits", || async {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_and_then_replays_or_runs() {
    let (server, client, records) = server().await;
    let cases = [("new a", true), ("new b", false), ("tried a", true), ("tried b", false)];
    for (key, commit) in cases {
        let call = call("alice", key, "1");
        if key.starts_with("tried") {
            let claim = outside(&call, PATIENCE);
            let claim = claim.step(Event::NoEffect { by: claim.attempt, response: None }).unwrap();
            records.put(&call.claim_id().unwrap().record_key(), claim.encode(), Cond::Absent, None).await.unwrap();
        }
        let (mut a, mut b) = (plain(&server.url()).await, plain(&server.url()).await);
        let first = a.transaction().await.unwrap();
        let claim = run(claim_in_transaction(&first, &call).await.unwrap());
        let duplicate = {
            let call = call.clone();
            tokio::spawn(async move { pay(&mut b, &call, "second").await })
        };
        somebody_waits(&client).await;
        effect(&first, key, "first").await;
        claim.done(&first, Outcome::Ok, Response::new("200", "first")).await.unwrap();
        if commit {
            first.commit().await.unwrap()
        } else {
            first.rollback().await.unwrap()
        }
        let told = duplicate.await.unwrap();
        assert_eq!(told, if commit { "first" } else { "second" });
        assert_eq!(effects(&client).await[key], [told]);
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_in_progress() {
    let (server, mut client, _) = server().await;
    let call = call("alice", "k", "1");
    let mut other = plain(&server.url()).await;
    let first = client.transaction().await.unwrap();
    let _claim = run(claim_in_transaction(&first, &call).await.unwrap());
    let second = other.transaction().await.unwrap();
    second.batch_execute("SET LOCAL lock_timeout = '50ms'").await.unwrap();
    let e = claim_in_transaction(&second, &call).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InProgress, "{e}");
    assert!(e.next_step().unwrap().contains("roll back"), "{e:?}");
}

#[tokio::test]
async fn a_serialization_failure_is_a_conflict() {
    let (server, mut client, _) = server().await;
    let call = call("alice", "k", "1");
    let mut other = plain(&server.url()).await;
    let late = other.build_transaction().isolation_level(tokio_postgres::IsolationLevel::Serializable);
    let late = late.start().await.unwrap();
    late.query("SELECT count(*) FROM effects", &[]).await.unwrap(); // its view of the world begins here
    pay(&mut client, &call, "body").await;
    let e = claim_in_transaction(&late, &call).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Conflict, Ran::No), "{e}");
    late.rollback().await.unwrap();
    assert_eq!(pay(&mut other, &call, "again").await, "body");
}

#[tokio::test]
async fn what_runs_or_ran_outside_a_transaction_is_respected() {
    let (_server, mut client, records) = server().await;
    let long = Duration::from_secs(3600);
    let dispatched = |claim: &Claim| claim.step(Event::Dispatch { by: claim.attempt }).unwrap();
    type Step<'a> = &'a dyn Fn(Claim) -> Claim;
    let cases: [(&str, Step<'_>, ErrorKind); 3] = [
        ("claimed", &|claim| claim, ErrorKind::InProgress),
        ("dispatched", &|claim| dispatched(&claim), ErrorKind::InProgress),
        (
            "unknown",
            &|claim| dispatched(&claim).step(Event::Doubt { by: claim.attempt, reason: "timeout".into() }).unwrap(),
            ErrorKind::OutcomeUnknown,
        ),
    ];
    for (key, state, kind) in cases {
        let call = call("alice", key, "1");
        let id = call.claim_id().unwrap();
        let claim = state(outside(&call, long));
        assert_eq!(claim.state.name(), key);
        records.put(&id.record_key(), claim.encode(), Cond::Absent, None).await.unwrap();
        let transaction = client.transaction().await.unwrap();
        let e = claim_in_transaction(&transaction, &call).await.unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(&id.to_string()), "the receipt: {e}");
        transaction.rollback().await.unwrap();
        let found = records.get(&id.record_key()).await.unwrap().unwrap();
        assert_eq!(found.value, claim.encode(), "nothing was changed");
    }
    // What was sent and left behind is unknown; what was only claimed is free once its owner was silent for too long.
    for (key, free) in [("claimed and left", true), ("dispatched and left", false)] {
        let call = call("alice", key, "1");
        let claim = outside(&call, Duration::from_millis(50));
        let claim = if free { claim } else { dispatched(&claim) };
        records.put(&call.claim_id().unwrap().record_key(), claim.encode(), Cond::Absent, None).await.unwrap();
        let kind = Arc::new(std::sync::Mutex::new(None));
        let client = Arc::new(tokio::sync::Mutex::new(&mut client));
        eventually(PATIENCE, "its owner was silent for too long", || async {
            let mut client = client.lock().await;
            let transaction = client.transaction().await.unwrap();
            let told = claim_in_transaction(&transaction, &call).await.map(run);
            *kind.lock().unwrap() = told.as_ref().err().map(stanchion_core::Error::kind);
            told.is_ok_and(|_| true) || *kind.lock().unwrap() != Some(ErrorKind::InProgress)
        })
        .await;
        assert_eq!(*kind.lock().unwrap(), (!free).then_some(ErrorKind::OutcomeUnknown), "{key}");
    }
}

#[tokio::test]
async fn a_claim_that_is_committed_without_an_answer_never_runs_again() {
    let (_server, mut client, _) = server().await;
    let mut call = call("alice", "k", "1");
    call.policy = Arc::new(Policy::default().lease(Duration::from_millis(50)).unwrap());
    let transaction = client.transaction().await.unwrap();
    let _forgotten = run(claim_in_transaction(&transaction, &call).await.unwrap());
    effect(&transaction, "k", "done, but nobody said so").await;
    transaction.commit().await.unwrap();
    let client = Arc::new(tokio::sync::Mutex::new(client));
    eventually(PATIENCE, "it is unknown", || async {
        let mut client = client.lock().await;
        let transaction = client.transaction().await.unwrap();
        let kind = claim_in_transaction(&transaction, &call).await.map(drop).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::InProgress | ErrorKind::OutcomeUnknown), "{kind}");
        kind == ErrorKind::OutcomeUnknown
    })
    .await;
}

#[tokio::test]
async fn an_answer_belongs_into_the_transaction_of_its_claim() {
    let (server, mut client, records) = server().await;
    let call = call("alice", "k", "1");
    let id = call.claim_id().unwrap().record_key();
    // A record is there already, so that a write in another transaction would wait for the first one.
    let retryable = outside(&call, PATIENCE);
    let retryable = retryable.step(Event::NoEffect { by: retryable.attempt, response: None }).unwrap();
    records.put(&id, retryable.encode(), Cond::Absent, None).await.unwrap();
    let mut other = plain(&server.url()).await;
    let (right, wrong) = (client.transaction().await.unwrap(), other.transaction().await.unwrap());
    let claim = run(claim_in_transaction(&right, &call).await.unwrap());
    assert_eq!(claim.id(), call.claim_id().unwrap());
    let e = claim.done(&wrong, Outcome::Ok, Response::new("", "")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
    right.rollback().await.unwrap();
    assert_eq!(records.get(&id).await.unwrap().unwrap().value, retryable.encode());
}

#[tokio::test]
async fn the_record_is_an_ordinary_claim_with_the_policys_times() {
    let (server, mut client, records) = server().await;
    let mut call = call("alice", "k", "1");
    let keep = (Duration::from_secs(60), Duration::from_secs(3600));
    call.policy = Arc::new(Policy::default().keep(keep.0, keep.1).unwrap().response_cap(4).unwrap());
    let transaction = client.transaction().await.unwrap();
    let claim = run(claim_in_transaction(&transaction, &call).await.unwrap());
    claim.done(&transaction, Outcome::Failed, Response::new("402", "too much")).await.unwrap();
    transaction.commit().await.unwrap();
    let found = records.get(&call.claim_id().unwrap().record_key()).await.unwrap().unwrap();
    let claim = Claim::decode(&found.value).unwrap();
    assert_eq!((claim.attempt.epoch, claim.effect), (1, stanchion_core::Effect::Transactional));
    assert_eq!(claim.state.lapses_after(), Some(keep.0));
    let left = "SELECT extract(epoch FROM expires - clock_timestamp())::float8 FROM stanchion.records";
    let left: f64 = plain(&server.url()).await.query_one(left, &[]).await.unwrap().get(0);
    assert!((3500.0..=3600.0).contains(&left), "{left}");
    let transaction = client.transaction().await.unwrap();
    match claim_in_transaction(&transaction, &call).await.unwrap() {
        InTransaction::Answer(Outcome::Failed, Response { head, body: Body::Dropped { len: 8, .. } }) => {
            assert_eq!(head, "402");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_guarded_call_of_the_same_key_gets_the_answer_and_the_other_way_round() {
    let (server, mut client, _) = server().await;
    let store = open(&server.url()).await;
    let guard = Guard::new(store.records.unwrap(), store.locks);
    let outside = |key: &str| {
        let mut call = call("alice", key, "1");
        call.policy = Arc::new(Policy::default().effect(stanchion_core::Effect::Idempotent));
        call
    };
    pay(&mut client, &call("alice", "a", "1"), "in a transaction").await;
    let answer = guard.call(&outside("a"), |_| async { unreachable!("it ran already") }).await.unwrap();
    assert!(answer.replayed);
    assert_eq!(answer.reply, Reply::Done(Response::new("200", "in a transaction")));
    let ran = Reply::Done(Response::new("200", "guarded"));
    guard.call(&outside("b"), |_| async { ran }).await.unwrap();
    assert_eq!(pay(&mut client, &call("alice", "b", "1"), "again").await, "guarded");
    assert_eq!(guard.claims().list("", Page::first(10)).await.unwrap().len(), 2);
    assert!(!effects(&client).await.contains_key("b"));
}

#[tokio::test]
async fn a_key_that_is_older_than_what_is_remembered_is_not_run() {
    let (_server, mut client, _) = server().await;
    let mut call = call("alice", "k", "1");
    let (key, fingerprint) = call.key.clone().unwrap();
    call.key = Some((key.first_sent(1_700_000_000_000), fingerprint));
    let transaction = client.transaction().await.unwrap();
    let e = claim_in_transaction(&transaction, &call).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::KeyExpired, "{e}");
}

#[tokio::test]
async fn without_key_schema_or_tables_there_is_a_next_step() {
    let server = Postgres::start().await;
    let mut client = plain(&server.url()).await;
    let call = call("alice", "k", "1");
    {
        let transaction = client.transaction().await.unwrap();
        let e = claim_in_transaction(&transaction, &call).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        assert!(e.next_step().unwrap().contains("install_sql"), "{e:?}");
    }
    client.batch_execute(&install_sql("other").unwrap()).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let keyless = Call::new(call.scope.clone(), Policy::default());
    assert_eq!(claim_in_transaction(&transaction, &keyless).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(claim_in_transaction_of("a;b", &transaction, &call).await.unwrap_err().kind(), ErrorKind::Invalid);
    let claim = run(claim_in_transaction_of("other", &transaction, &call).await.unwrap());
    claim.done(&transaction, Outcome::Ok, Response::new("", "x")).await.unwrap();
    assert_eq!(answer(claim_in_transaction_of("other", &transaction, &call).await.unwrap()), "x");
}

#[tokio::test]
async fn a_record_that_is_no_claim_stops_everything() {
    let (_server, mut client, records) = server().await;
    let call = call("alice", "k", "1");
    records.put(&call.claim_id().unwrap().record_key(), "nonsense".into(), Cond::Absent, None).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    assert_eq!(claim_in_transaction(&transaction, &call).await.unwrap_err().kind(), ErrorKind::Damaged);
}
