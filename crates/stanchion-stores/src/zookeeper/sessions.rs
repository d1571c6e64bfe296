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
        let timeout = timeout_for(ttl, self.options.timeout);
        let mut sessions = self.by_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.entry(timeout).or_insert_with(|| {
            let patience = patience(timeout, self.options.timeout);
            Arc::new(Session::new(Arc::clone(&self.options), timeout, patience))
        });
        Arc::clone(session)
    }
}

/// How long a connection of this session may be silent: the shorter, the more is sure. Not so short that a busy server
/// loses it.
fn patience(session: Duration, timeout: Duration) -> Duration {
    timeout.min(Duration::from_secs(5)).min((session / 8).max(Duration::from_millis(500)))
}

/// How long a session surely lives after a request was sent that was then answered.
///
/// Our server has heard the request, but the leader counts, and may never hear of it: a server tells the leader twice per
/// tick which sessions it has heard of. So the leader surely counts from what we sent last before that, and two times are
/// taken off the session's.
///
/// 1. The longest pause of ours. The library looks at every eighth of its connection's patience (a twentieth of the
///    session if that is less than five thirds of the patience), pings after three of them, and waits eight of them for an
///    answer to the last ping: nine.
/// 2. Half a tick of the servers. No session is shorter than two ticks, and no tick is longer than 6 s (2 s is usual).
pub(super) fn sure(session: Duration, patience: Duration) -> Duration {
    let look = if patience > session * 3 / 5 { session / 20 } else { patience / 8 };
    session.saturating_sub(look * 9 + (session / 4).min(Duration::from_secs(3)))
}

/// The session to ask for. Steps of one and a half and one and a third, so that there are few sessions, and none is much
/// longer than it must be.
fn timeout_for(ttl: Duration, timeout: Duration) -> Duration {
    let mut step = Duration::from_millis(250);
    loop {
        for session in [step, step * 3 / 2] {
            let patience = patience(session, timeout);
            // In a longer session, which a server may grant, the same patience is as sure only from here on.
            if patience <= session * 3 / 5 && sure(session, patience) >= ttl {
                return session;
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
        for ms in [50, 300, 1_500, 4_900, 30_000, 86_400_000] {
            for timeout in [300, 5_000, 60_000].map(Duration::from_millis) {
                let ttl = Duration::from_millis(ms);
                let session = timeout_for(ttl, timeout);
                // A server may grant more than was asked for.
                for granted in [session, session * 5 / 4, session * 9] {
                    assert!(sure(granted, patience(session, timeout)) >= ttl, "{ttl:?} in {granted:?}");
                }
                assert!(session <= ttl * 5 / 2 + Duration::from_millis(1_000), "{ttl:?} in {session:?}");
            }
        }
    }

    /// 20 ticks of 2 s are the longest session unless the servers are told otherwise.
    #[test]
    fn the_usual_ttl_fits_into_the_longest_session_of_a_usual_server() {
        for timeout in [1, 5, 60].map(Duration::from_secs) {
            let asked = timeout_for(stanchion_core::TTL_DEFAULT, timeout);
            assert!(sure(Duration::from_secs(40), patience(asked, timeout)) >= stanchion_core::TTL_DEFAULT);
        }
        let longest = sure(Duration::from_secs(40), patience(Duration::from_secs(48), Duration::from_secs(5)));
        assert_eq!(longest, Duration::from_millis(31_375));
    }

    /// The leader may never hear of the request that was just answered.
    #[test]
    fn what_is_sure_leaves_out_our_longest_pause_and_half_a_tick() {
        for (session, patience, longest) in [(4_000, 500, 2_437), (16_000, 2_000, 10_750), (2_000, 5_000, 600)] {
            let sure = sure(Duration::from_millis(session), Duration::from_millis(patience));
            assert_eq!(sure.as_millis(), longest, "{session} {patience}");
        }
    }
}
