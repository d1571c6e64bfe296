//! Questions of a server that its client has not answered, and the locks that are held meanwhile.
//!
//! A tool that samples or elicits waits for its client. If the client calls the same server before it answers, that call may
//! wait for the very lock that the asking call holds, and neither would ever go on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use stanchion_core::Key;

use crate::flight::Flight;
use crate::frame::Id;
use crate::problem::{Problem, ProblemKind};

/// How long a call waits for a lock whose holder waits for this client. Many a question is answered within it.
const NESTED: Duration = Duration::from_secs(1);
/// So many questions of one client are remembered; more are passed on and not understood.
const MOST: usize = 4096;

#[derive(Debug)]
struct Question {
    locks: Vec<Key>,
    since: Instant,
}

/// What one client was asked and has not answered.
#[derive(Debug, Default)]
pub(crate) struct Questions(HashMap<Id, Question>);

impl Questions {
    /// The client was asked something, while these locks were held for it.
    pub(crate) fn asked(&mut self, id: Id, locks: Vec<Key>) {
        if !locks.is_empty() && self.0.len() < MOST {
            self.0.insert(id, Question { locks, since: Instant::now() });
        }
    }

    /// It has answered, or is not asked any more.
    pub(crate) fn answered(&mut self, id: &Id) {
        self.0.remove(id);
    }

    /// Since when one of these locks is held by a call that waits for the client.
    pub(crate) fn under(&self, locks: &[Key]) -> Option<Instant> {
        let about = |question: &&Question| question.locks.iter().any(|lock| locks.contains(lock));
        self.0.values().filter(about).map(|question| question.since).min()
    }

    /// No call runs that could still wait.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns when the call waits for a lock that cannot become free before this client has answered; else never.
pub(crate) async fn nested(flight: &Flight, locks: &[Key], under: impl Fn(&[Key]) -> Option<Instant>) {
    while !flight.is_running() && !locks.is_empty() {
        tokio::time::sleep(NESTED / 4).await;
        let since = under(locks);
        if since.is_some_and(|since| since.elapsed() >= NESTED) && !flight.is_running() {
            return;
        }
    }
    std::future::pending().await
}

/// What such a call is told.
pub(crate) fn deadlock() -> Problem {
    let why = "the lock is held by a call of this client that waits for the client's own answer";
    Problem::new(ProblemKind::Deadlock, why).retry_after(NESTED)
}
