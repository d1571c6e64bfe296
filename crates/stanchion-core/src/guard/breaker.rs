//! Stops a storm of retries against a tool that does not answer.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::{BootTime, Error, ErrorKind, Result};

/// How a call passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Ordinary,
    /// The one that finds out whether the tool answers again.
    Trial,
}

/// A circuit breaker: after so many calls in a row whose outcome stayed unknown, no call is let through for a while; then
/// one, and if that is answered, all.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::Breaker;
/// assert!(Breaker::new(5, Duration::from_secs(10)).is_ok());
/// assert!(Breaker::new(0, Duration::from_secs(10)).is_err());
/// ```
#[derive(Debug)]
pub struct Breaker {
    most: u32,
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    in_a_row: u32,
    /// No call passes until then.
    resting_until: Option<BootTime>,
    /// A single call is on its way to find out.
    trying: bool,
}

impl Breaker {
    /// Opens after `most` unanswered calls in a row, for `rest`.
    ///
    /// # If it fails
    /// `Invalid` for zero calls, or a rest outside 1 ms to 1 h.
    ///
    /// ```
    /// # use std::time::Duration;
    /// assert!(stanchion_core::Breaker::new(1, Duration::from_secs(7200)).is_err());
    /// ```
    pub fn new(most: u32, rest: Duration) -> Result<Self> {
        if most == 0 || rest < Duration::from_millis(1) || rest > Duration::from_secs(3600) {
            return Err(Error::new(ErrorKind::Invalid, "this circuit breaker is out of range")
                .with("calls", most)
                .with("rest", format_args!("{rest:?}"))
                .hint("at least 1 call; a rest of 1ms to 1h"));
        }
        Ok(Self { most, rest, state: Mutex::default() })
    }

    /// May a call pass? If it may, [`report`](Self::report) must follow.
    pub(super) fn admit(&self, now: BootTime) -> Result<Admission> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(until) = state.resting_until else { return Ok(Admission::Ordinary) };
        if now >= until && !state.trying {
            state.trying = true;
            return Ok(Admission::Trial);
        }
        Err(Error::new(ErrorKind::Limited, "the tool did not answer lately; calls are held back for a while")
            .with("unanswered in a row", state.in_a_row)
            .again_in((until - now).max(Duration::from_millis(100))))
    }

    /// How an admitted call ended; `None`: it did not reach the tool.
    pub(super) fn report(&self, admission: Admission, answered: Option<bool>, now: BootTime) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.trying &= admission != Admission::Trial;
        match answered {
            Some(true) => *state = State::default(),
            Some(false) => {
                state.in_a_row = state.in_a_row.saturating_add(1);
                if state.in_a_row >= self.most {
                    if state.resting_until.is_none() {
                        tracing::warn!(unanswered = state.in_a_row, "the circuit breaker opens");
                    }
                    state.resting_until = Some(now + self.rest);
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> BootTime {
        BootTime::from_boot(Duration::from_millis(ms))
    }

    #[test]
    fn opens_after_so_many_unanswered_calls_and_lets_a_single_one_try() {
        let breaker = Breaker::new(2, Duration::from_millis(100)).unwrap();
        for _ in 0..2 {
            let passed = breaker.admit(at(0)).unwrap();
            breaker.report(passed, Some(false), at(0));
        }
        let refused = breaker.admit(at(50)).unwrap_err();
        assert_eq!((refused.kind(), refused.retry_after()), (ErrorKind::Limited, Some(Duration::from_millis(100))));
        let trial = breaker.admit(at(100)).unwrap();
        breaker.admit(at(100)).unwrap_err();
        breaker.report(Admission::Ordinary, None, at(105));
        breaker.admit(at(105)).unwrap_err();
        breaker.report(trial, Some(false), at(110));
        breaker.admit(at(200)).unwrap_err();
        let trial = breaker.admit(at(210)).unwrap();
        breaker.report(trial, Some(true), at(211));
        breaker.admit(at(211)).unwrap();
        breaker.admit(at(211)).unwrap();
    }

    #[test]
    fn a_call_that_did_not_reach_the_tool_says_nothing_about_it() {
        let breaker = Breaker::new(1, Duration::from_millis(100)).unwrap();
        let passed = breaker.admit(at(0)).unwrap();
        breaker.report(passed, None, at(0));
        breaker.admit(at(0)).unwrap();
    }
}
