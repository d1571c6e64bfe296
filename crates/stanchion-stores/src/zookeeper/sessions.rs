//! One session per class of ttl: entries end with their session, so it lives a little longer than the leases in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::link::Session;
use super::options::Options;

#[derive(Debug)]
pub(super) struct Sessions {
    options: Arc<Options>,
    by_timeout: Mutex<BTreeMap<Duration, Arc<Session>>>,
}

impl Sessions {
    pub(super) fn new(options: Arc<Options>) -> Self {
        Self { options, by_timeout: Mutex::default() }
    }

    /// The session for leases of this ttl.
    pub(super) fn of(&self, ttl: Duration) -> Arc<Session> {
        let timeout = timeout_for(ttl);
        let mut sessions = self.by_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let session =
            sessions.entry(timeout).or_insert_with(|| Arc::new(Session::new(Arc::clone(&self.options), timeout)));
        Arc::clone(session)
    }
}

/// Three quarters of a session's time-out are sure (`Link::sure`). Steps of one and a half and one and a third, so that
/// there are few sessions, and none is twice as long as it must be.
fn timeout_for(ttl: Duration) -> Duration {
    let wanted = ttl * 4 / 3 + Duration::from_millis(100);
    let mut step = Duration::from_millis(250);
    loop {
        for timeout in [step, step * 3 / 2] {
            if timeout >= wanted {
                return timeout;
            }
        }
        step *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_outlives_its_leases_and_not_by_much() {
        for ms in [50, 300, 1_500, 30_000, 86_400_000] {
            let ttl = Duration::from_millis(ms);
            let timeout = timeout_for(ttl);
            assert!(timeout * 3 / 4 >= ttl, "{ttl:?} in {timeout:?}");
            assert!(timeout <= ttl * 9 / 4 + Duration::from_millis(250), "{ttl:?} in {timeout:?}");
        }
    }
}
