//! Servers that refuse to run as root.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// `nobody`, everywhere.
const NOBODY: u32 = 65_534;

/// The user for servers that refuse root: `nobody` when the tests run as root, else ourselves.
pub(super) fn unprivileged() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

/// A command that runs `program` as `user`, who will need `engine`.
///
/// Panics where that user may not enter the engine's folder, with the remedy: the server's own words would be obscure.
pub(super) fn command_as(user: Option<u32>, program: &OsStr, engine: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some(id) = user {
        assert!(
            open_to_all(engine),
            "{} refuses root, and the user `nobody` may not enter its folder; set STANCHION_ENGINES to a folder that is \
             open to all (for example below /var/tmp) and run `cargo xtask engines` again",
            engine.display()
        );
        command.uid(id).gid(id);
    }
    command
}

/// Hands a path over to the server's user.
pub(super) fn give_to(path: &Path, user: Option<u32>) {
    if let Some(user) = user {
        let given = std::os::unix::fs::lchown(path, Some(user), Some(user));
        given.unwrap_or_else(|e| panic!("cannot give {} to user {user}: {e}", path.display()));
    }
}

fn open_to_all(program: &Path) -> bool {
    let path = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    path.ancestors().all(|part| part.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0))
}
