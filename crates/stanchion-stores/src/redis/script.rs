//! The Lua scripts, addressed by their digest.

use std::sync::LazyLock;

use ::redis::Cmd;

/// A step that changes a record and a lock, made of the same text as the scripts that change one of them.
macro_rules! step {
    ($script:literal) => {
        concat!(
            include_str!("condition.lua"),
            "local function serve(KEYS, ARGV)\n",
            include_str!("locks.lua"),
            "end\n",
            include_str!("step.lua"),
            include_str!($script),
            include_str!("put.lua")
        )
    };
}

pub(crate) static LOCKS: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("locks.lua")));
pub(crate) static LIST: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("list.lua")));
pub(crate) static TOUCH: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("touch.lua")));
pub(crate) static WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(include_str!("condition.lua"), include_str!("write.lua"), include_str!("put.lua")))
});
pub(crate) static SCAN: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scan.lua")));

pub(crate) static BEGIN: LazyLock<Script> = LazyLock::new(|| Script::new(step!("begin.lua")));
pub(crate) static FINISH: LazyLock<Script> = LazyLock::new(|| Script::new(step!("finish.lua")));

/// One script.
pub(crate) struct Script {
    hash: String,
    load: Cmd,
}

impl Script {
    pub(crate) fn new(code: &str) -> Self {
        let mut load = ::redis::cmd("SCRIPT");
        load.arg("LOAD").arg(code);
        Self { hash: ::redis::Script::new(code).get_hash().to_owned(), load }
    }

    /// The command that loads it.
    pub(crate) fn load(&self) -> &Cmd {
        &self.load
    }

    /// The command that runs it on `keys`; arguments follow. The room is an estimate.
    pub(crate) fn on(&self, keys: &[&str], room: (usize, usize)) -> Cmd {
        let mut command = Cmd::with_capacity(3 + keys.len() + room.0, 64 + room.1);
        command.arg("EVALSHA").arg(&self.hash).arg(keys.len());
        for key in keys {
            command.arg(*key);
        }
        command
    }
}
