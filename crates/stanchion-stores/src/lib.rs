#![doc = include_str!("../README.md")]

#[cfg(any(
    feature = "redis",
    feature = "mysql",
    feature = "etcd",
    feature = "zookeeper",
    feature = "consul",
    feature = "nats",
    feature = "dynamodb"
))]
mod address;
#[cfg(any(feature = "redis", feature = "etcd", feature = "nats"))]
mod connecting;
mod doctor;
mod elsewhere;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod in_transaction;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod inbox;
#[cfg(any(feature = "etcd", feature = "zookeeper", feature = "consul"))]
mod line;
mod memory;
#[cfg(any(feature = "redis", feature = "consul", feature = "nats"))]
mod tls;
#[cfg(any(feature = "redis", feature = "mysql"))]
mod together;
mod url;

#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redlock")]
mod redlock;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Fused, LockBackend, RecordStore, Result};

pub use crate::doctor::{Finding, Grade};
#[cfg(feature = "file")]
pub use crate::file::FileLocks;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use crate::in_transaction::InTransaction;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use crate::inbox::{Inbox, Received};
pub use crate::url::StoreUrl;

/// Every backend of this build. A new one is a file, a feature and a line here.
///
/// ```
/// assert!(stanchion_stores::BACKENDS.iter().all(|backend| !backend.help().is_empty()));
/// ```
pub static BACKENDS: &[&dyn Backend] = &[
    &memory::BACKEND,
    #[cfg(feature = "file")]
    &file::BACKEND,
    #[cfg(feature = "sqlite")]
    &sqlite::BACKEND,
    #[cfg(feature = "redis")]
    &redis::BACKEND,
    #[cfg(feature = "postgres")]
    &postgres::BACKEND,
    #[cfg(feature = "redlock")]
    &redlock::BACKEND,
    #[cfg(feature = "mysql")]
    &mysql::BACKEND,
    #[cfg(feature = "etcd")]
    &etcd::BACKEND,
    #[cfg(feature = "zookeeper")]
    &zookeeper::BACKEND,
    #[cfg(feature = "consul")]
    &consul::BACKEND,
    #[cfg(feature = "nats")]
    &nats::BACKEND,
    #[cfg(feature = "dynamodb")]
    &dynamodb::BACKEND,
];

/// What an acknowledged write must survive.
///
/// ```
/// use stanchion_stores::Durability;
/// assert_eq!("power".parse::<Durability>()?, Durability::Power);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of any process, at any point.
    #[default]
    Process,
    /// A power cut as well: data is forced to disk before the answer.
    Power,
}

impl std::str::FromStr for Durability {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "process" => Ok(Self::Process),
            "power" => Ok(Self::Power),
            _ => Err(Error::new(ErrorKind::Invalid, "unknown durability")
                .with("value", text)
                .hint("allowed: process, power")),
        }
    }
}

/// How to open a store, beyond its URL.
///
/// ```
/// use stanchion_stores::{Durability, OpenOptions};
/// assert_eq!(OpenOptions::default().durability, Durability::Process);
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// What acknowledged writes survive. `?durability=` in the URL wins.
    pub durability: Durability,
}

impl OpenOptions {
    /// Sets what acknowledged writes survive.
    ///
    /// ```
    /// use stanchion_stores::{Durability, OpenOptions};
    /// assert_eq!(OpenOptions::default().durability(Durability::Power).durability, Durability::Power);
    /// ```
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}

/// An open store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = stanchion_stores::open("memory:").await?;
/// assert_eq!(store.locks.capability().backend, "memory");
/// assert!(store.records.is_some());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Opened {
    /// Its locks.
    pub locks: Arc<dyn LockBackend>,
    /// Its records; `None` for a backend that only locks.
    pub records: Option<Arc<dyn RecordStore>>,
    /// Both in one trip, where the engine can.
    pub fused: Option<Arc<dyn Fused>>,
    /// The URL without secrets.
    pub shown: String,
}

/// The locks of a store, opened without its records: for programs that only lock.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = stanchion_stores::open_locks("memory:", Default::default()).await?;
/// assert_eq!(store.shown, "memory:");
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedLocks {
    /// The locks.
    pub locks: Arc<dyn LockBackend>,
    /// The URL without secrets.
    pub shown: String,
    /// The kernel's own, where locks are files: they can be handed to a child process.
    #[cfg(feature = "file")]
    pub files: Option<Arc<FileLocks>>,
}

impl From<Opened> for OpenedLocks {
    fn from(opened: Opened) -> Self {
        Self {
            locks: opened.locks,
            shown: opened.shown,
            #[cfg(feature = "file")]
            files: None,
        }
    }
}

/// A kind of store: its scheme, its help, and how to open it.
///
/// ```
/// let schemes: Vec<_> = stanchion_stores::BACKENDS.iter().map(|b| b.schemes()[0]).collect();
/// assert!(schemes.contains(&"memory"));
/// ```
#[async_trait]
pub trait Backend: Debug + Send + Sync {
    /// The URL schemes it answers to; the first is its name.
    fn schemes(&self) -> &'static [&'static str];

    /// A few lines for `stanchion help stores`: the URL's shape, the options, the promise.
    fn help(&self) -> &'static str;

    /// Opens the store. Errors name the engine's host but never its password.
    async fn open(&self, url: StoreUrl, options: OpenOptions) -> Result<Opened>;

    /// Opens the locks alone; the same locks as [`open`](Self::open), perhaps sooner.
    async fn open_locks(&self, url: StoreUrl, options: OpenOptions) -> Result<OpenedLocks> {
        Ok(self.open(url, options).await?.into())
    }

    /// Looks at the engine for `stanchion doctor`: version, persistence, replication, clock, and what weakens our
    /// promises. Opens the store as [`open`](Self::open) does, so what keeps it from opening is an error here too.
    async fn examine(&self, url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        Ok(doctor::of_capability(self.open(url, options).await?.locks.capability()))
    }
}

/// Opens a store by its URL with default options.
///
/// # If it fails
/// `Invalid` for a bad URL or an unknown scheme, `Unavailable` if the engine cannot be reached, `Denied`
/// if it refuses us, `Damaged` if its file is broken. Nothing was changed.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let e = stanchion_stores::open("reddis://localhost").await.unwrap_err();
/// assert!(e.next_step().unwrap().contains("memory"));
/// # });
/// ```
pub async fn open(url: &str) -> Result<Opened> {
    open_with(url, OpenOptions::default()).await
}

/// Opens a store by its URL.
///
/// # If it fails
/// As [`open`].
///
/// ```
/// use stanchion_stores::{OpenOptions, open_with};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// open_with("memory:", OpenOptions::default()).await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
pub async fn open_with(url: &str, options: OpenOptions) -> Result<Opened> {
    let (backend, url, options) = choose(url, options)?;
    backend.open(url, options).await
}

/// Opens the locks of a store alone: no database is opened where locks are files.
///
/// # If it fails
/// As [`open`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert!(stanchion_stores::open_locks("nowhere:", Default::default()).await.is_err());
/// # });
/// ```
pub async fn open_locks(url: &str, options: OpenOptions) -> Result<OpenedLocks> {
    let (backend, url, options) = choose(url, options)?;
    backend.open_locks(url, options).await
}

/// Looks at the engine behind a store, for `stanchion doctor`.
///
/// # If it fails
/// As [`open`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let findings = stanchion_stores::examine("memory:", Default::default()).await?;
/// assert!(findings.iter().any(|finding| finding.topic == "durability"));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
pub async fn examine(url: &str, options: OpenOptions) -> Result<Vec<Finding>> {
    let (backend, url, options) = choose(url, options)?;
    backend.examine(url, options).await
}

fn choose(url: &str, mut options: OpenOptions) -> Result<(&'static dyn Backend, StoreUrl, OpenOptions)> {
    let mut url = StoreUrl::parse(url)?;
    if let Some(durability) = url.take("durability") {
        options.durability = durability.parse()?;
    }
    let known = |backend: &&&dyn Backend| backend.schemes().contains(&url.scheme());
    let Some(backend) = BACKENDS.iter().find(known) else {
        return Err(elsewhere::unknown(url.scheme()));
    };
    Ok((*backend, url, options))
}
