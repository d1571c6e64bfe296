//! The records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    BootTime, Capability, Clock as _, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result,
    SystemClock, VALUE_MAX_BYTES, Version, refused,
};
use tokio::time::Instant;

use super::fault::Fault;
use super::link::Hub;
use super::names::Names;
use super::proto::{Compare, KeyValue, Op, Range, Ranged, Txn, TxnAnswer};
use super::session;
use super::watch::{Place, Watches};

pub(super) const TXN: &str = "/etcdserverpb.KV/Txn";
pub(super) const RANGE: &str = "/etcdserverpb.KV/Range";
/// The longest ttl of an etcd lease, in seconds.
const TTL_MOST: u64 = 9_000_000_000;
/// Records of one piece of a listing: few enough that their values fit into one answer.
const PIECE: usize = 32;
/// Leases for records that are kept for the next one of the same ttl.
const LEASES: usize = 256;
/// A watch that told nothing is not trusted for longer.
const LOOK: Duration = Duration::from_secs(10);

/// Records as one key each, and one more for the fence, which outlives the record.
pub(crate) struct EtcdStore {
    hub: Arc<Hub>,
    watches: Arc<Watches>,
    names: Names,
    /// By seconds: a lease, and until when a record that begins now ends early enough on it.
    leases: Mutex<HashMap<u64, (i64, BootTime)>>,
    capability: Capability,
}

impl std::fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EtcdStore({})", self.hub.options.shown)
    }
}

impl EtcdStore {
    pub(super) fn new(hub: Arc<Hub>, watches: Arc<Watches>, names: Names, capability: Capability) -> Self {
        Self { hub, watches, names, leases: Mutex::default(), capability }
    }

    fn error(&self, fault: Fault, key: &Key, writes: bool) -> Error {
        fault.into_error(&self.hub.options.shown, writes).with("key", key)
    }

    fn damaged(&self, key: &Key) -> Error {
        Error::new(ErrorKind::Damaged, "a stored fence is not as we write it")
            .with("key", key)
            .with("store", &self.hub.options.shown)
            .hint("another program has written under this namespace; choose another ns=")
    }

    fn token(&self, key: &Key, floor: Option<&KeyValue>) -> Result<Option<FencingToken>> {
        let Some(floor) = floor else { return Ok(None) };
        let token = std::str::from_utf8(&floor.value).ok().and_then(|text| text.parse().ok());
        token.map(Some).ok_or_else(|| self.damaged(key))
    }

    fn record(&self, key: &Key, record: Option<KeyValue>, floor: Option<&KeyValue>) -> Result<Option<Record>> {
        let fence = self.token(key, floor)?;
        Ok(record.map(|kv| Record { value: kv.value, version: version(kv.mod_revision), fence, times: None }))
    }

    async fn write(&self, txn: &Txn) -> Result<TxnAnswer, Fault> {
        self.hub.write(TXN, txn).await
    }

    /// What must hold, and what is read when it does not.
    fn condition(&self, key: &Key, cond: Cond) -> (Vec<Compare>, Vec<Op>) {
        let (record, floor) = (self.names.record(key), self.names.floor(key));
        match cond {
            Cond::Absent => (vec![Compare::absent(&record)], vec![Op::read(&record)]),
            Cond::Version(version) => {
                // An absent key has revision 0, which is nobody's version.
                let written = i64::try_from(version.get()).unwrap_or(i64::MAX);
                (vec![Compare::written_at(&record, written), Compare::present(&record)], vec![Op::read(&record)])
            }
            Cond::Fence(token) => (vec![Compare::value_is(&floor, floor_text(&token))], vec![Op::read(&floor)]),
        }
    }

    /// The condition did not hold.
    fn refusal(&self, key: &Key, cond: Cond, mut answer: TxnAnswer) -> Error {
        let found = answer.kv(0);
        match cond {
            Cond::Fence(token) => match self.token(key, found.as_ref()) {
                Ok(seen) => refused(key, token, seen),
                Err(damaged) => damaged,
            },
            _ => conflict(key, found.map(|kv| kv.mod_revision)),
        }
    }

    /// A lease that ends no earlier than `ttl` from now; 0 for no ttl.
    async fn lease(&self, ttl: Option<Duration>, fresh: bool) -> Result<i64, Fault> {
        let Some(ttl) = ttl else { return Ok(0) };
        let seconds = (ttl + ttl / 20).as_secs() + 1;
        let now = SystemClock.now();
        if !fresh
            && let Some((id, until)) = self.leases().get(&seconds)
            && now + ttl <= *until
        {
            return Ok(*id);
        }
        let (id, granted, sent) = session::grant(&self.hub, seconds).await?;
        let mut leases = self.leases();
        if leases.len() >= LEASES {
            leases.retain(|_, (_, until)| *until > now);
        }
        if leases.len() < LEASES {
            leases.insert(seconds, (id, sent + granted));
        }
        Ok(id)
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, HashMap<u64, (i64, BootTime)>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The floors of these records, in their order.
    async fn floors(&self, found: &[(Key, KeyValue)]) -> Result<TxnAnswer, Fault> {
        let reads = found.iter().map(|(key, _)| Op::read(&self.names.floor(key))).collect();
        self.hub.read(TXN, &Txn::always(reads)).await
    }
}

fn version(revision: i64) -> Version {
    Version::new(u64::try_from(revision).unwrap_or(0))
}

fn conflict(key: &Key, found: Option<i64>) -> Error {
    let found = found.map_or_else(|| "absent".to_owned(), |revision| revision.to_string());
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key).with("found", found)
}

/// As text of one width, so that etcd's comparison of bytes is that of the numbers.
pub(super) fn floor_text(token: &FencingToken) -> Vec<u8> {
    format!("{:020}-{}", token.number(), token.lease_id()).into_bytes()
}

#[async_trait]
impl RecordStore for EtcdStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let reads = vec![Op::read(&self.names.record(key)), Op::read(&self.names.floor(key))];
        let answer = self.hub.read::<TxnAnswer>(TXN, &Txn::always(reads)).await;
        let mut answer = answer.map_err(|fault| self.error(fault, key, false))?;
        let (record, floor) = (answer.kv(0), answer.kv(1));
        self.record(key, record, floor.as_ref())
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let (record, floor) = (self.names.record(key), self.names.floor(key));
        let raise = || vec![Op::put(&floor, floor_text(token), 0), Op::read(&record)];
        // Everything below our number in this width, whatever its nonce; an absent floor needs its own question.
        let below = Compare::value_below(&floor, format!("{:020}", token.number()).into_bytes());
        let seen = vec![Op::read(&floor), Op::read(&record)];
        let else_absent = Txn::when(vec![Compare::absent(&floor)], raise(), seen);
        let txn = Txn::when(vec![below], raise(), vec![else_absent.into()]);
        let mut answer = self.write(&txn).await.map_err(|fault| self.error(fault, key, true))?;
        let raised = Some(*token);
        let (fence, found) = match answer.succeeded {
            true => (raised, answer.kv(1)),
            false => {
                let mut inner = answer.inner(0);
                match inner.succeeded {
                    true => (raised, inner.kv(1)),
                    false => (self.token(key, inner.kv(0).as_ref())?, inner.kv(1)),
                }
            }
        };
        if fence != raised {
            return Err(refused(key, *token, fence));
        }
        Ok(found.map(|kv| Record { value: kv.value, version: version(kv.mod_revision), fence, times: None }))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if value.len() > VALUE_MAX_BYTES {
            return Err(Error::new(ErrorKind::Invalid, "the value is longer than 16 MiB").with("key", key));
        }
        if let Some(ttl) = ttl.filter(|ttl| ttl.as_secs() > TTL_MOST / 2) {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is longer than an etcd lease can be")
                .with("key", key)
                .with("ttl", format_args!("{ttl:?}")));
        }
        let name = self.names.record(key);
        for fresh in [false, true] {
            let lease = self.lease(ttl, fresh).await.map_err(|fault| self.error(fault, key, true))?;
            let (compare, otherwise) = self.condition(key, cond);
            let txn = Txn::when(compare, vec![Op::put(&name, value.clone(), lease)], otherwise);
            match self.write(&txn).await {
                Ok(answer) if answer.succeeded => return Ok(version(answer.revision())),
                Ok(answer) => return Err(self.refusal(key, cond, answer)),
                // Somebody has revoked the lease that we share; nothing ran.
                Err(fault) if fault.no_lease() && !fresh => {}
                Err(fault) => return Err(self.error(fault, key, true)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "a fresh lease is gone at once").with("key", key))
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let name = self.names.record(key);
        if cond == Cond::Absent {
            let found = self.get(key).await?;
            return Err(conflict(key, found.and_then(|record| i64::try_from(record.version.get()).ok())));
        }
        let (compare, otherwise) = self.condition(key, cond);
        let txn = Txn::when(compare, vec![Op::delete(&name)], otherwise);
        let answer = self.write(&txn).await.map_err(|fault| self.error(fault, key, true))?;
        match answer.succeeded {
            true if answer.deleted(0) > 0 => Ok(()),
            true => Err(conflict(key, None)),
            false => Err(self.refusal(key, cond, answer)),
        }
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let fail = |fault: Fault| fault.into_error(&self.hub.options.shown, false);
        let (mut start, end) = self.names.listed(prefix, page.after.as_ref());
        let mut all = Vec::new();
        while all.len() < page.limit {
            let limit = i64::try_from((page.limit - all.len()).min(PIECE)).unwrap_or(1);
            let range = Range { key: start.clone(), range_end: end.clone(), limit, ..Range::default() };
            let piece = self.hub.read::<Ranged>(RANGE, &range).await.map_err(fail)?;
            let Some(last) = piece.kvs.last() else { break };
            start = [&last.key[..], &[0]].concat();
            let mut found = Vec::new();
            for kv in piece.kvs {
                // What another program has put among our records is not one.
                if let Some(key) = self.names.key_of_record(&kv.key) {
                    found.push((key, kv));
                }
            }
            let mut floors = self.floors(&found).await.map_err(fail)?;
            for (at, (key, kv)) in found.into_iter().enumerate() {
                let floor = floors.kv(at);
                if let Some(record) = self.record(&key, Some(kv), floor.as_ref())? {
                    all.push((key, record));
                }
            }
            if !piece.more {
                break;
            }
        }
        Ok(all)
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let name = self.names.record(key);
        let fail = |fault: Fault| self.error(fault, key, false);
        loop {
            let place = Place { key: name.clone(), end: Vec::new(), deletes_only: false };
            let Ok(ear) = tokio::time::timeout_at(until, self.watches.listen(place)).await else { return Ok(()) };
            let ear = ear.map_err(fail)?;
            let begun = until.min(Instant::now() + self.hub.options.timeout);
            if tokio::time::timeout_at(begun, ear.heard.begun()).await.is_err() && begun < until {
                ear.give_up();
            }
            let range = Range { keys_only: true, ..Range::one(&name) };
            let look = self.hub.read::<Ranged>(RANGE, &range).await.map_err(fail)?;
            if look.kvs.first().map(|kv| version(kv.mod_revision)) != since {
                return Ok(());
            }
            let seen = look.header.map_or(0, |header| header.revision);
            let slice = until.min(Instant::now() + LOOK);
            if tokio::time::timeout_at(slice, ear.heard.told(None, seen)).await.is_ok() || slice == until {
                return Ok(());
            }
        }
    }
}
