//! Being called: one connection that listens, opened when the first caller waits.
//!
//! A message can only be missed while nobody listens. So each attempt remembers which *hearing* (life of
//! the listening connection) it was made in; `wait` of an attempt from another hearing returns at once,
//! and the next attempt looks for itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::redis::aio::{PubSubSink, PubSubStream};
use ::redis::{Cmd, Value};
use futures_util::StreamExt;
use stanchion_core::{Key, Owner};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::fault::Fault;
use super::link::Hub;

/// Calls that came before the refusal they follow; more than this many owners are never in that state.
const EARLY_MOST: usize = 256;

/// Listens for calls to our waiting owners, and for written records.
#[derive(Debug)]
pub(super) struct Wake {
    hub: Arc<Hub>,
    calls: String,
    writes: String,
    // '!' or '?', and the calls channel: see `locks.lua`.
    sure: Arc<str>,
    unsure: Arc<str>,
    nowhere: Arc<str>,
    table: Mutex<Table>,
    waiters: AtomicUsize,
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Table {
    hearing: u64,
    live: Option<Live>,
    waiters: HashMap<u64, Arc<Waiter>>,
    early: Vec<u64>,
    watched: HashMap<Key, Arc<Notify>>,
}

#[derive(Debug)]
struct Live {
    sink: PubSubSink,
    sure: bool,
    writes: bool,
    listener: AbortHandle,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// A refused owner, until it is granted or withdraws.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) called: Notify,
    /// When to look without having been called, and the hearing of the last attempt.
    pub(super) last: Mutex<(Instant, u64)>,
}

impl Wake {
    pub(super) fn new(hub: Arc<Hub>, namespace: &str) -> Arc<Self> {
        let calls = format!("{{{namespace}}}:wake:{:016x}", Owner::random().nonce());
        Arc::new(Self {
            hub,
            sure: format!("!{calls}").into(),
            unsure: format!("?{calls}").into(),
            nowhere: "".into(),
            calls,
            writes: format!("{{{namespace}}}:writes"),
            table: Mutex::default(),
            waiters: AtomicUsize::new(0),
            opening: tokio::sync::Mutex::default(),
        })
    }

    /// The channel on which records' keys are published.
    pub(super) fn writes(&self) -> &str {
        &self.writes
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where this process can be called right now, and the hearing; nowhere before the first wait.
    pub(super) fn channel(&self) -> (Arc<str>, u64) {
        let table = self.table();
        let channel = match &table.live {
            None => &self.nowhere,
            Some(live) if live.sure => &self.sure,
            Some(_) => &self.unsure,
        };
        (Arc::clone(channel), table.hearing)
    }

    /// Remembers a refused owner.
    pub(super) fn refused(&self, owner: Owner, look: Instant, hearing: u64) {
        let mut table = self.table();
        let Table { waiters, early, .. } = &mut *table;
        let waiter = waiters.entry(owner.nonce()).or_insert_with(|| {
            self.waiters.fetch_add(1, Ordering::Relaxed);
            Arc::new(Waiter { called: Notify::new(), last: Mutex::new((look, hearing)) })
        });
        *waiter.last.lock().unwrap_or_else(PoisonError::into_inner) = (look, hearing);
        if let Some(at) = early.iter().position(|nonce| *nonce == owner.nonce()) {
            early.swap_remove(at);
            waiter.called.notify_one();
        }
    }

    /// Forgets an owner that was granted or withdrew.
    pub(super) fn forget(&self, owner: Owner) {
        if self.waiters.load(Ordering::Relaxed) > 0 && self.table().waiters.remove(&owner.nonce()).is_some() {
            self.waiters.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn waiter(&self, owner: Owner) -> Option<Arc<Waiter>> {
        self.table().waiters.get(&owner.nonce()).cloned()
    }

    /// Whether we listen in this very hearing.
    pub(super) fn hears(&self, hearing: u64) -> bool {
        let table = self.table();
        table.live.is_some() && table.hearing == hearing
    }

    /// The bell of a record; it rings on every write of that key while somebody holds it.
    pub(super) fn watch(&self, key: &Key) -> Arc<Notify> {
        let mut table = self.table();
        table.watched.retain(|_, bell| Arc::strong_count(bell) > 1);
        Arc::clone(table.watched.entry(key.clone()).or_default())
    }

    /// Listens from now on; for records' writes only if `writes`.
    pub(super) async fn listen(self: &Arc<Self>, writes: bool) -> Result<(), Fault> {
        let _only = self.opening.lock().await;
        let open = self.table().live.as_ref().map(|live| (live.sink.clone(), live.writes));
        match open {
            Some((_, true)) => Ok(()),
            Some((_, false)) if !writes => Ok(()),
            Some((mut sink, false)) => {
                self.subscribe(&mut sink, &self.writes).await?;
                if let Some(live) = &mut self.table().live {
                    live.writes = true;
                }
                Ok(())
            }
            None => self.open(writes).await,
        }
    }

    async fn open(self: &Arc<Self>, writes: bool) -> Result<(), Fault> {
        let (mut sink, stream) = self.hub.subscriber().await?.split();
        self.subscribe(&mut sink, &self.calls).await?;
        if writes {
            self.subscribe(&mut sink, &self.writes).await?;
        }
        // Behind some proxies the count of listeners is not told truly; then nobody is taken for dead by it.
        let mut probe = Cmd::with_capacity(3, 64);
        probe.arg("PUBLISH").arg(&self.calls).arg("");
        let sure = matches!(self.hub.send(&probe).await, Ok(Value::Int(n)) if n > 0);

        let mut table = self.table();
        table.hearing += 1;
        let listener = tokio::spawn(hear(Arc::downgrade(self), stream, table.hearing)).abort_handle();
        table.live = Some(Live { sink, sure, writes, listener });
        Ok(())
    }

    async fn subscribe(&self, sink: &mut PubSubSink, channel: &str) -> Result<(), Fault> {
        match timeout(self.hub.options.timeout, sink.subscribe(channel)).await {
            Ok(answer) => answer.map_err(|e| Fault::lost(&e)),
            Err(_) => Err(Fault::Lost("no answer in time".to_owned())),
        }
    }

    fn ring(&self, channel: &str, message: &[u8]) {
        let mut table = self.table();
        if channel == self.writes {
            let bell = std::str::from_utf8(message).ok().and_then(|text| Key::from_store(text).ok());
            if let Some(bell) = bell.and_then(|key| table.watched.get(&key)) {
                bell.notify_waiters();
            }
            return;
        }
        let Some(nonce) = std::str::from_utf8(message).ok().and_then(|text| u64::from_str_radix(text, 16).ok()) else {
            return;
        };
        match table.waiters.get(&nonce) {
            Some(waiter) => waiter.called.notify_one(),
            None => {
                if table.early.len() == EARLY_MOST {
                    table.early.remove(0);
                }
                table.early.push(nonce);
            }
        }
    }

    /// Nobody can be called any more: everybody looks for himself.
    fn deaf(&self, hearing: u64) {
        let mut table = self.table();
        if table.hearing != hearing {
            return;
        }
        table.live = None;
        #[expect(clippy::iter_over_hash_type, reason = "all are woken; the order does not matter")]
        for waiter in table.waiters.values() {
            waiter.called.notify_one();
        }
        #[expect(clippy::iter_over_hash_type, reason = "all are woken; the order does not matter")]
        for bell in table.watched.values() {
            bell.notify_waiters();
        }
    }
}

async fn hear(wake: std::sync::Weak<Wake>, mut stream: PubSubStream, hearing: u64) {
    while let Some(message) = stream.next().await {
        let Some(wake) = wake.upgrade() else { return };
        wake.ring(message.get_channel_name(), message.get_payload_bytes());
    }
    if let Some(wake) = wake.upgrade() {
        wake.deaf(hearing);
    }
}
