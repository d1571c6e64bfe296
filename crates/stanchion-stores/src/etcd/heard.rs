//! What etcd has told about one place, and who waits for more of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Events that are kept for one who comes to wait after they were told.
const KEPT: usize = 64;

#[derive(Debug)]
pub(super) struct Heard {
    state: Mutex<State>,
    /// Everything after this revision is told.
    begun: watch::Sender<Option<i64>>,
}

#[derive(Debug)]
struct State {
    told: VecDeque<(i64, Bytes)>,
    /// Events up to this revision are not in `told` any more.
    forgotten: i64,
    ended: bool,
    waiting: BTreeMap<u64, Waiting>,
    last: u64,
    used: Instant,
}

#[derive(Debug)]
struct Waiting {
    key: Option<Bytes>,
    after: i64,
    bell: Arc<Notify>,
}

impl Waiting {
    fn wants(&self, revision: i64, key: &Bytes) -> bool {
        revision > self.after && self.key.as_ref().is_none_or(|wanted| wanted == key)
    }
}

impl Heard {
    pub(super) fn new() -> Self {
        let state = State {
            told: VecDeque::new(),
            forgotten: 0,
            ended: false,
            waiting: BTreeMap::new(),
            last: 0,
            used: Instant::now(),
        };
        Self { state: Mutex::new(state), begun: watch::Sender::new(None) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, revision: i64) {
        self.begun.send_replace(Some(revision));
    }

    pub(super) fn tell(&self, revision: i64, key: Bytes) {
        let mut state = self.state();
        state.waiting.values().filter(|waiting| waiting.wants(revision, &key)).for_each(|w| w.bell.notify_one());
        state.told.push_back((revision, key));
        if state.told.len() > KEPT
            && let Some((revision, _)) = state.told.pop_front()
        {
            state.forgotten = revision;
        }
    }

    /// Nothing more will be told: everybody looks for himself.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.waiting.values().for_each(|waiting| waiting.bell.notify_one());
        drop(state);
        self.begun.send_replace(Some(i64::MAX));
    }

    pub(super) fn use_now(&self) {
        self.state().used = Instant::now();
    }

    pub(super) fn used(&self) -> Instant {
        self.state().used
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.borrow().is_some()
    }

    /// Whoever knows the place as it was at this revision hears of all that came after it.
    pub(super) fn covers(&self, revision: i64) -> bool {
        self.begun.borrow().is_some_and(|begun| revision >= begun)
    }

    /// Whatever happens from now on is told.
    pub(super) async fn begun(&self) {
        // The sender lives as long as this does.
        self.begun.subscribe().wait_for(Option::is_some).await.ok();
    }

    /// An event of this key (of any, if `None`) after a revision was told, or no more will be.
    pub(super) async fn told(&self, key: Option<Bytes>, after: i64) {
        let waiting = Waiting { key, after, bell: Arc::default() };
        let bell = Arc::clone(&waiting.bell);
        let _leaves = {
            let mut state = self.state();
            if state.ended
                || after < state.forgotten
                || state.told.iter().any(|(revision, key)| waiting.wants(*revision, key))
            {
                return;
            }
            state.last += 1;
            let id = state.last;
            state.waiting.insert(id, waiting);
            Leaves(self, id)
        };
        bell.notified().await;
    }
}

/// Who is dropped waits no more.
struct Leaves<'a>(&'a Heard, u64);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.state().waiting.remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const A: Bytes = Bytes::from_static(b"a");
    const B: Bytes = Bytes::from_static(b"b");

    #[test]
    fn only_later_events_of_the_key_wake() {
        let heard = Heard::new();
        let mut waits = Box::pin(heard.told(Some(A), 5));
        assert!(waits.as_mut().now_or_never().is_none());
        heard.tell(5, A);
        heard.tell(6, B);
        assert!(waits.as_mut().now_or_never().is_none());
        heard.tell(7, A);
        assert!(waits.now_or_never().is_some());
    }

    #[test]
    fn what_was_told_before_one_waits_counts() {
        let heard = Heard::new();
        heard.tell(6, B);
        assert!(heard.told(Some(A), 5).now_or_never().is_none());
        assert!(heard.told(None, 5).now_or_never().is_some());
        assert!(heard.told(None, 6).now_or_never().is_none());
    }

    #[test]
    fn one_who_comes_after_more_than_is_kept_looks_for_himself() {
        let heard = Heard::new();
        for revision in 1..=70 {
            heard.tell(revision, B);
        }
        assert!(heard.told(Some(A), 5).now_or_never().is_some());
        assert!(heard.told(Some(A), 6).now_or_never().is_none());
    }

    #[test]
    fn the_end_wakes_everybody_and_whoever_comes_later() {
        let heard = Heard::new();
        let mut waits = Box::pin(heard.told(Some(A), 5));
        let mut begins = Box::pin(heard.begun());
        assert!(waits.as_mut().now_or_never().is_none() && begins.as_mut().now_or_never().is_none());
        heard.end();
        assert!(waits.now_or_never().is_some() && begins.now_or_never().is_some());
        assert!(heard.told(None, 9).now_or_never().is_some());
        assert!(!heard.covers(9), "whoever trusts it would wait for what nobody tells");
    }

    #[test]
    fn who_is_dropped_waits_no_more() {
        let heard = Heard::new();
        let mut waits = Box::pin(heard.told(None, 5));
        assert!(waits.as_mut().now_or_never().is_none());
        assert_eq!(heard.state().waiting.len(), 1);
        drop(waits);
        assert_eq!(heard.state().waiting.len(), 0);
    }

    #[test]
    fn a_place_is_covered_from_the_revision_at_which_listening_began() {
        let heard = Heard::new();
        assert!(!heard.covers(9));
        heard.begin(7);
        assert!(!heard.covers(6));
        assert!(heard.covers(7));
    }
}
