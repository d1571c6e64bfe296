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

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mysql_async::Conn;
use stanchion_core::{Owner, Result};
use tokio::time::timeout;

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
        if done == ears.len() {
            return;
        }
        {
            let mut calls = open(&self.calls);
            calls.waiting.extend(&ears[done..]);
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
    fn sleep(&self, interests: &Interests) -> String {
        let mut sql = String::from("SELECT IF((SELECT COUNT(*) FROM ");
        let (locks, records) = (self.schema.table("locks"), self.schema.table("records"));
        write!(sql, "{locks} WHERE FALSE").ok();
        for place in &interests.places {
            let rev = place.rev.load(Ordering::SeqCst);
            write!(sql, " OR (k = {} AND rev <> {rev})", text(place.key.as_str())).ok();
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
        write!(sql, ") > 0, 0, SLEEP({}))", SLEEP.as_secs()).ok();
        sql
    }

    /// What the rows say now, to those who wait for them.
    async fn look(&self, conn: &mut Conn, interests: &Interests) -> Result<()> {
        let keys = |keys: Vec<String>| if keys.is_empty() { "NULL".to_owned() } else { keys.join(", ") };
        let places = keys(interests.places.iter().map(|p| text(p.key.as_str())).collect());
        let watches = keys(interests.watches.iter().map(|w| text(w.key.as_str())).collect());
        let sql = format!(
            "{} WHERE k IN ({places}); SELECT k, version, value IS NOT NULL AND (expires IS NULL OR expires > {NOW}) \
             FROM {} WHERE k IN ({watches})",
            select(&self.schema),
            self.schema.table("records")
        );
        let parts = timeout(self.pool.target.timeout, ask(conn, sql.as_bytes(), 2)).await;
        let parts = parts.map_err(|_| unexpected("no answer"))?;
        if let Some(e) = parts.failed {
            return Err(super::error::running(&e, &self.pool.target.shown, Effect::Read));
        }
        let [locks, records] = &parts.sets[..] else { return Err(unexpected("no results")) };
        for row in &locks.rows {
            let Ok((key, line)) = read_line(row) else {
                // Who waits for it finds out by asking.
                self.board.shake();
                continue;
            };
            for place in interests.places.iter().filter(|p| p.key.as_str().as_bytes() == key) {
                if place.rev.load(Ordering::SeqCst) != line.rev {
                    place.see(&line);
                }
            }
        }
        for row in &records.rows {
            let key = bytes(row, 0)?.unwrap_or_default();
            let found = (maybe(Some(row), 2)? == Some(1)).then_some(number(Some(row), 1)?);
            for watched in interests.watches.iter().filter(|w| w.key.as_str().as_bytes() == key) {
                if watched.since != found {
                    watched.bell.notify_one();
                }
            }
        }
        Ok(())
    }
}

/// Listens as long as the store is open and somebody waits.
async fn listen(ear: Weak<Ear>) {
    let mut failures = 0_u32;
    loop {
        let Some(strong) = ear.upgrade() else { return };
        let opened = open_ear(&strong).await;
        match opened {
            Ok((conn, id)) => {
                failures = 0;
                strong.hears.store(true, Ordering::SeqCst);
                // Whatever happened while nobody listened.
                strong.board.shake();
                drop(strong);
                let idle = hear(&ear, conn, id).await;
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

/// A connection that holds our name, and its number.
async fn open_ear(ear: &Ear) -> Result<(Conn, u64)> {
    let mut conn = ear.pool.target.connect().await?;
    let sql = format!("SELECT CONNECTION_ID(), GET_LOCK('{}', 0)", name(ear.number));
    let parts = timeout(ear.pool.target.timeout, ask(&mut conn, sql.as_bytes(), 1)).await;
    let parts = parts.map_err(|_| unexpected("no answer"))?;
    let row = parts.sets.first().and_then(|set| set.rows.first());
    let id = number(row, 0)?;
    if maybe(row, 1)? != Some(1) {
        // Our last connection is still dying; it is woken in our place until then.
        return Err(unexpected("the name is taken"));
    }
    Ok((conn, id))
}

/// Until the connection breaks, or (`true`) nobody has waited for a while.
async fn hear(ear: &Weak<Ear>, mut conn: Conn, id: u64) -> bool {
    loop {
        let Some(strong) = ear.upgrade() else { return true };
        let interests = strong.board.interests();
        let (board, pool) = (Arc::clone(&strong.board), Arc::clone(&strong.pool));
        if interests.is_empty() {
            drop(strong);
            if timeout(IDLE, board.news.notified()).await.is_err() {
                return true;
            }
            continue;
        }
        let sql = strong.sleep(&interests);
        drop(strong);
        let answer = {
            let asked = timeout(SLEEP + pool.target.timeout, ask(&mut conn, sql.as_bytes(), 1));
            tokio::pin!(asked);
            tokio::select! {
                answer = &mut asked => answer,
                // There is more to listen for. The statement may not have begun yet, and a call would miss it: call again.
                () = board.news.notified() => loop {
                    let kill = format!("KILL QUERY {id}");
                    let woken = async {
                        pool.parts(kill.as_bytes(), 1, Effect::Read).await.ok();
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    };
                    tokio::select! {
                        answer = &mut asked => break answer,
                        () = woken => {}
                    }
                },
            }
        };
        let Ok(parts) = answer else { return false };
        // Called, ended by a limit of the server's, or slept out: whatever it was, a look is cheap.
        let woken = parts.failed.as_ref().is_none_or(|e| matches!(code(e), Some(INTERRUPTED | 1969 | 3024)));
        if !woken {
            return false;
        }
        let Some(strong) = ear.upgrade() else { return true };
        if strong.look(&mut conn, &interests).await.is_err() {
            return false;
        }
    }
}
