//! Claim + lock + mark in one trip, record + release in another: what the conformance suite does not say.

use std::sync::Arc;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Begin, Begun, Call, CallKey, Cond, ErrorKind, Fingerprint, Finish, Finished, Fused, Guard, Idempotency,
    Key, LockBackend, Locks, Mode, Owner, Policy, RecordStore, Released, Renewal, Reply, Scope, Wait,
};
use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
use tokio::time::Instant;

use super::{PATIENCE, key, open, plain, request};

struct Store {
    fused: Arc<dyn Fused>,
    records: Arc<dyn RecordStore>,
    locks: Arc<dyn LockBackend>,
}

async fn store(url: &str) -> Store {
    let opened = open(url).await;
    Store { fused: opened.fused.unwrap(), records: opened.records.unwrap(), locks: opened.locks }
}

fn begin(name: &str, lock: Option<Acquire>) -> Begin {
    let (granted, busy) = ("sent".into(), "claimed".into());
    Begin { key: key(name), cond: Cond::Absent, granted, busy, lock: lock.map(Arc::new), owner: Owner::random() }
}

fn finish(begin: &Begin, begun: &Begun) -> Finish {
    let Begun::Granted { version, grant } = begun else { panic!("{begun:?}") };
    let cond = Cond::Version(*version);
    Finish { key: begin.key.clone(), cond, value: "done".into(), ttl: None, grant: grant.clone() }
}

async fn value(records: &Arc<dyn RecordStore>, name: &Key) -> String {
    String::from_utf8(records.get(name).await.unwrap().unwrap().value.to_vec()).unwrap()
}

#[tokio::test]
async fn only_leases_are_fused() {
    let server = Postgres::start().await;
    assert!(open(&server.url()).await.fused.is_some());
    assert!(open(&format!("{}?mode=session", server.url())).await.fused.is_none());
}

#[tokio::test]
async fn each_step_is_one_round_trip() {
    let server = Postgres::start().await;
    let upstream = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let proxy = FaultProxy::start(upstream, Protocol::Postgres).await;
    let Store { fused, locks, .. } = store(&format!("{}?sslmode=disable", server.url_at(proxy.port()))).await;
    let trips = || proxy.counts().requests;
    for i in 0..20 {
        let begin = begin(&format!("claim{i}"), Some(request("resource")));
        let start = trips();
        let begun = fused.begin(&begin).await.unwrap();
        assert_eq!(trips() - start, 1, "claim, lock and mark");
        let replayed = fused.begin(&begin).await.unwrap();
        assert!(matches!(replayed, Begun::Found(Some(_))));
        assert_eq!(trips() - start, 2, "a repetition finds the record");
        let finished = fused.finish(&finish(&begin, &begun)).await.unwrap();
        assert!(matches!(finished, Finished::Written { released: Some(Released::Released), .. }), "{finished:?}");
        assert_eq!(trips() - start, 3, "record and release");
    }
    // The count is able to see more: the same in separate steps.
    let start = trips();
    let grant = locks.try_acquire(&request("resource"), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();
    assert_eq!(trips() - start, 2);
}

#[tokio::test]
async fn a_guarded_call_with_key_and_lock_is_two_round_trips_and_its_replay_one() {
    let server = Postgres::start().await;
    let upstream = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let proxy = FaultProxy::start(upstream, Protocol::Postgres).await;
    let Store { fused, records, locks } = store(&format!("{}?sslmode=disable", server.url_at(proxy.port()))).await;
    let claims = Idempotency::new(records, Arc::clone(&locks)).fused(fused);
    let guard = Guard::with(claims, Locks::shared(locks));
    for i in 0..10 {
        let scope = Scope::new("alice", "billing", "send").unwrap();
        let call = Call::new(scope, Policy::default().allow_weak())
            .key(CallKey::new(format!("order-{i}")).unwrap(), Fingerprint::of_bytes(b""))
            .lock(request("resource"));
        let start = proxy.counts().requests;
        let answer = guard.call(&call, |_| async { Reply::Done(Response::new("", "sent")) }).await.unwrap();
        assert!(answer.recorded && !answer.replayed);
        assert_eq!(proxy.counts().requests - start, 2);
        let again = guard.call(&call, |_| async { unreachable!("it is not run again") }).await.unwrap();
        assert_eq!(again.reply, answer.reply);
        assert_eq!(proxy.counts().requests - start, 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_clients_begin_and_finish_under_one_lock() {
    let server = Postgres::start().await;
    let url = server.url();
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let Store { fused, .. } = store(&url).await;
        tasks.push(tokio::spawn(async move {
            let mut granted = 0;
            for i in 0..20 {
                let begin = begin(&format!("claim{i}"), Some(request("resource")));
                match fused.begin(&begin).await.unwrap() {
                    begun @ Begun::Granted { .. } => {
                        granted += 1;
                        fused.finish(&finish(&begin, &begun)).await.unwrap();
                    }
                    // Whoever finds the lock taken has the claim all the same.
                    Begun::Busy { .. } => granted += 1,
                    Begun::Found(_) => {}
                }
            }
            granted
        }));
    }
    let mut granted = 0;
    for task in tasks {
        granted += task.await.unwrap();
    }
    assert_eq!(granted, 20, "one per claim");
}

#[tokio::test]
async fn a_finish_hands_the_lock_to_the_next_and_wakes_watchers() {
    let server = Postgres::start().await;
    let (a, b) = (store(&server.url()).await, store(&server.url()).await);
    let begin = begin("claim", Some(request("resource")));
    let begun = a.fused.begin(&begin).await.unwrap();
    let Begun::Granted { version, .. } = &begun else { panic!("{begun:?}") };
    let (next, waiting) = (Owner::random(), Acquire::new(key("resource")).wait(Wait::Forever));
    b.locks.try_acquire(&waiting, next).await.unwrap_err();
    let (records, name, since) = (Arc::clone(&b.records), begin.key.clone(), *version);
    let watched = tokio::spawn(async move { records.changed(&name, Some(since), Instant::now() + PATIENCE).await });
    let sql = "SELECT watched > clock_timestamp() FROM stanchion.records WHERE watched > '-infinity'";
    let bare = plain(&server.url()).await;
    stanchion_testkit::eventually(PATIENCE, "somebody watches", || async {
        bare.query(sql, &[]).await.unwrap().first().is_some_and(|row| row.get(0))
    })
    .await;
    let start = Instant::now();
    a.fused.finish(&Finish { ttl: Some(PATIENCE), ..finish(&begin, &begun) }).await.unwrap();
    watched.await.unwrap().unwrap();
    assert!(start.elapsed() < PATIENCE / 4, "told, not found by a later look: {:?}", start.elapsed());
    b.locks.wait(&waiting, next, Instant::now() + PATIENCE).await.unwrap();
    b.locks.try_acquire(&waiting, next).await.expect("it was reserved for the waiter");
}

#[tokio::test]
async fn a_lost_answer_is_outcome_unknown_and_can_be_taken_back() {
    let server = Postgres::start().await;
    let upstream = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
    let proxy = FaultProxy::start(upstream, Protocol::Postgres).await;
    let Store { fused, records, locks } = store(&format!("{}?sslmode=disable", server.url_at(proxy.port()))).await;
    let begin = begin("claim", Some(request("resource")));
    proxy.set_plan(Plan::first("fused_begin", Fault::LoseReply));
    assert_eq!(fused.begin(&begin).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let record = records.get(&begin.key).await.unwrap().unwrap();
    assert_eq!(record.value, "sent", "it ran");
    let grant = locks.try_acquire(&request("resource"), begin.owner).await.expect("the lock is this owner's");
    proxy.set_plan(Plan::first("fused_finish", Fault::LoseReply));
    let last = Finish {
        key: begin.key.clone(),
        cond: Cond::Version(record.version),
        value: "done".into(),
        ttl: None,
        grant: Some(grant.clone()),
    };
    assert_eq!(fused.finish(&last).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(value(&records, &begin.key).await, "done");
    assert_eq!(locks.release(&grant).await.unwrap(), Released::NotHeld);
}

#[tokio::test]
async fn both_steps_work_through_transaction_pooling() {
    let postgres = Postgres::start().await;
    let bouncer = PgBouncer::start(&postgres, PoolMode::Transaction).await;
    let Store { fused, .. } = store(&bouncer.url()).await;
    for i in 0..10 {
        let begin = begin(&format!("claim{i}"), Some(request("resource")));
        let begun = fused.begin(&begin).await.unwrap();
        fused.finish(&finish(&begin, &begun)).await.unwrap();
    }
}

#[tokio::test]
async fn a_floor_lifts_the_counter_within_a_beginning() {
    let server = Postgres::start().await;
    let Store { fused, records, .. } = store(&server.url()).await;
    let begin = begin("claim", Some(request("resource").floor(5_000_000_000)));
    let begun = fused.begin(&begin).await.unwrap();
    let Begun::Granted { version, grant: Some(grant) } = &begun else { panic!("{begun:?}") };
    assert!(grant.fence.number() > 5_000_000_000);
    let found = records.get(&begin.key).await.unwrap().unwrap();
    assert_eq!((&found.value[..], found.version), (&b"sent"[..], *version));
}

/// The mark and the grant are on disk when the answer comes, also where locks alone would not be.
#[tokio::test]
async fn a_mark_survives_the_kill_of_the_server() {
    let server = Postgres::options().fsync(true).setting("wal_writer_delay=10s").start().await;
    let Store { fused, records, locks } = store(&format!("{}?durability=process", server.url())).await;
    let (mut last, mut forgotten) = (0, 0);
    for round in 0..3 {
        let begin = begin(&format!("claim{round}"), Some(request(&format!("resource{round}"))));
        let begun = fused.begin(&begin).await.unwrap();
        let Begun::Granted { version, grant: Some(grant) } = &begun else { panic!("{begun:?}") };
        assert!(grant.fence.number() > last, "{} after {last}", grant.fence.number());
        // The control: a lock alone is not on disk yet.
        let alone = locks.try_acquire(&request("alone"), Owner::random()).await.unwrap();
        last = alone.fence.number();
        server.kill();
        server.restart().await;
        stanchion_testkit::eventually(PATIENCE, "the store is back", || async {
            records.get(&begin.key).await.is_ok()
        })
        .await;
        let found = records.get(&begin.key).await.unwrap().expect("the mark was acknowledged");
        assert_eq!((&found.value[..], found.version), (&b"sent"[..], *version));
        assert!(matches!(locks.renew(grant, grant.ttl).await, Renewal::Renewed), "and so was the grant");
        forgotten += u32::from(matches!(locks.renew(&alone, alone.ttl).await, Renewal::Lost));
        locks.release(&alone).await.unwrap();
    }
    assert!(forgotten > 0, "this server forgets nothing, so the test says nothing");
}

#[tokio::test]
async fn slots_that_disagree_are_told() {
    let server = Postgres::start().await;
    let Store { fused, locks, .. } = store(&server.url()).await;
    let slots = |n| request("resource").mode(Mode::Slots(n));
    locks.try_acquire(&slots(3).unwrap(), Owner::random()).await.unwrap();
    let begun = fused.begin(&begin("a", Some(slots(4).unwrap()))).await.unwrap();
    assert!(matches!(&begun, Begun::Busy { refused, .. } if refused.kind() == ErrorKind::Invalid), "{begun:?}");
    assert!(matches!(
        fused.begin(&begin("b", Some(slots(3).unwrap()))).await.unwrap(),
        Begun::Granted { grant: Some(_), .. }
    ));
}

/// A database made by the version before these functions gets them, and keeps what it holds.
#[tokio::test]
async fn an_older_schema_is_brought_up_to_date() {
    let server = Postgres::start().await;
    let old = store(&server.url()).await;
    let version = old.records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    let bare = plain(&server.url()).await;
    bare.batch_execute(
        "DROP FUNCTION stanchion.fused_begin, stanchion.fused_finish, stanchion.fused_found;
         UPDATE stanchion.meta SET value = '1' WHERE name = 'schema'",
    )
    .await
    .unwrap();
    let e = old.fused.begin(&begin("claim", None)).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unexpected, "{e}");
    let new = store(&server.url()).await;
    assert_eq!(new.records.get(&key("k")).await.unwrap().unwrap().version, version);
    assert!(matches!(new.fused.begin(&begin("claim", None)).await.unwrap(), Begun::Granted { .. }));
}
