//! Being called: one listening connection per node, opened when the first caller waits.
//!
//! A holder that lets go says so on every node. We are sure to hear it if we listen on a quorum of them *before* we
//! look. So each attempt remembers the *hearing* it was made in, which ends when a listening connection does; `wait` of an
//! attempt from another hearing returns at once, and the next attempt looks for itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use stanchion_core::redlock::quorum;
use stanchion_core::{Key, Owner};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::names::{Names, shard};
use super::node::Node;
use crate::redis::fault::Fault;

/// How long the first wait gives the nodes to listen.
const SETTLE: Duration = Duration::from_millis(500);
/// A node that cannot be listened to is tried again after this long.
const AGAIN: Duration = Duration::from_millis(200);

/// The listeners, and who waits.
#[derive(Debug)]
pub(super) struct Wake {
    nodes: Vec<Arc<Node>>,
    names: Arc<Names>,
    /// Shards that somebody wants to hear of, one bit each.
    wanted: watch::Sender<u64>,
    /// Of each node, the shards that are heard.
    heard: Vec<AtomicU64>,
    settled: Notify,
    hearing: AtomicU64,
    waiters: Mutex<HashMap<u64, Arc<Waiter>>>,
    listeners: Mutex<Vec<AbortHandle>>,
}

/// A refused owner, until it is granted or withdraws.
#[derive(Debug)]
pub(super) struct Waiter {
    key: Key,
    called: Notify,
    /// When to look without having been called, and the hearing of the last attempt.
    last: Mutex<(Instant, Option<u64>)>,
}

impl Drop for Wake {
    fn drop(&mut self) {
        for listener in self.listeners.get_mut().unwrap_or_else(PoisonError::into_inner) {
            listener.abort();
        }
    }
}

impl Wake {
    pub(super) fn new(nodes: Vec<Arc<Node>>, names: Arc<Names>) -> Arc<Self> {
        let heard = nodes.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self {
            nodes,
            names,
            wanted: watch::Sender::new(0),
            heard,
            settled: Notify::new(),
            hearing: AtomicU64::new(0),
            waiters: Mutex::default(),
            listeners: Mutex::default(),
        })
    }

    fn waiters(&self) -> MutexGuard<'_, HashMap<u64, Arc<Waiter>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present hearing, if a release of this key would be heard now.
    pub(super) fn hearing(&self, key: &Key) -> Option<u64> {
        let (bit, hearing) = (1_u64 << shard(key), self.hearing.load(Ordering::Acquire));
        let hear = self.heard.iter().filter(|heard| heard.load(Ordering::Acquire) & bit != 0).count();
        (hear >= quorum(self.nodes.len())).then_some(hearing)
    }

    /// Registers an owner before it looks, so that a call between its look and its wait is kept.
    pub(super) fn register(&self, key: &Key, owner: Owner) {
        self.waiters().entry(owner.nonce()).or_insert_with(|| {
            let last = Mutex::new((Instant::now(), None));
            Arc::new(Waiter { key: key.clone(), called: Notify::new(), last })
        });
    }

    /// The owner was refused: it looks again at `look`, or when it is called.
    pub(super) fn refused(&self, owner: Owner, look: Instant, hearing: Option<u64>) {
        if let Some(waiter) = self.waiters().get(&owner.nonce()) {
            *waiter.last.lock().unwrap_or_else(PoisonError::into_inner) = (look, hearing);
        }
    }

    /// Forgets an owner that was granted or withdrew.
    pub(super) fn forget(&self, owner: Owner) {
        self.waiters().remove(&owner.nonce());
    }

    /// Waits until called, or until it is time to look. Returns early when it had to begin to listen first.
    pub(super) async fn wait(self: &Arc<Self>, key: &Key, owner: Owner, until: Instant) {
        let waiter = self.waiters().get(&owner.nonce()).cloned();
        let Some(waiter) = waiter else {
            // Nobody knows of this owner, so nobody will call it: an early return lets the caller look.
            return tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(50))).await;
        };
        let (look, hearing) = *waiter.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.hearing(key);
        if now.is_none() {
            drop(timeout_at(until.min(Instant::now() + SETTLE).min(look), self.listen(key)).await);
            if self.hearing(key).is_some() {
                return;
            }
            // A quorum cannot be listened to: what can be heard, and a look every while.
        } else if now != hearing {
            return;
        }
        drop(timeout_at(until.min(look), waiter.called.notified()).await);
    }

    async fn listen(self: &Arc<Self>, key: &Key) {
        {
            let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            if listeners.is_empty() {
                for index in 0..self.nodes.len() {
                    let task = tokio::spawn(serve(Arc::downgrade(self), index, self.wanted.subscribe()));
                    listeners.push(task.abort_handle());
                }
            }
        }
        self.wanted.send_if_modified(|wanted| {
            let before = *wanted;
            *wanted |= 1 << shard(key);
            *wanted != before
        });
        loop {
            let settled = self.settled.notified();
            if self.hearing(key).is_some() {
                return;
            }
            settled.await;
        }
    }

    fn ring(&self, key: &[u8]) {
        #[expect(clippy::iter_over_hash_type, reason = "all are woken; the order does not matter")]
        for waiter in self.waiters().values() {
            if waiter.key.as_str().as_bytes() == key {
                waiter.called.notify_one();
            }
        }
    }

    /// One node less to hear from: everybody looks for himself.
    fn deaf(&self, node: usize) {
        if self.heard[node].swap(0, Ordering::AcqRel) != 0 {
            self.hearing.fetch_add(1, Ordering::AcqRel);
            #[expect(clippy::iter_over_hash_type, reason = "all are woken; the order does not matter")]
            for waiter in self.waiters().values() {
                waiter.called.notify_one();
            }
        }
    }
}

/// Listens to one node for as long as the store is open.
async fn serve(wake: Weak<Wake>, index: usize, mut wanted: watch::Receiver<u64>) {
    loop {
        let Some(node) = wake.upgrade().and_then(|wake| wake.nodes.get(index).cloned()) else { return };
        if let Err(fault) = hear(&wake, &node, index, &mut wanted).await {
            tracing::debug!(node = node.name(), ?fault, "cannot listen");
        }
        let Some(strong) = wake.upgrade() else { return };
        strong.deaf(index);
        drop(strong);
        sleep(AGAIN).await;
    }
}

async fn hear(wake: &Weak<Wake>, node: &Node, index: usize, wanted: &mut watch::Receiver<u64>) -> Result<(), Fault> {
    let (mut sink, mut stream) = node.hub().subscriber().await?.split();
    let mut heard = 0_u64;
    loop {
        let missing = *wanted.borrow_and_update() & !heard;
        if missing != 0 {
            let Some(wake) = wake.upgrade() else { return Ok(()) };
            for bit in (0..u64::BITS).filter(|bit| missing >> bit & 1 == 1) {
                let channel = wake.names.channel(usize::try_from(bit).unwrap_or(0));
                match timeout(node.hub().options.timeout, sink.subscribe(channel)).await {
                    Ok(answer) => answer.map_err(|e| Fault::lost(&e))?,
                    Err(_) => return Err(Fault::Lost("no answer in time".to_owned())),
                }
            }
            heard |= missing;
            wake.heard[index].store(heard, Ordering::Release);
            wake.settled.notify_waiters();
        }
        tokio::select! {
            message = stream.next() => {
                let Some(message) = message else { return Ok(()) };
                let Some(wake) = wake.upgrade() else { return Ok(()) };
                wake.ring(message.get_payload_bytes());
            }
            changed = wanted.changed() => if changed.is_err() { return Ok(()) },
        }
    }
}
