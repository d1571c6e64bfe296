//! Turns, as `Once` takes them, where the store fails at a chosen moment: what is tried again, told, and given back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    BootTime, Capability, Clock, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Once, Page, Permit, Ran,
    Record, RecordStore, Result, VALUE_MAX_BYTES, Version, Wait,
};
use stanchion_testkit::eventually;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::wire::PATIENCE;

/// The runtime's time, which passes only where all wait.
#[derive(Debug)]
struct Runtime(Instant);

impl Clock for Runtime {
    fn now(&self) -> BootTime {
        BootTime::from_boot(self.0.elapsed())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Get,
    Put,
    Delete,
    Changed,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    /// It is not sent.
    Fails(ErrorKind),
    /// It is done, and nobody says so.
    LosesItsAnswer,
    /// It is not sent, and nothing is answered.
    Hangs,
    /// It is done, and nothing is answered.
    ArrivesAndHangs,
    /// It is done after this long.
    Takes(Duration),
}

/// A store in memory behind a connection whose next requests have a fate.
#[derive(Debug, Clone, Default)]
struct Scripted {
    store: MemoryStore,
    script: Arc<Mutex<VecDeque<(Op, Fate)>>>,
    asked: Arc<Mutex<Vec<Op>>>,
}

impl Scripted {
    /// The next requests of the kind `op` have these fates, and later ones arrive.
    fn next(&self, op: Op, fates: &[Fate]) {
        self.script.lock().unwrap().extend(fates.iter().map(|fate| (op, *fate)));
    }

    fn asked(&self) -> Vec<Op> {
        self.asked.lock().unwrap().clone()
    }

    fn count(&self, op: Op) -> usize {
        self.asked().iter().filter(|asked| **asked == op).count()
    }

    async fn is_free(&self) -> bool {
        self.store.get(&record_key()).await.unwrap().is_none()
    }

    async fn pass<T>(&self, op: Op, request: impl Future<Output = Result<T>>) -> Result<T> {
        let fate = {
            self.asked.lock().unwrap().push(op);
            let mut script = self.script.lock().unwrap();
            let at = script.iter().position(|(scripted, _)| *scripted == op);
            at.and_then(|at| script.remove(at)).map_or(Fate::Arrives, |(_, fate)| fate)
        };
        match fate {
            Fate::Arrives => {}
            Fate::Fails(kind) => return Err(Error::new(kind, "as the test wants it")),
            Fate::LosesItsAnswer => {
                request.await?;
                return Err(Error::new(ErrorKind::OutcomeUnknown, "the answer is lost"));
            }
            Fate::Hangs => std::future::pending().await,
            Fate::ArrivesAndHangs => {
                request.await?;
                return std::future::pending().await;
            }
            Fate::Takes(time) => tokio::time::sleep(time).await,
        }
        request.await
    }
}

#[async_trait]
impl RecordStore for Scripted {
    fn capability(&self) -> Capability {
        self.store.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.pass(Op::Get, self.store.get(key)).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.store.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.pass(Op::Put, self.store.put(key, value, cond, ttl)).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.pass(Op::Delete, self.store.delete(key, cond)).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.store.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.pass(Op::Changed, self.store.changed(key, since, until)).await
    }
}

fn key() -> Key {
    Key::new("schema").unwrap()
}

fn record_key() -> Key {
    Key::from_store("\u{1}once/schema").unwrap()
}

async fn run(once: &Once) -> Result<Bytes> {
    once.run(&key(), async |_: Permit| Ok("ours".into())).await
}

/// Somebody else, with a connection of its own, at work until it is told to finish.
struct Other {
    finish: oneshot::Sender<()>,
    working: JoinHandle<Result<Bytes>>,
}

impl Other {
    async fn at_work(store: &MemoryStore) -> Self {
        let (started, has_started) = oneshot::channel();
        let (finish, finished) = oneshot::channel();
        let once = Once::new(store.clone());
        let working = tokio::spawn(async move {
            let init = async |_: Permit| {
                started.send(()).unwrap();
                finished.await.unwrap();
                Ok("theirs".into())
            };
            once.run(&key(), init).await
        });
        has_started.await.unwrap();
        Self { finish, working }
    }

    async fn finish(self) {
        self.finish.send(()).unwrap();
        assert_eq!(self.working.await.unwrap().unwrap(), "theirs");
    }
}

/// A caller that waits for [`Other`].
async fn waiting(store: &Scripted) -> JoinHandle<Result<Bytes>> {
    let once = Once::new(store.clone());
    let caller = tokio::spawn(async move { run(&once).await });
    eventually(PATIENCE, "it waits", || async { store.count(Op::Changed) >= 1 }).await;
    caller
}

#[tokio::test]
async fn what_fails_before_anything_was_asked_for_is_told_at_once() {
    for kind in [ErrorKind::Unavailable, ErrorKind::Denied] {
        let store = Scripted::default();
        store.next(Op::Get, &[Fate::Fails(kind)]);
        assert_eq!(run(&Once::new(store.clone())).await.unwrap_err().kind(), kind);
        assert_eq!(store.asked(), [Op::Get]);
    }
}

#[tokio::test]
async fn a_claim_that_is_denied_is_told_at_once() {
    let store = Scripted::default();
    store.next(Op::Put, &[Fate::Fails(ErrorKind::Denied)]);
    assert_eq!(run(&Once::new(store.clone())).await.unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(store.asked(), [Op::Get, Op::Put]);
}

#[tokio::test]
async fn a_claim_that_did_not_arrive_is_made_again() {
    let store = Scripted::default();
    store.next(Op::Put, &[Fate::Fails(ErrorKind::Unavailable)]);
    assert_eq!(run(&Once::new(store.clone())).await.unwrap(), "ours");
    assert_eq!(store.asked(), [Op::Get, Op::Put, Op::Get, Op::Put, Op::Put]);
}

#[tokio::test]
async fn who_does_not_wait_claims_once() {
    let store = Scripted::default();
    store.next(Op::Put, &[Fate::Fails(ErrorKind::Unavailable)]);
    let error = run(&Once::new(store.clone()).wait(Wait::No)).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unavailable, Ran::No));
    assert_eq!(store.count(Op::Put), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_not_asked_for_ever() {
    let store = Scripted::default();
    store.next(Op::Put, &[Fate::Fails(ErrorKind::Unavailable); 1000]);
    let error = run(&Once::new(store.clone()).wait(Wait::Forever)).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unavailable, Ran::No));
    assert!(store.count(Op::Put) < 1000);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_recognised_and_kept() {
    let store = Scripted::default();
    store.next(Op::Get, &[Fate::Arrives, Fate::Fails(ErrorKind::Unavailable)]);
    outlasts(store, Duration::from_secs(1), &[Fate::LosesItsAnswer]).await;
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_given_back_when_it_is_denied_later() {
    let store = Scripted::default();
    store.next(Op::Put, &[Fate::LosesItsAnswer, Fate::Fails(ErrorKind::Denied)]);
    assert_eq!(run(&Once::new(store.clone())).await.unwrap_err().kind(), ErrorKind::Denied);
    eventually(PATIENCE, "it is given back before its lease of 30 s ends", || store.is_free()).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_longer_than_its_lease_is_made_again() {
    let (store, lease) = (Scripted::default(), Duration::from_millis(400));
    store.next(Op::Put, &[Fate::Takes(lease * 2)]);
    let init = async |permit: Permit| {
        permit.fence()?;
        Ok("ours".into())
    };
    let once = Once::new(store.clone()).lease(lease).unwrap().clock(Arc::new(Runtime(Instant::now())));
    assert_eq!(once.run(&key(), init).await.unwrap(), "ours");
    assert!(store.count(Op::Get) > 1, "void: the first claim counted");
}

#[tokio::test]
async fn who_waits_outlives_a_look_that_fails_and_is_told_of_one_that_is_denied() {
    for (kind, is_told) in [(ErrorKind::Unavailable, false), (ErrorKind::Denied, true)] {
        let store = Scripted::default();
        let other = Other::at_work(&store.store).await;
        let caller = waiting(&store).await;
        store.next(Op::Get, &[Fate::Fails(kind)]);
        other.finish().await;
        let told = caller.await.unwrap();
        assert_eq!(told.as_ref().err().map(Error::kind), is_told.then_some(kind));
        assert!(is_told || told.unwrap() == "theirs");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_asks_no_more_often_than_something_changes() {
    let store = Scripted::default();
    let other = Other::at_work(&store.store).await;
    let impatient = Once::new(store.clone()).wait(Wait::For(Duration::from_millis(300)));
    assert_eq!(run(&impatient).await.unwrap_err().kind(), ErrorKind::Contended);
    assert_eq!(store.asked(), [Op::Get, Op::Changed, Op::Get]);
    other.finish().await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_whose_holder_is_gone_looks_when_it_has_lapsed_and_not_before() {
    let clock: Arc<dyn Clock> = Arc::new(Runtime(Instant::now()));
    let store = MemoryStore::with_clock(Arc::clone(&clock));
    let [dead, ours] = [(), ()].map(|()| Scripted { store: store.clone(), ..Scripted::default() });
    let once = |store: &Scripted| Once::new(store.clone()).clock(Arc::clone(&clock));
    dead.next(Op::Put, &[Fate::Arrives]);
    dead.next(Op::Put, &[Fate::Hangs; 1000]);
    dead.next(Op::Delete, &[Fate::Hangs; 1000]);
    let (started, has_started) = oneshot::channel();
    let holder = once(&dead);
    let holding = tokio::spawn(async move {
        let init = async |_: Permit| {
            started.send(()).unwrap();
            std::future::pending().await
        };
        holder.run(&key(), init).await
    });
    has_started.await.unwrap();
    assert_eq!(run(&once(&ours).wait(Wait::Forever)).await.unwrap(), "ours");
    assert_eq!(ours.asked(), [Op::Get, Op::Changed, Op::Get, Op::Put, Op::Put]);
    holding.abort();
}

#[tokio::test]
async fn a_store_that_cannot_tell_of_changes_is_looked_at_again() {
    let store = Scripted::default();
    store.next(Op::Changed, &[Fate::Fails(ErrorKind::Unavailable); 3]);
    let other = Other::at_work(&store.store).await;
    let caller = waiting(&store).await;
    eventually(PATIENCE, "it looks again", || async { store.count(Op::Get) > 3 }).await;
    other.finish().await;
    assert_eq!(caller.await.unwrap().unwrap(), "theirs");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_can_never_tell_of_changes_is_looked_at_now_and_then() {
    let store = Scripted::default();
    store.next(Op::Changed, &[Fate::Fails(ErrorKind::Denied); 10_000]);
    let other = Other::at_work(&store.store).await;
    let impatient = Once::new(store.clone()).wait(Wait::For(Duration::from_secs(60)));
    assert_eq!(run(&impatient).await.unwrap_err().kind(), ErrorKind::Contended);
    let looks = store.count(Op::Get);
    assert!((100..1000).contains(&looks), "{looks} looks in a minute");
    other.finish().await;
}

#[tokio::test]
async fn a_permit_is_worth_nothing_when_its_work_has_ended() {
    let mut kept = None;
    let init = async |permit: Permit| {
        kept = Some(permit);
        Ok("ours".into())
    };
    Once::new(MemoryStore::new()).run(&key(), init).await.unwrap();
    let permit = kept.unwrap();
    let error = permit.fence().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
    assert!(error.to_string().contains("it has ended"), "{error}");
    let lost = tokio::time::timeout(PATIENCE, permit.lost()).await.expect("before the lease of 30 s ends");
    assert_eq!(lost.kind(), ErrorKind::LeaseLost);
}

#[tokio::test]
async fn a_result_may_be_as_large_as_fits_and_not_a_byte_larger() {
    // A record of a result begins with four letters, one for its kind, and its owner.
    let most = VALUE_MAX_BYTES - 21;
    for (size, told) in [(most, None), (most + 1, Some(ErrorKind::Unexpected))] {
        let once = Once::new(MemoryStore::new());
        let result = once.run(&key(), async |_: Permit| Ok(vec![7; size].into())).await;
        assert_eq!(result.err().map(|error| error.kind()), told, "{size}");
        let recorded = once.get(&key()).await.unwrap().map(|value| value.len());
        assert_eq!(recorded, told.is_none().then_some(size));
    }
}

#[tokio::test]
async fn who_gives_back_is_done_when_the_store_has_confirmed_it() {
    for fate in [Fate::Takes(Duration::from_millis(300)), Fate::Fails(ErrorKind::Unavailable)] {
        let store = Scripted::default();
        store.next(Op::Delete, &[fate]);
        let failed = async |_: Permit| Err(Error::new(ErrorKind::Denied, "no rights"));
        Once::new(store.clone()).run(&key(), failed).await.unwrap_err();
        assert!(store.is_free().await, "{fate:?}");
    }
}

/// A turn that is claimed and renewed with these fates is kept for longer than its lease. In paused time.
async fn outlasts(store: Scripted, lease: Duration, puts: &[Fate]) {
    store.next(Op::Put, puts);
    let init = async |permit: Permit| {
        tokio::time::sleep(lease * 2).await;
        permit.fence()?;
        Ok("ours".into())
    };
    let once = Once::new(store.clone()).lease(lease).unwrap().clock(Arc::new(Runtime(Instant::now())));
    assert_eq!(once.run(&key(), init).await.unwrap(), "ours", "{puts:?}");
    assert_eq!(store.count(Op::Delete), 0, "nobody gave it back meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_is_made_again_in_time() {
    outlasts(Scripted::default(), Duration::from_secs(3), &[Fate::Arrives, Fate::Hangs]).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_was_lost_is_recognised() {
    outlasts(Scripted::default(), Duration::from_secs(1), &[Fate::Arrives, Fate::LosesItsAnswer]).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_arrived_and_hangs_is_recognised() {
    outlasts(Scripted::default(), Duration::from_secs(3), &[Fate::Arrives, Fate::ArrivesAndHangs]).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_did_not_arrive_is_made_again_and_nobody_looks_first() {
    let store = Scripted::default();
    outlasts(store.clone(), Duration::from_secs(1), &[Fate::Arrives, Fate::Fails(ErrorKind::Unavailable)]).await;
    assert_eq!(store.count(Op::Get), 1, "for the claim");
}

#[tokio::test]
async fn a_result_does_not_replace_the_turn_of_another() {
    let store = MemoryStore::new();
    let (begun, has_begun) = oneshot::channel();
    let init = async |_: Permit| {
        let ours = store.get(&record_key()).await.unwrap().unwrap();
        store.delete(&record_key(), Cond::Version(ours.version)).await.unwrap();
        begun.send(Other::at_work(&store).await).ok().unwrap();
        Ok("ours".into())
    };
    let error = Once::new(store.clone()).run(&key(), init).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::LeaseLost, Ran::Maybe));
    has_begun.await.unwrap().finish().await;
    assert_eq!(Once::new(store.clone()).get(&key()).await.unwrap().unwrap(), "theirs");
}
