//! MySQL and MariaDB: lease locks with a fair queue, locks of sessions, and records.

mod board;
mod change;
mod doctor;
mod ear;
mod error;
mod lease;
mod line;
mod pool;
mod queue;
mod records;
mod row;
mod schema;
mod session;
mod target;
mod text;
mod tidy;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Hold, LockBackend, Result};

use crate::{Backend, Finding, OpenOptions, Opened, StoreUrl};

use self::doctor::Server;
use self::ear::Ear;
use self::lease::LeaseLocks;
use self::pool::Pool;
use self::records::Records;
use self::schema::Schema;
use self::session::SessionLocks;
use self::target::Target;
use self::tidy::Tidy;

pub(crate) static BACKEND: Mysql = Mysql;

const OPTIONS: [&str; 7] = ["mode", "prefix", "timeout", "connect_timeout", "ssl-mode", "ssl-ca", "socket"];

/// The `mysql:` backend.
#[derive(Debug)]
pub(crate) struct Mysql;

/// A server that was asked what it is, with our tables in it.
struct Ready {
    pool: Arc<Pool>,
    schema: Schema,
    server: Server,
    session: bool,
    shown: String,
}

impl Ready {
    async fn new(mut url: StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let schema = Schema::new(&url.take("prefix").unwrap_or_else(|| "stanchion_".to_owned()))?;
        let session = url.take_choice("mode", &["lease", "session"])? == "session";
        let target = Target::take(&mut url)?;
        url.finish(&OPTIONS)?;
        let pool = Pool::new(target);
        let server = Server::read(&pool).await?;
        schema.ensure(&pool).await?;
        if session {
            session::refuse_pooler(&pool).await?;
        }
        Ok(Self { pool, schema, server, session, shown })
    }

    fn hold(&self) -> Hold {
        if self.session { Hold::Held } else { Hold::Lease }
    }
}

#[async_trait]
impl Backend for Mysql {
    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn help(&self) -> &'static str {
        "mysql://USER:PASSWORD@HOST:PORT/DATABASE
  Lease locks in a fair queue over all processes, and records. MySQL 8.0 or MariaDB 10.6, or newer; also mariadb:.
  mode=lease|session   lease: rows (default). session: GET_LOCK, exclusive locks that end with their connection;
                       needs the server's own address, no pooler. The two modes do not exclude each other: all clients of
                       a store use the same one
  prefix=stanchion_    what the names of our tables begin with; made if the user may
  timeout=5s, connect_timeout=5s
  ssl-mode=preferred|disabled|required|verify_identity
  ssl-ca=FILE          trust these certificates only; then the server's must name its host in every mode
  socket=PATH          a Unix socket
  Records and leases are as durable as innodb_flush_log_at_trx_commit (1: on disk when the answer comes). A waiter is woken
  by KILL QUERY from whoever lets go: let all clients of a store log in as the same user, or a wait may take up to 3 s longer.
  While somebody waits, a store has two connections more than its eight."
    }

    async fn open(&self, url: StoreUrl, options: OpenOptions) -> Result<Opened> {
        let ready = Ready::new(url).await?;
        let capability = ready.server.capability(ready.hold(), options.durability);
        let Ready { pool, schema, server, session, shown } = ready;
        let tidy = Tidy::new(Arc::clone(&pool), schema.clone());
        let ear = Ear::new(Arc::clone(&pool), schema.clone());
        let locks: Arc<dyn LockBackend> = if session {
            Arc::new(SessionLocks::new(Arc::clone(&pool), schema.clone(), capability, Arc::clone(&tidy)))
        } else {
            let (pool, ear, tidy) = (Arc::clone(&pool), Arc::clone(&ear), Arc::clone(&tidy));
            Arc::new(LeaseLocks::new(pool, ear, schema.clone(), capability, tidy))
        };
        let capability = server.capability(Hold::Lease, options.durability);
        let records = Arc::new(Records::new(pool, ear, schema, capability, server.packet, tidy));
        Ok(Opened { locks, records: Some(records), fused: None, shown })
    }

    async fn examine(&self, url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let ready = Ready::new(url).await?;
        Ok(ready.server.findings(ready.server.capability(ready.hold(), options.durability)))
    }
}
