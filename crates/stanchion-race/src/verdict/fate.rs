//! What became of the effect of each call.

use std::collections::BTreeSet;

use super::Verdict;
use crate::oracle::Violation;
use crate::run::{End, Record};

/// Expectations that speak of each call.
const OF_EACH: [&str; 3] = ["every", "once", "effects"];

/// What became of the effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is there.
    Kept,
    /// It was acknowledged, and is not there.
    Lost,
    /// It is there more than once.
    Doubled,
    /// Its answer and those of others cannot all be right.
    Conflicting,
}

impl Fate {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Lost => "lost",
            Self::Doubled => "there twice",
            Self::Conflicting => "in conflict",
        }
    }
}

/// Knows it for the calls of one round.
pub(super) struct Fates<'v> {
    missing: BTreeSet<&'v str>,
    doubled: BTreeSet<&'v str>,
    conflicting: BTreeSet<&'v str>,
    is_known: bool,
}

impl<'v> Fates<'v> {
    pub(super) fn new(verdict: &Verdict, violations: &'v [Violation]) -> Self {
        let ids = |of: fn(&Violation) -> &Vec<String>| violations.iter().flat_map(of).map(String::as_str).collect();
        let is_known = verdict.expect.iter().any(|name| OF_EACH.contains(name));
        let (missing, doubled) = (ids(|it| &it.missing), ids(|it| &it.doubled));
        Self { missing, doubled, conflicting: ids(|it| &it.conflicting), is_known }
    }

    /// `None` if no expectation speaks of it: the call was not acknowledged, or only sums are known.
    pub(super) fn of(&self, record: &Record) -> Option<Fate> {
        let id = record.id.as_str();
        if self.doubled.contains(id) {
            return Some(Fate::Doubled);
        }
        if self.missing.contains(id) {
            return Some(Fate::Lost);
        }
        if self.conflicting.contains(id) {
            return Some(Fate::Conflicting);
        }
        (self.is_known && record.is(End::Acknowledged)).then_some(Fate::Kept)
    }
}
