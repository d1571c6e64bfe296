//! A planted bug, and the cheapest way to find it.

use super::explore::{BoxFuture, Limits, Room};

/// A property that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub property: &'static str,
    pub what: String,
}

impl Broken {
    #[must_use]
    pub fn new(property: &'static str, what: impl Into<String>) -> Self {
        Self { property, what: what.into() }
    }
}

/// What a directed schedule did, step by step.
#[derive(Debug, Default)]
pub struct Trail(Vec<String>);

impl Trail {
    pub fn step(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    #[must_use]
    pub fn steps(self) -> Vec<String> {
        self.0
    }
}

/// What a finder says.
#[derive(Debug)]
pub struct Found {
    pub broken: Option<Broken>,
    pub steps: Vec<String>,
    /// Schedules or cases that were tried.
    pub tried: u64,
    /// Whether these are all that there are, within the limits.
    pub complete: bool,
}

/// An open store for a case of the conformance suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// `CasLock` over the reference store.
    Memory,
    Sqlite,
    Redis,
    File,
}

/// How a bug is found. The same finder must find nothing while none is planted.
#[derive(Clone, Copy)]
pub enum Finder {
    /// All interleavings of a few clients, within limits.
    Explore(Room, Limits),
    /// One case of the suite that every backend has to pass, and the property that it stands for.
    Case { store: Store, suite: Suite, case: &'static str, property: &'static str },
    /// One schedule, written down, on the real thing.
    Schedule(fn() -> BoxFuture<(Option<Broken>, Trail)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    Records,
    Locks,
    Leases,
}

impl Finder {
    /// The word of the table.
    #[must_use]
    pub const fn layer(&self) -> &'static str {
        match self {
            Self::Explore(..) => "exploration",
            Self::Case { .. } => "conformance",
            Self::Schedule(_) => "directed schedule",
        }
    }
}

impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.layer())
    }
}

/// One planted bug.
#[derive(Debug, Clone, Copy)]
pub struct Exhibit {
    /// As in `planted!("…")`.
    pub name: &'static str,
    /// What is wrong.
    pub about: &'static str,
    /// The file, from the root of the repository.
    pub place: &'static str,
    pub finder: Finder,
    /// Which other defence had to be off, if with it the bug does no harm.
    pub masked: &'static str,
}

impl Exhibit {
    /// Says which other defence is off in its scenario.
    #[must_use]
    pub const fn masked(self, by: &'static str) -> Self {
        Self { masked: by, ..self }
    }
}
