//! Bugs planted between the engine and its store. Each must be seen by the oracle, or the oracle is worth nothing.

use std::time::Duration;

use bytes::Bytes;
use stanchion_core::claim::{Claim, Response, State};
use stanchion_core::{Record, Times};

/// A bug that a design for idempotency may have.
///
/// ```
/// # use stanchion_testkit::kill_harness::{Bug, Invariant};
/// assert_eq!(Bug::MissingMark.seen_as(), Invariant::MarkBeforeSend);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A call whose owner died is free again.
    LapseMeansRetry,
    /// Nothing says that the call was sent.
    MissingMark,
    /// No answer is ever recorded: never wrong, and of no use.
    EverythingUnknown,
    /// The answer is kept for a millisecond.
    ForgottenAnswer,
    /// A write that comes too late is written all the same.
    LateWritesWin,
    /// An owner is taken for dead before its time.
    HastyReaper,
    /// Repetitions are told something else.
    WrongAnswer,
}

impl Bug {
    /// All of them.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Bug;
    /// assert_eq!(Bug::ALL.len(), 7);
    /// ```
    pub const ALL: [Self; 7] = [
        Self::LapseMeansRetry,
        Self::MissingMark,
        Self::EverythingUnknown,
        Self::ForgottenAnswer,
        Self::LateWritesWin,
        Self::HastyReaper,
        Self::WrongAnswer,
    ];

    /// The invariant that it violates at least.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::{Bug, Invariant};
    /// assert_eq!(Bug::LapseMeansRetry.seen_as(), Invariant::AtMostOnce);
    /// ```
    #[must_use]
    pub const fn seen_as(self) -> super::Invariant {
        use super::Invariant;
        match self {
            Self::LapseMeansRetry | Self::LateWritesWin => Invariant::AtMostOnce,
            Self::MissingMark => Invariant::MarkBeforeSend,
            Self::EverythingUnknown => Invariant::UnknownHasReason,
            Self::ForgottenAnswer => Invariant::NoAmnesia,
            Self::HastyReaper => Invariant::ReaperKeepsOpen,
            Self::WrongAnswer => Invariant::NoFalseSuccess,
        }
    }

    /// What reaches the store of a claim that was to be written.
    pub(super) fn written(self, value: &Bytes, is_lapse: bool) -> Option<Bytes> {
        let claim = Claim::decode(value).ok()?;
        let state = match (self, &claim.state) {
            (Self::LapseMeansRetry, State::Unknown { .. }) if is_lapse => State::Retryable { response: None },
            (Self::MissingMark, State::Dispatched { lease }) => State::Claimed { lease: *lease },
            (Self::EverythingUnknown, State::Done { .. }) => State::Unknown { reason: "who knows".to_owned() },
            _ => return None,
        };
        let mut claim = claim;
        claim.state = state;
        Some(claim.encode())
    }

    /// How long what is written lives.
    pub(super) fn ttl(self, value: &Bytes, ttl: Option<Duration>) -> Option<Duration> {
        let is_done = || Claim::decode(value).is_ok_and(|claim| matches!(claim.state, State::Done { .. }));
        if self == Self::ForgottenAnswer && is_done() { Some(Duration::from_millis(1)) } else { ttl }
    }

    /// What the engine is shown of a record.
    pub(super) fn shown(self, record: &mut Record) {
        match (self, record.times) {
            (Self::HastyReaper, Some(times)) => {
                let written_ms = times.written_ms.saturating_sub(10_000);
                record.times = Some(Times { written_ms, ..times });
            }
            (Self::WrongAnswer, _) => {
                let Ok(mut claim) = Claim::decode(&record.value) else { return };
                if let State::Done { response, .. } = &mut claim.state {
                    *response = Response::new("", "invented");
                    record.value = claim.encode();
                }
            }
            _ => {}
        }
    }
}
