//! The records: one node per key, changed by compare-and-swap.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, Version, refused,
};
use tokio::time::Instant;
use zookeeper_client::{self as zk, CreateMode, MultiWriteResult, Stat};

use super::cell::{Cell, Seen};
use super::fault::Fault;
use super::names;
use super::store::{CAPABILITY, Store};
use super::tidy::Tidy;

/// A server takes no packet of 1 MiB or more unless `jute.maxbuffer` is raised on every server and client.
const VALUE_MOST: usize = 1_000_000;
const TTL_MOST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How often a write is tried whose node changes under it while its condition goes on to hold.
const ROUNDS: usize = 64;
/// So many nodes are read at once in a listing.
const PIECE: usize = 16;
/// A wait looks again after this long, whatever is heard.
const HEARTBEAT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ZooKeeperStore {
    store: Arc<Store>,
    tidy: Arc<Tidy>,
}

impl ZooKeeperStore {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let tidy = Tidy::start(&store);
        Self { store, tidy }
    }

    /// Writes (`next` is what the node shall hold) where the condition holds.
    async fn write(&self, key: &Key, cond: Cond, value: Option<(Bytes, u64)>) -> Result<Version> {
        // Most such writes find nothing, and making the node is one step.
        let mut seen = if cond == Cond::Absent { None } else { self.store.look(key, false).await? };
        // What was read without asking the leader may be old: enough to write on, because the write compares; not enough
        // to refuse.
        let mut sure = false;
        for _ in 0..ROUNDS {
            let now = self.store.now_ms().await?;
            match check(key, cond, seen.as_ref(), value.is_some(), now) {
                Ok(()) => {
                    let (value, ttl_ms) = value.clone().map_or((None, 0), |(value, ttl)| (Some(value), ttl));
                    let fence = seen.as_ref().and_then(|seen| seen.cell.fence);
                    let cell = Cell { value, ttl_ms, fence, ..Cell::default() };
                    if let Some(stat) = self.swap(key, seen.as_ref(), &cell).await? {
                        self.tidy.later(key, &cell);
                        return Ok(Version::new(u64::try_from(stat.mzxid).unwrap_or_default()));
                    }
                }
                Err(e) if sure => return Err(e),
                Err(_) => {}
            }
            seen = self.store.look(key, true).await?;
            sure = true;
        }
        Err(Error::new(ErrorKind::Conflict, "the record changes faster than it can be written").with("key", key))
    }

    /// Replaces the node as it was seen; `None` if it is another by now.
    async fn swap(&self, key: &Key, seen: Option<&Seen>, cell: &Cell) -> Result<Option<Stat>> {
        match self.try_swap(key, seen, cell).await {
            Ok(stat) => {
                self.store.clock.written(stat.mtime);
                Ok(Some(stat))
            }
            Err(Fault::Refused(zk::Error::BadVersion | zk::Error::NodeExists)) => Ok(None),
            // The record is gone, or all of the store.
            Err(Fault::Refused(zk::Error::NoNode)) => {
                self.store.found().await.map_err(|fault| self.store.error(fault, false).with("key", key))?;
                Ok(None)
            }
            Err(fault) => Err(self.store.error(fault, true).with("key", key)),
        }
    }

    async fn try_swap(&self, key: &Key, seen: Option<&Seen>, cell: &Cell) -> Result<Stat, Fault> {
        let (path, data) = (self.store.names.record(key), cell.encode());
        let session = &self.store.session;
        let link = session.link().await?;
        let Some(seen) = seen else {
            let options = CreateMode::Persistent.with_acls(self.store.options().acls());
            return session.ask(&link, link.client.create(&path, &data, &options)).await.map(|(stat, _)| stat);
        };
        let answer = {
            let mut writer = link.client.new_multi_writer();
            writer.add_check_version(&self.store.names.epoch, seen.epoch)?;
            writer.add_set_data(&path, &data, Some(seen.writes))?;
            session.ask(&link, writer.commit()).await?
        };
        match answer.into_iter().nth(1) {
            Some(MultiWriteResult::SetData { stat }) => Ok(stat),
            _ => Err(Fault::Garbled),
        }
    }

    async fn children(&self) -> Result<Vec<String>, Fault> {
        let session = &self.store.session;
        let link = session.link().await?;
        let records = &self.store.names.records;
        let both = futures_util::future::try_join(link.client.sync(records), link.client.list_children(records));
        match session.ask(&link, both).await {
            Ok(((), names)) => Ok(names),
            Err(fault) if fault.is(&zk::Error::NoNode) => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }
}

/// The error of a write whose condition does not hold.
fn check(key: &Key, cond: Cond, seen: Option<&Seen>, puts: bool, now_ms: u64) -> Result<()> {
    let live = seen.filter(|seen| seen.is_live(now_ms));
    let holds = match cond {
        Cond::Absent => live.is_none() && puts,
        Cond::Version(version) => live.is_some_and(|live| live.version == version.get()),
        Cond::Fence(token) => {
            let fence = seen.and_then(|seen| seen.cell.fence);
            if fence != Some(token) {
                return Err(refused(key, token, fence));
            }
            puts || live.is_some()
        }
    };
    if holds {
        return Ok(());
    }
    let found = live.map_or_else(|| "absent".to_owned(), |live| live.version.to_string());
    Err(Error::new(ErrorKind::Conflict, "the record is not what the condition says")
        .with("key", key)
        .with("found", found))
}

#[async_trait]
impl RecordStore for ZooKeeperStore {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let Some(seen) = self.store.look(key, true).await? else { return Ok(None) };
        Ok(seen.record(self.store.now_ms().await?))
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        for _ in 0..ROUNDS {
            let seen = self.store.look(key, true).await?;
            let now = self.store.now_ms().await?;
            let fence = seen.as_ref().and_then(|seen| seen.cell.fence);
            if !token.supersedes(fence.as_ref()) {
                return Err(refused(key, *token, fence));
            }
            let shown = |seen: &Option<Seen>| seen.as_ref().and_then(|seen| seen.record(now));
            if fence == Some(*token) {
                return Ok(shown(&seen));
            }
            let cell = match &seen {
                Some(seen) => seen.fenced(*token, now),
                None => Cell { fence: Some(*token), ..Cell::default() },
            };
            if self.swap(key, seen.as_ref(), &cell).await?.is_some() {
                return Ok(shown(&seen).map(|record| Record { fence: Some(*token), ..record }));
            }
        }
        Err(Error::new(ErrorKind::Conflict, "the record changes faster than it can be touched").with("key", key))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if value.len() > VALUE_MOST {
            return Err(Error::new(ErrorKind::Invalid, "the value is longer than ZooKeeper takes")
                .with("key", key)
                .with("bytes", value.len())
                .with("limit", VALUE_MOST)
                .hint("keep large values elsewhere and put a reference here; ZooKeeper's jute.maxbuffer is 1 MiB"));
        }
        if let Some(ttl) = ttl.filter(|ttl| *ttl > TTL_MOST) {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is longer than 100 years")
                .with("key", key)
                .with("ttl", format_args!("{ttl:?}")));
        }
        let ttl_ms = ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1));
        self.write(key, cond, Some((value, ttl_ms))).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.write(key, cond, None).await.map(drop)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let fail = |fault| self.store.error(fault, false);
        let listed = |key: &Key| key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > after);
        let names = self.children().await.map_err(fail)?;
        let mut keys: Vec<Key> = names.iter().filter_map(|name| names::key(name)).filter(listed).collect();
        keys.sort();
        let now = self.store.now_ms().await?;
        let mut found = Vec::new();
        let mut keys = keys.into_iter();
        while found.len() < page.limit {
            let piece: Vec<Key> = keys.by_ref().take(PIECE.min(page.limit - found.len())).collect();
            if piece.is_empty() {
                break;
            }
            let paths: Vec<String> = piece.iter().map(|key| self.store.names.record(key)).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let link = self.store.session.link().await.map_err(fail)?;
            let nodes = self.store.read_all(&link, &paths, false).await.map_err(fail)?;
            for (key, node) in piece.into_iter().zip(nodes) {
                let Some(seen) = self.store.seen(&key, None, node)? else { continue };
                match seen.record(now) {
                    Some(record) => found.push((key, record)),
                    None => self.tidy.later(&key, &Cell::default()),
                }
            }
        }
        Ok(found)
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let path = self.store.names.record(key);
        let fail = |fault| self.store.error(fault, false).with("key", key);
        while Instant::now() < until {
            // The watch stands before the look, so a write in between is not missed.
            let link = self.store.session.link().await.map_err(fail)?;
            let client = &link.client;
            let watching = futures_util::future::try_join(client.sync(&path), client.check_and_watch_stat(&path));
            let (_, watcher) = self.store.session.ask(&link, watching).await.map_err(fail)?.1;
            let seen = self.store.look(key, false).await?;
            let now = self.store.now_ms().await?;
            let live = seen.as_ref().filter(|seen| seen.is_live(now));
            if live.map(|live| Version::new(live.version)) != since {
                return Ok(());
            }
            let ends = live.and_then(Seen::ends_ms).map(|end| Duration::from_millis(end.saturating_sub(now) + 1));
            let wake = until.min(Instant::now() + ends.map_or(HEARTBEAT, |ends| ends.min(HEARTBEAT)));
            link.hear(watcher, wake).await;
        }
        Ok(())
    }
}
