//! Waking up when a file is written or closed, by whichever process.

use std::io;
use std::path::Path;
use std::time::Duration;

/// Rings when the file is written, or closed after writing. May ring for nothing.
#[derive(Debug)]
pub(crate) struct Bell {
    #[cfg(target_os = "linux")]
    inotify: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Bell {
    /// Listens from now on.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        add_watch(&inotify, path, WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE)?;
        Ok(Self { inotify })
    }

    /// Returns when it rings, after `limit` at the latest.
    pub(crate) fn wait(&self, limit: Duration) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        // One read takes everything that fits; what is left rings again.
        let mut events = [0u8; 4096];
        match rustix::io::read(&self.inotify, &mut events) {
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// Where the system has no such bell, or none that this crate knows, the look is repeated.
#[cfg(not(target_os = "linux"))]
impl Bell {
    pub(crate) fn new(_: &Path) -> io::Result<Self> {
        Ok(Self {})
    }

    pub(crate) fn wait(&self, limit: Duration) -> io::Result<()> {
        std::thread::park_timeout(limit.min(Duration::from_millis(10)));
        Ok(())
    }
}
