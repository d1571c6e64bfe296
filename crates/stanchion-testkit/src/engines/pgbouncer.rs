//! PgBouncer: what sits between most clients and PostgreSQL in production.

use std::ffi::OsString;
use std::fs;
use std::ops::Deref;

use rustix::process::Signal;

use super::locate::{self, Skip};
use super::port::Port;
use super::postgres::Postgres;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::user::{give_to, unprivileged};

/// When PgBouncer takes a server connection back from a client.
///
/// ```
/// use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
/// # use stanchion_testkit::start_or_skip;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let postgres = start_or_skip!(Postgres);
/// # if let Err(skip) = PgBouncer::try_start(&postgres, PoolMode::Session).await { return skip.report(); }
/// let pooler = PgBouncer::start(&postgres, PoolMode::Statement).await;
/// let (client, connection) = tokio_postgres::connect(&pooler.url(), tokio_postgres::NoTls).await.unwrap();
/// # tokio::spawn(connection);
/// assert!(client.batch_execute("BEGIN").await.is_err()); // refused in this mode
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client disconnects: session state works.
    Session,
    /// After each transaction: session locks, LISTEN and named statements break.
    Transaction,
    /// After each statement: transactions of several statements are refused.
    Statement,
}

/// A private PgBouncer in front of a [`Postgres`]. Every client becomes user `postgres`.
///
/// ```
/// use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
/// # use stanchion_testkit::start_or_skip;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let postgres = start_or_skip!(Postgres);
/// # if let Err(skip) = PgBouncer::try_start(&postgres, PoolMode::Session).await { return skip.report(); }
/// let pooler = PgBouncer::start(&postgres, PoolMode::Transaction).await;
/// let (client, connection) = tokio_postgres::connect(&pooler.url(), tokio_postgres::NoTls).await.unwrap();
/// # tokio::spawn(connection);
/// assert!(client.batch_execute("SELECT 1").await.is_ok());
/// # }
/// ```
#[derive(Debug)]
pub struct PgBouncer {
    server: Server,
}

impl PgBouncer {
    /// Starts a pooler with at most 20 server connections.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
    /// # use stanchion_testkit::start_or_skip;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let postgres = start_or_skip!(Postgres);
    /// # if let Err(skip) = PgBouncer::try_start(&postgres, PoolMode::Session).await { return skip.report(); }
    /// let pooler = PgBouncer::start(&postgres, PoolMode::Session).await;
    /// assert!(std::net::TcpStream::connect(pooler.addr()).is_ok());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start(postgres: &Postgres, mode: PoolMode) -> PgBouncer {
        PgBouncer::try_start(postgres, mode).await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`start`](PgBouncer::start), or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
    /// # use stanchion_testkit::start_or_skip;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let postgres = start_or_skip!(Postgres);
    /// match PgBouncer::try_start(&postgres, PoolMode::Session).await {
    ///     Ok(pooler) => assert_ne!(pooler.port(), postgres.port()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server could exist here but does not, or does not become ready.
    pub async fn try_start(postgres: &Postgres, mode: PoolMode) -> Result<PgBouncer, Skip> {
        let program = locate::find("pgbouncer", "pgbouncer")?;
        let port = Port::reserve();
        let user = unprivileged();
        let dir = private_dir("pgbouncer", user);
        let mode = match mode {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
            PoolMode::Statement => "statement",
        };
        let settings = format!(
            "[databases]
* = host=127.0.0.1 port={upstream} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 500
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
",
            upstream = postgres.port(),
            port = port.number(),
        );
        let file = dir.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap_or_else(|e| panic!("cannot write {}: {e}", file.display()));
        give_to(&file, user);
        let args = vec![OsString::from("pgbouncer.ini")];
        let spec = Spec { engine: "pgbouncer", program, args, user, stop: Signal::TERM, probe: Probe::Postgres };
        Ok(PgBouncer { server: Server::start(spec, dir, port).await })
    }

    /// The URL of database `postgres` through the pooler.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres};
    /// # use stanchion_testkit::start_or_skip;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let postgres = start_or_skip!(Postgres);
    /// # if let Err(skip) = PgBouncer::try_start(&postgres, PoolMode::Session).await { return skip.report(); }
    /// let pooler = PgBouncer::start(&postgres, PoolMode::Session).await;
    /// assert_eq!(pooler.url(), postgres.url_at(pooler.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }
}

impl Deref for PgBouncer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
