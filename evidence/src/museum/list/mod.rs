//! The list. To add a bug: `planted!("its-name")` where the right decision is made, and a line here.

mod calls;
mod locks;
mod rest;
mod versions;

use std::time::Duration;

use super::exhibit::{Exhibit, Finder, Store, Suite};
use super::explore::{Limits, Room};

/// Every planted bug.
#[must_use]
pub fn exhibits() -> Vec<Exhibit> {
    [locks::BUGS, versions::BUGS, calls::BUGS, rest::BUGS].concat()
}

const NOTHING: Limits =
    Limits { cost: 0, losses: 0, deaths: 0, ticks: 0, tick: Duration::ZERO, forgets: 0, slow: false };
/// Interleavings only.
const PLAIN: Limits = Limits { cost: 3, ..NOTHING };
/// An answer is lost.
const LOSSY: Limits = Limits { cost: 3, losses: 1, ..NOTHING };
/// A lease ends, or its holder dies.
const LOCK: Limits = Limits { cost: 3, deaths: 1, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
/// Half a lease passes.
const HALF: Limits = Limits { cost: 3, ticks: 1, tick: Duration::from_secs(6), ..NOTHING };
/// Leases end.
const FENCED: Limits = Limits { cost: 4, ticks: 2, tick: Duration::from_secs(11), ..NOTHING };
/// Leases end, and somebody dies.
const DEADLY: Limits = Limits { cost: 3, deaths: 1, losses: 1, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
const LOCKED: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
/// Long enough for whatever should not be forgotten.
const LONG: Limits = Limits { cost: 2, ticks: 1, tick: Duration::from_secs(3600), ..NOTHING };
/// The lock service restarts empty.
const FORGETFUL: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(11), forgets: 1, ..NOTHING };
/// Time passes between a write and its answer.
const SLOW: Limits = Limits { cost: 3, ticks: 1, tick: Duration::from_secs(11), slow: true, ..NOTHING };
const REDLOCK: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(10), ..NOTHING };

const fn explore(room: Room, limits: Limits) -> Finder {
    Finder::Explore(room, limits)
}

const fn case(store: Store, suite: Suite, case: &'static str, property: &'static str) -> Finder {
    Finder::Case { store, suite, case, property }
}

const fn bug(name: &'static str, about: &'static str, place: &'static str, finder: Finder) -> Exhibit {
    Exhibit { name, about, place, finder, masked: "" }
}
