//! Do tokens and versions follow one order, and does real time agree with it?
//!
//! Whoever hands out tokens and versions says what the order is, so that no search is needed: one sort per key, and one
//! look in each direction. Judged are [`Input::Acquire`] that gave a token, [`Input::Store`] and [`Input::Load`]; per key:
//!
//! | kind | rule |
//! |---|---|
//! | [`Kind::TokenTwice`], [`Kind::TokenOrder`] | a token is given once, and is higher than all that were given before it was asked for |
//! | [`Kind::VersionTwice`], [`Kind::VersionOrder`] | so is a version |
//! | [`Kind::StaleRead`] | nobody sees a version lower than one that was given or seen before the read was called |
//! | [`Kind::FutureRead`] | nobody sees a version before the write that gave it was called, or is based on a later one |
//! | [`Kind::NobodysVersion`] | a version that was seen comes from a write, perhaps from one whose outcome is unknown |
//! | [`Kind::BelowFence`] | no write is acknowledged under a token lower than one that was seen, on a read or a write, at a lower version |
//! | [`Kind::LostUpdate`] | no write comes between a write and the version that it was based on |
//!
//! The rule for the fence counts reads, because a fence that only writes raise loses updates: a stale holder writes after
//! the next one has read. Operations without a token are not held against it.
//!
//! ```
//! use stanchion_race::check::{History, Input, Value, order};
//! let mut history = History::new();
//! let key = history.key("stock")?;
//! history.done(2, key, (0, 1), Input::Load { token: 2 }, Value::Int(0));
//! history.done(1, key, (2, 3), Input::Store { token: 1, base: Some(0) }, Value::Int(1));
//! history.done(2, key, (4, 5), Input::Store { token: 2, base: Some(0) }, Value::Int(2));
//! let checked = order::check(&history);
//! let kinds: Vec<_> = checked.violations.iter().map(|found| found.kind).collect();
//! assert_eq!(kinds, [order::Kind::BelowFence, order::Kind::LostUpdate]);
//! # Ok::<(), stanchion_race::check::Full>(())
//! ```

mod sweep;

use super::{History, Input, Value};

use self::sweep::{Grant, Sweep, Touch};

/// The rule that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A token was given twice.
    TokenTwice,
    /// A lower token was given after a higher one.
    TokenOrder,
    /// A version was given twice.
    VersionTwice,
    /// A lower version was given after a higher one was given or seen.
    VersionOrder,
    /// A lower version was seen after a higher one was given or seen.
    StaleRead,
    /// A version was seen before it was written.
    FutureRead,
    /// A version was seen that nobody wrote.
    NobodysVersion,
    /// A write under a token lower than one that was seen was acknowledged.
    BelowFence,
    /// A write replaced one that it had not seen.
    LostUpdate,
}

/// A rule that was broken, and by which operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub kind: Kind,
    /// The operation that breaks it, by its place in the history.
    pub one: usize,
    /// The operation that it does not fit to.
    pub other: Option<usize>,
}

impl Violation {
    /// The violation in a few lines, for a person.
    #[must_use]
    pub fn story(&self, history: &History) -> String {
        let show = |at: usize| history.operations().get(at).map_or(String::new(), |one| history.show(one).to_string());
        let key = history.operations().get(self.one).map_or("", |operation| history.name(operation.key));
        let (what, then) = match self.kind {
            Kind::TokenTwice => ("a token was given twice", "and"),
            Kind::TokenOrder => ("a lower token was given after a higher one", "although before"),
            Kind::VersionTwice => ("a version was given twice", "and"),
            Kind::VersionOrder => ("a lower version was given after a higher one", "although before"),
            Kind::StaleRead => ("an old version was seen", "although before"),
            Kind::FutureRead => ("a version was seen before it was written", "although only later"),
            Kind::NobodysVersion => ("a version was seen that nobody wrote", ""),
            Kind::BelowFence => ("a write under an old token was acknowledged", "although the next holder was there"),
            Kind::LostUpdate => ("an update was lost", "which did not see"),
        };
        let mut text = format!("key {key:?}: {what}:\n  {}\n", show(self.one));
        if let Some(other) = self.other {
            text.push_str(&format!("  {then}: {}\n", show(other)));
        }
        text
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The first violations, [`SHOWN`] at most; by key and rule.
    pub violations: Vec<Violation>,
    /// How many there are.
    pub count: usize,
    /// Operations that were checked.
    pub operations: usize,
    /// Operations that tell nothing about tokens and versions, which were not checked.
    pub left_out: usize,
}

/// The most violations that are kept.
pub const SHOWN: usize = 100;

impl Checked {
    /// Whether all rules were kept.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.count == 0
    }

    fn found(&mut self, kind: Kind, one: usize, other: Option<usize>) {
        self.count = self.count.saturating_add(1);
        if self.violations.len() < SHOWN {
            self.violations.push(Violation { kind, one, other });
        }
    }
}

/// Checks all keys of a history; O(n log n).
///
/// ```
/// use stanchion_race::check::{History, Input, Value, order};
/// let mut history = History::new();
/// let key = history.key("door")?;
/// history.done(1, key, (0, 5), Input::Acquire, Value::Int(8));
/// history.done(2, key, (6, 9), Input::Acquire, Value::Int(7));
/// let checked = order::check(&history);
/// assert_eq!(checked.violations[0].kind, order::Kind::TokenOrder);
/// assert!(checked.violations[0].story(&history).contains("a lower token was given after a higher one"));
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[must_use]
pub fn check(history: &History) -> Checked {
    let mut checked = Checked::default();
    let mut keys: Vec<Sweep> = Vec::new();
    for (at, operation) in history.operations().iter().enumerate() {
        let place = operation.key as usize;
        // Keys are places among the names of the history; a made-up one is not worth the memory.
        if place >= keys.len() && place < history.names() {
            keys.resize_with(place.saturating_add(1), Sweep::default);
        }
        let number = if let Some(Value::Int(given)) = operation.given() { u64::try_from(given).ok() } else { None };
        let (call, ret) = (operation.call, operation.ret);
        let Some(key) = keys.get_mut(place) else {
            checked.left_out += 1;
            continue;
        };
        match (operation.input, number) {
            (Input::Acquire, Some(token)) => key.grants.push(Grant { token, call, ret, at }),
            (Input::Store { token, base }, Some(version)) => {
                key.touches.push(Touch { version, reads: false, token, base, call, ret, at });
            }
            (Input::Load { token }, Some(version)) => {
                key.touches.push(Touch { version, reads: true, token, base: None, call, ret, at });
            }
            (Input::Store { .. }, None) => key.unknown.push(call),
            _ => {
                checked.left_out += 1;
                continue;
            }
        }
        checked.operations += 1;
    }
    for key in keys {
        key.check(&mut checked);
    }
    checked
}
