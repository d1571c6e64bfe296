//! `Once`: one recorded result, whoever is killed, stopped, cancelled or cut off.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{
    ChaosStore, Cond, Error, ErrorKind, Key, MemoryStore, Once, Permit, Ran, RecordStore, VALUE_MAX_BYTES, Wait,
};
use stanchion_testkit::eventually;
use tokio::sync::oneshot;

use crate::wire::{Before, Log, PATIENCE, Process, Wire};

const LEASE: Duration = Duration::from_millis(400);

fn key() -> Key {
    Key::new("schema").unwrap()
}

/// Where `Once` keeps the record of `key()`.
fn record_key() -> Key {
    Key::from_store("\u{1}once/schema").unwrap()
}

fn once(store: impl RecordStore) -> Once {
    Once::new(store).lease(LEASE).unwrap()
}

/// A caller in a task of its own, whose initialiser returns `name`.
fn caller(once: &Once, log: &Log, name: &'static str) -> tokio::task::JoinHandle<Bytes> {
    let (once, log) = (once.clone(), log.clone());
    tokio::spawn(async move {
        let init = async |_: Permit| {
            log.add(name);
            Ok(name.into())
        };
        once.run(&key(), init).await.unwrap()
    })
}

async fn until_busy(store: &MemoryStore) {
    eventually(PATIENCE, "somebody is at work", || async { store.get(&record_key()).await.unwrap().is_some() }).await;
}

/// A process that takes the turn, and never ends it.
async fn stuck_process(store: &MemoryStore, log: &Log) -> Process {
    let (once, log) = (once(store.clone()), log.clone());
    let (started, has_started) = oneshot::channel();
    let process = Process::run(async move {
        let init = async |_| {
            log.add("killed");
            started.send(()).unwrap();
            std::future::pending().await
        };
        once.run(&key(), init).await
    });
    has_started.await.unwrap();
    process
}

#[tokio::test]
async fn twenty_callers_run_one_initialiser_and_get_one_result() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let callers: Vec<_> = (0..20).map(|_| caller(&once(store.clone()), &log, "one")).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "one");
    }
    assert_eq!(log.lines(), ["one"]);
    assert_eq!(once(store).get(&key()).await.unwrap().unwrap(), "one");
}

async fn a_killed_initialiser_is_replaced(store: MemoryStore) {
    let log = Log::default();
    let mut process = stuck_process(&store, &log).await;
    let waiting = once(store.clone());
    let callers: Vec<_> = ["a", "b", "c"].map(|name| caller(&waiting, &log, name)).into();
    process.kill();
    let refused = waiting.clone().wait(Wait::No).run(&key(), async |_| panic!("it is not our turn")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Contended, "nothing was given back");
    let mut results = Vec::new();
    for caller in callers {
        results.push(tokio::time::timeout(PATIENCE, caller).await.unwrap().unwrap());
    }
    let recorded = waiting.get(&key()).await.unwrap().unwrap();
    assert!(results.iter().all(|result| *result == recorded), "{results:?} but {recorded:?} is recorded");
    let ran = log.lines();
    assert_eq!(ran.len(), 2, "the killed one, and one other: {ran:?}");
    assert_eq!(ran[1].as_bytes(), recorded);
}

#[tokio::test]
async fn one_waiter_takes_over_from_a_killed_initialiser() {
    a_killed_initialiser_is_replaced(MemoryStore::new()).await;
}

#[tokio::test]
async fn one_waiter_takes_over_also_where_the_store_shows_no_clock() {
    a_killed_initialiser_is_replaced(MemoryStore::without_clock()).await;
}

/// The control of the two above: the usual recipe, a mark that is set before the work. It survives its setter.
#[tokio::test]
async fn control_a_mark_without_a_lease_is_never_initialised_after_a_kill() {
    let (store, log) = (MemoryStore::new(), Log::default());
    async fn mark(store: &MemoryStore, log: &Log, name: &str) -> bool {
        let ours = store.put(&key(), "initialised".into(), Cond::Absent, None).await.is_ok();
        if ours {
            log.add(name);
        }
        ours
    }
    let (started, has_started) = oneshot::channel();
    let mut process = Process::run({
        let (store, log) = (store.clone(), log.clone());
        async move {
            assert!(mark(&store, &log, "killed").await);
            started.send(()).unwrap();
            std::future::pending::<()>().await;
        }
    });
    has_started.await.unwrap();
    process.kill();
    tokio::time::sleep(LEASE * 3).await; // longer than what freed the waiters above
    assert!(!mark(&store, &log, "other").await, "void: the mark went away by itself");
    assert_eq!(log.lines(), ["killed"], "void: somebody finished the work");
}

async fn renewals_outlast_many_leases(store: MemoryStore) {
    let once = once(store.clone());
    let (finish, finished) = oneshot::channel();
    let working = tokio::spawn({
        let once = once.clone();
        async move {
            let init = async |permit: Permit| {
                finished.await.unwrap();
                permit.fence()?;
                Ok("slow".into())
            };
            once.run(&key(), init).await
        }
    });
    until_busy(&store).await;
    let first = store.get(&record_key()).await.unwrap().unwrap().version;
    // One renewal per third of a lease: this is three leases.
    eventually(PATIENCE, "nine renewals", || async {
        let refused = once.clone().wait(Wait::No).run(&key(), async |_| panic!("it is not our turn")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Contended);
        store.get(&record_key()).await.unwrap().unwrap().version.get() >= first.get() + 9
    })
    .await;
    finish.send(()).unwrap();
    assert_eq!(working.await.unwrap().unwrap(), "slow");
}

#[tokio::test]
async fn an_initialiser_may_run_longer_than_its_lease() {
    renewals_outlast_many_leases(MemoryStore::new()).await;
}

#[tokio::test]
async fn an_initialiser_may_run_longer_than_its_lease_where_the_store_shows_no_clock() {
    renewals_outlast_many_leases(MemoryStore::without_clock()).await;
}

#[tokio::test]
async fn a_result_that_arrives_after_a_takeover_is_refused_and_its_caller_is_told() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let wire = Wire::to(&store);
    let stale = tokio::spawn({
        let wire = wire.clone();
        async move {
            let init = async |_| {
                wire.cut(); // the write of the result stays in the wire
                Ok("stale".into())
            };
            once(wire.clone()).run(&key(), init).await
        }
    });
    until_busy(&store).await;
    assert_eq!(caller(&once(store.clone()), &log, "fresh").await.unwrap(), "fresh");
    assert!(!stale.is_finished(), "void: its write was not held back");
    wire.mend();
    let error = stale.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::LeaseLost, Ran::Maybe), "{error}");
    assert_eq!(once(store).get(&key()).await.unwrap().unwrap(), "fresh");
}

/// The control of the one above: the stale one writes over the newest version, as an `UPDATE … WHERE key` does.
#[tokio::test]
async fn control_a_result_that_is_written_blindly_replaces_the_one_others_got() {
    let store = MemoryStore::new();
    let claimed = store.put(&key(), "busy: first".into(), Cond::Absent, None).await.unwrap();
    // The first stands still past its lease; the second takes over, and its caller gets "fresh".
    let taken = store.put(&key(), "busy: second".into(), Cond::Version(claimed), None).await.unwrap();
    store.put(&key(), "fresh".into(), Cond::Version(taken), None).await.unwrap();
    let newest = store.get(&key()).await.unwrap().unwrap().version;
    store.put(&key(), "stale".into(), Cond::Version(newest), None).await.unwrap();
    assert_eq!(store.get(&key()).await.unwrap().unwrap().value, "stale", "void: nothing was overwritten");
}

#[tokio::test]
async fn an_initialiser_that_is_cut_off_is_dropped_before_another_starts() {
    struct Dropped(Log);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let (store, log) = (MemoryStore::new(), Log::default());
    let wire = Wire::to(&store);
    let (started, has_started) = oneshot::channel();
    let cut_off = tokio::spawn({
        let (wire, log) = (wire.clone(), log.clone());
        async move {
            let init = async |permit: Permit| {
                let _dropped = Dropped(log.clone());
                wire.cut();
                started.send(permit).unwrap();
                std::future::pending().await
            };
            once(wire.clone()).run(&key(), init).await
        }
    });
    let permit = has_started.await.unwrap();
    let first = permit.fence().unwrap();
    let init = async |permit: Permit| {
        log.add("second");
        Ok(permit.fence()?.number().to_string().into())
    };
    let second = once(store.clone()).run(&key(), init).await.unwrap();
    let second: u64 = std::str::from_utf8(&second).unwrap().parse().unwrap();
    assert!(second > first.number(), "the tokens of later initialisers are higher");
    assert_eq!(log.lines(), ["dropped", "second"]);
    assert_eq!(permit.lost().await.kind(), ErrorKind::LeaseLost);
    assert_eq!(permit.fence().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(cut_off.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    wire.mend();
    assert_eq!(once(store).get(&key()).await.unwrap().unwrap(), second.to_string());
}

#[tokio::test]
async fn an_error_goes_to_its_caller_and_one_waiter_is_next() {
    let (store, log) = (MemoryStore::new(), Log::default());
    // A lease that outlasts the test: only giving back can free the others.
    let once = Once::new(store.clone());
    let (fail, failed) = oneshot::channel::<()>();
    let first = tokio::spawn({
        let (once, log) = (once.clone(), log.clone());
        async move {
            let init = async |_| {
                log.add("failed");
                failed.await.unwrap();
                Err(Error::new(ErrorKind::Denied, "no rights"))
            };
            once.run(&key(), init).await
        }
    });
    until_busy(&store).await;
    let callers: Vec<_> = ["a", "b", "c"].map(|name| caller(&once, &log, name)).into();
    fail.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap_err().to_string(), "no rights");
    for caller in callers {
        assert_eq!(caller.await.unwrap(), once.get(&key()).await.unwrap().unwrap());
    }
    assert_eq!(log.lines().len(), 2, "the failed one, and one other: {:?}", log.lines());
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_the_key_at_once() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let once = Once::new(store.clone());
    let gone = tokio::spawn({
        let once = once.clone();
        async move { once.run(&key(), async |_| std::future::pending().await).await }
    });
    until_busy(&store).await;
    gone.abort();
    let next = tokio::time::timeout(PATIENCE, caller(&once, &log, "next"));
    assert_eq!(next.await.expect("before the lease of 30 s ends").unwrap(), "next");
}

#[tokio::test]
async fn a_panic_in_the_initialiser_frees_the_key_at_once() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let once = Once::new(store.clone());
    let panicked = tokio::spawn({
        let once = once.clone();
        async move { once.run(&key(), async |_| panic!("as planned")).await }
    });
    assert!(panicked.await.unwrap_err().is_panic());
    let next = tokio::time::timeout(PATIENCE, caller(&once, &log, "next"));
    assert_eq!(next.await.expect("before the lease of 30 s ends").unwrap(), "next");
}

#[tokio::test]
async fn the_wait_is_bounded_and_says_who_is_at_work() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let _process = stuck_process(&store, &log).await;
    let impatient = once(store).wait(Wait::For(LEASE * 2));
    let error = impatient.run(&key(), async |_| panic!("it is not our turn")).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Contended, Ran::No));
    assert_eq!(error.holder().unwrap().identity.pid, std::process::id());
    assert_eq!(log.lines(), ["killed"]);
}

#[tokio::test]
async fn forget_starts_anew_and_tells_the_one_at_work() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let once = once(store.clone());
    let working = tokio::spawn({
        let once = once.clone();
        async move { once.run(&key(), async |_| std::future::pending().await).await }
    });
    until_busy(&store).await;
    assert!(once.forget(&key()).await.unwrap());
    assert_eq!(working.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(caller(&once, &log, "new").await.unwrap(), "new");
    assert!(once.forget(&key()).await.unwrap());
    assert!(!once.forget(&key()).await.unwrap(), "nothing is left");
    assert_eq!(once.get(&key()).await.unwrap(), None);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_does_not_block_the_next_one() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let deaf = Once::new(ChaosStore::new(store.clone(), "lost=1".parse().unwrap())).wait(Wait::No);
    let error = deaf.run(&key(), async |_| panic!("nobody told us that it is our turn")).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unavailable, Ran::No));
    let next = tokio::time::timeout(PATIENCE, caller(&Once::new(store), &log, "next"));
    assert_eq!(next.await.expect("before the lease of 30 s ends").unwrap(), "next");
}

/// 40 schedules in which answers are lost and requests refused: whatever a caller is told, there is one result.
#[tokio::test]
async fn lost_answers_never_make_a_second_result() {
    let (mut acknowledged, mut refused) = (0, 0);
    for seed in 0..40 {
        let (store, log) = (MemoryStore::new(), Log::default());
        let chaos = format!("error=0.15,lost=0.4,seed={seed}");
        let callers: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| {
                // A lease that outlasts the test: nobody is late here.
                let once = Once::new(ChaosStore::new(store.clone(), chaos.parse().unwrap()));
                let log = log.clone();
                tokio::spawn(async move {
                    let init = async |_| {
                        log.add(name);
                        Ok(name.into())
                    };
                    once.run(&key(), init).await
                })
            })
            .into();
        let mut results = Vec::new();
        for caller in callers {
            results.push(caller.await.unwrap());
        }
        let recorded = Once::new(store).get(&key()).await.unwrap();
        for result in results {
            match result {
                Ok(value) => {
                    acknowledged += 1;
                    assert_eq!(Some(value), recorded, "seed {seed}");
                }
                Err(e) => {
                    refused += 1;
                    assert_eq!(e.kind(), ErrorKind::Unavailable, "seed {seed}: {e}");
                }
            }
        }
    }
    assert!(acknowledged > 100 && refused > 0, "void: {acknowledged} acknowledged, {refused} refused");
}

#[tokio::test]
async fn an_unreadable_record_is_damaged_until_it_is_forgotten() {
    let (store, log) = (MemoryStore::new(), Log::default());
    store.put(&record_key(), "what is this?".into(), Cond::Absent, None).await.unwrap();
    let once = once(store);
    let error = once.run(&key(), async |_| panic!("nobody knows whether it is done")).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Damaged, Ran::No));
    assert!(error.next_step().unwrap().contains("forget"), "{error}");
    assert!(once.forget(&key()).await.unwrap());
    assert_eq!(caller(&once, &log, "new").await.unwrap(), "new");
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_refused_and_the_key_is_free() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let wire = Wire::to(&store);
    let once = Once::new(wire.clone());
    let error = once.run(&key(), async |_| Ok(vec![0; VALUE_MAX_BYTES].into())).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unexpected, Ran::Maybe));
    assert_eq!(caller(&once, &log, "small").await.unwrap(), "small");
    // Claim and deletion of the first, claim and result of the second: nothing else was written.
    assert_eq!(wire.writes.load(Ordering::SeqCst), 4);
}

#[test]
fn a_lease_is_between_fifty_milliseconds_and_a_day_both_included() {
    let day = Duration::from_secs(24 * 60 * 60);
    let one = Duration::from_millis(1);
    for (lease, is_taken) in [(50 * one, true), (day, true), (49 * one, false), (day + one, false)] {
        let made = Once::new(MemoryStore::new()).lease(lease);
        assert_eq!(made.err().map(|e| e.kind()), (!is_taken).then_some(ErrorKind::Invalid), "{lease:?}");
    }
}

/// Whatever stands there is removed; a connection that fails is not tried again behind the caller's back.
#[tokio::test]
async fn forgetting_goes_on_when_somebody_writes_meanwhile_and_not_when_the_connection_fails() {
    let store = MemoryStore::new();
    let wire = Wire::to(&store);
    let once = once(wire.clone());
    once.run(&key(), async |_: Permit| Ok("first".into())).await.unwrap();
    wire.before_delete(Before::Failure);
    assert_eq!(once.forget(&key()).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(once.get(&key()).await.unwrap(), Some("first".into()), "nothing was forgotten");
    wire.before_delete(Before::Rival);
    assert!(once.forget(&key()).await.unwrap(), "there was something");
    assert_eq!(once.get(&key()).await.unwrap(), None);
    assert!(!once.forget(&key()).await.unwrap(), "there is nothing any more");
}
