//! The records.

use std::sync::Arc;
use std::time::Duration;

use ::redis::{Cmd, Value};
use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, Times, VALUE_MAX_BYTES,
    Version, refused,
};
use tokio::time::Instant;

use super::fault::Fault;
use super::link::Hub;
use super::reply::{int, read_token, text, write_token};
use super::script::{self, Script};
use super::wake::Wake;

/// The longest ttl that means anything; the engine refuses much larger ones only after it has written.
const TTL_MOST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// One piece of a listing: keys, and bytes after which it ends early.
const PIECE: (usize, usize) = (256, 4 << 20);

/// Records as one Redis hash each, with an index of their keys and one hash for all fences.
#[derive(Debug)]
pub(crate) struct RedisStore {
    hub: Arc<Hub>,
    wake: Arc<Wake>,
    prefix: String,
    fences: String,
    index: String,
    locks: String,
    capability: Capability,
}

impl RedisStore {
    pub(super) fn new(hub: Arc<Hub>, wake: Arc<Wake>, namespace: &str, locks: String, capability: Capability) -> Self {
        Self {
            hub,
            wake,
            prefix: format!("{{{namespace}}}:r:"),
            fences: format!("{{{namespace}}}:fences"),
            index: format!("{{{namespace}}}:index"),
            locks,
            capability,
        }
    }

    fn name(&self, key: &Key) -> String {
        [&self.prefix, key.as_str()].concat()
    }

    fn error(&self, fault: Fault, writes: bool) -> Error {
        fault.into_error(&self.hub.options.shown, writes)
    }

    fn damaged(&self, key: &Key) -> Error {
        Error::new(ErrorKind::Damaged, "a stored record is not as we write it")
            .with("key", key)
            .with("store", &self.hub.options.shown)
    }

    async fn read(&self, key: &Key, token: Option<&FencingToken>) -> Result<Option<Record>> {
        let token_text = token.map(write_token).unwrap_or_default();
        let mut command = script::TOUCH.on(&[&self.name(key), &self.fences], (2, 64 + key.as_str().len()));
        command.arg(key.as_str()).arg(token_text);
        let answer = self.hub.eval(&script::TOUCH, &command).await;
        let answer = answer.map_err(|fault| self.error(fault, token.is_some()).with("key", key))?;
        let Value::Array(mut parts) = answer else {
            return Err(self.error(Fault::Garbled, token.is_some()));
        };
        match (parts.as_mut_slice(), token) {
            ([Value::Int(0)], _) => Ok(None),
            ([Value::Int(-1), seen], Some(token)) => Err(self.fenced(key, *token, seen)),
            ([Value::Int(1), value, version, written, now, fence], _) => {
                let now = int(now).ok_or_else(|| self.damaged(key))?;
                record([value, version, written, fence], now).map(Some).ok_or_else(|| self.damaged(key))
            }
            _ => Err(self.error(Fault::Garbled, token.is_some())),
        }
    }

    /// Writes (`value` is given) or deletes.
    async fn write(&self, key: &Key, cond: Cond, value: Option<(&[u8], Option<Duration>)>) -> Result<Version> {
        let size = value.map_or(0, |(value, _)| value.len());
        let mut command = self.command(&script::WRITE, key, cond, (2, size));
        if let Some((value, ttl)) = value {
            write_value(&mut command, value, ttl);
        }
        let parts = self.run(&script::WRITE, &command, key).await?;
        match (parts.as_slice(), cond) {
            ([Value::Int(1)], _) => Ok(Version::new(0)),
            ([Value::Int(1), version], _) => {
                int(version).map(Version::new).ok_or_else(|| self.error(Fault::Garbled, true))
            }
            ([Value::Int(0), found], _) => {
                Err(Error::new(ErrorKind::Conflict, "the record is not what the condition says")
                    .with("key", key)
                    .with("found", text(found).unwrap_or("absent")))
            }
            ([Value::Int(-1), seen], Cond::Fence(token)) => Err(self.fenced(key, token, seen)),
            _ => Err(self.error(Fault::Garbled, true)),
        }
    }

    /// A script that writes the record, up to where its own arguments begin; see `condition.lua`.
    pub(super) fn command(&self, script: &Script, key: &Key, cond: Cond, room: (usize, usize)) -> Cmd {
        let (code, want) = match cond {
            Cond::Absent => ("A", String::new()),
            Cond::Version(version) => ("V", version.to_string()),
            Cond::Fence(token) => ("F", write_token(&token)),
        };
        let name = self.name(key);
        let keys = [&name, &self.fences, &self.index, &self.locks].map(String::as_str);
        let mut command = script.on(&keys, (4 + room.0, 160 + 2 * key.as_str().len() + room.1));
        command.arg(key.as_str()).arg(code).arg(want).arg(self.wake.writes());
        command
    }

    /// Runs it; its answer has parts.
    pub(super) async fn run(&self, script: &Script, command: &Cmd, key: &Key) -> Result<Vec<Value>> {
        match self.hub.eval(script, command).await {
            Ok(Value::Array(parts)) => Ok(parts),
            Ok(_) => Err(self.garbled(key)),
            Err(fault) => Err(self.error(fault, true).with("key", key)),
        }
    }

    pub(super) fn garbled(&self, key: &Key) -> Error {
        self.error(Fault::Garbled, true).with("key", key)
    }

    fn fenced(&self, key: &Key, token: FencingToken, seen: &Value) -> Error {
        read_token(seen).map_or_else(|()| self.damaged(key), |seen| refused(key, token, seen))
    }

    /// What stands where the condition did not hold, as `step.lua` answers it.
    pub(super) fn stands(&self, key: &Key, cond: Cond, parts: &mut [Value]) -> Result<Option<Record>> {
        match (parts, cond) {
            ([Value::Int(0), Value::Nil], _) => Ok(None),
            ([Value::Int(0), value, version, written, now, fence], _) => {
                let now = int(now).ok_or_else(|| self.damaged(key))?;
                record([value, version, written, fence], now).map(Some).ok_or_else(|| self.damaged(key))
            }
            ([Value::Int(-1), seen], Cond::Fence(token)) => Err(self.fenced(key, token, seen)),
            _ => Err(self.garbled(key)),
        }
    }

    /// The version, and when it ends by itself.
    async fn look(&self, key: &Key) -> Result<(Option<Version>, Option<Duration>)> {
        let name = self.name(key);
        let mut pipe = ::redis::pipe();
        pipe.cmd("HGET").arg(&name).arg("n").cmd("PTTL").arg(&name);
        let answers = self.hub.send_both(&pipe).await.map_err(|fault| self.error(fault, false))?;
        match answers.as_slice() {
            [Value::Nil, _] => Ok((None, None)),
            [version, Value::Int(ttl)] => {
                let version = int(version).map(Version::new).ok_or_else(|| self.damaged(key))?;
                Ok((Some(version), u64::try_from(*ttl).ok().map(Duration::from_millis)))
            }
            _ => Err(self.damaged(key)),
        }
    }

    /// One piece of a listing after `start`, and where the next one starts.
    async fn piece(
        &self,
        start: &str,
        end: &[u8],
        limit: usize,
        found: &mut Vec<(Key, Record)>,
    ) -> Result<Option<String>> {
        let mut command = script::SCAN.on(&[&self.index, &self.fences], (5, 128));
        command.arg(start).arg(end).arg(limit).arg(&self.prefix).arg(PIECE.1);
        let answer = self.hub.eval(&script::SCAN, &command).await.map_err(|fault| self.error(fault, false))?;
        let garbled = || self.error(Fault::Garbled, false);
        let Value::Array(mut parts) = answer else { return Err(garbled()) };
        let [done, now, last, records @ ..] = parts.as_mut_slice() else { return Err(garbled()) };
        let now = int(now).ok_or_else(garbled)?;
        for entry in records.chunks_exact_mut(5) {
            let [name, value, version, written, fence] = entry else { return Err(garbled()) };
            let key = text(name).and_then(|name| Key::from_store(name).ok()).ok_or_else(garbled)?;
            let record = record([value, version, written, fence], now).ok_or_else(|| self.damaged(&key))?;
            found.push((key, record));
        }
        let last = text(last).ok_or_else(garbled)?;
        Ok((*done != Value::Int(1)).then(|| format!("({last}")))
    }
}

/// What no script is sent for.
pub(super) fn check(key: &Key, value: &[u8], ttl: Option<Duration>) -> Result<()> {
    if value.len() > VALUE_MAX_BYTES {
        return Err(Error::new(ErrorKind::Invalid, "the value is longer than 16 MiB").with("key", key));
    }
    if let Some(ttl) = ttl.filter(|ttl| *ttl > TTL_MOST) {
        return Err(Error::new(ErrorKind::Invalid, "the ttl is longer than 100 years")
            .with("key", key)
            .with("ttl", format_args!("{ttl:?}")));
    }
    Ok(())
}

/// A ttl and a value, as the scripts read them.
pub(super) fn write_value(command: &mut Cmd, value: &[u8], ttl: Option<Duration>) {
    match ttl {
        None => command.arg(""),
        Some(ttl) => command.arg(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)),
    };
    command.arg(value);
}

fn record([value, version, written, fence]: [&mut Value; 4], now_ms: u64) -> Option<Record> {
    let Value::BulkString(bytes) = value else { return None };
    Some(Record {
        value: std::mem::take(bytes).into(),
        version: Version::new(int(version)?),
        fence: read_token(fence).ok()?,
        times: Some(Times { written_ms: int(written)?, now_ms }),
    })
}

#[async_trait]
impl RecordStore for RedisStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.read(key, None).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.read(key, Some(token)).await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        check(key, &value, ttl)?;
        self.write(key, cond, Some((&value, ttl))).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.write(key, cond, None).await.map(drop)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let mut start = match page.after {
            Some(after) if after.as_str() >= prefix => format!("({after}"),
            // Keys of users begin at the space or later; our own begin before it.
            _ if prefix.is_empty() => "[ ".to_owned(),
            _ => format!("[{prefix}"),
        };
        // No key contains the byte 255, so this is just past the last one with the prefix.
        let end = if prefix.is_empty() { b"+".to_vec() } else { [b"(", prefix.as_bytes(), b"\xff"].concat() };
        let mut found = Vec::new();
        while found.len() < page.limit {
            let limit = (page.limit - found.len()).min(PIECE.0);
            match self.piece(&start, &end, limit, &mut found).await? {
                Some(next) => start = next,
                None => break,
            }
        }
        Ok(found)
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        loop {
            // Listening begins before the look, so a write in between is not missed.
            let listening = tokio::time::timeout_at(until, self.wake.listen(true)).await;
            let Ok(listening) = listening else { return Ok(()) };
            listening.map_err(|fault| self.error(fault, false).with("key", key))?;
            let bell = self.wake.watch(key);
            let written = bell.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            let (version, ends) = self.look(key).await?;
            if version != since {
                return Ok(());
            }
            let wake = ends.map_or(until, |ends| until.min(Instant::now() + ends + Duration::from_millis(1)));
            if tokio::time::timeout_at(wake, written).await.is_err() && wake == until {
                return Ok(());
            }
        }
    }
}
