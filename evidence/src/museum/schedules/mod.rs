//! Directed schedules: one after the other, on the real thing.

mod gate;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{
    Acquire, BootTime, CasLock, Clock, Fingerprint, Key, LeaseEvent, LeaseMachine, LockBackend, Locks, ManualClock,
    MemoryStore, Owner, Wait,
};
use stanchion_memory::{Compat, Entity, FileMemory, FileOptions, Memory as _, Mutation, Query};
use stanchion_stores::{Durability, FileLocks, Inbox, Received};
use stanchion_testkit::engines::Redis;

pub(super) use self::gate::{one_call_twice_at_the_gate, two_payloads_at_the_gate, two_tenants_at_the_gate};
use super::exhibit::{Broken, Trail};
use super::exhibits::{LockFile, Queue, STALE, Sessions};
use super::explore::BoxFuture;

type Outcome = (Option<Broken>, Trail);

fn request() -> Acquire {
    Acquire::new(Key::new("k").expect("a valid key")).wait(Wait::No)
}

/// A asks, then B: only A gets it.
async fn both_ask(a: &dyn LockBackend, b: &dyn LockBackend, trail: &mut Trail) -> Option<Broken> {
    a.try_acquire(&request(), Owner::random()).await.expect("a free lock");
    trail.step("A takes the lock");
    let second = b.try_acquire(&request(), Owner::random()).await;
    trail.step("B takes the lock");
    second.is_ok().then(|| Broken::new("S1", "A and B hold the lock at the same time"))
}

/// A takes and releases; B gets it.
async fn one_after_the_other(a: &dyn LockBackend, b: &dyn LockBackend, trail: &mut Trail) -> Option<Broken> {
    let grant = a.try_acquire(&request(), Owner::random()).await.expect("a free lock");
    trail.step("A takes the lock");
    a.release(&grant).await.expect("an answer to the release");
    trail.step("A releases, and is told that it worked");
    let second = b.try_acquire(&request(), Owner::random()).await;
    trail.step("B takes the lock");
    second.is_err().then(|| Broken::new("L1", "nobody holds the lock, and B does not get it"))
}

pub(in crate::museum) fn two_sessions() -> BoxFuture<Outcome> {
    Box::pin(async {
        let ([a, b], mut trail) = (Sessions::two(), Trail::default());
        (both_ask(&a, &b, &mut trail).await, trail)
    })
}

pub(in crate::museum) fn session_unlocks() -> BoxFuture<Outcome> {
    Box::pin(async {
        let ([a, b], mut trail) = (Sessions::two(), Trail::default());
        (one_after_the_other(&a, &b, &mut trail).await, trail)
    })
}

/// The holder of a lock file was stopped, or its file system shows an old time of change.
pub(in crate::museum) fn lock_file_looks_old() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (folder, mut trail) = (tempfile::tempdir().expect("a folder"), Trail::default());
        let path = folder.path().join("lock");
        let (a, b) = (LockFile::new(path.clone()), LockFile::new(path.clone()));
        a.try_acquire(&request(), Owner::random()).await.expect("a free lock");
        trail.step("A takes the lock");
        let file = std::fs::File::open(&path).expect("the lock file");
        let touched = file.metadata().and_then(|meta| meta.modified()).expect("a time of change");
        file.set_modified(touched - 2 * STALE).expect("a time of change");
        trail.step("the lock file shows a time of change of 20 s ago");
        let second = b.try_acquire(&request(), Owner::random()).await;
        trail.step("B takes the lock");
        (second.is_ok().then(|| Broken::new("S1", "A and B hold the lock at the same time")), trail)
    })
}

/// A waiter whose session has ended comes to the front of the line.
pub(in crate::museum) fn waiter_without_session() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (clock, mut trail) = (Arc::new(ManualClock::default()), Trail::default());
        let (service, ttl) = (Queue::new(Arc::clone(&clock)), Duration::from_secs(10));
        let request = request().ttl(ttl).expect("a valid ttl");
        let [a, b, c] = [(); 3].map(|()| Owner::random());
        let first = service.try_acquire(&request, a).await.expect("a free lock");
        trail.step("A takes the lock");
        service.try_acquire(&request, b).await.ok();
        trail.step("B waits in line");
        clock.advance(ttl * 9 / 10);
        service.renew(&first, ttl).await;
        trail.step("9 s later A renews");
        service.try_acquire(&request, c).await.ok();
        trail.step("C waits in line");
        clock.advance(ttl * 2 / 10);
        trail.step("2 s later B's session is over");
        service.release(&first).await.ok();
        trail.step("A releases");
        let woken = service.try_acquire(&request, b).await;
        trail.step("B wakes up and asks");
        let next = service.try_acquire(&request, c).await;
        trail.step("C asks");
        let both = woken.is_ok() && next.is_ok();
        (both.then(|| Broken::new("S1", "B and C hold the lock at the same time")), trail)
    })
}

/// Time that nobody sets.
#[derive(Debug)]
struct Steady(Instant);

impl Clock for Steady {
    fn now(&self) -> BootTime {
        BootTime::from_boot(Duration::from_secs(1000) + self.0.elapsed())
    }
}

/// The wall clock is set back while a lease is held. The store has a clock of its own.
pub(in crate::museum) fn wall_clock_is_set_back() -> BoxFuture<Outcome> {
    Box::pin(async {
        let mut trail = Trail::default();
        let backend: Arc<dyn LockBackend> =
            Arc::new(CasLock::new(MemoryStore::with_clock(Arc::new(Steady(Instant::now())))));
        let ttl = Duration::from_millis(50);
        let request = request().ttl(ttl).expect("a valid ttl").needs_progress();
        let lease = Locks::shared(Arc::clone(&backend)).acquire(&request).await.expect("a free lock");
        trail.step("A takes the lock for 50 ms");
        #[cfg(stanchion_museum)]
        stanchion_core::museum::set_wall_clock_back(Duration::from_secs(3600));
        trail.step("the wall clock of its machine is set back by an hour");
        let owner = Owner::random();
        let deadline = Instant::now() + Duration::from_secs(20);
        while backend.try_acquire(&request, owner).await.is_err() {
            assert!(Instant::now() < deadline, "the lease of A never ends at the store");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        trail.step("the lease ends at the store, and B takes the lock");
        let believes = lease.fence().is_ok();
        trail.step("A looks at its clock");
        #[cfg(stanchion_museum)]
        stanchion_core::museum::set_wall_clock_back(Duration::ZERO);
        (believes.then(|| Broken::new("S1", "A still believes that it holds, and B does")), trail)
    })
}

/// The answer to a renewal comes after the lease was over.
pub(in crate::museum) fn renewal_is_late() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (at, mut trail) = (|ms| BootTime::from_boot(Duration::from_millis(ms)), Trail::default());
        let mut lease = LeaseMachine::new(at(0), Duration::from_secs(10), None, false);
        trail.step("A takes the lock for 10 s");
        lease.step(LeaseEvent::Tick, at(9_000));
        trail.step("9 s later it sends a renewal");
        let was_over = !lease.is_valid(at(9_950));
        trail.step("1 s later the lease is over, and A must not act any more");
        lease.step(LeaseEvent::Renewed, at(12_000));
        trail.step("2 s later the answer comes: renewed");
        let revived = was_over && lease.is_valid(at(12_000));
        (revived.then(|| Broken::new("L3", "a lease that was lost is valid again")), trail)
    })
}

/// Somebody removes the lock file, for instance a clean-up of old files.
pub(in crate::museum) fn lock_file_is_replaced() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (folder, mut trail) = (tempfile::tempdir().expect("a folder"), Trail::default());
        let open = || FileLocks::open(folder.path(), Durability::Process).expect("a folder for locks");
        let (a, b) = (open(), open());
        let grant = a.try_acquire(&request(), Owner::random()).await.expect("a free lock");
        a.release(&grant).await.expect("an answer");
        trail.step("A takes the lock and releases it; it keeps the file open for the next time");
        for entry in std::fs::read_dir(folder.path()).expect("the folder").flatten() {
            std::fs::remove_file(entry.path()).ok();
        }
        trail.step("somebody tidies the folder up");
        b.try_acquire(&request(), Owner::random()).await.expect("a free lock");
        trail.step("B takes the lock, in a new file");
        let second = a.try_acquire(&request(), Owner::random()).await;
        trail.step("A takes the lock, in the file that has no name any more");
        (second.is_ok().then(|| Broken::new("S1", "A and B hold the lock at the same time")), trail)
    })
}

pub(in crate::museum) fn redlock_releases() -> BoxFuture<Outcome> {
    Box::pin(async {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(Redis::start().await);
        }
        let nodes: Vec<_> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        let url = format!("redlock://{}/?quarantine=0s&node_timeout=10s", nodes.join(","));
        let open = async || stanchion_stores::open(&url).await.expect("three nodes").locks;
        let (a, b, mut trail) = (open().await, open().await, Trail::default());
        (one_after_the_other(&a, &b, &mut trail).await, trail)
    })
}

/// A webhook is delivered twice.
pub(in crate::museum) fn event_comes_twice() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (folder, mut trail) = (tempfile::tempdir().expect("a folder"), Trail::default());
        let mut db = rusqlite::Connection::open(folder.path().join("shop.db")).expect("a database");
        stanchion_stores::sqlite::install(&db).expect("our tables");
        let (inbox, mut handled) = (Inbox::new("shop", Inbox::HORIZON).expect("a valid inbox"), 0);
        for delivery in ["the event arrives, and is handled", "the sender has lost our answer and sends it again"] {
            let transaction = db.transaction().expect("a transaction");
            let body = Fingerprint::of_bytes(b"paid");
            handled +=
                u32::from(inbox.receive_in_sqlite(&transaction, "e-1", body).expect("an inbox") == Received::New);
            transaction.commit().expect("a commit");
            trail.step(delivery);
        }
        ((handled != 1).then(|| Broken::new("S4", format!("one event is handled {handled} times"))), trail)
    })
}

fn entity(name: &str) -> Mutation {
    Mutation::CreateEntities(vec![Entity { name: name.into(), entity_type: "note".into(), observations: Vec::new() }])
}

fn memory(folder: &Path) -> FileMemory {
    let mut options = FileOptions::default();
    options.compat = Compat::Strict;
    FileMemory::open(folder.join("memory.jsonl"), options).expect("a memory file")
}

/// Two servers with one memory file.
pub(in crate::museum) fn two_memories() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (folder, mut trail) = (tempfile::tempdir().expect("a folder"), Trail::default());
        let (a, b) = (memory(folder.path()), memory(folder.path()));
        let mut acknowledged = 0;
        for (server, name, step) in [(&a, "x", "A adds x"), (&b, "y", "B adds y"), (&a, "z", "A adds z")] {
            acknowledged += usize::from(server.change(entity(name)).await.is_ok());
            trail.step(step);
        }
        let kept = memory(folder.path()).read(Query::All).await.map_or(0, |(found, _)| found.entities.len());
        let lost = Broken::new("S5", format!("{acknowledged} were acknowledged, and {kept} are there"));
        ((kept != acknowledged).then_some(lost), trail)
    })
}

/// A file is replaced by renaming; that works within one file system only.
pub(in crate::museum) fn memory_is_replaced() -> BoxFuture<Outcome> {
    Box::pin(async {
        let (folder, mut trail) = (tempfile::tempdir().expect("a folder"), Trail::default());
        let changed = memory(folder.path()).change(entity("x")).await;
        trail.step("A adds x: writes a new file, and renames it");
        (changed.is_err().then(|| Broken::new("L1", "the rename is refused, and so will be every other")), trail)
    })
}
