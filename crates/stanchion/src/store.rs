//! Which store, opened how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stanchion_core::{ChaosLock, Error, ErrorKind, LockBackend, Result};
use stanchion_stores::{OpenOptions, OpenedLocks};

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
    let url = match &args.store {
        Some(url) => url.clone(),
        None => format!("sqlite:{}", home(args)?.join("stanchion.db").display()),
    };
    let mut opened = stanchion_stores::open_locks(&url, OpenOptions::default().durability(args.durability)).await?;
    if let Some(chaos) = &args.chaos {
        crate::exit::say(&format!("stanchion: CHAOS IS ON: {chaos}"));
        opened.locks = Arc::new(ChaosLock::new(opened.locks, chaos.clone())) as Arc<dyn LockBackend>;
    }
    Ok(opened)
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
    passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.len() >= 7 && fields[2].parse() == Ok(uid))
        .map(|fields| PathBuf::from(fields[5]))
        .filter(|home| home.is_absolute() && home.is_dir())
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
