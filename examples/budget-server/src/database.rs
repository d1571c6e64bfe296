//! The server's own connections, and what PostgreSQL's errors mean to a caller.

use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row};

const CONNECTIONS_MAX: usize = 24;
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Plain SQL that makes rows refuse writers whose token is not the current one.
const GUARD: &str = include_str!("../../../crates/stanchion-stores/guards/postgres/install.sql");
const TABLES: &str = include_str!("schema.sql");

/// A few connections, handed out one at a time.
#[derive(Debug)]
pub(crate) struct Pool {
    config: Config,
    idle: Mutex<Vec<Client>>,
    permits: Arc<Semaphore>,
}

/// One connection. Give it back with [`Pool::put`]; one that is dropped is closed, and its transaction with it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// Connects, and creates the tables if they are missing. A transaction in which nothing happens for as long as
    /// `idle_max` belongs to a process that stands still, and is ended.
    pub(crate) async fn open(url: &str, idle_max: Duration) -> Result<Self> {
        let mut config = Config::from_str(url).map_err(|_| {
            // The parser's own words may repeat the password.
            Error::new(ErrorKind::Invalid, "this is no PostgreSQL URL").hint("postgres://user:password@host:port/name")
        })?;
        let given = config.get_options().unwrap_or_default().to_owned();
        config.options(format!("{given} -c idle_in_transaction_session_timeout={}ms", idle_max.as_millis()));
        let pool = Self { config, idle: Mutex::default(), permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
        let connection = pool.take().await?;
        // One instance at a time: CREATE … IF NOT EXISTS is not safe against itself.
        let setup = format!(
            "BEGIN; SELECT pg_advisory_xact_lock(7260711); {GUARD}; {TABLES}; \
             SELECT stanchion_guard.protect('budgets'); COMMIT"
        );
        connection.client.batch_execute(&setup).await.map_err(before_commit)?;
        pool.put(connection);
        Ok(pool)
    }

    /// A connection, waiting for one if all are in use.
    pub(crate) async fn take(&self) -> Result<Connection> {
        let busy = || Error::new(ErrorKind::Unavailable, "all connections to PostgreSQL are in use");
        let permit = tokio::time::timeout(WAIT_MAX, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| busy())?.map_err(|_| busy())?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let client = match idle {
            Some(client) if !client.is_closed() => client,
            _ => self.connect().await?,
        };
        Ok(Connection { client, _permit: permit })
    }

    pub(crate) fn put(&self, connection: Connection) {
        if !connection.client.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection.client);
        }
    }

    /// One statement on any connection, as the articles call `db.query`.
    pub(crate) async fn query(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let connection = self.take().await?;
        let rows = connection.client.query(sql, values).await.map_err(at_commit);
        self.put(connection);
        rows
    }

    /// Creates a budget, in all three tables, if it is missing.
    pub(crate) async fn seed(&self, seed: &str) -> Result<()> {
        let (name, cents) = seed
            .split_once('=')
            .and_then(|(name, cents)| Some((name, cents.parse::<i64>().ok().filter(|cents| *cents >= 0)?)))
            .ok_or_else(|| Error::new(ErrorKind::Invalid, "a seed is NAME=CENTS").with("seed", seed))?;
        for table in ["budgets", "budgets_versioned", "article_projects"] {
            let sql = format!("INSERT INTO {table} (id, balance) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING");
            self.query(&sql, &[&name, &cents]).await?;
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Client> {
        let (client, connection) =
            self.config.connect(NoTls).await.map_err(|e| {
                Error::new(ErrorKind::Unavailable, "PostgreSQL cannot be reached").with("said", said(&e))
            })?;
        tokio::spawn(connection);
        Ok(client)
    }
}

/// A statement inside a transaction failed: the transaction is rolled back, whatever the reason was.
pub(crate) fn before_commit(e: tokio_postgres::Error) -> Error {
    let code = e.code().map_or("", |code| code.code());
    let built = match code {
        "SF001" => Error::new(ErrorKind::FenceRejected, "a newer holder has touched this budget; nothing was moved")
            .hint("call the tool again"),
        "25P03" => Error::new(ErrorKind::Unavailable, "this took too long and was rolled back; nothing was moved"),
        "40001" | "40P01" => Error::new(ErrorKind::Conflict, "another transaction was faster; nothing was moved"),
        "" => Error::new(
            ErrorKind::Unavailable,
            "the connection to PostgreSQL broke before the commit; nothing was moved",
        ),
        _ => Error::new(ErrorKind::Unavailable, "PostgreSQL refused a statement; nothing was moved"),
    };
    built.with("said", said(&e))
}

/// A commit failed, or a statement that commits by itself: without the server's word nobody knows.
pub(crate) fn at_commit(e: tokio_postgres::Error) -> Error {
    if e.as_db_error().is_some_and(|e| !e.code().code().starts_with("57P")) {
        return before_commit(e);
    }
    Error::new(ErrorKind::OutcomeUnknown, "the answer to the commit is lost")
        .with("said", said(&e))
        .hint("look at the budgets before you call again")
}

/// The server's words. They name users, databases and tables, never a password.
fn said(e: &tokio_postgres::Error) -> String {
    e.as_db_error().map_or_else(|| e.to_string(), |db| format!("{} [{}]", db.message(), db.code().code()))
}
