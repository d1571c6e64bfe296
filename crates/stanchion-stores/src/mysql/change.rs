//! Changes of a lock's row: read it, decide, and write it if it is still what it was (`rev`).
//!
//! What a process wants of one row while a change is under way goes into the next one together: written one by one, all but
//! one would lose to each other, and each would pay for a commit of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Key, Owner, Result, RetryPolicy};

use super::board::open;
use super::ear::{Ear, call, call_if};
use super::error::{Effect, is_rollback, lost, running, unexpected};
use super::line::Line;
use super::pool::Pool;
use super::row::{read_line, select};
use super::schema::Schema;
use super::text::text;
use crate::together::{self, Ask as _, Left, Limits, Load, Single, Stage, Together};

/// How long to go on when other processes change the row between our look and our write.
const SWAPS: u32 = 200;
/// The longest pause after such a loss: about as long as a few writes take.
const PAUSE: Duration = Duration::from_millis(8);
/// Calls that go out in the packet of the write.
const CALLS: usize = 8;
/// One change of a row at a time, for all who wait: they decide in memory, and the row is written once. So nobody waits
/// for more than one change.
const LIMITS: Limits = Limits { turns: 1, count: 64 * 1024, bytes: usize::MAX, waiting: 64 * 1024, wait: None };

/// What a decision about a row asks for.
pub(super) enum Change<T> {
    /// Write it, and answer this.
    Write(T),
    /// It stays as it is.
    Leave(T),
}

/// Somebody who waits for a change, and says of a row whether to write.
type Job = Single<Box<dyn FnMut(&mut Line) -> bool + Send>, Result<Option<Line>>>;
type Turn = together::Turn<Key, Job>;

/// The rows of all locks.
pub(super) struct Rows {
    pub(super) pool: Arc<Pool>,
    pub(super) ear: Arc<Ear>,
    pub(super) schema: Schema,
    jobs: Arc<Together<Key, Job>>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Rows {
    pub(super) fn new(pool: Arc<Pool>, ear: Arc<Ear>, schema: Schema) -> Arc<Self> {
        Arc::new(Self { pool, ear, schema, jobs: Together::new(LIMITS) })
    }

    /// Decides, writes, and does it again if somebody was faster. The row is as it was then. `None`: there is no row.
    ///
    /// The row's time is read after this call began: a ttl that is counted from it ends no sooner than the caller thinks.
    pub(super) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        key: &Key,
        stage: Stage,
        mut decide: impl FnMut(&mut Line) -> Change<T> + Send + 'static,
    ) -> Result<Option<(Line, T)>> {
        let decided = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&decided);
        let decide = Box::new(move |line: &mut Line| {
            let (write, value) = match decide(line) {
                Change::Write(value) => (true, value),
                Change::Leave(value) => (false, value),
            };
            *open(&kept) = Some(value);
            write
        });
        let answer = self.jobs.ask(key, decide, Load { bytes: 0, stage }, |turn| self.start(turn)).await;
        let line = answer.unwrap_or_else(|left| {
            Err(match left {
                Left::Unsent(why) => Error::new(ErrorKind::Unavailable, why.to_string()).with("key", key),
                // The runtime ended under the task that changed the row.
                Left::Lost => lost(&self.pool.target.shown, Effect::Write),
            })
        })?;
        Ok(line.and_then(|line| Some((line, open(&decided).take()?))))
    }

    fn start(self: &Arc<Self>, turn: Turn) {
        tokio::spawn(Arc::clone(self).serve(turn));
    }

    /// Changes a row as long as there is something to change.
    async fn serve(self: Arc<Self>, mut turn: Turn) {
        while let Some(mut jobs) = turn.next(|turn| self.start(turn)).await {
            let answer = self.swap(&mut turn, &mut jobs).await;
            let Some(last) = jobs.pop() else { continue };
            for job in jobs {
                job.answer(answer.as_ref().map(Clone::clone).map_err(Error::repeated));
            }
            last.answer(answer);
        }
    }

    async fn read(&self, key: &Key) -> Result<Option<Line>> {
        let sql = format!("{} WHERE k = {}", select(&self.schema), text(key.as_str()));
        let rows = self.pool.one(&sql, Effect::Read).await?;
        rows.first().map(|row| Ok(read_line(row)?.1)).transpose()
    }

    /// Writes `line` if the row is what it was, and calls those whose turn it is now and was not `before`.
    async fn write(&self, key: &Key, line: &mut Line, before: &[(Owner, bool)]) -> Result<bool> {
        let called: Vec<u64> = line.called(before).into_iter().filter(|ear| *ear != self.ear.number).collect();
        let held = line.holder.as_ref();
        let owner = held.map(|held| held.owner.to_hex()).unwrap_or_default();
        let identity = held.map_or("", |held| &held.identity);
        let (since, ends) = held.map_or((line.now, 0), |held| (held.since, held.ends));
        let queue = line.encode().map_or_else(|| "NULL".to_owned(), |queue| text(&queue));
        let mut sql = format!(
            "UPDATE {} SET rev = rev + 1, fence = {}, owner = '{owner}', identity = {}, since = {since}, ends = {ends}, \
             queue = {queue} WHERE k = {} AND rev = {}",
            self.schema.table("locks"),
            line.fence,
            text(identity),
            text(key.as_str()),
            line.rev
        );
        // In the same packet, which ends with the first call that reaches nobody.
        let some = called.len().min(CALLS);
        for (number, ear) in called[..some].iter().enumerate() {
            sql.push_str("; ");
            sql.push_str(&if number == 0 { call_if("ROW_COUNT() > 0", *ear) } else { call(*ear) });
        }
        let parts = self.pool.parts(sql.as_bytes(), 1 + 2 * some, Effect::Write).await?;
        let Some(set) = parts.sets.first() else {
            let e = parts.failed.ok_or_else(|| unexpected("no result"))?;
            return if is_rollback(&e) { Ok(false) } else { Err(running(&e, &self.pool.target.shown, Effect::Write)) };
        };
        if set.found == 0 {
            return Ok(false);
        }
        line.rev += 1;
        let done = if parts.failed.is_none() { some } else { parts.sets.len().div_ceil(2) };
        self.ear.ring_later(&called[done.min(called.len())..]);
        Ok(true)
    }

    /// One change for all of `jobs`, and for those who come while it is tried.
    async fn swap(self: &Arc<Self>, turn: &mut Turn, jobs: &mut Vec<Job>) -> Result<Option<Line>> {
        let key = &turn.key().clone();
        let pauses = RetryPolicy::default().pauses(Duration::from_millis(1), PAUSE)?;
        let mut tries = pauses.budget(SWAPS).deadline(self.pool.target.timeout).start();
        loop {
            jobs.extend(turn.take(|turn| self.start(turn)));
            // Whoever has gone asks for nothing any more.
            jobs.retain(|job| !job.is_gone());
            if jobs.is_empty() {
                return Ok(None);
            }
            let Some(mut line) = self.read(key).await? else { return Ok(None) };
            let before = line.ahead();
            let mut write = false;
            for job in jobs.iter_mut() {
                write |= (job.question)(&mut line);
            }
            if !write || self.write(key, &mut line, &before).await? {
                self.ear.board.tell(key.as_str().as_bytes(), &line);
                return Ok(Some(line));
            }
            if !tries.again().await {
                return Err(Error::new(ErrorKind::Unavailable, "the lock's row changes faster than we can write it")
                    .with("key", key)
                    .with("tries", tries.used()));
            }
        }
    }
}
