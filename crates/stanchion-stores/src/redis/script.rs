//! The Lua scripts, addressed by their digest.

use std::sync::LazyLock;

use ::redis::Cmd;

pub(super) static LOCKS: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("locks.lua")));
pub(super) static LIST: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("list.lua")));
pub(super) static TOUCH: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("touch.lua")));
pub(super) static WRITE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("write.lua")));
pub(super) static SCAN: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scan.lua")));

/// One script.
pub(super) struct Script {
    hash: String,
    load: Cmd,
}

impl Script {
    fn new(code: &str) -> Self {
        let mut load = ::redis::cmd("SCRIPT");
        load.arg("LOAD").arg(code);
        Self { hash: ::redis::Script::new(code).get_hash().to_owned(), load }
    }

    /// The command that loads it.
    pub(super) fn load(&self) -> &Cmd {
        &self.load
    }

    /// The command that runs it on `keys`; arguments follow. The room is an estimate.
    pub(super) fn on(&self, keys: &[&str], room: (usize, usize)) -> Cmd {
        let mut command = Cmd::with_capacity(3 + keys.len() + room.0, 64 + room.1);
        command.arg("EVALSHA").arg(&self.hash).arg(keys.len());
        for key in keys {
            command.arg(*key);
        }
        command
    }
}
