//! The records.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Owner, Page, Record, RecordStore, Result, Version, refused,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::api::{OPS_MOST, Op, Pair};
use super::fault::Fault;
use super::http::Shared;
use super::name::Names;
use super::ttl::{Hold, Ttls};

/// A transaction's request is 512 KB at most, and the value is written in base64 there.
pub(super) const VALUE_MOST: usize = 375 * 1024;
/// How often others may be faster than one fenced write.
const TRIES: usize = 1000;
/// A blocked question is asked anew after this time, so that a server that stands still is noticed.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(30);

/// Records as one name each; the version is the name's index.
#[derive(Debug)]
pub(crate) struct ConsulStore {
    http: Shared,
    names: Names,
    ttls: Arc<Ttls>,
    blocked: Arc<Semaphore>,
    capability: Capability,
}

/// What stands under a key.
struct Found {
    record: Option<Pair>,
    fence: Option<(FencingToken, u64)>,
}

impl ConsulStore {
    pub(super) fn new(
        http: Shared,
        names: Names,
        ttls: Arc<Ttls>,
        blocked: Arc<Semaphore>,
        capability: Capability,
    ) -> Self {
        Self { http, names, ttls, blocked, capability }
    }

    async fn find(&self, key: &Key) -> Result<Found> {
        let (record, fence) = (self.names.record(key), self.names.fence(key));
        let pairs = self.http.read_all(&[Op::tree(&record), Op::tree(&fence)]).await;
        let pairs = pairs.map_err(|e| e.with("key", key))?;
        let mut pairs: HashMap<String, Pair> = pairs.into_iter().map(|pair| (pair.key.clone(), pair)).collect();
        self.found(pairs.remove(&record), pairs.remove(&fence))
    }

    fn found(&self, record: Option<Pair>, fence: Option<Pair>) -> Result<Found> {
        let fence = fence.map(|pair| self.token(&pair).map(|token| (token, pair.modify_index))).transpose()?;
        Ok(Found { record, fence })
    }

    fn token(&self, pair: &Pair) -> Result<FencingToken> {
        let text = pair.bytes().and_then(|bytes| std::str::from_utf8(&bytes).ok()?.parse().ok());
        text.ok_or_else(|| self.http.damaged(&pair.key))
    }

    fn record(&self, pair: &Pair, fence: Option<FencingToken>) -> Result<Record> {
        let value = pair.bytes().ok_or_else(|| self.http.damaged(&pair.key))?;
        Ok(Record { value, version: Version::new(pair.modify_index), fence, times: None })
    }

    /// Writes (`value` is given) or deletes.
    async fn write(&self, key: &Key, cond: Cond, value: Option<(&[u8], Option<Duration>)>) -> Result<Version> {
        let (record, fence, lap) = (self.names.record(key), self.names.fence(key), self.names.lap(key));
        for _ in 0..TRIES {
            let mut ops = Vec::with_capacity(6);
            match cond {
                Cond::Absent if value.is_none() => return Err(conflict(key)),
                Cond::Absent => ops.push(Op::absent(&record)),
                Cond::Version(version) => ops.push(Op::unchanged(&record, version.get())),
                Cond::Fence(token) => {
                    let found = self.find(key).await?;
                    match found.fence {
                        Some((seen, index)) if seen == token => ops.push(Op::unchanged(&fence, index)),
                        seen => return Err(refused(key, token, seen.map(|(seen, _)| seen))),
                    }
                    match (found.record, value) {
                        (Some(pair), None) => ops.push(Op::unchanged(&record, pair.modify_index)),
                        (None, None) => return Err(conflict(key)),
                        _ => {}
                    }
                }
            }
            let conditions = ops.len();
            // Also before a write: what held the earlier record must not hold this one.
            ops.push(Op::delete(&record));
            let hold = match value {
                Some((_, Some(ttl))) => Some(self.ttls.holding(ttl).await.map_err(|e| e.with("key", key))?),
                _ => None,
            };
            if let Some((value, _)) = value {
                // The same value again must be another version; Consul would skip a write that changes nothing.
                let mark = Owner::random().nonce() >> 1;
                match &hold {
                    Some(Hold::Lap { session, left }) => {
                        ops.extend([Op::delete(&lap), Op::lock(&lap, b"", *left, session)]);
                        ops.push(Op::set(&record, value, mark));
                    }
                    Some(Hold::Session(session)) => ops.push(Op::lock(&record, value, mark, session)),
                    None => ops.push(Op::set(&record, value, mark)),
                }
            }
            match self.http.write(&ops).await.map_err(|e| e.with("key", key))? {
                Ok(pairs) => {
                    let index = pairs.last().map_or(0, |pair| pair.modify_index);
                    return Ok(Version::new(index));
                }
                Err(refusal) if refusal.no_session() => {
                    if let Some(hold) = hold {
                        self.ttls.forget(hold.session());
                    }
                }
                Err(refusal) if (0..conditions).any(|at| refusal.at(at)) => {
                    if !matches!(cond, Cond::Fence(_)) {
                        return Err(conflict(key).with("answer", refusal.what));
                    }
                }
                Err(refusal) => return Err(self.http.error(Fault::Garbled(refusal.what), false).with("key", key)),
            }
        }
        Err(self.http.restless(key))
    }
}

fn conflict(key: &Key) -> Error {
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key)
}

#[async_trait]
impl RecordStore for ConsulStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let found = self.find(key).await?;
        let fence = found.fence.map(|(token, _)| token);
        found.record.map(|pair| self.record(&pair, fence)).transpose()
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let (record, fence) = (self.names.record(key), self.names.fence(key));
        for _ in 0..TRIES {
            let found = self.find(key).await?;
            let seen = found.fence.map(|(seen, _)| seen);
            if !token.supersedes(seen.as_ref()) {
                return Err(refused(key, *token, seen));
            }
            if seen == Some(*token) {
                return found.record.map(|pair| self.record(&pair, seen)).transpose();
            }
            let same = match found.fence {
                Some((_, index)) => Op::unchanged(&fence, index),
                None => Op::absent(&fence),
            };
            let text = token.to_string();
            let ops = [same, Op::set(&fence, text.as_bytes(), 0), Op::tree(&record)];
            if let Ok(pairs) = self.http.write(&ops).await.map_err(|e| e.with("key", key))? {
                let read = pairs.iter().find(|pair| pair.key == record);
                return read.map(|pair| self.record(pair, Some(*token))).transpose();
            }
        }
        Err(self.http.restless(key))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if value.len() > VALUE_MOST {
            return Err(Error::new(ErrorKind::Invalid, "the value is longer than Consul can write in one step")
                .with("key", key)
                .with("bytes", value.len())
                .with("most", VALUE_MOST)
                .hint("keep large values elsewhere and their address here"));
        }
        self.write(key, cond, Some((&value, ttl))).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.write(key, cond, None).await.map(drop)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let mut keys = Vec::new();
        for name in self.http.names(&self.names.records(prefix), false).await? {
            let key = self.names.key('r', &name).and_then(Result::ok).ok_or_else(|| self.http.damaged(&name))?;
            if key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > *after) {
                keys.push(key);
            }
        }
        keys.sort();
        let mut found = Vec::new();
        for piece in keys.chunks(OPS_MOST / 2) {
            if found.len() >= page.limit {
                break;
            }
            let names: Vec<_> = piece.iter().map(|key| (self.names.record(key), self.names.fence(key))).collect();
            let ops: Vec<Op<'_>> =
                names.iter().flat_map(|(record, fence)| [Op::tree(record), Op::tree(fence)]).collect();
            let pairs = self.http.read_all(&ops).await?;
            let mut pairs: BTreeMap<String, Pair> = pairs.into_iter().map(|pair| (pair.key.clone(), pair)).collect();
            for (key, (record, fence)) in piece.iter().zip(&names) {
                let there = self.found(pairs.remove(record), pairs.remove(fence))?;
                if let Some(pair) = there.record.filter(|_| found.len() < page.limit) {
                    found.push((key.clone(), self.record(&pair, there.fence.map(|(token, _)| token))?));
                }
            }
        }
        Ok(found)
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let name = self.names.record(key);
        let mut index = None;
        loop {
            let end = until.min(Instant::now() + HEARTBEAT);
            let Ok(permit) = timeout_at(end, self.blocked.acquire()).await else { return Ok(()) };
            // With the index of the last look, so that a write between two looks is not missed.
            let looked = self.http.look(&name, false, index, end).await.map_err(|e| e.with("key", key))?;
            drop(permit);
            let Some((now, pairs)) = looked else {
                if Instant::now() >= until {
                    return Ok(());
                }
                index = None;
                continue;
            };
            let version = pairs.first().map(|pair| Version::new(pair.modify_index));
            if version != since || Instant::now() >= until {
                return Ok(());
            }
            // A server that lost its data counts from the start again.
            index = (index.is_none_or(|before| now >= before)).then_some(now);
        }
    }
}
