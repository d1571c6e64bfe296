//! One waiter per process and key, first come first served.
//!
//! A gate is held while a task **acquires**, not while it holds: so a process has at most one request per
//! key in the store's queue, and the store's order decides between processes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Key;

#[derive(Debug, Default, Clone)]
pub(super) struct Gates {
    /// A key is present while somebody is inside its gate; the queue holds those outside.
    busy: Arc<Mutex<HashMap<Key, VecDeque<oneshot::Sender<Turn>>>>>,
}

/// The right to acquire a key in this process. Dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct Turn(Option<(Gates, Key)>);

impl Gates {
    /// Waits for our turn; `None` if it has not come by `until`.
    ///
    /// Cancel-safe: a turn that arrives when nobody waits for it any more is dropped, and so passed on.
    pub(super) async fn enter(&self, key: &Key, until: Option<Instant>) -> Option<Turn> {
        let receiver = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            match busy.entry(key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(VecDeque::new());
                    return Some(Turn(Some((self.clone(), key.clone()))));
                }
                Entry::Occupied(mut queue) => {
                    let (sender, receiver) = oneshot::channel();
                    let queue = queue.get_mut();
                    // Those who gave up are cleared away now and then, so that they cannot pile up behind a long wait.
                    if queue.len().is_power_of_two() {
                        queue.retain(|waiter: &oneshot::Sender<Turn>| !waiter.is_closed());
                    }
                    queue.push_back(sender);
                    receiver
                }
            }
        };
        match until {
            Some(until) => tokio::time::timeout_at(until, receiver).await.ok()?.ok(),
            None => receiver.await.ok(),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut held = self.0.take();
        while let Some((gates, key)) = held.take() {
            let mut busy = gates.busy.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(next) = busy.get_mut(&key).and_then(VecDeque::pop_front) else {
                busy.remove(&key);
                return;
            };
            drop(busy);
            // A waiter that has given up hands the turn back, and the one behind it gets it.
            held = next.send(Self(Some((gates, key)))).err().and_then(|mut turn| turn.0.take());
        }
    }
}
