//! A few connections, each pipelined. Statements are unnamed and keep no session state, so a transaction
//! pooler may sit in between.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stanchion_core::{Error, ErrorKind, Result};
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, SimpleQueryMessage};

use super::error::{Effect, is_rollback, lost, running};
use super::target::Target;

/// Enough to keep a small server's cores busy; more would only queue inside the server.
const CONNECTIONS: usize = 4;
/// How often a statement that certainly rolled back is run again.
const ROLLBACKS: u32 = 10;

pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) target: Target,
    connections: Mutex<Vec<Arc<Connection>>>,
    opening: tokio::sync::Mutex<()>,
    growing: AtomicBool,
}

struct Connection {
    client: Client,
    busy: AtomicUsize,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("busy", &self.busy).finish_non_exhaustive()
    }
}

/// Counts down also when the caller gives up.
struct Busy<'a>(&'a Connection);

impl<'a> Busy<'a> {
    fn new(connection: &'a Connection) -> Self {
        connection.busy.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(crate) fn new(target: Target) -> Arc<Self> {
        Arc::new(Self {
            target,
            connections: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            growing: AtomicBool::new(false),
        })
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one statement in a transaction of its own.
    pub(crate) async fn run(self: &Arc<Self>, sql: &str, params: &[Param<'_>], effect: Effect) -> Result<Vec<Row>> {
        let mut tries = 0;
        loop {
            let connection = self.connection().await?;
            let busy = Busy::new(&connection);
            let answer = timeout(self.target.timeout, connection.client.query_typed(sql, params)).await;
            drop(busy);
            match answer {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(e)) if e.code().is_some_and(is_rollback) && tries < ROLLBACKS => tries += 1,
                Ok(Err(e)) => return Err(running(e, &self.target.shown, effect)),
                Err(_) => {
                    // Whatever is stuck in front of this statement would hold up the next one, too.
                    self.forget(&connection);
                    return Err(lost(&self.target.shown, effect)
                        .with("timeout", stanchion_core::text::duration(self.target.timeout)));
                }
            }
        }
    }

    /// Runs one statement that answers with exactly one row.
    pub(crate) async fn one(self: &Arc<Self>, sql: &str, params: &[Param<'_>], effect: Effect) -> Result<Row> {
        self.run(sql, params, effect).await?.pop().ok_or_else(|| unexpected("no row"))
    }

    /// Runs statements without parameters as one transaction.
    pub(crate) async fn script(self: &Arc<Self>, sql: &str) -> Result<Vec<SimpleQueryMessage>> {
        let connection = self.connection().await?;
        let _busy = Busy::new(&connection);
        match timeout(self.target.timeout.max(std::time::Duration::from_secs(30)), connection.client.simple_query(sql))
            .await
        {
            Ok(answer) => answer.map_err(|e| running(e, &self.target.shown, Effect::Write)),
            Err(_) => {
                self.forget(&connection);
                Err(lost(&self.target.shown, Effect::Write))
            }
        }
    }

    fn forget(&self, connection: &Arc<Connection>) {
        self.connections().retain(|c| !Arc::ptr_eq(c, connection));
    }

    /// The least busy open connection; grows the pool in the background when all are busy.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>> {
        if let Some(found) = self.pick() {
            return Ok(found);
        }
        let _opening = self.opening.lock().await;
        if let Some(found) = self.pick() {
            return Ok(found);
        }
        self.open().await
    }

    fn pick(self: &Arc<Self>) -> Option<Arc<Connection>> {
        let mut connections = self.connections();
        connections.retain(|c| !c.client.is_closed());
        let best = connections.iter().min_by_key(|c| c.busy.load(Ordering::Relaxed)).cloned()?;
        let all_busy = best.busy.load(Ordering::Relaxed) > 0;
        if all_busy && connections.len() < CONNECTIONS && !self.growing.swap(true, Ordering::Relaxed) {
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(e) = pool.open().await {
                    tracing::debug!(error = %e, "no further PostgreSQL connection");
                }
                pool.growing.store(false, Ordering::Relaxed);
            });
        }
        Some(best)
    }

    async fn open(&self) -> Result<Arc<Connection>> {
        let client = self.target.connect(|_| ()).await?;
        let connection = Arc::new(Connection { client, busy: AtomicUsize::new(0) });
        self.connections().push(Arc::clone(&connection));
        Ok(connection)
    }
}

pub(crate) fn unexpected(what: &'static str) -> Error {
    Error::new(ErrorKind::Unexpected, "PostgreSQL gave an answer that nobody expected").with("answer", what)
}

/// Reads a column; a wrong type is a bug or a foreign schema, never a panic.
pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, name: &'static str) -> Result<T> {
    row.try_get(name).map_err(|e| unexpected(name).because(e))
}
