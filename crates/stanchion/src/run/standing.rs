//! A leader outlives an outage of the store: it stands for election until the store is back.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result, RetryPolicy, Wait};
use tokio::time::Instant;

use crate::cli::RunArgs;
use crate::exit::say;

const PAUSE_FIRST: Duration = Duration::from_millis(200);
const PAUSE_LONGEST: Duration = Duration::from_secs(5);

/// One candidacy, from the loss of the last term to the next one.
pub(super) struct Standing {
    pauses: RetryPolicy,
    tries: u32,
    since: Instant,
    /// `None`: no candidate, so that an error is an error.
    wait: Option<Wait>,
}

impl Standing {
    pub(super) fn new(args: &RunArgs) -> Result<Self> {
        let pauses = RetryPolicy::default().pauses(PAUSE_FIRST, PAUSE_LONGEST)?;
        let wait = args.leader.as_ref().map(|_| args.wait.unwrap_or(Wait::Forever));
        Ok(Self { pauses, tries: 0, since: Instant::now(), wait })
    }

    /// How long to pause before the next try; `None` if there is none. The first one is said.
    pub(super) fn pause(&mut self, error: &Error) -> Option<Duration> {
        let patient = match self.wait? {
            Wait::Forever => true,
            Wait::For(wait) => self.since.elapsed() < wait,
            Wait::No => false,
        };
        if !patient || !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown) {
            return None;
        }
        if self.tries == 0 {
            say(&format!("stanchion: the store does not answer ({error}); trying again until it is back"));
        }
        let pause = self.pauses.pause(self.tries);
        self.tries = self.tries.saturating_add(1);
        Some(pause)
    }
}
