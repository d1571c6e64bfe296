//! SQLite: records in one file, shared by all processes of a machine. The default store.
//!
//! Stores are opened by URL (`sqlite:PATH`). What is public here is for programs that hold a transaction of their own, on a
//! database of their own.

mod database;
mod doctor;
mod fused;
mod rows;
mod store;
mod time;
mod transactional;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{CasLock, Error, ErrorKind, Fused, LockBackend, Result};

use self::fused::SqliteFused;
use self::store::SqliteStore;
pub(crate) use self::transactional::finish_in_transaction;
pub use self::transactional::{TransactionClaim, claim_in_transaction, install};
use crate::file::{FileLocks, path_of};
use crate::{Backend, Durability, Finding, OpenOptions, Opened, OpenedLocks, StoreUrl};

pub(crate) static BACKEND: Sqlite = Sqlite;

#[derive(Debug)]
pub(crate) struct Sqlite;

#[async_trait]
impl Backend for Sqlite {
    fn schemes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn help(&self) -> &'static str {
        "sqlite:PATH\n  Records in one file, for all processes of this machine; no server. Not on network file systems.\n  \
         locks=file|lease           file: kernel locks in PATH.locks, held until the process dies;\n                             \
         lease: leases in the database, which end without renewal\n  \
         durability=process|power   power: every write is forced to disk"
    }

    async fn open(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Opened> {
        let (path, kind) = place(&mut url)?;
        let store = SqliteStore::open(&path, options.durability).await?;
        let shown = url.to_string();
        if kind == "lease" {
            let locks: Arc<dyn LockBackend> = Arc::new(CasLock::new(store.clone()));
            return Ok(Opened { locks, records: Some(Arc::new(store)), fused: None, shown });
        }
        let locks = Arc::new(FileLocks::open(beside(&path, ".locks"), options.durability)?);
        // A fence that is forced to disk takes milliseconds, for which nobody else could write.
        let fused = options.durability == Durability::Process;
        let fused = fused.then(|| Arc::new(SqliteFused::new(&store, &locks)) as Arc<dyn Fused>);
        Ok(Opened { locks, records: Some(Arc::new(store)), fused, shown })
    }

    /// Kernel locks need no database: a command under a lock starts without opening one.
    async fn open_locks(&self, mut url: StoreUrl, options: OpenOptions) -> Result<OpenedLocks> {
        let (path, kind) = place(&mut url)?;
        let shown = url.to_string();
        if kind == "lease" {
            let locks = Arc::new(CasLock::new(SqliteStore::open(&path, options.durability).await?));
            return Ok(OpenedLocks { locks, shown, files: None });
        }
        let locks = Arc::new(FileLocks::open(beside(&path, ".locks"), options.durability)?);
        Ok(OpenedLocks { locks: locks.clone(), shown, files: Some(locks) })
    }

    async fn examine(&self, url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let path = path_of(&url)?;
        let opened = self.open(url, options).await?;
        let mut findings = crate::doctor::of_capability(opened.locks.capability());
        let looked = tokio::task::spawn_blocking(move || doctor::look(&path, options.durability));
        let gone = |e| Error::new(ErrorKind::Unexpected, "the look at the database broke off").because(e);
        findings.extend(looked.await.map_err(gone)??);
        Ok(findings)
    }
}

/// Where the database is, and of which kind its locks are.
fn place(url: &mut StoreUrl) -> Result<(PathBuf, &'static str)> {
    let kind = url.take_choice("locks", &["file", "lease"])?;
    url.finish(&["locks", "durability"])?;
    Ok((path_of(url)?, kind))
}

/// The path with `suffix` behind it, as SQLite itself names its side files.
fn beside(path: &std::path::Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
