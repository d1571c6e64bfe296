//! The record store: sends operations to the worker and waits for changes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Begun, Capability, Cond, Error, ErrorKind, FencingToken, Hold, Key, Page, Purpose, Record, RecordStore, Result,
    Survives, Version,
};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::beside;
use super::database::{Database, Tidy};
use super::fused::Step;
use super::worker::{Answer, Job, Op, Shared, Started, work};
use crate::Durability;
use crate::file::Bell;

/// How long a caller waits for its turn. Only a stopped process at the head of the line, or another
/// program that keeps the database, can make it that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Watchers look by themselves this often: a writer may die between its commit and the bell, a record may
/// expire, and other programs do not ring.
const LOOK: Duration = Duration::from_secs(1);

/// Larger writes are made on the worker's thread: an async caller's thread is not to be held up.
const INLINE_MAX: usize = 64 << 10;

/// How much may stand in the log before it is moved into the database: about SQLite's own 1000 pages.
const TIDY_AFTER: usize = 4 << 20;

/// A page of the log for each b-tree that a small write touches.
const WRITE_COST: usize = 12 << 10;

/// Clones share the connection. Its threads end when the last one is dropped.
#[derive(Debug, Clone)]
pub(super) struct SqliteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    durability: Durability,
    // Before `jobs`: the worker must be the last to let go of the database, because closing it takes time.
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    changed: Arc<Notify>,
    watching: Mutex<bool>,
    /// Bytes written since the log was last tidied.
    written: AtomicUsize,
    tidy: SyncSender<()>,
}

impl SqliteStore {
    pub(super) async fn open(path: &Path, durability: Durability) -> Result<Self> {
        let (jobs, received) = channel();
        let changed = Arc::new(Notify::new());
        let (opened, opening) = oneshot::channel();
        let (wanted, weak) = (path.to_owned(), Arc::downgrade(&changed));
        thread("stanchion-sqlite", move || match Database::open(&wanted, durability) {
            Ok(database) => {
                let path = database.path.clone();
                let shared = Arc::new(Shared { database: Mutex::new(database), queued: AtomicUsize::new(0) });
                if opened.send(Ok((path, Arc::clone(&shared)))).is_ok() {
                    work(&shared, &received, &weak);
                }
            }
            Err(e) => drop(opened.send(Err(e))),
        })?;
        let (path, shared) = opening.await.map_err(|_| gone())??;
        let (tidy, wanted) = sync_channel(1);
        let database = path.clone();
        thread("stanchion-tidy", move || keep_tidy(&database, durability, &wanted))?;
        let (watching, written) = (Mutex::new(false), AtomicUsize::new(0));
        Ok(Self { inner: Arc::new(Inner { path, durability, shared, jobs, changed, watching, written, tidy }) })
    }

    async fn ask(&self, op: Op) -> Result<Answer> {
        // What runs at once never waits, so a busy task would keep its thread from all others.
        // A beginning is followed by another write, which makes way for them.
        if op.writes() && !matches!(op, Op::Begin(_)) {
            tokio::task::yield_now().await;
        } else {
            tokio::task::consume_budget().await;
        }
        let (writes, size) = (op.writes(), op.size());
        let inline = size <= INLINE_MAX
            && !matches!(op, Op::Scan(..))
            && (!writes || self.inner.durability == Durability::Process);
        let answer = match inline.then(|| self.inner.shared.try_now(&op)).flatten() {
            Some(answer) => {
                if writes {
                    self.inner.changed.notify_waiters();
                }
                answer
            }
            None => self.queue(op).await,
        };
        if writes && self.inner.written.fetch_add(size + WRITE_COST, Ordering::Relaxed) > TIDY_AFTER {
            self.inner.written.store(0, Ordering::Relaxed);
            // Full means that it is about to be done.
            self.inner.tidy.try_send(()).ok();
        }
        answer
    }

    /// The first step of a guarded call.
    pub(super) async fn begin(&self, step: Step) -> Result<Begun> {
        match self.ask(Op::Begin(Box::new(step))).await? {
            Answer::Came(came) => came.hand_over().ok_or_else(gone),
            other => Err(unexpected(&other)),
        }
    }

    async fn queue(&self, op: Op) -> Result<Answer> {
        let (reply, answer) = oneshot::channel();
        let started = Started::default();
        self.inner.shared.queued.fetch_add(1, Ordering::AcqRel);
        self.inner.jobs.send(Job { op, reply, started: started.clone() }).map_err(|_| gone())?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_) if started.cancel() => {
                Err(Error::new(ErrorKind::Unavailable, "the database was busy for 30s; nothing was written")
                    .with("path", self.inner.path.display())
                    .hint("look for a stopped process, or another program that keeps the database locked"))
            }
            Err(_) => Err(Error::new(ErrorKind::OutcomeUnknown, "the database has not answered for 30s")
                .with("path", self.inner.path.display())
                .hint("read the record before you try again")),
        }
    }

    /// Starts the thread that listens for other processes' writes, once somebody waits for them.
    fn watch(&self) -> Result<()> {
        let mut watching = self.inner.watching.lock().unwrap_or_else(PoisonError::into_inner);
        if *watching {
            return Ok(());
        }
        let path = beside(&self.inner.path, ".queue");
        let bell = Bell::new(&path).map_err(|e| {
            Error::new(ErrorKind::Unavailable, "cannot watch the database").with("path", path.display()).because(e)
        })?;
        let changed: Weak<Notify> = Arc::downgrade(&self.inner.changed);
        thread("stanchion-watch", move || {
            while bell.wait(LOOK).is_ok() {
                match changed.upgrade() {
                    Some(changed) => changed.notify_waiters(),
                    None => return,
                }
            }
        })?;
        *watching = true;
        Ok(())
    }
}

#[async_trait]
impl RecordStore for SqliteStore {
    fn capability(&self) -> Capability {
        Capability {
            backend: "sqlite",
            hold: Hold::Lease,
            clock: true,
            fair: false,
            shared_between_processes: true,
            purpose: Purpose::Correctness,
            survives: if self.inner.durability == Durability::Power {
                Survives::PowerLoss
            } else {
                Survives::ProcessCrash
            },
            weak: None,
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        match self.ask(Op::Get(key.clone())).await? {
            Answer::Record(record) => Ok(record),
            other => Err(unexpected(&other)),
        }
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        match self.ask(Op::Touch(key.clone(), *token)).await? {
            Answer::Record(record) => Ok(record),
            other => Err(unexpected(&other)),
        }
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        match self.ask(Op::Put(key.clone(), value, cond, ttl)).await? {
            Answer::Version(Some(version)) => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        match self.ask(Op::Delete(key.clone(), cond)).await? {
            Answer::Deleted => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        match self.ask(Op::Scan(prefix.to_owned(), page)).await? {
            Answer::Records(records) => Ok(records),
            other => Err(unexpected(&other)),
        }
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.watch()?;
        loop {
            // Listening begins before the look, so a write in between is not missed.
            let mut written = std::pin::pin!(self.inner.changed.notified());
            written.as_mut().enable();
            let found = match self.ask(Op::Version(key.clone())).await? {
                Answer::Version(version) => version,
                other => return Err(unexpected(&other)),
            };
            // A look now and then also without a sign: the watcher may have gone, and expiry makes none.
            let look = until.min(Instant::now() + LOOK);
            if found != since || (tokio::time::timeout_at(look, written).await.is_err() && look == until) {
                return Ok(());
            }
        }
    }
}

/// Moves the log into the database whenever it is told to. Failing to is no loss: the log grows, and the
/// next time may work.
fn keep_tidy(path: &Path, durability: Durability, wanted: &Receiver<()>) {
    let mut tidy = None;
    while wanted.recv().is_ok() {
        let ran = match &tidy {
            Some(tidy) => Tidy::run(tidy),
            None => Tidy::open(path, durability).and_then(|opened| tidy.insert(opened).run()),
        };
        if let Err(error) = ran {
            tracing::debug!(path = %path.display(), %error, "the log was not moved into the database");
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = std::thread::Builder::new().name(name.into()).spawn(work);
    started
        .map(drop)
        .map_err(|e| Error::new(ErrorKind::Unavailable, "cannot start a thread for the database").because(e))
}

fn gone() -> Error {
    Error::new(ErrorKind::Unexpected, "the database's thread has ended").hint("please report this with the log")
}

fn unexpected(answer: &Answer) -> Error {
    Error::new(ErrorKind::Unexpected, "an answer to another question").with("answer", format_args!("{answer:?}"))
}
