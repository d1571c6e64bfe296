//! What the cases share.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use stanchion_core::{Error, ErrorKind, Key, Owner, Result};

use super::Outcome;

/// Engines count in milliseconds, and their clocks are slewed: an end may come this much early.
pub(crate) const SLACK: Duration = Duration::from_millis(20);

/// The time to live of what a case lets expire.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// The time to live of what must not expire while a case runs.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Keys under a prefix that no other case and no other run has.
#[derive(Debug, Clone)]
pub(crate) struct Names(String);

impl Names {
    pub(crate) fn fresh() -> Self {
        Self(format!("conformance/{}/", Owner::random().to_hex()))
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.0
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(format!("{}{name}", self.0)).expect("names of cases are short")
    }
}

/// `unwrap` that says which step of the case it was.
pub(crate) trait Must<T> {
    #[track_caller]
    fn must(self, what: &str) -> T;
}

impl<T> Must<T> for Result<T> {
    #[track_caller]
    fn must(self, what: &str) -> T {
        self.unwrap_or_else(|e| panic!("{what}: {:?}: {e}", e.kind()))
    }
}

impl<T> Must<T> for Option<T> {
    #[track_caller]
    fn must(self, what: &str) -> T {
        self.unwrap_or_else(|| panic!("{what}"))
    }
}

/// The error, which must be of `kind`.
#[track_caller]
pub(crate) fn refusal<T: Debug>(result: Result<T>, kind: ErrorKind, what: &str) -> Error {
    match result {
        Err(e) if e.kind() == kind => e,
        other => panic!("{what}: expected {kind:?}, got {other:?}"),
    }
}

/// Asks until the answer is there. Panics with `reason` when `patience` ends.
pub(crate) async fn until<T, F, Fut>(patience: Duration, reason: &str, mut ask: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let end = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "not within {patience:?}: {reason}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(25));
    }
}

/// Fails if something that needed `least` was there before it could be, counted from `start`, an instant before the
/// request was sent. Only a lower bound: a slow machine cannot break it.
#[track_caller]
pub(crate) fn not_before(start: Instant, least: Duration, what: &str) {
    let took = start.elapsed();
    assert!(took + SLACK >= least, "{what} after {took:?}, which is before {least:?}");
}

pub(crate) fn not_applicable(why: impl Into<String>) -> Outcome {
    Outcome::NotApplicable(why.into())
}

pub(crate) fn no_records() -> Outcome {
    not_applicable("the store has no records")
}
