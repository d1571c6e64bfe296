//! PostgreSQL: lease locks with a fair queue, advisory locks, and records.
//!
//! Stores are opened by URL (`postgres://user:password@host:port/database`). What is public here is for programs that
//! hold a transaction of their own.

mod doctor;
mod error;
mod fused;
mod hash;
mod lease;
mod listen;
mod pool;
mod probe;
mod range;
mod records;
mod schema;
mod session;
mod target;
mod tls;
mod transactional;
mod xact;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Capability, Error, ErrorKind, Fused, Hold, LockBackend, Purpose, Result, Survives};
use tokio_postgres::SimpleQueryMessage;

use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

use self::fused::PostgresFused;
use self::listen::Listener;
use self::pool::Pool;
pub(crate) use self::schema::Schema;
use self::target::Target;

use self::lease::PostgresLocks;
use self::records::PostgresStore;
use self::session::SessionLocks;
pub(crate) use self::transactional::finish_in_transaction;
pub use self::transactional::{TransactionClaim, claim_in_transaction, claim_in_transaction_of};
pub use self::xact::{lock_in_transaction, lock_in_transaction_of};

pub(crate) static BACKEND: Postgres = Postgres;

const OPTIONS: [&str; 8] =
    ["schema", "mode", "timeout", "sslmode", "sslrootcert", "application_name", "host", "listen_url"];

/// The statements that make Stanchion's tables and functions in `schema`, for a role that may create them when the
/// application's role may not.
///
/// # If it fails
/// `Invalid` for a name that is not a schema's.
///
/// ```
/// let sql = stanchion_stores::postgres::install_sql("stanchion")?;
/// assert!(sql.contains("CREATE SCHEMA IF NOT EXISTS stanchion;"));
/// # Ok::<(), stanchion_core::Error>(())
/// ```
pub fn install_sql(schema: &str) -> Result<String> {
    Ok(Schema::new(schema)?.install())
}

/// The `postgres:` backend.
#[derive(Debug)]
pub(crate) struct Postgres;

#[async_trait]
impl Backend for Postgres {
    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn help(&self) -> &'static str {
        "postgres://USER:PASSWORD@HOST:PORT/DATABASE
  Lease locks in a fair queue over all processes, and records. PostgreSQL 12 or newer.
  mode=lease|session|xact  lease: rows, works behind poolers (default). session: advisory locks that end with their
                           connection, needs a direct address. xact: only inside your own transactions.
  schema=stanchion         where the tables are; made if the role may
  timeout=5s               for each statement
  sslmode=prefer|disable|require|verify-ca|verify-full, sslrootcert=FILE|system
  listen_url=URL           a direct address for notifications when the store's goes through a transaction pooler
  host=PATH                the folder of a Unix socket; application_name=NAME
  Records are on the server's disk when the answer comes. With --durability process a crash of the server itself may
  forget the lock grants of its last 0.6 s (fences still grow); with power it does not."
    }

    async fn open(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Opened> {
        let shown = url.to_string();
        let Wanted { schema, mode, target, ears, .. } = Wanted::take(&mut url)?;
        let pool = Pool::new(target);
        schema.ensure(&pool).await?;
        let server = Server::read(&pool).await?;
        let listener = Listener::new(Arc::clone(&pool), ears, schema.channel());
        let records = server.capability(Durability::Power, Hold::Lease);
        let (locks, fused): (Arc<dyn LockBackend>, Option<Arc<dyn Fused>>) = if mode == "session" {
            let client = pool.target.connect(|_| ()).await?;
            if probe::is_pooled(&pool.target, &client).await? {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "mode=session does not work behind a transaction pooler",
                )
                .with("host", &pool.target.shown)
                .hint("use mode=lease, or the server's own address"));
            }
            let capability = server.capability(options.durability, Hold::Held);
            // An advisory lock belongs to its connection, not to a transaction with records: no fusing.
            (Arc::new(SessionLocks::new(Arc::clone(&pool), schema.clone(), capability)), None)
        } else {
            let capability = server.capability(options.durability, Hold::Lease);
            let quick = options.durability == Durability::Process;
            let locks = PostgresLocks::new(Arc::clone(&pool), Arc::clone(&listener), &schema, quick, capability);
            let locks = Arc::new(locks);
            let fused = PostgresFused::new(Arc::clone(&pool), Arc::clone(&locks), &schema);
            (locks, Some(Arc::new(fused)))
        };
        let records = Arc::new(PostgresStore::new(pool, listener, &schema, records));
        Ok(Opened { locks, records: Some(records), fused, shown })
    }

    async fn examine(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let Wanted { schema, mode, target, ears, own_ears } = Wanted::take(&mut url)?;
        let pool = Pool::new(target);
        schema.ensure(&pool).await?;
        let hold = if mode == "session" { Hold::Held } else { Hold::Lease };
        let capability = Server::read(&pool).await?.capability(options.durability, hold);
        let patient = doctor::Patient { pool: &pool, ears: &ears, own_ears, capability, asked: options.durability };
        doctor::look(patient).await
    }
}

/// What a store's URL asks for.
struct Wanted {
    schema: Schema,
    mode: &'static str,
    target: Target,
    /// Where notifications come from.
    ears: Target,
    /// Whether that is an address of its own.
    own_ears: bool,
}

impl Wanted {
    fn take(url: &mut StoreUrl) -> Result<Self> {
        let schema = Schema::new(&url.take("schema").unwrap_or_else(|| "stanchion".to_owned()))?;
        let mode = url.take_choice("mode", &["lease", "session", "xact"])?;
        let listen = url.take("listen_url");
        let target = Target::take(url)?;
        let own_ears = listen.is_some();
        let ears = listen.map_or_else(|| Ok(target.clone()), |listen| listen_target(&listen))?;
        url.finish(&OPTIONS)?;
        if mode == "xact" {
            return Err(Error::new(ErrorKind::Unsupported, "mode=xact has no locks outside a transaction")
                .hint("call stanchion_stores::postgres::lock_in_transaction inside yours, or use mode=lease"));
        }
        Ok(Self { schema, mode, target, ears, own_ears })
    }
}

fn listen_target(text: &str) -> Result<Target> {
    let mut url = StoreUrl::parse(text).map_err(|e| e.with("option", "listen_url"))?;
    let target = Target::take(&mut url).map_err(|e| e.with("option", "listen_url"))?;
    url.finish(&target::OPTIONS).map_err(|e| e.with("option", "listen_url"))?;
    Ok(target)
}

/// The server's settings that our promises stand on.
#[derive(Debug)]
struct Server {
    fsync: bool,
    /// Standbys that may take over without the newest commits.
    may_lag: bool,
}

impl Server {
    async fn read(pool: &Arc<Pool>) -> Result<Self> {
        let answer = pool
            .script(
                "SELECT current_setting('fsync') = 'on', pg_is_in_recovery(), \
                 current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_stat_replication), \
                 current_setting('server_version_num')::int >= 120000",
            )
            .await?;
        let row = answer.iter().find_map(|m| if let SimpleQueryMessage::Row(row) = m { Some(row) } else { None });
        let is = |at| row.and_then(|row| row.get(at)) == Some("t");
        if !is(3) {
            return Err(
                Error::new(ErrorKind::Unsupported, "this PostgreSQL is too old").hint("use PostgreSQL 12 or newer")
            );
        }
        if is(1) {
            return Err(error::running_on_standby(&pool.target.shown));
        }
        Ok(Self { fsync: is(0), may_lag: is(2) })
    }

    fn capability(&self, durability: Durability, hold: Hold) -> Capability {
        let survives = match (hold, durability) {
            (Hold::Lease, Durability::Power) if self.fsync => Survives::PowerLoss,
            _ => Survives::ProcessCrash,
        };
        let weak = if !self.fsync {
            Some("the server runs with fsync=off: a power cut may damage everything")
        } else if self.may_lag {
            Some("an asynchronous standby may take over without the newest commits")
        } else {
            None
        };
        Capability {
            backend: "postgres",
            hold,
            clock: true,
            fair: hold == Hold::Lease,
            shared_between_processes: true,
            survives,
            purpose: Purpose::Correctness,
            weak,
        }
    }
}
