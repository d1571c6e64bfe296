//! Which store, opened how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stanchion_core::{
    Chaos, ChaosLock, ChaosStore, Error, ErrorKind, Fused, Hold, Idempotency, LockBackend, RecordStore, Result,
};
use stanchion_stores::{OpenOptions, Opened, OpenedLocks};

use crate::cli::StoreArgs;

/// The folder of the embedded store: `STANCHION_HOME`, or `.local/state/stanchion` under the home of the
/// effective user as the system knows it. Not `$HOME` and not XDG: terminal and graphical programs disagree
/// about those, and two folders would be two sets of locks.
pub(crate) fn home(args: &StoreArgs) -> Result<PathBuf> {
    let dir = match &args.home {
        Some(dir) => dir.clone(),
        None => system_home()?.join(".local/state/stanchion"),
    };
    std::fs::create_dir_all(&dir).map_err(|e| {
        Error::new(ErrorKind::Denied, "the state folder cannot be made")
            .with("folder", dir.display())
            .because(e)
            .hint("set STANCHION_HOME to a folder you can write to, or use --store")
    })?;
    restrict(&dir);
    Ok(dir)
}

/// The locks of the chosen store, and its name without secrets.
pub(crate) async fn open_locks(args: &StoreArgs) -> Result<OpenedLocks> {
    let mut opened = stanchion_stores::open_locks(&url(args)?, options(args)).await?;
    if let Some(chaos) = chaos(args) {
        opened.locks = Arc::new(ChaosLock::new(opened.locks, chaos));
    }
    Ok(opened)
}

/// The chosen store as it is, with records or without.
pub(crate) async fn open_any(args: &StoreArgs) -> Result<Opened> {
    let mut opened = stanchion_stores::open_with(&url(args)?, options(args)).await?;
    if let Some(chaos) = chaos(args) {
        opened.locks = Arc::new(ChaosLock::new(opened.locks, chaos.clone()));
        opened.records =
            opened.records.map(|records| Arc::new(ChaosStore::new(records, chaos)) as Arc<dyn RecordStore>);
        opened.fused = None;
    }
    Ok(opened)
}

/// The chosen store with its records: claims need both.
///
/// # If it fails
/// `Unsupported` for a store that only locks.
pub(crate) async fn open(args: &StoreArgs) -> Result<Store> {
    let opened = stanchion_stores::open_with(&url(args)?, options(args)).await?;
    let records = records(&opened)?;
    let store = Store { locks: opened.locks, records, fused: opened.fused, shown: opened.shown };
    Ok(match chaos(args) {
        None => store,
        Some(chaos) => Store {
            locks: Arc::new(ChaosLock::new(store.locks, chaos.clone())),
            records: Arc::new(ChaosStore::new(store.records, chaos)),
            fused: None,
            shown: store.shown,
        },
    })
}

/// The locks of the chosen store together with its records, for `run --once`.
///
/// # If it fails
/// `Unsupported` for a store that only locks.
pub(crate) async fn open_both(args: &StoreArgs) -> Result<(OpenedLocks, Arc<dyn RecordStore>)> {
    let opened = stanchion_stores::open_with(&url(args)?, options(args)).await?;
    let mut records = records(&opened)?;
    let chaos = chaos(args);
    if let Some(chaos) = &chaos {
        records = Arc::new(ChaosStore::new(records, chaos.clone()));
    }
    // Locks that are files are handed to the command, which only those that were opened alone can be.
    let mut locks = match opened.locks.capability().hold {
        Hold::Held => stanchion_stores::open_locks(&url(args)?, options(args)).await?,
        _ => opened.into(),
    };
    if let Some(chaos) = chaos {
        locks.locks = Arc::new(ChaosLock::new(locks.locks, chaos));
    }
    Ok((locks, records))
}

fn records(opened: &Opened) -> Result<Arc<dyn RecordStore>> {
    opened.records.clone().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "this store has locks, but keeps no records")
            .with("store", &opened.shown)
            .hint("use sqlite:, redis: or postgres:")
    })
}

/// A store that can remember calls.
pub(crate) struct Store {
    pub(crate) locks: Arc<dyn LockBackend>,
    pub(crate) records: Arc<dyn RecordStore>,
    pub(crate) fused: Option<Arc<dyn Fused>>,
    pub(crate) shown: String,
}

impl Store {
    pub(crate) fn claims(&self) -> Idempotency {
        let claims = Idempotency::new(Arc::clone(&self.records), Arc::clone(&self.locks));
        match &self.fused {
            Some(fused) => claims.fused(Arc::clone(fused)),
            None => claims,
        }
    }
}

pub(crate) fn url(args: &StoreArgs) -> Result<String> {
    match &args.store {
        Some(url) => Ok(url.clone()),
        None => Ok(format!("sqlite:{}", home(args)?.join("stanchion.db").display())),
    }
}

pub(crate) fn options(args: &StoreArgs) -> OpenOptions {
    OpenOptions::default().durability(args.durability)
}

fn chaos(args: &StoreArgs) -> Option<Chaos> {
    let chaos = args.chaos.clone()?;
    crate::exit::say(&format!("stanchion: CHAOS IS ON: {chaos}"));
    Some(chaos)
}

#[cfg(unix)]
fn system_home() -> Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    home_of(&passwd, uid).or_else(|| std::env::home_dir().filter(|home| home.is_absolute())).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "the home folder of this user is not known")
            .with("uid", uid)
            .hint("set STANCHION_HOME, or use --store")
    })
}

#[cfg(not(unix))]
fn system_home() -> Result<PathBuf> {
    std::env::home_dir().ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "the home folder of this user is not known")
            .hint("set STANCHION_HOME, or use --store")
    })
}

#[cfg(unix)]
fn home_of(passwd: &str, uid: u32) -> Option<PathBuf> {
    entry(passwd, uid).map(|fields| PathBuf::from(fields[5])).filter(|home| home.is_absolute() && home.is_dir())
}

/// What the system calls this user; `None` where only a directory service knows.
pub(crate) fn user_name(uid: u32) -> Option<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    entry(&passwd, uid).map(|fields| fields[0].to_owned())
}

fn entry(passwd: &str, uid: u32) -> Option<Vec<&str>> {
    let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    fields.into_iter().find(|fields| fields.len() >= 7 && fields[2].parse() == Ok(uid))
}

/// Stored answers and lock files are the user's alone.
fn restrict(dir: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if let Err(error) = std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)) {
            tracing::warn!(folder = %dir.display(), %error, "cannot restrict the state folder to its user");
        }
    }
    #[cfg(not(unix))]
    let _ = dir;
}
