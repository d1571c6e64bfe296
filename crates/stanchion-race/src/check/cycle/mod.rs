//! Is there an order of calls that touch several keys?
//!
//! [`Input::Store`](super::Input::Store) and [`Input::Load`](super::Input::Load) of one client with the same times are one
//! call. Versions say which call must come before which: a write before those that saw it, a write before the next one of
//! the same key, a read before the write that replaced what it saw; and real time says it of calls that do not overlap. A
//! cycle among these cannot be ordered. Calls with an unknown outcome are left out: they can hide a cycle, but not make one.
//!
//! ```
//! use stanchion_race::check::{History, Input, Value, cycle};
//! // Each of two doctors sees that the other is on duty, and goes home.
//! let mut history = History::new();
//! let (ann, bob) = (history.key("ann")?, history.key("bob")?);
//! history.done(1, ann, (0, 9), Input::Store { token: 0, base: None }, Value::Int(1));
//! history.done(1, bob, (0, 9), Input::Load { token: 0 }, Value::Int(0));
//! history.done(2, bob, (1, 8), Input::Store { token: 0, base: None }, Value::Int(1));
//! history.done(2, ann, (1, 8), Input::Load { token: 0 }, Value::Int(0));
//! let checked = cycle::check(&history);
//! assert_eq!(checked.cycles[0].name(), "write skew");
//! assert_eq!(checked.cycles[0].story(&history).lines().count(), 3);
//! # Ok::<(), stanchion_race::check::Full>(())
//! ```

mod calls;
mod graph;

use super::History;

pub use self::calls::{Call, Why};
use self::graph::Graph;

/// One step of a cycle: this call must come before that of the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The call.
    pub call: Call,
    /// Why it must come before the next one.
    pub why: Why,
}

/// Calls that must all come before each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The steps; the last one leads back to the first.
    pub steps: Vec<Step>,
}

impl Cycle {
    /// What this kind of cycle is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let count = |kind: fn(&Why) -> bool| self.steps.iter().filter(|step| kind(&step.why)).count();
        let replaced = count(|why| matches!(why, Why::Replaced { .. }));
        let overwrote = count(|why| matches!(why, Why::Overwrote { .. }));
        let (time, all) = (count(|why| *why == Why::Time), self.steps.len());
        match (replaced, time) {
            (0, 0) if overwrote == all => "writes in two orders",
            (0, 0) => "circular flow",
            (0, _) => "order against real time",
            (1, 0) if overwrote == 1 && all == 2 => "lost update",
            (1, 0) => "read skew",
            (1, _) => "stale read",
            _ => "write skew",
        }
    }

    /// The cycle in a few lines, for a person.
    #[must_use]
    pub fn story(&self, history: &History) -> String {
        let mut text =
            format!("{}: each of these calls must come before the next, and the last before the first:\n", self.name());
        for (step, next) in self.steps.iter().zip(self.steps.iter().cycle().skip(1)) {
            text.push_str(&format!("  {} {}\n", step.call.words(), step.why.words(&next.call.words(), history)));
        }
        text
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The shortest cycle that was found in each knot of calls, [`SHOWN`] at most.
    pub cycles: Vec<Cycle>,
    /// How many knots there are: groups of calls of which each must come before each.
    pub count: usize,
    /// Calls that were checked.
    pub calls: usize,
    /// Operations that tell no version, which were not checked.
    pub left_out: usize,
}

/// The most cycles that are kept.
pub const SHOWN: usize = 20;

/// Whether real time counts as a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Yes: a call that returned before another was called comes first (strict serializability).
    Counts,
    /// No: any order will do (serializability).
    Ignored,
}

/// Checks a history, with real time; O(n log n).
#[must_use]
pub fn check(history: &History) -> Checked {
    check_with(history, Time::Counts)
}

/// Checks a history with or without real time.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, cycle::{self, Time}};
/// let mut history = History::new();
/// let key = history.key("a")?;
/// history.done(1, key, (0, 1), Input::Store { token: 0, base: None }, Value::Int(1));
/// history.done(2, key, (2, 3), Input::Load { token: 0 }, Value::Int(0));
/// assert_eq!(cycle::check_with(&history, Time::Counts).cycles[0].name(), "stale read");
/// assert_eq!(cycle::check_with(&history, Time::Ignored).count, 0);
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[must_use]
pub fn check_with(history: &History, time: Time) -> Checked {
    let (calls, left_out) = calls::calls(history);
    let mut edges = calls::dependencies(history, &calls);
    if time == Time::Counts {
        calls::real_time(&calls, &mut edges);
    }
    let graph = Graph::new(edges, calls.len());
    let knots = graph.knots();
    let mut checked = Checked { count: knots.len(), calls: calls.len(), left_out, ..Checked::default() };
    for knot in knots.iter().take(SHOWN) {
        let way = graph.shortest(knot);
        // What goes through points in time is one step.
        let steps =
            way.iter().filter_map(|(from, _, why)| Some(Step { call: calls.get(*from as usize)?.clone(), why: *why }));
        checked.cycles.push(Cycle { steps: steps.collect() });
    }
    checked
}
