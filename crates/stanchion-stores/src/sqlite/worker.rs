//! Running operations: at once on the caller's thread if nobody is in the way, else in the order of their
//! arrival on a thread of our own, where whatever has queued up becomes one transaction.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{Cond, Error, ErrorKind, FencingToken, Key, Page, Record, Result, Version};
use tokio::sync::{Notify, oneshot};

use super::database::{Database, damaged, explain, explain_commit, is_busy, patiently};
use super::fused::{Came, Step};
use super::rows::{Done, Fail, Rows};

/// The most operations in one transaction: enough to share the cost of a commit, few enough to be quick.
const BATCH: usize = 128;

/// Expired records are looked for in every so many transactions.
const REAP_EVERY: u64 = 64;

#[derive(Debug)]
pub(super) enum Op {
    Get(Key),
    Version(Key),
    Touch(Key, FencingToken),
    Put(Key, Bytes, Cond, Option<Duration>),
    Begin(Box<Step>),
    Delete(Key, Cond),
    Scan(String, Page),
}

#[derive(Debug)]
pub(super) enum Answer {
    Record(Option<Record>),
    Version(Option<Version>),
    Deleted,
    Came(Came),
    Records(Vec<(Key, Record)>),
}

impl Op {
    pub(super) const fn writes(&self) -> bool {
        matches!(self, Self::Touch(..) | Self::Put(..) | Self::Begin(_) | Self::Delete(..))
    }

    /// Bytes that this will write, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Put(_, value, ..) => value.len(),
            Self::Begin(step) => step.size(),
            _ => 0,
        }
    }

    fn run(&self, rows: &mut Rows<'_>) -> Done<Answer> {
        match self {
            Self::Get(key) => rows.get(key).map(Answer::Record),
            Self::Version(key) => rows.version(key).map(Answer::Version),
            Self::Touch(key, token) => rows.touch(key, *token).map(Answer::Record),
            Self::Put(key, value, cond, ttl) => {
                rows.put(key, value, *cond, *ttl).map(|version| Answer::Version(Some(version)))
            }
            Self::Begin(step) => step.run(rows).map(Answer::Came),
            Self::Delete(key, cond) => rows.delete(key, *cond).map(|()| Answer::Deleted),
            Self::Scan(prefix, page) => rows.scan(prefix, page).map(Answer::Records),
        }
    }
}

/// An operation that somebody waits for.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) op: Op,
    pub(super) reply: oneshot::Sender<Result<Answer>>,
    pub(super) started: Started,
}

/// Whether an operation has begun; a caller that gives up before knows that nothing ran.
#[derive(Debug, Clone, Default)]
pub(super) struct Started(Arc<AtomicU8>);

impl Started {
    /// Begins, unless the caller has given up.
    fn begin(&self) -> bool {
        self.0.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives up, unless it has begun.
    pub(super) fn cancel(&self) -> bool {
        self.0.compare_exchange(0, 2, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// What the worker shares with the callers.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) database: Mutex<Database>,
    /// Jobs that were sent and not yet answered. Nobody overtakes them.
    pub(super) queued: AtomicUsize,
}

impl Shared {
    /// Runs `op` on this thread, unless that would mean waiting for anybody: then `None`, and nothing ran.
    pub(super) fn try_now(&self, op: &Op) -> Option<Result<Answer>> {
        if self.queued.load(Ordering::Acquire) > 0 {
            return None;
        }
        let mut database = self.database.try_lock().ok()?;
        if op.writes() {
            return match transaction(&mut database, &[op], false) {
                Ok(mut answers) => answers.pop(),
                Err(Failed::Busy) => None,
                Err(Failed::Before(e) | Failed::AtCommit(e)) => Some(Err(e)),
            };
        }
        match run(&mut database, op) {
            Err(Fail::Sql(e)) if is_busy(&e) => None,
            other => Some(other.map_err(|fail| told(&database, fail))),
        }
    }
}

/// Works until nobody can send any more.
pub(super) fn work(shared: &Shared, jobs: &Receiver<Job>, changed: &Weak<Notify>) {
    while let Ok(first) = jobs.recv() {
        let batch: Vec<Job> = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1)).collect();
        let size = batch.len();
        let (writes, reads): (Vec<_>, Vec<_>) =
            batch.into_iter().filter(|job| job.started.begin()).partition(|job| job.op.writes());
        let mut database = shared.database.lock().unwrap_or_else(PoisonError::into_inner);
        // The reads of a batch are concurrent with its writes, so either order is right, and first is faster.
        for job in reads {
            let answer = patiently_run(&mut database, &job.op);
            job.reply.send(answer).ok();
        }
        let wrote = !writes.is_empty();
        if wrote {
            write(&mut database, writes);
        }
        drop(database);
        shared.queued.fetch_sub(size, Ordering::AcqRel);
        if let Some(changed) = changed.upgrade().filter(|_| wrote) {
            changed.notify_waiters();
        }
    }
}

fn run(database: &mut Database, op: &Op) -> Done<Answer> {
    op.run(&mut Rows { db: &database.db, clock: &mut database.clock })
}

fn patiently_run(database: &mut Database, op: &Op) -> Result<Answer> {
    let mut refused = None;
    let done = patiently(|| match run(database, op) {
        Ok(answer) => Ok(Some(answer)),
        Err(Fail::Sql(e)) => Err(e),
        Err(Fail::Refused(e)) => {
            refused = Some(e);
            Ok(None)
        }
    });
    match (done, refused) {
        (Ok(Some(answer)), _) => Ok(answer),
        (Ok(None), Some(e)) => Err(told(database, Fail::Refused(e))),
        (Ok(None), None) => Err(Error::new(ErrorKind::Unexpected, "a read without an answer")),
        (Err(e), _) => Err(told(database, Fail::Sql(e))),
    }
}

fn told(database: &Database, fail: Fail) -> Error {
    match fail {
        Fail::Sql(e) => explain(&database.path, &e),
        Fail::Refused(e) if e.kind() == ErrorKind::Damaged => damaged(&database.path).because(e),
        Fail::Refused(e) => e,
    }
}

/// One transaction for all; if the database fails in it, one for each, so that nobody pays for another's.
fn write(database: &mut Database, jobs: Vec<Job>) {
    let ops: Vec<&Op> = jobs.iter().map(|job| &job.op).collect();
    match transaction(database, &ops, true) {
        Ok(answers) => {
            for (job, answer) in jobs.into_iter().zip(answers) {
                job.reply.send(answer).ok();
            }
        }
        Err(Failed::Before(_)) if jobs.len() > 1 => {
            for job in jobs {
                write(database, vec![job]);
            }
        }
        Err(Failed::Before(e)) => {
            for job in jobs {
                job.reply.send(Err(copy(&e))).ok();
            }
        }
        Err(Failed::AtCommit(e)) => {
            for job in jobs {
                job.reply.send(Err(copy(&e))).ok();
            }
        }
        Err(Failed::Busy) => {
            for job in jobs {
                job.reply.send(Err(Error::new(ErrorKind::Unavailable, "the database is busy"))).ok();
            }
        }
    }
}

fn copy(e: &Error) -> Error {
    let copy = Error::new(e.kind(), e.to_string());
    match e.next_step() {
        Some(hint) => copy.hint(hint.to_owned()),
        None => copy,
    }
}

enum Failed {
    /// Somebody is in the way, and we were not to wait.
    Busy,
    /// Rolled back: nothing ran.
    Before(Error),
    AtCommit(Error),
}

fn transaction(database: &mut Database, ops: &[&Op], wait: bool) -> Result<Vec<Result<Answer>>, Failed> {
    let Database { db, clock, turn, path, transactions } = database;
    let turn = if wait { turn.enter().map_err(Failed::Before)? } else { turn.try_enter().ok_or(Failed::Busy)? };
    let begin = || execute(db, "BEGIN IMMEDIATE");
    match if wait { patiently(begin) } else { begin() } {
        Ok(()) => {}
        Err(e) if is_busy(&e) && !wait => return Err(Failed::Busy),
        Err(e) => return Err(Failed::Before(explain(path, &e))),
    }
    *transactions += 1;
    let answers = match within(&mut Rows { db, clock }, ops, *transactions % REAP_EVERY == 0) {
        Ok(answers) => answers,
        Err(e) => {
            execute(db, "ROLLBACK").ok();
            return Err(Failed::Before(explain(path, &e)));
        }
    };
    if let Err(e) = patiently(|| execute(db, "COMMIT")) {
        execute(db, "ROLLBACK").ok();
        let told = explain_commit(path, &e);
        return Err(if told.kind() == ErrorKind::OutcomeUnknown {
            Failed::AtCommit(told)
        } else {
            Failed::Before(told)
        });
    }
    turn.ring();
    let name = |e: Error| if e.kind() == ErrorKind::Damaged { damaged(path).because(e) } else { e };
    Ok(answers.into_iter().map(|answer| answer.map_err(name)).collect())
}

fn within(rows: &mut Rows<'_>, ops: &[&Op], reap: bool) -> rusqlite::Result<Vec<Result<Answer>>> {
    let mut answers = Vec::with_capacity(ops.len());
    for op in ops {
        // A refusal comes before the first write of its operation, so it leaves nothing to undo.
        match op.run(rows) {
            Ok(answer) => answers.push(Ok(answer)),
            Err(Fail::Refused(e)) => answers.push(Err(e)),
            Err(Fail::Sql(e)) => return Err(e),
        }
    }
    if reap && let Err(Fail::Sql(e)) = rows.reap() {
        return Err(e);
    }
    Ok(answers)
}

fn execute(db: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(|_| ())
}
