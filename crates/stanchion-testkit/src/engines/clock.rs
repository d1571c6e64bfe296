//! A clock of a server's own, which a test moves while the server runs: libfaketime.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::locate::{self, Program, Skip};

/// How far the server's wall clock is ahead of the machine's; a file, because the library reads one.
#[derive(Debug)]
pub(super) struct Clock {
    file: PathBuf,
}

impl Clock {
    /// The clock, and a program in `dir` that becomes `server` with it.
    pub(super) fn of(server: &Program, dir: &Path) -> Result<(Clock, Program), Skip> {
        let found = locate::find("faketime", "faketime")?;
        let library = library(&found.path)
            .ok_or_else(|| Skip::new(format!("faketime: no library beside {}", found.path.display())))?;
        let clock = Clock { file: dir.join("clock") };
        clock.set(0);
        // The C library stands before the server's own allocator: that one asks for the time before there is one.
        // Only the wall clock is moved; what measures durations goes on as it is. Read again at every call.
        let text = format!(
            "#!/bin/sh\nexec env LD_PRELOAD='{}:libc.so.6' FAKETIME_TIMESTAMP_FILE='{}' FAKETIME_NO_CACHE=1 \
             FAKETIME_DONT_FAKE_MONOTONIC=1 '{}' \"$@\"\n",
            library.display(),
            clock.file.display(),
            server.path.display(),
        );
        let path = dir.join("server");
        let written =
            fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Ok((clock, Program { path, libraries: server.libraries.clone() }))
    }

    pub(super) fn set(&self, seconds: i64) {
        // Renamed into place: half a number is another time.
        let new = self.file.with_extension("new");
        // stanchion-audit: ignore RC303 -- one test has the folder and sets its clock
        let written = fs::write(&new, format!("{seconds:+}\n")).and_then(|()| fs::rename(&new, &self.file));
        written.unwrap_or_else(|e| panic!("{}: {e}", self.file.display()));
    }
}

/// Shared memory of the library; a server that is killed would leave it behind, and one that runs has it open.
pub(super) fn forget_shared_memory(server: u32) {
    for name in [format!("faketime_shm_{server}"), format!("sem.faketime_sem_{server}")] {
        fs::remove_file(Path::new("/dev/shm").join(name)).ok();
    }
}

/// `lib/*/faketime` of the folder whose `bin` has the program.
fn library(program: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(program.parent()?.parent()?.join("lib")).ok()?;
    let mut places: Vec<_> = folders.flatten().map(|entry| entry.path().join("faketime/libfaketimeMT.so.1")).collect();
    places.retain(|path| path.is_file());
    places.pop()
}
