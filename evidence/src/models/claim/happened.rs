//! What must have happened, else a run proves nothing. Kept outside of the states: as a part of them, each would
//! double their number.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use stanchion_core::claim::{Claim, State};

use super::world::{Closing, Kind, Then};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// T2.
    Takeover,
    /// T5 from UNKNOWN.
    LateEvidence,
    /// T6 from UNKNOWN.
    LateNoEffect,
    /// T7.
    Doubted,
    /// T8.
    Lapsed,
    /// T9.
    RunAgain,
    /// T10, both ways.
    SettledDone,
    SettledNotExecuted,
    /// T11.
    Retried,
    /// T12.
    Buried,
    Suspended,
    Continued,
    SuspensionLapsed,
    /// A write met a newer version.
    Conflict,
    /// An attempt was refused because another one has taken over.
    Fenced,
    AnswerLost,
    Stray,
}

#[derive(Default)]
pub(super) struct Happened([AtomicU32; What::Stray as usize + 1]);

impl Happened {
    pub(super) fn count(&self, what: What, happened: bool) {
        self.0[what as usize].fetch_add(u32::from(happened), Ordering::Relaxed);
    }

    pub(super) fn of(&self, what: What) -> u32 {
        self.0[what as usize].load(Ordering::Relaxed)
    }

    /// A caller's write was applied to a record in this state.
    pub(super) fn written(&self, before: Option<&State>, then: Then) {
        let what = match (before.map(State::name), then) {
            (Some("dispatched"), Then::Closed(Closing::Doubt)) => What::Doubted,
            (Some("dispatched"), Then::Ask) => What::Lapsed,
            (Some("unknown"), Then::Closed(Closing::Tool(Kind::Works | Kind::Fails))) => What::LateEvidence,
            (Some("unknown"), Then::Closed(Closing::Tool(Kind::Refuses) | Closing::NotSent)) => What::LateNoEffect,
            _ => return,
        };
        self.count(what, true);
    }

    /// The record changed.
    pub(super) fn transition(&self, before: Option<&Claim>, after: Option<&Claim>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        let same = before.attempt == after.attempt;
        let what = match (before.state.name(), after.state.name(), same) {
            ("claimed", "claimed" | "dispatched", false) => What::Takeover,
            ("unknown", "claimed" | "dispatched", false) => What::RunAgain,
            ("retryable", "claimed" | "dispatched", false) => What::Retried,
            ("done", "tombstone", true) => What::Buried,
            ("dispatched" | "unknown", "suspended", true) => What::Suspended,
            ("suspended", "claimed" | "dispatched", false) => What::Continued,
            ("suspended", "unknown", true) => What::SuspensionLapsed,
            _ => return,
        };
        self.count(what, true);
    }
}

impl fmt::Debug for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            What::Takeover,
            What::LateEvidence,
            What::LateNoEffect,
            What::Doubted,
            What::Lapsed,
            What::RunAgain,
            What::SettledDone,
            What::SettledNotExecuted,
            What::Retried,
            What::Buried,
            What::Suspended,
            What::Continued,
            What::SuspensionLapsed,
            What::Conflict,
            What::Fenced,
            What::AnswerLost,
            What::Stray,
        ];
        let seen = all.into_iter().filter(|what| self.of(*what) > 0);
        f.debug_map().entries(seen.map(|what| (what, self.of(what)))).finish()
    }
}
