//! What a worker process is told when it is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stanchion_core::{CallKey, Fingerprint, Key, Result, Scope};

/// Where a worker finds its orders.
pub(super) const VARIABLE: &str = "STANCHION_EVIDENCE_WORKER";

/// The shared log of effects.
pub(super) const EFFECTS: &str = "effects.log";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    /// The store, as workers reach it.
    pub(super) url: String,
    pub(super) protected: Protected,
    pub(super) folder: PathBuf,
    /// Worker and life: no two processes share one.
    pub(super) name: String,
    /// Keeps the keys of one phase apart from others in the same store.
    pub(super) prefix: String,
    /// Off in the control: plain reads and writes, and calls without a key.
    pub(super) guarded: bool,
    pub(super) lease: Duration,
    pub(super) tasks: u64,
    /// How many keys are locked, and how many are changed without a lock.
    pub(super) chains: u64,
    /// How far the other workers have come with their keyed calls.
    pub(super) first_step: u64,
    /// Only to hold one lock and to write too late.
    pub(super) is_late: bool,
    pub(super) seed: u64,
}

/// What the holder of a lock reads and writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Protected {
    /// Records of the same store.
    Records,
    /// Records of another store, which checks fences: for a store that only locks.
    Elsewhere(String),
    /// Plain files, which check nothing: for locks that nobody can lose while he lives.
    Files,
}

/// A value that grows by one with each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Chain {
    Locked(u64),
    Optimistic(u64),
}

impl Chain {
    pub(super) fn word(self) -> String {
        match self {
            Self::Locked(n) => format!("L{n}"),
            Self::Optimistic(n) => format!("O{n}"),
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        let number = word.get(1..)?.parse().ok()?;
        match word.as_bytes().first()? {
            b'L' => Some(Self::Locked(number)),
            b'O' => Some(Self::Optimistic(number)),
            _ => None,
        }
    }
}

impl Orders {
    /// Where the journals of this phase are.
    pub(super) fn journals(&self) -> PathBuf {
        self.folder.join(&self.prefix)
    }

    pub(super) fn effects(&self) -> PathBuf {
        self.journals().join(EFFECTS)
    }

    pub(super) fn files(&self) -> PathBuf {
        self.journals().join("protected")
    }

    pub(super) fn data(&self, chain: Chain) -> Result<Key> {
        Key::new(format!("{}:data:{}", self.prefix, chain.word()))
    }

    pub(super) fn lock(&self, name: &str) -> Result<Key> {
        Key::new(format!("{}:lock:{name}", self.prefix))
    }

    pub(super) fn scope(&self) -> Result<Scope> {
        Scope::new("worker", "bank", &self.prefix)
    }

    pub(super) fn call_key(&self, name: &str) -> Result<(CallKey, Fingerprint)> {
        let text = format!("{}-{name}", self.prefix);
        Ok((CallKey::new(&text)?, Fingerprint::of_bytes(text.as_bytes())))
    }

    pub(super) fn journal(&self) -> PathBuf {
        Path::new(&self.journals()).join(format!("{}.log", self.name))
    }
}
