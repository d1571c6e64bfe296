//! What `stanchion doctor` says about a store: facts, and what weakens the promises.

use std::fmt;

use stanchion_core::{Capability, Purpose, Survives};

/// How good a fact is.
///
/// ```
/// use stanchion_stores::Grade;
/// assert!(Grade::Broken > Grade::Weak);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be, or simply a fact.
    Fine,
    /// It works, and a fault may cost more than it had to.
    Weak,
    /// A promise does not hold here.
    Broken,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fine => "ok",
            Self::Weak => "weak",
            Self::Broken => "broken",
        })
    }
}

/// One fact about a store.
///
/// ```
/// use stanchion_stores::{Finding, Grade};
/// let finding = Finding::weak("persistence", "nothing is written to disk").fix("set appendonly yes");
/// assert_eq!((finding.grade, finding.fix.is_some()), (Grade::Weak, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// One word: `version`, `persistence`, `replication`, `pooler`, `clock`, …
    pub topic: &'static str,
    /// The fact, in one sentence. Holds no secret.
    pub says: String,
    /// How good that is.
    pub grade: Grade,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    /// A fact that is as it should be.
    ///
    /// ```
    /// assert!(stanchion_stores::Finding::fine("version", "7.0.15").fix.is_none());
    /// ```
    pub fn fine(topic: &'static str, says: impl Into<String>) -> Self {
        Self { topic, says: says.into(), grade: Grade::Fine, fix: None }
    }

    /// A fact that weakens a promise.
    ///
    /// ```
    /// # use stanchion_stores::{Finding, Grade};
    /// assert_eq!(Finding::weak("clock", "4 s ahead of ours").grade, Grade::Weak);
    /// ```
    pub fn weak(topic: &'static str, says: impl Into<String>) -> Self {
        Self { grade: Grade::Weak, ..Self::fine(topic, says) }
    }

    /// A fact that breaks a promise.
    ///
    /// ```
    /// # use stanchion_stores::{Finding, Grade};
    /// assert_eq!(Finding::broken("pooler", "a transaction pooler").grade, Grade::Broken);
    /// ```
    pub fn broken(topic: &'static str, says: impl Into<String>) -> Self {
        Self { grade: Grade::Broken, ..Self::fine(topic, says) }
    }

    /// The same with what to do about it.
    ///
    /// ```
    /// # use stanchion_stores::Finding;
    /// assert_eq!(Finding::weak("a", "b").fix("do c").fix.as_deref(), Some("do c"));
    /// ```
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// What every opened store says of itself.
pub(crate) fn of_capability(capability: Capability) -> Vec<Finding> {
    let mut findings = vec![match capability.survives {
        Survives::Nothing => Finding::weak("durability", "everything is lost with this process"),
        Survives::ProcessCrash => Finding::fine("durability", "acknowledged writes survive the death of any client"),
        Survives::PowerLoss => Finding::fine("durability", "acknowledged writes survive a power cut"),
    }];
    if let Some(weak) = capability.weak {
        findings.push(Finding::weak("forgetting", weak));
    }
    if capability.purpose == Purpose::Efficiency {
        findings.push(
            Finding::weak("purpose", "these locks are for efficiency: their fences may go back when nodes forget")
                .fix("where a double effect does harm, check a token that the protected store mints"),
        );
    }
    findings
}

/// A capability's own findings and the engine's. What the capability calls weak is left out where the engine's findings
/// say the same with a cause and a fix.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) fn with_causes(capability: Capability, found: Vec<Finding>) -> Vec<Finding> {
    let explained = found.iter().any(|finding| finding.grade > Grade::Fine);
    let mut findings = of_capability(capability);
    findings.retain(|finding| !(explained && finding.topic == "forgetting"));
    findings.extend(found);
    findings
}

/// The store was asked to keep its writes through a power cut, and this server does not.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) fn power_is_asked_for(asked: crate::Durability, capability: Capability) -> Option<Finding> {
    let missed = asked == crate::Durability::Power && capability.survives < Survives::PowerLoss;
    missed.then(|| {
        Finding::broken("durability", "durability=power is asked for, and this server does not give it")
            .fix("see persistence below, or open it with durability=process")
    })
}

/// The store's wall clock against ours, both in milliseconds since 1970; ours was read before and after the request.
/// A fact for people: no lease is judged by two machines' clocks.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) fn clock(before_ms: u64, store_ms: u64, after_ms: u64) -> Finding {
    let middle = before_ms.midpoint(after_ms);
    let (apart, side) =
        if store_ms >= middle { (store_ms - middle, "ahead of") } else { (middle - store_ms, "behind") };
    // One more, because both clocks were cut to whole milliseconds.
    let blur = after_ms.saturating_sub(before_ms).div_ceil(2) + 1;
    if apart <= blur {
        return Finding::fine("clock", format!("the store's is ours, as far as {blur} ms of network let us see"));
    }
    let apart = stanchion_core::text::duration(std::time::Duration::from_millis(apart));
    Finding::fine("clock", format!("the store's is {apart} {side} ours; no lease depends on that"))
}

/// The wall clock, for [`clock`] alone.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) fn wall_ms() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "shown to people; nothing is judged by it")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(all(test, any(feature = "redis", feature = "postgres")))]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_compared_as_far_as_the_network_lets_us_see() {
        assert!(clock(1000, 1003, 1010).says.contains("is ours"));
        assert!(clock(1000, 5005, 1010).says.contains("4s ahead"), "{:?}", clock(1000, 5005, 1010));
        assert!(clock(9000, 5005, 9010).says.contains("behind"));
    }
}
