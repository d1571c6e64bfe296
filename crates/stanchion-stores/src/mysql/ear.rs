//! How waiters hear of changes: one connection per store that sleeps inside the server, and is woken by `KILL QUERY`.
//!
//! The database has no notifications. `GET_LOCK` can make one waiter wait for one holder, but nobody can wait with it for
//! whichever of several holders ends first, or for the next write of a record; it takes a connection per waiter, and every
//! uncontended lock pays for it. A sleeping statement can be ended by any client of the same user, and one serves all
//! waiters of a process:
//! - the listener holds the user lock `stanchion.ear.N`. Who changes a row for which N waits asks the server which
//!   connection that is (`IS_USED_LOCK`) and ends its statement. No stored number can hit a stranger's connection.
//! - the statement sleeps only if nothing of what it waits for differs from what was seen last. It begins before the look,
//!   and the change is committed before the `KILL`: a change is either seen by the look or ends the sleep.
//! - a call that is lost (another user's connection, another node of a cluster) costs a heartbeat.
//! - it sleeps in `GET_LOCK`, for a name that a second connection keeps. `SLEEP` needs no keeper, but in MariaDB all sleepers
//!   share a mutex: one that is about to sleep holds it while it asks whether it was killed, which waits for whoever kills
//!   it, who waits for the mutex. They give up after two seconds, and nobody else sleeps or calls meanwhile.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use stanchion_core::{Owner, Result};
use tokio::time::{Instant, timeout};

use super::board::{Board, Interests, open};
use super::error::{Effect, INTERRUPTED, code, unexpected};
use super::pool::{Parts, Pool, ask, bytes, maybe, number};
use super::row::{read_line, select};
use super::schema::Schema;
use super::text::{NOW, text};

/// The longest sleep; then the connection is seen to be alive.
const SLEEP: Duration = Duration::from_secs(5);
/// Calls in one packet.
const CALLS: usize = 200;
/// How often a look that is interrupted by calls is begun again before the connection counts as broken.
const LOOKS: u32 = 100;
/// How long a statement may take to begin after we sent it, before it is called once more.
const BEGINS: Duration = Duration::from_millis(20);
/// A connection that nobody needed for this long is closed.
const IDLE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Ear {
    pub(super) number: u64,
    pub(super) board: Arc<Board>,
    pool: Arc<Pool>,
    schema: Schema,
    hears: AtomicBool,
    calls: Arc<Mutex<Calls>>,
    task: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

/// Listeners that are still to be called.
#[derive(Debug, Default)]
struct Calls {
    waiting: BTreeSet<u64>,
    /// Somebody calls them already.
    busy: bool,
}

impl Drop for Ear {
    fn drop(&mut self) {
        if let Some(task) = open(&self.task).take() {
            task.abort();
        }
    }
}

/// Ends the statement in which the listener with this number sleeps. The last two of a packet of statements.
pub(super) fn call(ear: u64) -> String {
    format!("SET @c = IS_USED_LOCK('{}'); KILL QUERY @c", name(ear))
}

/// The same, only where `condition` holds. Elsewhere it reaches nobody.
pub(super) fn call_if(condition: &str, ear: u64) -> String {
    format!("SET @c = IF({condition}, IS_USED_LOCK('{}'), NULL); KILL QUERY @c", name(ear))
}

/// Calls the first of these in one packet, and says how many are dealt with. A listener that is gone ends the packet.
async fn call_some(pool: &Pool, ears: &[u64]) -> usize {
    let some = &ears[..ears.len().min(CALLS)];
    if some.is_empty() {
        return 0;
    }
    let sql = some.iter().map(|ear| call(*ear)).collect::<Vec<_>>().join("; ");
    let (done, e) = match pool.parts(sql.as_bytes(), 2 * some.len(), Effect::Read).await {
        Ok(Parts { failed: None, .. }) => return some.len(),
        Ok(Parts { failed: Some(e), sets }) => (sets.len() / 2 + 1, e.to_string()),
        // Without a connection the others would not be reached either.
        Err(e) => (ears.len(), e.to_string()),
    };
    tracing::debug!(error = e, "a waiter was not called; it looks by itself");
    done.min(ears.len())
}

/// Ended by a call, or by a limit of the server's.
fn is_call(e: &mysql_async::Error) -> bool {
    matches!(code(e), Some(INTERRUPTED | 1969 | 3024))
}

/// The user lock of a listener. Such names belong to the whole server, so they are drawn, not counted.
fn name(ear: u64) -> String {
    format!("stanchion.ear.{ear:016x}")
}

impl Ear {
    pub(super) fn new(pool: Arc<Pool>, schema: Schema) -> Arc<Self> {
        Arc::new(Self {
            number: Owner::random().nonce(),
            board: Arc::default(),
            pool,
            schema,
            hears: AtomicBool::new(false),
            calls: Arc::default(),
            task: Mutex::default(),
        })
    }

    /// Whether changes are heard at once. Begins to listen if nobody does.
    pub(super) fn ensure(self: &Arc<Self>) -> bool {
        let mut task = open(&self.task);
        if task.as_ref().is_none_or(tokio::task::JoinHandle::is_finished) {
            *task = Some(tokio::spawn(listen(Arc::downgrade(self))));
        }
        self.hears.load(Ordering::SeqCst)
    }

    /// Wakes the listeners with these numbers. Best effort: a waiter that is not called looks by itself. The caller has
    /// committed something and waits for one trip only; whom that does not reach is called in the background.
    pub(super) async fn ring(&self, ears: Vec<u64>) {
        let done = call_some(&self.pool, &ears).await;
        self.ring_later(&ears[done..]);
    }

    /// Wakes these in the background.
    pub(super) fn ring_later(&self, ears: &[u64]) {
        if ears.is_empty() {
            return;
        }
        {
            let mut calls = open(&self.calls);
            calls.waiting.extend(ears);
            if std::mem::replace(&mut calls.busy, true) {
                return;
            }
        }
        let (pool, calls) = (Arc::clone(&self.pool), Arc::clone(&self.calls));
        tokio::spawn(async move {
            loop {
                let ears: Vec<u64> = {
                    let mut calls = open(&calls);
                    calls.busy = !calls.waiting.is_empty();
                    std::mem::take(&mut calls.waiting).into_iter().collect()
                };
                if ears.is_empty() {
                    return;
                }
                let mut done = 0;
                while done < ears.len() {
                    done += call_some(&pool, &ears[done..]).await;
                }
            }
        });
    }

    /// Sleeps unless something differs already.
    fn sleep(&self, interests: &Interests, bed: &str) -> String {
        let mut sql = String::from("SELECT IF((SELECT COUNT(*) FROM ");
        let (locks, records) = (self.schema.table("locks"), self.schema.table("records"));
        write!(sql, "{locks} WHERE FALSE").ok();
        for (key, rev) in &interests.places {
            write!(sql, " OR (k = {} AND rev > {rev})", text(key.as_str())).ok();
        }
        write!(sql, ") + (SELECT COUNT(*) FROM {records} WHERE FALSE").ok();
        for watched in &interests.watches {
            let key = text(watched.key.as_str());
            match watched.since {
                Some(version) => write!(sql, " OR (k = {key} AND version <> {version})"),
                None => write!(sql, " OR (k = {key} AND value IS NOT NULL AND (expires IS NULL OR expires > {NOW}))"),
            }
            .ok();
        }
        write!(sql, ") > 0, 0, GET_LOCK('{bed}', {}))", SLEEP.as_secs()).ok();
        sql
    }

    /// What the rows say now, to those who wait for them.
    async fn look(&self, conn: &mut Conn, interests: &Interests) -> Result<()> {
        if !interests.places.is_empty() {
            let keys: BTreeSet<_> = interests.places.iter().map(|(key, _)| text(key.as_str())).collect();
            let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
            for row in self.rows(conn, format!("{} WHERE k IN ({keys})", select(&self.schema))).await? {
                match read_line(&row) {
                    Ok((key, line)) => self.board.tell(&key, &line),
                    // Who waits for it finds out by asking.
                    Err(_) => self.board.shake(),
                }
            }
        }
        if !interests.watches.is_empty() {
            let keys: Vec<_> = interests.watches.iter().map(|w| text(w.key.as_str())).collect();
            let sql = format!(
                "SELECT k, version, value IS NOT NULL AND (expires IS NULL OR expires > {NOW}) FROM {} WHERE k IN ({})",
                self.schema.table("records"),
                keys.join(", ")
            );
            for row in self.rows(conn, sql).await? {
                let key = bytes(&row, 0)?.unwrap_or_default();
                let found = (maybe(Some(&row), 2)? == Some(1)).then_some(number(Some(&row), 1)?);
                for watched in interests.watches.iter().filter(|w| w.key.as_str().as_bytes() == key) {
                    if watched.since != found {
                        watched.bell.notify_one();
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows of one statement on the connection that is called. Never two in a packet: a call that comes between them
    /// makes MariaDB forget the second, and its answer would be waited for in vain.
    async fn rows(&self, conn: &mut Conn, sql: String) -> Result<Vec<mysql_async::Row>> {
        let mut tries = 0;
        loop {
            let parts = timeout(self.pool.target.timeout, ask(conn, sql.as_bytes(), 1)).await;
            let parts = parts.map_err(|_| unexpected("no answer"))?;
            match parts.failed {
                None => return Ok(parts.sets.into_iter().flat_map(|set| set.rows).collect()),
                // A call that came when nobody slept any more.
                Some(e) if is_call(&e) && tries < LOOKS => tries += 1,
                Some(e) => return Err(super::error::running(&e, &self.pool.target.shown, Effect::Read)),
            }
        }
    }
}

/// Listens as long as the store is open and somebody waits.
async fn listen(ear: Weak<Ear>) {
    let mut failures = 0_u32;
    loop {
        let Some(strong) = ear.upgrade() else { return };
        match Pair::open(&strong).await {
            Ok(pair) => {
                failures = 0;
                strong.hears.store(true, Ordering::SeqCst);
                // Whatever happened while nobody listened.
                strong.board.shake();
                drop(strong);
                let idle = hear(&ear, pair).await;
                if let Some(strong) = ear.upgrade() {
                    strong.hears.store(false, Ordering::SeqCst);
                    strong.board.shake();
                }
                if idle {
                    return;
                }
            }
            Err(e) => {
                tracing::debug!(error = %e, "no connection to listen on; waiters look by themselves");
                drop(strong);
                failures += 1;
                tokio::time::sleep(Duration::from_millis(50) * failures.min(20)).await;
            }
        }
    }
}

/// A connection that listens, and one that only keeps what the first one waits for.
struct Pair {
    conn: Conn,
    /// The number of `conn`.
    id: u64,
    keeper: Conn,
    /// When the keeper was seen to be alive.
    seen: Instant,
    /// The user lock that the keeper holds.
    bed: String,
}

impl Pair {
    async fn open(ear: &Ear) -> Result<Self> {
        let bed = format!("stanchion.bed.{:016x}", Owner::random().nonce());
        let (mut keeper, seen) = (ear.pool.target.connect().await?, Instant::now());
        take(ear, &mut keeper, &bed).await?;
        let mut conn = ear.pool.target.connect().await?;
        // Where it is taken our last connection is still dying; it is woken in our place until then.
        let id = take(ear, &mut conn, &name(ear.number)).await?;
        Ok(Self { conn, id, keeper, seen, bed })
    }

    /// An idle connection may be closed by the server, and somebody in between may forget it.
    async fn keep(&mut self, limit: Duration) -> bool {
        if self.seen.elapsed() < SLEEP {
            return true;
        }
        self.seen = Instant::now();
        matches!(timeout(limit, self.keeper.ping()).await, Ok(Ok(())))
    }
}

/// Takes a user lock that nobody should have, and answers with the connection's number.
async fn take(ear: &Ear, conn: &mut Conn, name: &str) -> Result<u64> {
    let sql = format!("SELECT CONNECTION_ID(), GET_LOCK('{name}', 0)");
    let parts = timeout(ear.pool.target.timeout, ask(conn, sql.as_bytes(), 1)).await;
    let parts = parts.map_err(|_| unexpected("no answer"))?;
    let row = parts.sets.first().and_then(|set| set.rows.first());
    if maybe(row, 1)? != Some(1) {
        return Err(unexpected("the name is taken"));
    }
    number(row, 0)
}

/// Until the connection breaks, or (`true`) nobody has waited for a while.
async fn hear(ear: &Weak<Ear>, mut pair: Pair) -> bool {
    loop {
        let Some(strong) = ear.upgrade() else { return true };
        let interests = strong.board.interests().await;
        let (board, pool) = (Arc::clone(&strong.board), Arc::clone(&strong.pool));
        if interests.is_empty() {
            drop(strong);
            if timeout(IDLE, board.news.notified()).await.is_err() {
                return true;
            }
            continue;
        }
        let sql = strong.sleep(&interests, &pair.bed);
        drop(strong);
        let answer = {
            let asked = timeout(SLEEP + pool.target.timeout, ask(&mut pair.conn, sql.as_bytes(), 1));
            tokio::pin!(asked);
            tokio::select! {
                answer = &mut asked => answer,
                // There is more to listen for. The statement may not have begun yet, and a call would miss it: call again.
                () = board.news.notified() => loop {
                    // Never dropped half-way: that would cost the pool a connection.
                    pool.parts(format!("KILL QUERY {}", pair.id).as_bytes(), 1, Effect::Read).await.ok();
                    if let Ok(answer) = timeout(BEGINS, &mut asked).await {
                        break answer;
                    }
                },
            }
        };
        let Ok(parts) = answer else { return false };
        let row = parts.sets.first().and_then(|set| set.rows.first());
        if row.is_some_and(|row| matches!(maybe(Some(row), 0), Ok(Some(1)))) || !pair.keep(pool.target.timeout).await {
            // The keeper is gone, and nothing would make us sleep.
            return false;
        }
        // Called, ended by a limit of the server's, or slept out: whatever it was, a look is cheap.
        if !parts.failed.as_ref().is_none_or(is_call) {
            return false;
        }
        let Some(strong) = ear.upgrade() else { return true };
        if strong.look(&mut pair.conn, &interests).await.is_err() {
            return false;
        }
    }
}
