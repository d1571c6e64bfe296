//! `mode=lease`: lease rows, a queue and a hand-off, all inside the server's functions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, FencingToken, Grant, Holder, Identity, Key, LockBackend, LockInfo, Mode,
    Owner, Page, Released, Renewal, Result, Wait, contended, slots_disagree,
};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::error::Effect;
use super::listen::{Ears, Listener};
use super::pool::{Pool, column};
use super::range::{limit, lower, upper};
use super::schema::Schema;

/// A waiter asks at least this often, so that the queue knows it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long the server keeps the lock for a waiter it has called, and a little more.
const RESERVATION: Duration = Duration::from_millis(505);
/// Grants between two calls of `tidy`.
const TIDY_EVERY: u64 = 4096;

/// Lease locks in PostgreSQL.
#[derive(Debug)]
pub(crate) struct PostgresLocks {
    pool: Arc<Pool>,
    listener: Arc<Listener>,
    capability: Capability,
    /// Commit without waiting for the disk.
    quick: bool,
    sql: Statements,
    grants: AtomicU64,
}

#[derive(Debug)]
struct Statements {
    acquire: String,
    renew: String,
    release: String,
    withdraw: String,
    evict: String,
    list: String,
    lift: String,
    tidy: String,
}

impl PostgresLocks {
    pub(crate) fn new(
        pool: Arc<Pool>,
        listener: Arc<Listener>,
        schema: &Schema,
        quick: bool,
        capability: Capability,
    ) -> Self {
        let sql = Statements {
            acquire: schema.sql("SELECT stanchion.lock_acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS answer"),
            renew: schema.sql("SELECT stanchion.lock_renew($1, $2, $3, $4, $5) AS done"),
            release: schema.sql("SELECT stanchion.lock_release($1, $2, $3, $4) AS done"),
            withdraw: schema.sql("SELECT stanchion.lock_withdraw($1, $2)::text"),
            evict: schema.sql("SELECT stanchion.lock_evict($1) AS done"),
            list: schema.sql("SELECT * FROM stanchion.lock_list($1, $2, $3, $4)"),
            lift: schema.sql("SELECT stanchion.lift($1)"),
            tidy: schema.sql("SELECT stanchion.tidy(1000)"),
        };
        Self { pool, listener, capability, quick, sql, grants: AtomicU64::new(0) }
    }

    async fn attempt(&self, req: &Acquire, owner: Owner, called: bool) -> Result<Answer> {
        let (mode, slots) = numbers(req.mode);
        let (key, owner, ttl) = (req.key.as_str(), owner.to_hex(), millis(req.ttl));
        let (wait, identity, floor) = (req.wait != Wait::No, req.identity.encode(), floor(req)?);
        let params: [super::pool::Param<'_>; 10] = [
            (&key, Type::TEXT),
            (&owner, Type::TEXT),
            (&mode, Type::INT4),
            (&slots, Type::INT4),
            (&ttl, Type::INT8),
            (&wait, Type::BOOL),
            (&identity, Type::TEXT),
            (&floor, Type::INT8),
            (&self.quick, Type::BOOL),
            (&called, Type::BOOL),
        ];
        for _ in 0..3 {
            let row = self.pool.one(&self.sql.acquire, &params, Effect::Write).await?;
            if let Some(answer) = Answer::parse(column(&row, "answer")?)? {
                return Ok(answer);
            }
            self.pool.run(&self.sql.lift, &[(&floor, Type::INT8)], Effect::Write).await?;
        }
        Err(super::pool::unexpected("the counter cannot be lifted").with("floor", floor))
    }

    async fn done(&self, sql: &str, params: &[super::pool::Param<'_>]) -> Result<bool> {
        column(&self.pool.one(sql, params, Effect::Write).await?, "done")
    }

    pub(super) fn tidy_sometimes(&self) {
        if self.grants.fetch_add(1, Ordering::Relaxed) % TIDY_EVERY == TIDY_EVERY - 1 {
            let (pool, sql) = (Arc::clone(&self.pool), self.sql.tidy.clone());
            tokio::spawn(async move {
                if let Err(e) = pool.run(&sql, &[], Effect::Write).await {
                    tracing::debug!(error = %e, "old keys were not tidied away");
                }
            });
        }
    }
}

#[async_trait]
impl LockBackend for PostgresLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let board = self.listener.board();
        let called = req.wait != Wait::No && board.knows(owner.nonce());
        if req.wait != Wait::No {
            // On the board before the request: a hand-off may come before its refusal has reached us.
            let turn = board.turn(owner.nonce());
            turn.epoch.store(board.epoch(), Ordering::SeqCst);
            turn.ours.store(false, Ordering::SeqCst);
        }
        let answer = self.attempt(req, owner, called).await.inspect_err(|_| board.leave(owner.nonce()))?;
        let (retry, holder) = match answer {
            Answer::Granted(fence) => {
                board.leave(owner.nonce());
                self.tidy_sometimes();
                return Ok(Grant::new(req.key.clone(), owner, FencingToken::new(fence, owner), req.mode, req.ttl));
            }
            Answer::Slots(held) => {
                board.leave(owner.nonce());
                return Err(slots_disagree(&req.key, numbers(req.mode).1.cast_unsigned(), held));
            }
            Answer::Contended(retry, holder) => (retry, holder),
        };
        if req.wait != Wait::No {
            board.turn(owner.nonce()).retry_ms.store(retry.max(1), Ordering::SeqCst);
        }
        Err(contended(&req.key, holder))
    }

    async fn wait(&self, _: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let board = self.listener.board();
        let turn = board.turn(owner.nonce());
        let ears = self.listener.ensure().await;
        if ears == Ears::Listening && turn.epoch.load(Ordering::SeqCst) != board.epoch() {
            return Ok(()); // We began to listen after our last look: a hand-off in between went unheard.
        }
        let retry = Duration::from_millis(turn.retry_ms.load(Ordering::SeqCst)).min(HEARTBEAT);
        let now = Instant::now();
        let mut until = until.min(now + retry);
        if ears == Ears::Polling {
            // Well inside a reservation, and not all at once.
            until = until.min(now + Duration::from_millis(40 + owner.nonce() % 80));
        }
        loop {
            if turn.ours.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            if turn.standby.swap(false, Ordering::SeqCst) {
                until = until.min(Instant::now() + RESERVATION);
            }
            if tokio::time::timeout_at(until, turn.bell.notified()).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.listener.board().leave(owner.nonce());
        let owner = owner.to_hex();
        let params: [super::pool::Param<'_>; 2] = [(&req.key.as_str(), Type::TEXT), (&owner, Type::TEXT)];
        if let Err(e) = self.pool.run(&self.sql.withdraw, &params, Effect::Write).await {
            tracing::debug!(error = %e, key = %req.key, "a waiter could not leave the queue; its place lapses");
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        let (owner, mode, ttl) = (grant.owner.to_hex(), numbers(grant.mode).0, millis(ttl));
        let renewed = self
            .done(
                &self.sql.renew,
                &[
                    (&grant.key.as_str(), Type::TEXT),
                    (&owner, Type::TEXT),
                    (&mode, Type::INT4),
                    (&ttl, Type::INT8),
                    (&self.quick, Type::BOOL),
                ],
            )
            .await;
        match renewed {
            Ok(true) => Renewal::Renewed,
            Ok(false) => Renewal::Lost,
            Err(e) => Renewal::Unknown(e),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let (owner, mode) = (grant.owner.to_hex(), numbers(grant.mode).0);
        let held = self
            .done(
                &self.sql.release,
                &[
                    (&grant.key.as_str(), Type::TEXT),
                    (&owner, Type::TEXT),
                    (&mode, Type::INT4),
                    (&self.quick, Type::BOOL),
                ],
            )
            .await?;
        Ok(if held { Released::Released } else { Released::NotHeld })
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let (upper, after) = (upper(prefix), page.after.as_ref().map(Key::as_str));
        let params: [super::pool::Param<'_>; 4] =
            [(&lower(prefix), Type::TEXT), (&upper, Type::TEXT), (&after, Type::TEXT), (&limit(&page), Type::INT8)];
        let mut found: Vec<LockInfo> = Vec::new();
        for row in self.pool.run(&self.sql.list, &params, Effect::Read).await? {
            let key = Key::from_store(column::<&str>(&row, "key")?)?;
            if found.last().is_none_or(|last| last.key != key) {
                found.push(LockInfo::new(key));
            }
            let Some(last) = found.last_mut() else { continue };
            if column::<bool>(&row, "waiting")? {
                let identity = Identity::decode(column(&row, "identity")?);
                last.waiters.push((identity, column::<Option<i64>>(&row, "held_ms")?.map(since)));
            } else {
                last.holders.push(holder(&row)?);
            }
        }
        Ok(found)
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let held = self.done(&self.sql.evict, &[(&key.as_str(), Type::TEXT)]).await?;
        Ok(if held { Released::Released } else { Released::NotHeld })
    }
}

/// What `lock_acquire` says.
#[derive(Debug)]
pub(super) enum Answer {
    Granted(u64),
    Slots(u32),
    /// Try again after this many milliseconds, if nobody calls before.
    Contended(u64, Option<Holder>),
}

impl Answer {
    /// `None`: lift the counter first.
    pub(super) fn parse(text: &str) -> Result<Option<Self>> {
        let odd = || super::pool::unexpected("lock_acquire").with("text", text);
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Ok(Some(match word {
            "g" => Self::Granted(rest.parse().map_err(|_| odd())?),
            "s" => Self::Slots(rest.parse().map_err(|_| odd())?),
            "c" => {
                let mut fields = rest.splitn(8, '\u{1f}');
                let retry = fields.next().and_then(|f| f.parse().ok()).ok_or_else(odd)?;
                let fields: Vec<&str> = fields.collect();
                let holder = if fields.is_empty() { None } else { Some(described(&fields).ok_or_else(odd)?) };
                Self::Contended(retry, holder)
            }
            "l" => return Ok(None),
            _ => return Err(odd()),
        }))
    }
}

/// The holder in a refusal: mode, slots, fence, nonce, held for, expires in, identity.
fn described(fields: &[&str]) -> Option<Holder> {
    let [mode, slots, fence, nonce, held, left, identity] = *fields else { return None };
    let mut holder = Holder::new(Identity::decode(identity));
    holder.mode = self::mode(mode.parse().ok()?, slots.parse().ok()?);
    holder.fence = Some(FencingToken::from_parts(fence.parse().ok()?, u64::from_str_radix(nonce, 16).ok()?));
    holder.held_for = Some(since(held.parse().ok()?));
    holder.expires_in = Some(since(left.parse().ok()?));
    Some(holder)
}

fn mode(number: i32, slots: i32) -> Mode {
    match number {
        2 => Mode::Shared,
        3 => Mode::Slots(slots.cast_unsigned()),
        _ => Mode::Exclusive,
    }
}

/// The mode as the functions know it.
pub(crate) fn numbers(mode: Mode) -> (i32, i32) {
    match mode {
        Mode::Exclusive => (1, 0),
        Mode::Shared => (2, 0),
        Mode::Slots(n) => (3, n.cast_signed()),
    }
}

/// The floor as PostgreSQL can count it.
pub(crate) fn floor(req: &Acquire) -> Result<i64> {
    // Half the range is left for all the numbers after it.
    i64::try_from(req.floor).ok().filter(|floor| *floor < i64::MAX / 2).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "PostgreSQL cannot count above this floor").with("floor", req.floor)
    })
}

/// A holder in a listing.
fn holder(row: &Row) -> Result<Holder> {
    let mut holder = Holder::new(Identity::decode(column(row, "identity")?));
    holder.mode = mode(column(row, "mode")?, column(row, "slots")?);
    let nonce = column::<Option<&str>>(row, "lease")?.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    holder.fence = nonce
        .zip(column::<Option<i64>>(row, "fence")?)
        .map(|(nonce, n)| FencingToken::from_parts(n.cast_unsigned(), nonce));
    holder.held_for = column::<Option<i64>>(row, "held_ms")?.map(since);
    holder.expires_in = column::<Option<i64>>(row, "left_ms")?.map(since);
    Ok(holder)
}

pub(crate) fn since(ms: i64) -> Duration {
    Duration::from_millis(ms.max(0).cast_unsigned())
}

/// Rounded up: the server must not end a lease before its holder does.
pub(crate) fn millis(d: Duration) -> i64 {
    i64::try_from(d.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}
