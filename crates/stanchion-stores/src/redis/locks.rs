//! The locks.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ::redis::Value;
use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, FencingToken, Grant, Holder, Identity, Key, LockBackend, LockInfo, Mode,
    Owner, Page, Released, Renewal, Result, Wait, planted,
};
use tokio::time::Instant;

use super::combine::{Combiner, More, Op};
use super::fault::Fault;
use super::link::Hub;
use super::reply::{self, int, text};
use super::script;
use super::wake::Wake;

/// The next in line looks this often by itself, the others that often: a call can be lost with its
/// connection, and the queue forgets who has not looked for 9 s.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3));
/// The largest floor: far enough below 2^53, where Lua's numbers stop being exact.
const FLOOR_MOST: u64 = 1 << 52;

/// Leases in one Redis hash; see `locks.lua`.
#[derive(Debug)]
pub(crate) struct RedisLocks {
    hub: Arc<Hub>,
    wake: Arc<Wake>,
    combiner: Arc<Combiner>,
    locks: String,
    capability: Capability,
    no_wait: Arc<str>,
}

impl RedisLocks {
    pub(super) fn new(hub: Arc<Hub>, wake: Arc<Wake>, locks: String, capability: Capability) -> Self {
        let combiner = Combiner::new(Arc::clone(&hub), locks.clone());
        Self { hub, wake, combiner, locks, capability, no_wait: "0".into() }
    }

    async fn run(&self, code: &'static str, key: &Key, owner: Owner, more: More) -> Result<Value> {
        let answer = self.combiner.run(Op::new(code, key, owner, more)).await;
        answer.map_err(|fault| self.error(fault, key))
    }

    fn error(&self, fault: Fault, key: &Key) -> Error {
        fault.into_error(&self.hub.options.shown, true).with("key", key)
    }

    fn garbled(&self, key: &Key) -> Error {
        self.error(Fault::Garbled, key)
    }

    /// As `run`, then makes sure that enough replicas have it.
    async fn acquire_replicated(&self, op: Op) -> Result<Value, Fault> {
        let wait = (self.hub.options.timeout / 2).as_millis();
        let mut both = ::redis::pipe();
        both.add_command(self.combiner.command(std::iter::once(&op)));
        both.cmd("WAIT").arg(self.hub.options.replicas).arg(u64::try_from(wait).unwrap_or(1000));
        let mut answers = self.hub.send_both(&both).await;
        // A refusal of one command can come as the error of the pair, or as its own answer.
        let unloaded = match &answers {
            Err(fault) => fault.no_script(),
            Ok(answers) => answers
                .first()
                .is_some_and(|first| first.clone().extract_error().is_err_and(|e| Fault::lost(&e).no_script())),
        };
        if unloaded {
            self.hub.send(script::LOCKS.load()).await?;
            answers = self.hub.send_both(&both).await;
        }
        let answers = answers?;
        let [answer, have] = <[Value; 2]>::try_from(answers).map_err(|_| Fault::Garbled)?;
        let answer = match answer.extract_error() {
            Ok(Value::Array(mut answers)) => answers.pop().ok_or(Fault::Garbled)?,
            Ok(_) => return Err(Fault::Garbled),
            Err(e) => return Err(Fault::lost(&e)),
        };
        let enough = matches!(have, Value::Int(n) if u32::try_from(n).is_ok_and(|n| n >= self.hub.options.replicas));
        if enough || !matches!(answer, Value::Int(_)) {
            return Ok(answer);
        }
        // Given back before we say that nothing was taken; if that cannot be confirmed, the error is that
        // of the release: outcome unknown.
        let back = Op { code: "W", key: op.key, owner: op.owner, more: More::Nothing };
        self.combiner.run(back).await?;
        Err(Fault::NotSent(
            ErrorKind::Unavailable,
            "too few replicas have confirmed the lock; it was given back".to_owned(),
        ))
    }

    fn contended(&self, req: &Acquire, owner: Owner, hearing: u64, parts: &[Value]) -> Result<Grant> {
        let (refusal, error) = self.refusal(req, parts)?;
        if req.wait != Wait::No {
            let slice = if refusal.place <= 1 { LOOK.0 } else { LOOK.1 };
            // One after the other, so that an expired lease does not call everybody at once.
            let turn = refusal.free_in + Duration::from_millis(5 + 20 * refusal.place.min(50));
            self.wake.refused(owner, Instant::now() + turn.min(slice), hearing);
        }
        Err(error)
    }

    fn refusal(&self, req: &Acquire, parts: &[Value]) -> Result<(Refusal, Error)> {
        let refusal = Refusal::read(parts).ok_or_else(|| self.garbled(&req.key))?;
        let error = Error::new(ErrorKind::Contended, "the lock is taken").with("key", &req.key);
        let error = error.held_by(refusal.holder.clone());
        Ok((refusal, error))
    }

    /// One attempt, for an owner that can be called at `channel`.
    fn attempt(req: &Acquire, owner: Owner, channel: Arc<str>) -> Result<Op> {
        if req.floor > FLOOR_MOST {
            return Err(Error::new(ErrorKind::Unsupported, "the floor is above what Redis can count exactly")
                .with("floor", req.floor)
                .with("most", FLOOR_MOST));
        }
        let (mode, slots) = match req.mode {
            Mode::Exclusive => ("x", 0),
            Mode::Shared => ("s", 0),
            Mode::Slots(n) => ("", n),
        };
        let more = More::Acquire {
            ttl: millis(req.ttl),
            mode,
            slots,
            floor: req.floor,
            channel,
            identity: one_line(req.identity.encode()),
        };
        Ok(Op::new("A", &req.key, owner, more))
    }

    fn grant(&self, req: &Acquire, owner: Owner, number: i64) -> Result<Grant> {
        let number = u64::try_from(number).map_err(|_| self.garbled(&req.key))?;
        Ok(Grant::new(req.key.clone(), owner, FencingToken::new(number, owner), req.mode, req.ttl))
    }

    /// One attempt that does not wait, as an operation for [`answered`](Self::answered).
    pub(super) fn once(&self, req: &Acquire, owner: Owner) -> Result<Op> {
        Self::attempt(req, owner, Arc::clone(&self.no_wait))
    }

    /// The answer to [`once`](Self::once): the grant, or the refusal.
    pub(super) fn answered(&self, req: &Acquire, owner: Owner, answer: &Value) -> Result<Result<Grant, Error>> {
        match answer {
            Value::Int(number) => self.grant(req, owner, *number).map(Ok),
            Value::Array(parts) => Ok(Err(self.refusal(req, parts)?.1)),
            _ => Err(self.garbled(&req.key)),
        }
    }
}

/// The script's separators are control characters, which a hand-made identity could contain.
fn one_line(text: String) -> String {
    if text.chars().any(char::is_control) { text.replace(char::is_control, " ") } else { text }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[async_trait]
impl LockBackend for RedisLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let (channel, hearing) =
            if req.wait == Wait::No { (Arc::clone(&self.no_wait), 0) } else { self.wake.channel() };
        let op = Self::attempt(req, owner, channel)?;
        let answer = match self.hub.options.replicas {
            0 => self.combiner.run(op).await,
            _ => self.acquire_replicated(op).await,
        };
        match answer.map_err(|fault| self.error(fault, &req.key))? {
            Value::Int(number) => {
                self.wake.forget(owner);
                self.grant(req, owner, number)
            }
            Value::Array(parts) => self.contended(req, owner, hearing, &parts),
            _ => Err(self.garbled(&req.key)),
        }
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let Some(waiter) = self.wake.waiter(owner) else {
            // Not in the queue, so nobody will call: an early return lets the caller look.
            tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(50))).await;
            return Ok(());
        };
        let (look, hearing) = *waiter.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.wake.hears(hearing) {
            let listening = tokio::time::timeout_at(until, self.wake.listen(false)).await;
            return listening
                .unwrap_or(Ok(()))
                .map_err(|fault| fault.into_error(&self.hub.options.shown, false).with("key", &req.key));
        }
        // Both ends are fine: called, or time to look.
        drop(tokio::time::timeout_at(until.min(look), waiter.called.notified()).await);
        Ok(())
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.wake.forget(owner);
        if let Err(error) = self.run("W", &req.key, owner, More::Nothing).await {
            tracing::debug!(%error, "could not leave the queue; it forgets us by itself");
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        match self.run("N", &grant.key, grant.owner, More::Ttl(millis(ttl))).await {
            Ok(Value::Int(1)) => Renewal::Renewed,
            Ok(Value::Int(_)) => Renewal::Lost,
            Ok(_) => Renewal::Unknown(self.garbled(&grant.key)),
            Err(error) => Renewal::Unknown(error),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let code = if planted!("redis-release-without-token") { "E" } else { "R" };
        let answer = self.run(code, &grant.key, grant.owner, More::Nothing).await?;
        reply::released(&answer).ok_or_else(|| self.garbled(&grant.key))
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let fail = |fault: Fault| fault.into_error(&self.hub.options.shown, false);
        let (mut cursor, mut found) = ("0".to_owned(), BTreeMap::new());
        loop {
            let mut command = script::LIST.on(&[&self.locks], (2, 64));
            command.arg(&cursor).arg(prefix);
            let Value::Array(parts) = self.hub.eval(&script::LIST, &command).await.map_err(fail)? else {
                return Err(fail(Fault::Garbled));
            };
            let next = parts.first().and_then(text).ok_or_else(|| fail(Fault::Garbled))?.to_owned();
            for entry in parts.get(2..).unwrap_or_default().chunks_exact(3) {
                let info = parts.get(1).and_then(int).and_then(|now| lock_info(now, entry));
                let info = info.ok_or_else(|| fail(Fault::Garbled))?;
                if page.after.as_ref().is_none_or(|after| info.key > *after) {
                    found.insert(info.key.clone(), info);
                }
            }
            if next == "0" {
                return Ok(found.into_values().take(page.limit).collect());
            }
            cursor = next;
        }
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let answer = self.run("E", key, Owner::from_bits(0), More::Nothing).await?;
        reply::released(&answer).ok_or_else(|| self.garbled(key))
    }
}

/// What `locks.lua` answers to a refused attempt.
struct Refusal {
    holder: Holder,
    place: u64,
    free_in: Duration,
}

impl Refusal {
    fn read(parts: &[Value]) -> Option<Self> {
        let [now, place, free_in, shown] = parts else { return None };
        let holder = Line::holder(text(shown)?)?.shown(int(now)?)?;
        Some(Self { holder, place: int(place)?, free_in: Duration::from_millis(int(free_in)?) })
    }
}

/// A holder or a waiter as `locks.lua` writes it.
struct Line<'a> {
    nonce: u64,
    expires: u64,
    /// 0 for a reservation.
    fence: u64,
    since: u64,
    mode: &'a str,
    identity: &'a str,
}

impl<'a> Line<'a> {
    fn holder(line: &'a str) -> Option<Self> {
        let (mode, identity) = line.get(74..)?.split_once('\t')?;
        Some(Self {
            nonce: u64::from_str_radix(line.get(16..32)?, 16).ok()?,
            expires: line.get(32..45)?.parse().ok()?,
            fence: line.get(45..61)?.parse().ok()?,
            since: line.get(61..74)?.parse().ok()?,
            mode,
            identity,
        })
    }

    fn shown(&self, now: u64) -> Option<Holder> {
        let mut holder = Holder::new(Identity::decode(self.identity));
        holder.mode = match self.mode {
            "x" => Mode::Exclusive,
            "s" => Mode::Shared,
            slots => Mode::Slots(slots.parse().ok()?),
        };
        holder.fence = (self.fence > 0).then(|| FencingToken::from_parts(self.fence, self.nonce));
        holder.held_for = Some(Duration::from_millis(now.saturating_sub(self.since)));
        holder.expires_in = Some(Duration::from_millis(self.expires.saturating_sub(now)));
        Some(holder)
    }
}

fn lock_info(now: u64, entry: &[Value]) -> Option<LockInfo> {
    let [key, Value::Array(holders), Value::Array(waiters)] = entry else { return None };
    let mut info = LockInfo::new(Key::new(text(key)?).ok()?);
    let waited = |since: u64| Some(Duration::from_millis(now.saturating_sub(since)));
    for line in holders {
        let line = Line::holder(text(line)?)?;
        // Called, but not yet here: the first of those who wait.
        match line.fence {
            0 => info.waiters.push((Identity::decode(line.identity), waited(line.since))),
            _ => info.holders.push(line.shown(now)?),
        }
    }
    for line in waiters {
        let line = text(line)?;
        let identity = line.splitn(3, '\t').nth(2)?;
        info.waiters.push((Identity::decode(identity), waited(line.get(45..58)?.parse().ok()?)));
    }
    Some(info)
}
