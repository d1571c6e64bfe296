//! What came of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What must be true; the numbers are those of the specification.
///
/// ```
/// # use stanchion_testkit::kill_harness::Invariant;
/// assert_eq!(Invariant::AtMostOnce.to_string(), "I1 at most once");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Invariant {
    /// A key takes effect once at most.
    AtMostOnce,
    /// What took effect is never held for "may run".
    NoAmnesia,
    /// A success was told only of what took effect.
    NoFalseSuccess,
    /// All success answers of a key are equal, and what is done stays so.
    Agreement,
    /// The mark stands in the store before the effect.
    MarkBeforeSend,
    /// One attempt finishes a key.
    SingleWinner,
    /// After the death of all, every key has an answer.
    NoEternalProgress,
    /// Another payload or another caller never sees the answer.
    Private,
    /// No claim with a living owner is touched, none is removed.
    ReaperKeepsOpen,
    /// Every unknown outcome has its fault, and every fault its outcome.
    UnknownHasReason,
    /// A wrong wall clock changes nothing.
    WrongClock,
    /// Two holders of a lock are never at work at the same time.
    Exclusion,
    /// An error means that nothing ran.
    HonestErrors,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtMostOnce => "I1 at most once",
            Self::NoAmnesia => "I2 no amnesia",
            Self::NoFalseSuccess => "I3 no false success",
            Self::Agreement => "I4 agreement",
            Self::MarkBeforeSend => "I5 mark before send",
            Self::SingleWinner => "I6 single winner",
            Self::NoEternalProgress => "I7 no eternal progress",
            Self::Private => "I9 private answers",
            Self::ReaperKeepsOpen => "I10 the reaper keeps what is open",
            Self::UnknownHasReason => "I11 unknown has its reason",
            Self::WrongClock => "I12 wrong clocks change nothing",
            Self::Exclusion => "locks exclude",
            Self::HonestErrors => "an error means that nothing ran",
        })
    }
}

/// What was not true.
#[derive(Debug, Clone, Default)]
pub(super) struct Violations(pub(super) Vec<(Invariant, String)>);

impl Violations {
    pub(super) fn add(&mut self, invariant: Invariant, what: String) {
        self.0.push((invariant, what));
    }

    pub(super) fn check(&mut self, holds: bool, invariant: Invariant, what: impl FnOnce() -> String) {
        if !holds {
            self.add(invariant, what());
        }
    }
}

/// The numbers of a run, and the judgement.
///
/// ```
/// # use stanchion_testkit::kill_harness::Report;
/// fn judge(report: &Report) {
///     report.assert_holds();
///     eprintln!("{report}");
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The name of the setup.
    pub name: String,
    /// The seed of everything random: with it the run is made again, as far as processes can be.
    pub seed: u64,
    /// How many keys were called.
    pub keys: usize,
    /// Kills at each point.
    pub kills: BTreeMap<String, usize>,
    /// Pauses past the lease.
    pub pauses: usize,
    /// Effects whose answer was lost.
    pub lost_answers: usize,
    /// Calls that were made.
    pub calls: usize,
    /// Effects that were logged.
    pub effects: usize,
    /// How many claims ended in each state.
    pub states: BTreeMap<String, usize>,
    /// The bound for unknown outcomes, from the faults alone: so many at least, so many at most.
    pub unknown_bounds: (usize, usize),
    /// Writes that came too late, and were refused.
    pub late_writes: usize,
    /// Effects that were refused because their lock had passed on.
    pub fenced: usize,
    /// How often a placeholder was handed out as the answer.
    pub pending: usize,
    /// Numbers that two holders drew at the same time.
    pub collisions: usize,
    /// Looks at the store while the run went on.
    pub looks: usize,
    pub(super) violations: Violations,
    /// Reasons why the run proves nothing.
    pub(super) void: Vec<String>,
    /// Where the logs of a failed run are.
    pub(super) logs: Option<PathBuf>,
}

impl Report {
    /// How often an invariant was violated.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::{Invariant, Report};
    /// fn caught(report: &Report) -> bool {
    ///     report.violated(Invariant::AtMostOnce) > 0
    /// }
    /// ```
    #[must_use]
    pub fn violated(&self, invariant: Invariant) -> usize {
        self.violations.0.iter().filter(|(found, _)| *found == invariant).count()
    }

    pub(super) fn is_good(&self) -> bool {
        self.violations.0.is_empty() && self.void.is_empty()
    }

    /// All invariants hold, and the run was able to show it.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Report;
    /// fn judge(report: &Report) {
    ///     report.assert_holds();
    /// }
    /// ```
    ///
    /// # Panics
    /// When one does not hold, or when the run is void.
    pub fn assert_holds(&self) {
        let list: Vec<String> = self.violations.0.iter().map(|(what, how)| format!("{what}: {how}")).collect();
        let logs = &self.logs;
        assert!(list.is_empty(), "{self}\n{} violations, logs in {logs:?}:\n{}", list.len(), list.join("\n"));
        assert!(self.void.is_empty(), "{self}\nvoid: {}; logs in {logs:?}", self.void.join("; "));
    }

    /// The control was caught: the harness sees double effects and fake answers where they are.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Report;
    /// fn judge(control: &Report) {
    ///     control.assert_caught();
    /// }
    /// ```
    ///
    /// # Panics
    /// When it was not: then the other runs prove nothing.
    pub fn assert_caught(&self) {
        assert!(self.violated(Invariant::AtMostOnce) > 0, "void: no double effect was seen in the control\n{self}");
        assert!(self.pending > 0, "void: no placeholder was handed out by the control\n{self}");
        assert!(self.collisions > 0, "void: without locks no two calls met\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: &BTreeMap<String, usize>| {
            let list: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            list.join(", ")
        };
        let kills: usize = self.kills.values().sum();
        write!(f, "{} (seed {}): {} keys, ", self.name, self.seed, self.keys)?;
        write!(f, "{} calls, {} effects; ", self.calls, self.effects)?;
        write!(
            f,
            "{kills} kills ({}), {} pauses, {} lost answers; ",
            list(&self.kills),
            self.pauses,
            self.lost_answers
        )?;
        write!(f, "ended {}; unknown by faults {:?}; ", list(&self.states), self.unknown_bounds)?;
        write!(f, "{} late writes refused, {} effects fenced, {} looks; ", self.late_writes, self.fenced, self.looks)?;
        let doubles = self.violated(Invariant::AtMostOnce);
        write!(f, "{doubles} keys more than once, {} pending handed out, ", self.pending)?;
        write!(f, "{} collisions, {} violations", self.collisions, self.violations.0.len())
    }
}
