//! Who calls what, where, when, and what happens to it: made from a seed, kept in a file, made smaller.

mod file;
mod generate;
pub(crate) mod random;
mod shrink;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::file::ScheduleError;
pub(crate) use self::shrink::{Shrink, candidates};

/// One round: every call that is released, and what happens to it.
///
/// ```
/// use stanchion_race::{Schedule, Spec};
/// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
/// let spec = Spec::parse(text, "probe.toml")?;
/// let schedule = Schedule::generate(&spec, 17, 0);
/// assert_eq!(schedule.steps.len(), 20);
/// assert_eq!(schedule, Schedule::generate(&spec, 17, 0));
/// assert_eq!(Schedule::from_json(&schedule.to_json(), &spec).unwrap(), schedule);
/// # Ok::<(), stanchion_race::SpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Schedule {
    /// The version of the format: 1.
    pub version: u32,
    /// The seed of the run.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// How many instances there are.
    pub instances: usize,
    /// The calls.
    pub steps: Vec<Step>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Step {
    /// Its number in the round: what `{n}` and `{id}` are made of. It stays when other calls are dropped.
    pub n: usize,
    /// Which `[[call]]`, from 0.
    pub call: usize,
    /// Where, from 0.
    pub instance: usize,
    /// How long after the release.
    #[serde(default)]
    pub delay_us: u64,
    /// What happens to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// The request, or its answer, is held back.
    Delay {
        /// Before the request.
        before_us: u64,
        /// Before the answer counts.
        after_us: u64,
    },
    /// The request is delivered and the answer dropped.
    LostReply,
    /// The request is delivered a second time.
    Duplicate {
        /// Where.
        instance: usize,
        /// How long after the first.
        after_us: u64,
    },
    /// The connection is cut.
    Reset {
        /// How long after the request.
        after_us: u64,
    },
    /// The process stops and goes on.
    Pause {
        /// How long after the request.
        after_us: u64,
        /// For how long.
        ms: u64,
    },
    /// The process is killed and started again.
    Kill {
        /// How long after the request.
        after_us: u64,
        /// How long it is away.
        restart_ms: u64,
    },
}

impl Fault {
    /// The word of the specification.
    ///
    /// ```
    /// assert_eq!(stanchion_race::Fault::LostReply.name(), "lost-reply");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay",
            Self::LostReply => "lost-reply",
            Self::Duplicate { .. } => "duplicate",
            Self::Reset { .. } => "reset",
            Self::Pause { .. } => "pause",
            Self::Kill { .. } => "kill",
        }
    }
}

impl Step {
    /// How long after the release its request is sent.
    pub(crate) const fn waits(&self) -> Duration {
        let before_us = match self.fault {
            Some(Fault::Delay { before_us, .. }) => before_us,
            _ => 0,
        };
        Duration::from_micros(self.delay_us.saturating_add(before_us))
    }
}

impl Schedule {
    /// How many instances take part.
    ///
    /// ```
    /// # use stanchion_race::{Schedule, Spec};
    /// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = Spec::parse(text, "probe.toml").unwrap();
    /// assert_eq!(Schedule::generate(&spec, 17, 0).used(), 2);
    /// ```
    #[must_use]
    pub fn used(&self) -> usize {
        self.used_places().len()
    }

    /// The instances that take part, in order.
    fn used_places(&self) -> Vec<usize> {
        let also = |step: &Step| match step.fault {
            Some(Fault::Duplicate { instance, .. }) => Some(instance),
            _ => None,
        };
        let mut used: Vec<usize> =
            self.steps.iter().flat_map(|step| [Some(step.instance), also(step)]).flatten().collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// What `{seed}` is.
    pub(crate) fn round_seed(&self) -> u64 {
        round_seed(self.seed, self.round)
    }
}

pub(crate) fn round_seed(seed: u64, round: u64) -> u64 {
    random::mix(seed ^ random::mix(round)) >> 1
}
