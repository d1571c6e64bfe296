//! `file:` — locks in a folder: the kernel's on a local disk, a heartbeat on a network file system.

mod bell;
pub(crate) mod doctor;
mod heartbeat;
mod held;
mod kernel;
mod key_lock;
mod lockfile;
mod look;
mod name;
mod network;
mod queue;
mod slip;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Result};

pub use self::kernel::FileLocks;
#[cfg(feature = "sqlite")]
pub(crate) use self::{
    bell::Bell,
    lockfile::{private, trouble},
    network::network_file_system,
    slip::{checksum, write_at},
};
use crate::{Backend, Finding, OpenOptions, Opened, OpenedLocks, StoreUrl};

pub(crate) static BACKEND: FileBackend = FileBackend;

const MODES: &[&str] = &["auto", "kernel", "heartbeat"];

#[derive(Debug)]
pub(crate) struct FileBackend;

#[async_trait]
impl Backend for FileBackend {
    fn schemes(&self) -> &'static [&'static str] {
        &["file"]
    }

    fn help(&self) -> &'static str {
        "file:FOLDER\n  Locks only, in files of one folder.\n  \
         mode=auto|kernel|heartbeat   kernel: held until the process dies, in order of arrival, one machine;\n                               \
         heartbeat: a lease for network file systems; auto asks the file system\n  \
         stale=60s                    heartbeat: a lock that nobody has seen moving for this long is taken over\n  \
         heartbeat=10s                heartbeat: how often a holder moves its lock\n  \
         durability=process|power     power: every fence is forced to disk"
    }

    async fn open(&self, url: StoreUrl, options: OpenOptions) -> Result<Opened> {
        let OpenedLocks { locks, shown, .. } = self.open_locks(url, options).await?;
        Ok(Opened { locks, records: None, fused: None, shown })
    }

    async fn open_locks(&self, mut url: StoreUrl, options: OpenOptions) -> Result<OpenedLocks> {
        let mode = url.take_choice("mode", MODES)?;
        self.open_as(mode, url, options)
    }

    async fn examine(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let mode = url.take_choice("mode", MODES)?;
        let folder = path_of(&url)?;
        let opened = self.open_as(mode, url, options)?;
        let mut findings = crate::doctor::of_capability(opened.locks.capability());
        findings.push(doctor::locks(&folder, mode));
        findings.extend(doctor::folder(&folder));
        Ok(findings)
    }
}

impl FileBackend {
    fn open_as(&self, mode: &str, mut url: StoreUrl, options: OpenOptions) -> Result<OpenedLocks> {
        let (stale, beat) = (url.take_duration("stale")?, url.take_duration("heartbeat")?);
        url.finish(&["mode", "stale", "heartbeat", "durability"])?;
        let folder = path_of(&url)?;
        let locks = FileLocks::open(&folder, options.durability)?;
        let network = network::network_file_system(&folder);
        if mode == "heartbeat" || (mode == "auto" && network.is_some()) {
            let stale = stale.unwrap_or(Duration::from_secs(60));
            let beat = beat.unwrap_or(stale / 6);
            let locks = heartbeat::Heartbeat::open(&folder, stale, beat, options.durability)?;
            return Ok(OpenedLocks { locks: Arc::new(locks), shown: url.to_string(), files: None });
        }
        if stale.is_some() || beat.is_some() {
            return Err(Error::new(ErrorKind::Invalid, "stale= and heartbeat= need mode=heartbeat").with("mode", mode));
        }
        if let Some(kind) = network {
            tracing::warn!(folder = %folder.display(), kind, "kernel locks on a network file system may not reach other machines");
        }
        let locks = Arc::new(locks);
        Ok(OpenedLocks { locks: locks.clone(), shown: url.to_string(), files: Some(locks) })
    }
}

/// The path in a URL: as typed; `file:///x` is `/x`.
pub(crate) fn path_of(url: &StoreUrl) -> Result<PathBuf> {
    let rest = url.rest();
    let path = rest.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(rest);
    if path.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the store has no path")
            .with("store", url)
            .hint(format!("write {}:PATH", url.scheme())));
    }
    Ok(Path::new(path).to_owned())
}

/// The wall clock in microseconds, for numbers that must be new even when what we remembered is gone. No
/// lease and no expiry within one boot is judged by it.
pub(crate) fn wall_us() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a starting point only, never compared with a deadline")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |t| u64::try_from(t.as_micros()).unwrap_or(0))
}
