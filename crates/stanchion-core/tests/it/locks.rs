//! `Locks` and `Lease` over a backend that the test can slow down, silence and count.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, BootTime, Capability, CasLock, Clock, Error, ErrorKind, Grant, Key, LockBackend, LockInfo, Locks,
    LostReason, ManualClock, MemoryStore, Mode, Owner, Page, Released, Renewal, Result, Wait,
};
use stanchion_testkit::eventually;
use tokio::sync::watch;
use tokio::time::Instant;

/// Long enough that nothing in these tests ends by itself.
const DAY: Duration = Duration::from_secs(24 * 3600);
const SOON: Duration = Duration::from_secs(5);

/// The lease clock follows tokio's paused time, and counts how often it is read.
#[derive(Debug)]
pub(crate) struct TokioClock {
    start: Instant,
    reads: AtomicU32,
}

impl TokioClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), reads: AtomicU32::new(0) })
    }
}

impl Clock for TokioClock {
    fn now(&self) -> BootTime {
        self.reads.fetch_add(1, Ordering::Relaxed);
        BootTime::from_boot(self.start.elapsed())
    }
}

/// What the probe does with an attempt; those that are not in the script pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The store has decided, and its answer stays away until the gate opens.
    Late,
    /// The store has decided, the answer is late, and then it is lost.
    LateAndLost,
    /// The store has decided, and its answer is lost.
    Lost,
    /// Nothing was sent.
    Unavailable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewals {
    Pass,
    Hang,
    Unanswered,
}

/// A lock backend in memory that does what the test says.
#[derive(Debug)]
pub(crate) struct Probe {
    inner: CasLock<MemoryStore>,
    script: Mutex<VecDeque<Answer>>,
    gate: watch::Sender<bool>,
    renewals: Mutex<Renewals>,
    pub(crate) held_back: AtomicUsize,
    attempts: Mutex<Vec<Owner>>,
    withdrawn: Mutex<Vec<Owner>>,
    /// Per key: how many wait now, and the most that ever waited together.
    waits: Mutex<BTreeMap<Key, (usize, usize)>>,
}

impl Probe {
    pub(crate) fn new(clock: &Arc<TokioClock>) -> Arc<Self> {
        Arc::new(Self {
            inner: CasLock::new(MemoryStore::with_clock(Arc::clone(clock) as _)),
            script: Mutex::default(),
            gate: watch::Sender::new(false),
            renewals: Mutex::new(Renewals::Pass),
            held_back: AtomicUsize::new(0),
            attempts: Mutex::default(),
            withdrawn: Mutex::default(),
            waits: Mutex::default(),
        })
    }

    pub(crate) fn answer(&self, script: &[Answer]) {
        self.script.lock().unwrap().extend(script);
    }

    pub(crate) fn open_gate(&self) {
        self.gate.send_replace(true);
    }

    pub(crate) fn waiting(&self, key: &Key) -> usize {
        self.waits.lock().unwrap().get(key).map_or(0, |(now, _)| *now)
    }

    async fn is_free(&self, key: &Key) -> bool {
        let Ok(grant) = self.inner.try_acquire(&request(key).wait(Wait::No), Owner::random()).await else {
            return false;
        };
        self.inner.release(&grant).await.unwrap() == Released::Released
    }

    async fn pass_gate(&self) {
        self.held_back.fetch_add(1, Ordering::SeqCst);
        self.gate.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

#[async_trait]
impl LockBackend for Probe {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        self.attempts.lock().unwrap().push(owner);
        let answer = self.script.lock().unwrap().pop_front();
        if answer == Some(Answer::Unavailable) {
            return Err(Error::new(ErrorKind::Unavailable, "probe: not sent"));
        }
        let decided = self.inner.try_acquire(req, owner).await;
        if matches!(answer, Some(Answer::Late | Answer::LateAndLost)) {
            self.pass_gate().await;
        }
        if matches!(answer, Some(Answer::Lost | Answer::LateAndLost)) {
            return Err(Error::new(ErrorKind::OutcomeUnknown, "probe: the answer is lost"));
        }
        decided
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        struct Waiting<'a>(&'a Probe, &'a Key);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.waits.lock().unwrap().get_mut(self.1).unwrap().0 -= 1;
            }
        }
        {
            let mut waits = self.waits.lock().unwrap();
            let (now, most) = waits.entry(req.key.clone()).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
        let _waiting = Waiting(self, &req.key);
        self.inner.wait(req, owner, until).await
    }

    async fn withdraw(&self, _: &Acquire, owner: Owner) {
        self.withdrawn.lock().unwrap().push(owner);
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        let renewals = *self.renewals.lock().unwrap();
        match renewals {
            Renewals::Pass => self.inner.renew(grant, ttl).await,
            Renewals::Hang => std::future::pending().await,
            Renewals::Unanswered => Renewal::Unknown(Error::new(ErrorKind::OutcomeUnknown, "probe: no answer")),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.inner.release(grant).await
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        self.inner.list(prefix, page).await
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.inner.evict(key).await
    }
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

pub(crate) fn request(key: &Key) -> Acquire {
    Acquire::new(key.clone()).ttl(DAY).unwrap()
}

fn short(key: &Key, ttl_ms: u64) -> Acquire {
    Acquire::new(key.clone()).ttl(Duration::from_millis(ttl_ms)).unwrap()
}

struct Bench {
    clock: Arc<TokioClock>,
    probe: Arc<Probe>,
    locks: Locks,
    key: Key,
}

fn bench() -> Bench {
    let clock = TokioClock::new();
    let probe = Probe::new(&clock);
    let locks = Locks::with_clock(Arc::clone(&probe) as _, Arc::clone(&clock) as _);
    Bench { clock, probe, locks, key: key("budget:atlas-7") }
}

impl Bench {
    async fn becomes_free(&self, reason: &str) {
        eventually(SOON, reason, || self.probe.is_free(&self.key)).await;
    }

    async fn is_held_back(&self, requests: usize) {
        let held_back = || async { self.probe.held_back.load(Ordering::SeqCst) == requests };
        eventually(SOON, "the store has decided and holds its answer back", held_back).await;
    }
}

#[tokio::test(start_paused = true)]
async fn renewal_keeps_a_lease_alive_over_five_ttls() {
    let b = bench();
    let lease = b.locks.acquire(&short(&b.key, 300)).await.unwrap();
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(lease.fence().is_ok());
        assert!(!b.probe.is_free(&b.key).await, "the store still has it for us");
    }
    assert_eq!(lease.release().await.unwrap(), Released::Released);
    assert!(b.probe.is_free(&b.key).await);
}

#[tokio::test(start_paused = true)]
async fn lost_fires_before_the_store_hands_on() {
    for renewals in [Renewals::Hang, Renewals::Unanswered] {
        let b = bench();
        *b.probe.renewals.lock().unwrap() = renewals;
        let started = Instant::now();
        let lease = b.locks.acquire(&short(&b.key, 300)).await.unwrap();
        let (next, wanted) = (b.locks.clone(), short(&b.key, 300));
        let next = tokio::spawn(async move {
            let lease = next.acquire(&wanted).await.unwrap();
            (started.elapsed(), lease)
        });
        assert_eq!(lease.lost().await, LostReason::Expired);
        let told = started.elapsed();
        assert!(!next.is_finished(), "{renewals:?}: told after {told:?}, when the store had handed on");
        assert_eq!(lease.fence().unwrap_err().kind(), ErrorKind::LeaseLost);
        let (handed_on, _other) = next.await.unwrap();
        assert!(told < handed_on && told <= Duration::from_millis(296), "{renewals:?}: {told:?} {handed_on:?}");
        assert!(handed_on >= Duration::from_millis(299), "the store keeps the whole ttl: {handed_on:?}");
        assert_eq!(lease.release().await.unwrap(), Released::NotHeld);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_acquisition_gives_back_the_grant_that_comes_late() {
    let b = bench();
    b.probe.answer(&[Answer::Late]);
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let asking = tokio::spawn(async move { locks.acquire(&wanted).await });
    b.is_held_back(1).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert!(!b.probe.is_free(&b.key).await, "the store has granted it");
    b.probe.open_gate();
    b.becomes_free("the late grant is released").await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_acquisition_gives_back_a_grant_whose_late_answer_is_lost() {
    let b = bench();
    b.probe.answer(&[Answer::LateAndLost]);
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let asking = tokio::spawn(async move { locks.acquire(&wanted).await });
    b.is_held_back(1).await;
    asking.abort();
    b.probe.open_gate();
    b.becomes_free("nobody will ask again with this owner: it has to be given back").await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_acquisition_whose_refusal_comes_late_leaves_the_queue() {
    let b = bench();
    let _held = b.locks.acquire(&request(&b.key)).await.unwrap();
    b.probe.answer(&[Answer::Late]);
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let asking = tokio::spawn(async move { locks.acquire(&wanted).await });
    b.is_held_back(1).await;
    asking.abort();
    b.probe.open_gate();
    let owner = *b.probe.attempts.lock().unwrap().last().unwrap();
    let left = || async { b.probe.withdrawn.lock().unwrap().contains(&owner) };
    eventually(SOON, "a queueing store remembers the refused owner until it is withdrawn", left).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_leaves_the_queue() {
    let b = bench();
    let _held = b.locks.acquire(&request(&b.key)).await.unwrap();
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let asking = tokio::spawn(async move { locks.acquire(&wanted).await });
    eventually(SOON, "it waits", || async { b.probe.waiting(&b.key) == 1 }).await;
    asking.abort();
    let left = || async { b.probe.withdrawn.lock().unwrap().len() == 1 };
    eventually(SOON, "the place in the queue is given up", left).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_lease_releases_in_the_background() {
    let b = bench();
    let lease = b.locks.acquire(&request(&b.key)).await.unwrap();
    drop(lease);
    let next = b.locks.acquire(&request(&b.key).wait(Wait::For(Duration::from_secs(1)))).await;
    assert!(next.is_ok(), "long before the ttl of a day");
}

#[tokio::test(start_paused = true)]
async fn release_after_an_eviction_says_not_held() {
    let b = bench();
    let lease = b.locks.acquire(&request(&b.key)).await.unwrap();
    assert_eq!(b.locks.backend().evict(&b.key).await.unwrap(), Released::Released);
    let other = b.locks.acquire(&request(&b.key)).await.unwrap();
    assert!(other.grant().fence.number() > lease.grant().fence.number());
    assert_eq!(lease.release().await.unwrap(), Released::NotHeld);
    assert_eq!(other.release().await.unwrap(), Released::Released, "the late release has not freed it");
}

#[tokio::test(start_paused = true)]
async fn tasks_of_one_process_are_served_in_order() {
    let b = bench();
    let first = b.locks.acquire(&request(&b.key)).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for n in 0..20 {
        let (locks, wanted, order) = (b.locks.clone(), request(&b.key), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let lease = locks.acquire(&wanted).await.unwrap();
            order.lock().unwrap().push(n);
            tokio::task::yield_now().await;
            lease.release().await.unwrap();
        }));
        tokio::task::yield_now().await; // lets it come to the gate
    }
    first.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_process_has_one_waiter_per_key_in_the_store() {
    let b = bench();
    let keys = [key("a"), key("b")];
    let held = b.locks.acquire_all(&keys.clone().map(|key| request(&key))).await.unwrap();
    let mut tasks = Vec::new();
    for key in keys.iter().cycle().take(20) {
        let (locks, wanted) = (b.locks.clone(), request(key));
        tasks.push(tokio::spawn(async move { locks.acquire(&wanted).await.unwrap().release().await.unwrap() }));
    }
    let waiting = || async { keys.iter().all(|key| b.probe.waiting(key) == 1) };
    eventually(SOON, "both keys are waited for at the same time", waiting).await;
    held.release().await.unwrap();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Released::Released);
    }
    let most: Vec<_> = b.probe.waits.lock().unwrap().values().map(|(_, most)| *most).collect();
    assert_eq!(most, [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_is_asked_again_with_the_same_owner() {
    let b = bench();
    b.probe.answer(&[Answer::Lost, Answer::Lost]);
    let lease = b.locks.acquire(&request(&b.key)).await.unwrap();
    let asked = b.probe.attempts.lock().unwrap().clone();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|owner| *owner == lease.grant().owner), "another owner would wait for itself");
    assert_eq!(b.probe.list("", Page::first(9)).await.unwrap()[0].holders.len(), 1);
    assert_eq!(lease.release().await.unwrap(), Released::Released);
    assert!(b.probe.is_free(&b.key).await);
}

#[tokio::test(start_paused = true)]
async fn a_single_attempt_whose_answer_is_lost_leaves_nothing_held() {
    let b = bench();
    b.probe.answer(&[Answer::Lost]);
    match b.locks.acquire(&request(&b.key).wait(Wait::No)).await {
        Ok(lease) => assert_eq!(lease.release().await.unwrap(), Released::Released),
        Err(error) => assert_eq!(error.kind(), ErrorKind::OutcomeUnknown),
    }
    b.becomes_free("an acquisition that failed holds nothing").await;
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_followed_by_an_outage_leaves_nothing_held() {
    let b = bench();
    b.probe.answer(&[Answer::Lost, Answer::Unavailable]);
    match b.locks.acquire(&request(&b.key)).await {
        Ok(lease) => assert_eq!(lease.release().await.unwrap(), Released::Released),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Unavailable), "{error}"),
    }
    b.becomes_free("the first request was granted; somebody has to give it back").await;
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_dropped_between_two_unanswered_requests_leaves_nothing_held() {
    let b = bench();
    b.probe.answer(&[Answer::Lost; 90]);
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let asking = tokio::spawn(async move { locks.acquire(&wanted).await });
    eventually(SOON, "it asks again and again", || async { b.probe.attempts.lock().unwrap().len() > 3 }).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    b.probe.script.lock().unwrap().clear();
    b.becomes_free("the request that was granted is given back").await;
}

#[tokio::test(start_paused = true)]
async fn the_wait_ends_in_time_when_no_request_is_answered() {
    let b = bench();
    b.probe.answer(&[Answer::Lost; 200]);
    let started = Instant::now();
    let error = b.locks.acquire(&request(&b.key).wait(Wait::For(Duration::from_millis(100)))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert!(started.elapsed() < Duration::from_secs(1), "asked to wait 100 ms, waited {:?}", started.elapsed());
    b.becomes_free("what may have been granted is given back").await;
}

#[tokio::test(start_paused = true)]
async fn readers_share_and_a_writer_waits_for_all_of_them() {
    let b = bench();
    let read = request(&b.key).mode(Mode::Shared).unwrap();
    let readers = [b.locks.acquire(&read).await.unwrap(), b.locks.acquire(&read).await.unwrap()];
    let refused = b.locks.acquire(&request(&b.key).wait(Wait::No)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
    let (locks, wanted) = (b.locks.clone(), request(&b.key));
    let writer = tokio::spawn(async move { locks.acquire(&wanted).await.unwrap() });
    for reader in readers {
        eventually(SOON, "the writer waits", || async { b.probe.waiting(&b.key) == 1 }).await;
        assert!(!writer.is_finished());
        reader.release().await.unwrap();
    }
    let writer = writer.await.unwrap();
    assert_eq!(b.locks.acquire(&read.wait(Wait::No)).await.unwrap_err().kind(), ErrorKind::Contended);
    writer.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn slots_admit_as_many_as_there_are() {
    let b = bench();
    let slot = request(&b.key).mode(Mode::Slots(3)).unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(b.locks.acquire(&slot).await.unwrap());
    }
    assert_eq!(b.locks.acquire(&slot.clone().wait(Wait::No)).await.unwrap_err().kind(), ErrorKind::Contended);
    let locks = b.locks.clone();
    let fourth = tokio::spawn(async move { locks.acquire(&slot).await.unwrap() });
    eventually(SOON, "the fourth waits", || async { b.probe.waiting(&b.key) == 1 }).await;
    held.pop().unwrap().release().await.unwrap();
    fourth.await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_sorted_and_taken_once_in_the_stronger_mode() {
    let b = bench();
    let shared = request(&key("b")).mode(Mode::Shared).unwrap();
    let wanted = [request(&key("c")), shared.clone(), request(&key("a")), request(&key("b")), shared];
    let leases = b.locks.acquire_all(&wanted).await.unwrap();
    let taken: Vec<_> = leases.iter().map(|lease| (lease.grant().key.as_str(), lease.grant().mode)).collect();
    assert_eq!(taken, [("a", Mode::Exclusive), ("b", Mode::Exclusive), ("c", Mode::Exclusive)]);
    assert_eq!(leases.release().await.unwrap(), Released::Released);
}

#[tokio::test(start_paused = true)]
async fn a_key_asked_for_twice_is_taken_above_the_higher_floor() {
    let b = bench();
    let wanted = [request(&b.key), request(&b.key).floor(1_000)];
    let leases = b.locks.acquire_all(&wanted).await.unwrap();
    assert!(leases.iter().all(|lease| lease.grant().fence.number() > 1_000), "{leases:?}");
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_all_or_nothing() {
    let b = bench();
    let held = b.locks.acquire(&request(&key("b"))).await.unwrap();
    let wanted = ["c", "b", "a"].map(|name| request(&key(name)).wait(Wait::For(Duration::from_millis(50))));
    let refused = b.locks.acquire_all(&wanted).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
    assert!(refused.to_string().contains("key: b"), "{refused}");
    assert!(b.probe.is_free(&key("a")).await && b.probe.is_free(&key("c")).await, "given back before the answer");
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_keys_in_both_orders_a_thousand_times_never_dead_lock() {
    let locks = Locks::new(CasLock::new(MemoryStore::new()));
    let (inside, sections) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let tasks = [["a", "b"], ["b", "a"]].map(|order| {
        let (locks, inside, sections) = (locks.clone(), Arc::clone(&inside), Arc::clone(&sections));
        let wanted = order.map(|name| request(&key(name)));
        tokio::spawn(async move {
            for _ in 0..1_000 {
                let leases = locks.acquire_all(&wanted).await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone inside");
                sections.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(leases.release().await.unwrap(), Released::Released);
            }
        })
    });
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(60), task).await.expect("no dead-lock").unwrap();
    }
    assert_eq!(sections.load(Ordering::SeqCst), 2_000);
}

#[tokio::test(start_paused = true)]
async fn work_under_a_lease_is_dropped_when_the_lock_is_evicted() {
    struct SetOnDrop(Arc<AtomicBool>);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let b = bench();
    let (dropped, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (locks, wanted) = (b.locks.clone(), short(&b.key, 300));
    let (guard, begun) = (SetOnDrop(Arc::clone(&dropped)), Arc::clone(&started));
    let work = tokio::spawn(async move {
        let endless = async |_: stanchion_core::Fence<'_>| {
            let _guard = guard;
            begun.store(true, Ordering::SeqCst);
            std::future::pending::<()>().await;
        };
        locks.with_lease(&wanted, endless).await
    });
    eventually(SOON, "the work has begun", || async { started.load(Ordering::SeqCst) }).await;
    b.locks.backend().evict(&b.key).await.unwrap();
    let error = tokio::time::timeout(Duration::from_secs(10), work).await.expect("told in time").unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
    assert!(error.to_string().contains("taken"), "{error}");
    assert!(dropped.load(Ordering::SeqCst), "the work was dropped");
    b.becomes_free("nothing is left").await;
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_without_its_lock_is_no_success() {
    let b = bench();
    let (backend, wanted) = (Arc::clone(b.locks.backend()), request(&b.key));
    let evicting = b.locks.with_lease(&wanted, async |fence| backend.evict(fence.key()).await.unwrap());
    assert_eq!(evicting.await.unwrap_err().kind(), ErrorKind::LeaseLost);
}

#[tokio::test(start_paused = true)]
async fn max_hold_ends_a_lease_and_a_stuck_holder_loses_one_that_needs_progress() {
    let b = bench();
    let started = Instant::now();
    let lease = b.locks.acquire(&short(&b.key, 300).max_hold(Duration::from_secs(2)).unwrap()).await.unwrap();
    assert_eq!(lease.lost().await, LostReason::MaxHold);
    assert_eq!(started.elapsed().as_secs(), 2);
    drop(lease);

    let lease = b.locks.acquire(&short(&b.key, 300).needs_progress()).await.unwrap();
    for _ in 0..30 {
        lease.progress();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(lease.fence().is_ok(), "it reports progress and lives over five ttls");
    let stuck = Instant::now();
    assert_eq!(lease.lost().await, LostReason::Expired);
    assert!(stuck.elapsed() <= Duration::from_millis(600), "{:?}", stuck.elapsed());
}

#[tokio::test]
async fn progress_may_be_reported_from_any_thread() {
    let clock = Arc::new(ManualClock::default());
    let locks = Locks::with_clock(Probe::new(&TokioClock::new()), Arc::clone(&clock) as _);
    let lease = locks.acquire(&request(&key("a")).needs_progress()).await.unwrap();
    let before = lease.valid_until().unwrap();
    clock.advance(DAY / 2); // a renewal is due, and waits for progress
    let reported = std::thread::scope(|scope| scope.spawn(|| lease.progress()).join());
    assert!(reported.is_ok(), "work off the runtime (on a thread pool, say) may report progress, too");
    eventually(SOON, "the lease is renewed", || async { lease.valid_until() > Some(before) }).await;
}

#[tokio::test(start_paused = true)]
async fn frequent_progress_does_not_pile_up_work() {
    let b = bench();
    let lease = b.locks.acquire(&short(&b.key, 300).needs_progress()).await.unwrap();
    for _ in 0..1_000 {
        lease.progress();
    }
    // One ttl later the first renewal is over, and a quiet lease is looked at a few times per ttl.
    tokio::time::sleep(Duration::from_millis(150)).await;
    lease.progress();
    let before = b.clock.reads.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(150)).await;
    let looks = b.clock.reads.load(Ordering::Relaxed) - before;
    assert!(looks < 100, "the keeper looked at its clock {looks} times in half a ttl of one lease");
    assert!(lease.fence().is_ok());
}

#[tokio::test]
async fn a_dead_holder_loses_its_slot_although_others_come_and_go_and_the_store_has_no_clock() {
    let store = MemoryStore::without_clock();
    let slot = short(&key("gpu"), 50).mode(Mode::Slots(2)).unwrap().wait(Wait::No);
    // Three processes: one dies at once, one comes and goes, one comes at the end.
    CasLock::new(store.clone()).try_acquire(&slot, Owner::random()).await.unwrap();
    let (busy, last) = (CasLock::new(store.clone()), CasLock::new(store));
    let end = Instant::now() + slot.ttl * 10;
    while Instant::now() < end {
        let grant = busy.try_acquire(&slot, Owner::random()).await.unwrap();
        busy.release(&grant).await.unwrap();
    }
    busy.try_acquire(&slot, Owner::random()).await.unwrap();
    let second = last.try_acquire(&slot, Owner::random()).await;
    // Only `busy` has watched for ten ttls; it has to know by now, and the record has to say so.
    assert!(second.is_ok(), "the dead holder still counts after ten ttls: {}", second.unwrap_err());
}

mod metrics_names {
    use super::*;
    use metrics_util::MetricKind;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
    use stanchion_core::{Cond, FencingToken, RecordStore, Versioned};

    type Metric = (MetricKind, String, BTreeMap<String, String>, DebugValue);

    fn snapshot(snapshotter: &Snapshotter) -> Vec<Metric> {
        let all = snapshotter.snapshot().into_vec().into_iter();
        all.map(|(key, _, _, value)| {
            let (kind, key) = key.into_parts();
            let labels = key.labels().map(|label| (label.key().to_owned(), label.value().to_owned())).collect();
            (kind, key.name().to_owned(), labels, value)
        })
        .collect()
    }

    /// The sum of a counter or gauge, or the number of entries of a histogram, over all looks: each look takes what
    /// has come since the one before.
    #[track_caller]
    fn sum(metrics: &[Metric], name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |(_, found, have, _): &&Metric| {
            found == name && labels.iter().all(|(k, v)| have.get(*k).is_some_and(|found| found == v))
        };
        let mut found = metrics.iter().filter(fits).peekable();
        assert!(found.peek().is_some(), "no {name} {labels:?}");
        found
            .map(|(.., value)| match value {
                DebugValue::Counter(n) => f64::from(u32::try_from(*n).unwrap()),
                DebugValue::Gauge(n) => n.into_inner(),
                DebugValue::Histogram(all) => f64::from(u32::try_from(all.len()).unwrap()),
            })
            .sum()
    }

    /// Returns what was seen while a task waited.
    async fn exercise(snapshotter: &Snapshotter) -> Vec<Metric> {
        let b = bench();
        let lease = b.locks.acquire(&short(&b.key, 300)).await.unwrap();
        b.locks.acquire(&request(&b.key).wait(Wait::No)).await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(350)).await;
        let (locks, wanted) = (b.locks.clone(), request(&b.key));
        let waiter = tokio::spawn(async move { locks.acquire(&wanted).await.unwrap().release().await.unwrap() });
        eventually(SOON, "it waits", || async { b.probe.waiting(&b.key) == 1 }).await;
        let during = snapshot(snapshotter);
        b.locks.backend().evict(&b.key).await.unwrap();
        assert_eq!(lease.lost().await, LostReason::Taken);
        drop(lease);
        waiter.await.unwrap();
        b.probe.answer(&[Answer::Unavailable]);
        b.locks.acquire(&request(&b.key)).await.unwrap_err();

        let store = MemoryStore::new();
        store.touch(&b.key, &FencingToken::from_parts(9, 1)).await.unwrap();
        store.touch(&b.key, &FencingToken::from_parts(8, 1)).await.unwrap_err();
        let (values, rival) = (Versioned::new(store.clone()), key("balance:atlas-7"));
        let mut raced = false;
        let update = values.update(&rival, |_| {
            if !std::mem::replace(&mut raced, true) {
                // A rival is faster, once. The store never waits, so one poll is enough.
                let put = store.put(&rival, header(), Cond::Absent, None);
                let mut put = std::pin::pin!(put);
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(put.as_mut().poll(&mut cx).is_ready());
            }
            Ok("1".into())
        });
        assert_eq!(update.await.unwrap().conflicts, 1);
        during
    }

    /// A value as `Versioned` writes it: no writers yet.
    fn header() -> bytes::Bytes {
        [b"stv1".as_slice(), &[0; 8 + 8 * 16]].concat().into()
    }

    #[test]
    fn metrics_have_their_names_and_labels_and_never_a_raw_key() {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let mut all = metrics::with_local_recorder(&recorder, || runtime.block_on(exercise(&snapshotter)));
        let class = ("lock_class", "budget:*");
        let gauges =
            |all: &[Metric]| ["stanchion_lock_waiters", "stanchion_lock_held"].map(|name| sum(all, name, &[class]));
        assert_eq!(gauges(&all), [1.0, 1.0], "one waits, one holds");
        all.extend(snapshot(&snapshotter));
        assert_eq!(gauges(&all), [0.0, 0.0], "all have gone");
        let acquisitions = |outcome| {
            sum(&all, "stanchion_lock_acquisitions_total", &[class, ("backend", "memory"), ("outcome", outcome)])
        };
        assert_eq!(["acquired", "busy", "error"].map(acquisitions), [2.0, 1.0, 1.0]);
        let renewals =
            |outcome| sum(&all, "stanchion_lock_renewals_total", &[class, ("backend", "memory"), ("outcome", outcome)]);
        assert!(renewals("renewed") >= 3.0, "three in 350 ms of a ttl of 300 ms");
        assert_eq!(["lost", "unknown"].map(renewals), [1.0, 0.0]);
        let lost = |reason| sum(&all, "stanchion_lock_lost_total", &[class, ("backend", "memory"), ("reason", reason)]);
        assert_eq!(["expired", "taken", "max_hold"].map(lost), [0.0, 1.0, 0.0]);
        assert_eq!(sum(&all, "stanchion_lock_wait_seconds", &[class, ("backend", "memory")]), 4.0);
        assert_eq!(sum(&all, "stanchion_lock_hold_seconds", &[class, ("backend", "memory")]), 2.0);
        assert_eq!(sum(&all, "stanchion_fence_rejected_total", &[]), 1.0);
        assert_eq!(sum(&all, "stanchion_occ_retries_total", &[]), 1.0);
        for (_, name, labels, _) in &all {
            assert!(!labels.values().any(|value| value.contains("atlas")), "{name} {labels:?} names the resource");
        }
    }
}
