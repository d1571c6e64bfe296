//! A lock over `n` independent nodes, as arithmetic: no clock is read here, nothing is sent.
//!
//! A driver tells an [`Attempt`] what each node answered, and when; the attempt says what to do next. The same code
//! runs in production (`redlock:` of `stanchion-stores`), in the exhaustive tests and in the model.
//!
//! - [`Tally`]: yes, no, error, or still out. It decides as soon as the rest cannot change the outcome, so an even
//!   split and a silent node end like everything else.
//! - [`Attempt`]: take, perhaps write the fence back, granted or given up. How much of the ttl is left is checked after
//!   every quorum, because the first node may forget us while the last one answers.
//! - [`Trust`]: a node that has restarted may have forgotten what it promised. It has no vote until every lease that it
//!   can have forgotten is over.
//!
//! ```
//! use std::time::Duration;
//! use stanchion_core::BootTime;
//! use stanchion_core::redlock::{Answer, Attempt, Next, drift};
//! let (ttl, sent) = (Duration::from_secs(10), BootTime::from_boot(Duration::from_secs(100)));
//! let mut attempt = Attempt::new(3, ttl, drift(ttl), sent, 0, true);
//! assert_eq!(attempt.answer(0, 0, Answer::Yes(7), sent), Next::Wait);
//! assert_eq!(attempt.answer(2, 0, Answer::Yes(7), sent), Next::Granted(7)); // two of three, without the third
//! ```

mod attempt;
mod tally;
mod trust;

use std::time::Duration;

pub use attempt::{Answer, Attempt, Next, Reason};
pub use tally::{Tally, Verdict, Vote};
pub use trust::Trust;

/// The most nodes one lock can have.
///
/// ```
/// assert_eq!(stanchion_core::redlock::NODES_MAX, 32);
/// ```
pub const NODES_MAX: usize = 32;

/// Rounds in which a fence may be written back before an attempt gives up.
///
/// ```
/// assert_eq!(stanchion_core::redlock::ROUNDS_MAX, 8);
/// ```
pub const ROUNDS_MAX: u8 = 8;

/// How many of `nodes` are a quorum: any two quorums share a node.
///
/// ```
/// use stanchion_core::redlock::quorum;
/// assert_eq!([1, 2, 3, 4, 5].map(quorum), [1, 2, 2, 3, 3]);
/// ```
#[must_use]
pub const fn quorum(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// How much clocks may drift apart during a ttl: 1 % and 2 ms, as leases everywhere in Stanchion count it.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(stanchion_core::redlock::drift(Duration::from_secs(10)), Duration::from_millis(102));
/// ```
#[must_use]
pub fn drift(ttl: Duration) -> Duration {
    crate::lease_machine::drift(ttl)
}

/// What is left of a lease whose first request was sent `elapsed` ago: zero if it cannot be believed.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::redlock::validity;
/// let (ttl, drift) = (Duration::from_millis(200), Duration::from_millis(4));
/// assert_eq!(validity(ttl, Duration::from_millis(96), drift), Duration::from_millis(100));
/// assert!(validity(ttl, Duration::from_millis(400), drift).is_zero());
/// ```
#[must_use]
pub const fn validity(ttl: Duration, elapsed: Duration, drift: Duration) -> Duration {
    ttl.saturating_sub(elapsed).saturating_sub(drift)
}
