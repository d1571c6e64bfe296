//! A few connections, each for one statement at a time: the protocol has no pipeline.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Row};
use stanchion_core::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::error::{Effect, code, is_rollback, is_uncalled, lost, running, unexpected};
use super::target::Target;

/// Enough to keep a small server's cores busy, and to share one flush of the log.
const CONNECTIONS: usize = 8;
/// A connection that was idle for longer is asked before a statement is risked on it.
const FRESH: Duration = Duration::from_secs(1);
/// How often a statement that certainly rolled back is run again.
const ROLLBACKS: u32 = 10;

/// One result of a packet of statements.
#[derive(Debug, Default)]
pub(crate) struct Set {
    pub(crate) rows: Vec<Row>,
    /// Rows that a write's condition found.
    pub(crate) found: u64,
    /// The number that `LAST_INSERT_ID(…)` was given.
    pub(crate) id: u64,
}

/// What came back: the results up to the first statement that failed.
pub(crate) struct Parts {
    pub(crate) sets: Vec<Set>,
    pub(crate) failed: Option<mysql_async::Error>,
}

pub(crate) struct Pool {
    pub(crate) target: Target,
    permits: Semaphore,
    idle: Mutex<Vec<(Conn, Instant)>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) fn new(target: Target) -> Arc<Self> {
        Arc::new(Self { target, permits: Semaphore::new(CONNECTIONS), idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Conn, Instant)>> {
        // Nothing panics while it holds this.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends `sql`, a packet of `count` statements, and answers with their results.
    pub(crate) async fn run(&self, sql: impl AsRef<[u8]> + Send, count: usize, effect: Effect) -> Result<Vec<Set>> {
        let mut tries = 0;
        loop {
            let parts = self.parts(sql.as_ref(), count, effect).await?;
            match parts.failed {
                None => return Ok(parts.sets),
                // Only if it was the first statement, or nothing would be known of those before it.
                Some(e) if parts.sets.is_empty() && is_rollback(&e) && tries < ROLLBACKS => tries += 1,
                Some(e) if parts.sets.is_empty() || effect == Effect::Read => {
                    return Err(running(&e, &self.target.shown, effect));
                }
                // Each statement is a transaction of its own: those before the one that failed are committed.
                Some(e) => return Err(lost(&self.target.shown, effect).because(e)),
            }
        }
    }

    /// Sends a packet of `count` statements that begins with `START TRANSACTION` and ends with `COMMIT`. The server stops
    /// at the first that fails, and the connection closes: nothing of it was done.
    pub(crate) async fn transaction(&self, sql: impl AsRef<[u8]> + Send, count: usize) -> Result<Vec<Set>> {
        let mut tries = 0;
        loop {
            let parts = self.parts(sql.as_ref(), count, Effect::Write).await?;
            match parts.failed {
                None => return Ok(parts.sets),
                Some(e) if is_rollback(&e) && tries < ROLLBACKS => tries += 1,
                Some(e) => return Err(running(&e, &self.target.shown, Effect::Write)),
            }
        }
    }

    /// The rows of one statement.
    pub(crate) async fn one(&self, sql: &str, effect: Effect) -> Result<Vec<Row>> {
        Ok(self.run(sql, 1, effect).await?.pop().unwrap_or_default().rows)
    }

    /// The same, with the server's refusal of a later statement kept apart from what the earlier ones did.
    pub(crate) async fn parts(&self, sql: &[u8], count: usize, effect: Effect) -> Result<Parts> {
        let mut again = effect == Effect::Read;
        loop {
            let target = &self.target;
            let slow = |_| {
                Error::new(ErrorKind::Unavailable, "all connections to the database are busy")
                    .with("host", &target.shown)
                    .with("timeout", stanchion_core::text::duration(target.timeout))
            };
            let permit = timeout(target.timeout, self.permits.acquire()).await.map_err(slow)?;
            let _permit = permit.map_err(|_| unexpected("a closed pool"))?;
            let (mut conn, used) = match self.take().await {
                Some(conn) => (conn, true),
                None => (target.connect().await?, false),
            };
            let mut sets = Vec::with_capacity(count);
            // A caller that gives up drops the connection with this future, and with it what was under way.
            let answer = timeout(target.timeout, read(&mut conn, sql, count, &mut sets)).await;
            let parts = match answer {
                Ok(read) => Parts { sets, failed: read.err() },
                // What the first statements of a packet did is known, if they were answered: a call that hangs must not
                // make a committed write uncertain.
                Err(late) if effect == Effect::Write && !sets.is_empty() => {
                    let late = std::io::Error::new(std::io::ErrorKind::TimedOut, late);
                    return Ok(Parts { sets, failed: Some(late.into()) });
                }
                Err(_) => {
                    return Err(
                        lost(&target.shown, effect).with("timeout", stanchion_core::text::duration(target.timeout))
                    );
                }
            };
            match &parts.failed {
                Some(e) if code(e).is_none() => {
                    // Others that were idle have probably died with it.
                    self.idle().clear();
                    if again && used {
                        again = false;
                        continue;
                    }
                    // As above.
                    if effect == Effect::Write && !parts.sets.is_empty() {
                        return Ok(parts);
                    }
                    return Err(running(e, &target.shown, effect));
                }
                // A packet that stopped in the middle may have left a transaction open.
                Some(e) if count > 1 && effect == Effect::Write && !is_uncalled(e) => return Ok(parts),
                _ => {
                    self.idle().push((conn, Instant::now()));
                    return Ok(parts);
                }
            }
        }
    }

    /// A connection that was used a moment ago, or that still answers: a write must not be the first to find out that the
    /// server was away meanwhile.
    async fn take(&self) -> Option<Conn> {
        loop {
            let (mut conn, since) = self.idle().pop()?;
            if since.elapsed() < FRESH || matches!(timeout(self.target.timeout, conn.ping()).await, Ok(Ok(()))) {
                return Some(conn);
            }
            self.idle().clear();
        }
    }
}

/// Sends a packet of `count` statements and reads every result.
pub(crate) async fn ask(conn: &mut Conn, sql: &[u8], count: usize) -> Parts {
    let mut sets = Vec::with_capacity(count);
    let failed = read(conn, sql, count, &mut sets).await.err();
    Parts { sets, failed }
}

/// The same; what was answered stays in `sets` if this future is dropped.
async fn read(conn: &mut Conn, sql: &[u8], count: usize, sets: &mut Vec<Set>) -> mysql_async::Result<()> {
    let mut result = conn.query_iter(sql).await?;
    for _ in 0..count {
        let (found, id) = (result.affected_rows(), result.last_insert_id().unwrap_or(0));
        // Kept row by row: that the connection broke before the next statement comes with the end of this one.
        let mut rows = Vec::new();
        let read = result.map(|row| rows.push(row)).await;
        // An error that the server names is that of this statement. (`for_each` of the library passes over it, and over
        // all statements that it kept from running.)
        if read.as_ref().err().is_none_or(|e| code(e).is_none()) {
            sets.push(Set { rows, found, id });
        }
        read?;
    }
    result.drop_result().await
}

/// A whole number in a row. A wrong type is a bug or a foreign table, never a panic.
pub(crate) fn number(row: Option<&Row>, at: usize) -> Result<u64> {
    maybe(row, at)?.ok_or_else(|| unexpected("NULL"))
}

/// A whole number or NULL.
pub(crate) fn maybe(row: Option<&Row>, at: usize) -> Result<Option<u64>> {
    let value = row.and_then(|row| row.get_opt::<Option<u64>, _>(at)).ok_or_else(|| unexpected("no such column"))?;
    value.map_err(|_| unexpected("not a number"))
}

/// Bytes or NULL.
pub(crate) fn bytes(row: &Row, at: usize) -> Result<Option<Vec<u8>>> {
    let value = row.get_opt::<Option<Vec<u8>>, _>(at).ok_or_else(|| unexpected("no such column"))?;
    value.map_err(|_| unexpected("not bytes"))
}

/// Text; what is not UTF-8 was not written by us, and is shown as well as it can be.
pub(crate) fn text(row: &Row, at: usize) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes(row, at)?.unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use stanchion_testkit::engines::MariaDb;

    use super::*;
    use crate::StoreUrl;

    /// Who takes the number of results for the number of statements that ran must not count the one that failed.
    #[tokio::test]
    async fn results_end_with_the_statement_that_fails() {
        let server = MariaDb::start().await;
        let pool = Pool::new(Target::take(&mut StoreUrl::parse(&server.url()).unwrap()).unwrap());
        for (sql, count, ran) in [
            ("KILL QUERY NULL; DO 1", 2, 0),
            ("DO 1; KILL QUERY NULL; DO 1; DO 1", 4, 1),
            ("SELECT 1; DO 1; KILL QUERY NULL", 3, 2),
            ("DO 1; SELECT * FROM nothing; DO 1", 3, 1),
        ] {
            let parts = pool.parts(sql.as_bytes(), count, Effect::Read).await.unwrap();
            assert!(parts.failed.is_some(), "{sql}");
            assert_eq!(parts.sets.len(), ran, "{sql}");
        }
        let parts = pool.parts(b"DO 1; SELECT 2", 2, Effect::Read).await.unwrap();
        assert_eq!((parts.failed.is_none(), parts.sets.len(), parts.sets[1].rows.len()), (true, 2, 1));
    }

    #[tokio::test]
    async fn what_was_answered_before_a_statement_that_hangs_is_known() {
        let server = MariaDb::start().await;
        let url = format!("{}?timeout=1s", server.url());
        let pool = Pool::new(Target::take(&mut StoreUrl::parse(&url).unwrap()).unwrap());
        let parts = pool.parts(b"CREATE TABLE t (a INT); DO 1; DO SLEEP(60)", 3, Effect::Write).await.unwrap();
        assert!(parts.failed.is_some_and(|e| code(&e).is_none()));
        assert_eq!(parts.sets.len(), 1, "the library reads the next answer with the end of one");
        let late = pool.run("DO SLEEP(60)", 1, Effect::Write).await.map(drop).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::OutcomeUnknown);
    }
}
