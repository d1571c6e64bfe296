//! The operations on a lock, and the scripts that serve one or many of them.

use std::sync::LazyLock;
use std::time::Duration;

use ::redis::Cmd;
use stanchion_core::{Key, Mode, Owner};

use super::names::Names;
use crate::redis::script::Script;
use crate::together::{Load, Stage};

macro_rules! names {
    (take) => {
        "lock, fence, owner, ttl, mode, number, rest, timed"
    };
    (write) => {
        "lock, fence, owner, mode, number, ask"
    };
    (renew) => {
        "lock, fence, owner, ttl, mode, number, identity, heal"
    };
    (release) => {
        "lock, fence, owner, mode, channel, key, number, ask"
    };
}

/// A script for one operation.
macro_rules! lone {
    ($op:ident, $text:literal) => {
        LazyLock::new(|| {
            Script::new(concat!(
                include_str!("common.lua"),
                "local ",
                names!($op),
                " = KEYS[1], KEYS[2], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]\n",
                include_str!($text)
            ))
        })
    };
}

/// The same text as a function.
macro_rules! function {
    ($op:ident, $text:literal) => {
        concat!("local function ", stringify!($op), "(", names!($op), ")\n", include_str!($text), "end\n")
    };
}

static TAKE: LazyLock<Script> = lone!(take, "take.lua");
static WRITE: LazyLock<Script> = lone!(write, "write.lua");
static RENEW: LazyLock<Script> = lone!(renew, "renew.lua");
static RELEASE: LazyLock<Script> = lone!(release, "release.lua");
static SERVE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("common.lua"),
        function!(take, "take.lua"),
        function!(write, "write.lua"),
        function!(renew, "renew.lua"),
        function!(release, "release.lua"),
        include_str!("serve.lua")
    ))
});

/// What an owner wants of a lock.
#[derive(Debug, Clone)]
pub(super) struct Op {
    pub(super) key: Key,
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    pub(super) work: Work,
}

#[derive(Debug, Clone)]
pub(super) enum Work {
    /// The ttl is what the nodes are told: the caller's, and what their clocks may gain. Timed: numbers follow the
    /// node's clock.
    Take { ttl: Duration, number: u64, identity: String, timed: bool },
    /// `ask` is the number that the attempt came with.
    Write { number: u64, ask: u64 },
    /// Heal: what is nobody's becomes ours, too.
    Renew { ttl: Duration, number: u64, identity: String, heal: bool },
    /// With a number, every node that frees the lock remembers it. With an ask, only what that attempt has taken is
    /// given back.
    Release { number: Option<u64>, ask: Option<u64> },
}

impl Op {
    fn script(&self) -> &'static Script {
        match self.work {
            Work::Take { .. } => &TAKE,
            Work::Write { .. } => &WRITE,
            Work::Renew { .. } => &RENEW,
            Work::Release { .. } => &RELEASE,
        }
    }

    /// Whether it is sent only where a vote counts. Letting go is told to every node, whatever its vote is worth.
    pub(super) const fn needs_trust(&self) -> bool {
        !matches!(self.work, Work::Release { .. })
    }

    /// Whether it begins something; the others keep or end it.
    pub(super) const fn begins(&self) -> bool {
        matches!(self.work, Work::Take { .. })
    }

    pub(super) fn load(&self) -> Load {
        let identity = match &self.work {
            Work::Take { identity, .. } | Work::Renew { identity, .. } => identity.len(),
            Work::Write { .. } | Work::Release { .. } => 0,
        };
        let stage = if self.begins() { Stage::First } else { Stage::Further };
        Load { bytes: 200 + 2 * self.key.as_str().len() + identity, stage }
    }

    fn write(&self, names: &Names, command: &mut Cmd) {
        let (owner, mode) = (self.owner.to_hex(), letter(self.mode));
        let flag = |on: &bool| if *on { "1" } else { "0" };
        match &self.work {
            Work::Take { ttl, number, identity, timed } => {
                command.arg("T").arg(owner).arg(millis(*ttl)).arg(mode).arg(digits(*number));
                command.arg(format!("{:013}{number:016}\t{identity}", names.now())).arg(flag(timed))
            }
            Work::Write { number, ask } => {
                command.arg("W").arg(owner).arg(mode).arg(digits(*number)).arg(digits(*ask)).arg("").arg("")
            }
            Work::Renew { ttl, number, identity, heal } => {
                command.arg("N").arg(owner).arg(millis(*ttl)).arg(mode).arg(digits(*number));
                command.arg(identity).arg(flag(heal))
            }
            Work::Release { number, ask } => {
                let text = |number: &Option<u64>| number.map(digits).unwrap_or_default();
                command.arg("R").arg(owner).arg(mode).arg(names.channel_of(&self.key)).arg(self.key.as_str());
                command.arg(text(number)).arg(text(ask))
            }
        };
    }
}

/// The script that serves these operations, and the command that runs it. One operation has a script of its own, and its
/// answer is not in a list.
pub(super) fn serving<'a>(names: &Names, ops: impl ExactSizeIterator<Item = &'a Op> + Clone) -> (&'static Script, Cmd) {
    let script = match (ops.len(), ops.clone().next()) {
        (1, Some(op)) => op.script(),
        _ => &SERVE,
    };
    let locks: Vec<String> = ops.clone().map(|op| names.lock(&op.key)).collect();
    let keys: Vec<&str> = locks.iter().zip(ops.clone()).flat_map(|(lock, op)| [lock, names.fence(&op.key)]).collect();
    let mut command = script.on(&keys, (7 * ops.len(), 160 * ops.len()));
    for op in ops {
        op.write(names, &mut command);
    }
    (script, command)
}

const fn letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "s",
        Mode::Exclusive | Mode::Slots(_) => "x",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Numbers of equal width can be compared as text.
fn digits(number: u64) -> String {
    format!("{number:016}")
}
