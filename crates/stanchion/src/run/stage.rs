//! The second stage of `run`: we start ourselves, and this process becomes the command.
//!
//! It asks the kernel to be killed when its parent dies, which must happen after `fork` and before `exec`;
//! a stage of its own does that without unsafe code.

use std::process::Command;

use crate::exit::say;

pub(super) const STAGE: &str = "__exec";

/// If this is the second stage, becomes the command; returns only if that fails, with the exit code.
pub(crate) fn exec_stage() -> Option<u8> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != STAGE {
        return None;
    }
    let parent = args.next()?;
    if !die_with(&parent.to_string_lossy()) {
        return Some(super::exit::FAILED);
    }
    let name = args.next()?;
    let mut command = Command::new(&name);
    command.args(args);
    let error = become_command(&mut command);
    let name = name.to_string_lossy();
    Some(match error.kind() {
        std::io::ErrorKind::NotFound => {
            say(&format!("error: command '{name}' was not found\nhint: give its full path, or check PATH"));
            127
        }
        _ => {
            say(&format!("error: command '{name}' cannot be executed: {error}"));
            126
        }
    })
}

#[cfg(target_os = "linux")]
fn die_with(parent: &str) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        say(&format!("stanchion: warning: the command will outlive stanchion if that is killed: {error}"));
    }
    // It may have died between its fork and our request; then nobody would ever kill us.
    let alive = getppid().is_some_and(|pid| pid.as_raw_nonzero().get().to_string() == parent);
    if !alive {
        say("error: stanchion was killed before the command could start");
    }
    alive
}

#[cfg(not(target_os = "linux"))]
fn die_with(_: &str) -> bool {
    true
}

#[cfg(unix)]
fn become_command(command: &mut Command) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    command.exec()
}

#[cfg(not(unix))]
fn become_command(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) =>
        {
            #[expect(clippy::exit, reason = "this process stands for the command, and so does its code")]
            std::process::exit(status.code().unwrap_or(1))
        }
        Err(e) => e,
    }
}
