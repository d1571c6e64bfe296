//! Records: each write names the message that it replaces.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, VALUE_MAX_BYTES, Version,
    refused,
};
use tokio::time::Instant;

use super::api::Api;
use super::clock::ServerClock;
use super::entry::{Entry, Head, Next};
use super::fault::Fault;
use super::known::{Known, Sight};
use super::scan;
use super::tidy::Tidy;
use super::watch::Watch;

/// The longest ttl: 100 years.
const TTL_MOST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// A write that met only touches and removals of marks goes on; this bound keeps a broken server from spinning us.
const ROUNDS: usize = 1000;

/// The records of one bucket.
#[derive(Debug)]
pub(super) struct NatsStore {
    pub(super) api: Arc<Api>,
    pub(super) known: Arc<Known>,
    capability: Capability,
    /// Messages may be removed from the bucket.
    removable: bool,
    clock: ServerClock,
    watch: Arc<Watch>,
    tidy: Tidy,
}

/// What a write starts from.
struct Base {
    head: Head,
    /// Read just now, so a refusal may rest on it.
    read: bool,
}

impl NatsStore {
    pub(super) fn start(api: Arc<Api>, capability: Capability, removable: bool) -> Arc<Self> {
        let known = Arc::new(Known::default());
        let watch = Watch::new(Arc::clone(&api), Arc::clone(&known));
        Arc::new_cyclic(|store| Self {
            api,
            known,
            capability,
            removable,
            clock: ServerClock::default(),
            watch,
            tidy: Tidy::start(store.clone()),
        })
    }

    pub(super) fn shown(&self) -> &str {
        self.api.shown()
    }

    fn failed(&self, fault: Fault, writes: bool, key: &Key) -> Error {
        self.api.error(fault, writes).with("key", key)
    }

    /// What stands under the key now; a record that is over counts as none.
    pub(super) async fn look(&self, key: &Key) -> Result<Entry, Fault> {
        let entry = self.api.last(key).await?;
        let entry = self.still(key, entry).await?;
        self.known.saw(key, entry.head);
        Ok(entry)
    }

    /// A listing met this: if it is the mark of a deleted key, left by a process that died, it goes.
    pub(super) fn met(&self, key: &Key, head: Head) {
        if head.seq > 0 && head.version.is_none() && head.fence.is_none() {
            self.tidy.mark(key, head.seq);
        }
    }

    /// The sweep met this: a record that is over goes, and so does a mark.
    pub(super) async fn swept(&self, key: &Key, head: Head) -> Result<(), Fault> {
        self.met(key, head);
        self.still(key, Entry { head, value: Bytes::new() }).await.map(drop)
    }

    /// The same without the record if that is over.
    async fn still(&self, key: &Key, entry: Entry) -> Result<Entry, Fault> {
        if entry.head.lives.is_none() || !entry.head.over(self.clock.now_ms(&self.api).await?) {
            return Ok(entry);
        }
        self.tidy.over(key, entry.head);
        Ok(Entry { head: entry.head.emptied(), value: Bytes::new() })
    }

    /// What the next write replaces: from memory if the condition holds there, because the server checks it.
    async fn base(&self, key: &Key, cond: Cond) -> Result<Base, Fault> {
        let head = match self.known.get(key) {
            Some(Sight::Seen(head)) => Some(head),
            Some(Sight::Ask(_)) => None,
            // Nothing is known: most keys that must be absent have never been there.
            None => (cond == Cond::Absent).then(Head::default),
        };
        match head.filter(|head| holds(head, cond)) {
            Some(head) => Ok(Base { head, read: false }),
            None => Ok(Base { head: self.look(key).await?.head, read: true }),
        }
    }

    async fn write(&self, key: &Key, cond: Cond, next: Next) -> Result<Version> {
        for _ in 0..ROUNDS {
            let base = self.base(key, cond).await.map_err(|fault| self.failed(fault, false, key))?;
            let stands = base.head.version.is_some();
            if !holds(&base.head, cond) || (next == Next::Gone && !stands) {
                if !base.read {
                    self.known.doubt(key);
                    continue;
                }
                return Err(match cond {
                    Cond::Fence(token) if base.head.fence != Some(token) => refused(key, token, base.head.fence),
                    _ => conflict(key, base.head.version),
                });
            }
            if let Some(seq) = self.replace(key, base.head, base.head.fence, next.clone()).await? {
                return Ok(Version::new(seq));
            }
        }
        Err(Error::new(ErrorKind::Unexpected, "the key changed under us 1000 times").with("key", key))
    }

    /// Writes in the place of `before`, and remembers it. `None`: something else stands there.
    async fn replace(&self, key: &Key, before: Head, fence: Option<FencingToken>, next: Next) -> Result<Option<u64>> {
        let replaced = self.api.replace(key, before.seq, fence, next.clone()).await;
        if !matches!(replaced, Ok(Some(_))) {
            self.known.doubt(key);
        }
        let Some(seq) = replaced.map_err(|fault| self.failed(fault, true, key))? else { return Ok(None) };
        match next {
            Next::Put(_, None) => {
                self.known.saw(key, Head { seq, version: Some(seq), fence, lives: None });
            }
            Next::Put(_, Some(ttl)) => {
                self.known.ask(key, seq);
                self.tidy.ends(key, seq, Duration::from_millis(ttl));
            }
            Next::Gone => {
                self.known.saw(key, Head { seq, version: None, fence, lives: None });
                if fence.is_none() {
                    self.tidy.mark(key, seq);
                }
            }
            Next::Touched(_, version, lives) => {
                self.known.saw(key, Head { seq, version: Some(version), fence, lives });
            }
        }
        Ok(Some(seq))
    }

    /// Removes a record that is over, if it still stands there. Its fence stays.
    pub(super) async fn remove_over(&self, key: &Key, head: Head) -> Result<(), Fault> {
        if head.fence.is_none() && self.removable {
            return self.remove(key, head.seq).await;
        }
        if let Some(seq) = self.api.replace(key, head.seq, head.fence, Next::Gone).await? {
            self.known.ask(key, seq);
        }
        Ok(())
    }

    /// Removes a message whose key has no record and no fence, if the bucket lets us.
    pub(super) async fn remove(&self, key: &Key, seq: u64) -> Result<(), Fault> {
        if self.removable {
            self.api.remove(seq).await?;
            self.known.removed(key, seq);
        }
        Ok(())
    }
}

fn holds(head: &Head, cond: Cond) -> bool {
    match cond {
        Cond::Absent => head.version.is_none(),
        Cond::Version(version) => head.version == Some(version.get()),
        Cond::Fence(token) => head.fence == Some(token),
    }
}

fn conflict(key: &Key, found: Option<u64>) -> Error {
    let found = found.map_or_else(|| "absent".to_owned(), |version| version.to_string());
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key).with("found", found)
}

#[async_trait]
impl RecordStore for NatsStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let entry = self.look(key).await.map_err(|fault| self.failed(fault, false, key))?;
        Ok(entry.record())
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        for _ in 0..ROUNDS {
            let entry = self.look(key).await.map_err(|fault| self.failed(fault, false, key))?;
            let head = entry.head;
            if !token.supersedes(head.fence.as_ref()) {
                return Err(refused(key, *token, head.fence));
            }
            let raised = head.fence == Some(*token) || {
                let next = match head.version {
                    Some(version) => Next::Touched(entry.value.clone(), version, head.lives),
                    None => Next::Gone,
                };
                self.replace(key, head, Some(*token), next).await?.is_some()
            };
            if raised {
                return Ok(Entry { head: Head { fence: Some(*token), ..head }, ..entry }.record());
            }
        }
        Err(Error::new(ErrorKind::Unexpected, "the key changed under us 1000 times").with("key", key))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let link = self.api.hub.link().await.map_err(|fault| self.failed(fault, false, key))?;
        self.api.check(key, value.len(), link.client.max_payload().min(VALUE_MAX_BYTES))?;
        if let Some(ttl) = ttl.filter(|ttl| *ttl > TTL_MOST) {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is longer than 100 years")
                .with("key", key)
                .with("ttl", format_args!("{ttl:?}")));
        }
        let ttl = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1));
        self.write(key, cond, Next::Put(value, ttl)).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.write(key, cond, Next::Gone).await.map(drop)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        scan::scan(self, prefix, page).await.map_err(|fault| self.api.error(fault, false))
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        loop {
            // Listening begins before the look, so a write in between is not missed.
            let Ok(listening) = tokio::time::timeout_at(until, self.watch.listen()).await else { return Ok(()) };
            let listening = listening.map_err(|fault| self.failed(fault, false, key))?;
            let bell = self.watch.bell(key);
            let rung = bell.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            let head = self.look(key).await.map_err(|fault| self.failed(fault, false, key))?.head;
            if head.version.map(Version::new) != since {
                return Ok(());
            }
            if listening.ended() {
                continue;
            }
            let ends = match head.lives {
                None => None,
                Some(lives) => {
                    let now = self.clock.now_ms(&self.api).await.map_err(|fault| self.failed(fault, false, key))?;
                    let left = lives.written_ms.saturating_add(lives.ttl_ms).saturating_sub(now);
                    Some(Instant::now() + Duration::from_millis(left.saturating_add(1).min(86_400_000)))
                }
            };
            let wake = ends.map_or(until, |ends| ends.min(until));
            if tokio::time::timeout_at(wake, rung).await.is_err() && wake == until {
                return Ok(());
            }
        }
    }
}
