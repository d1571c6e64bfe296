//! `mode=lease`: one row per key. Uncontended exclusive locks are one statement; everything else is decided in
//! [`Line`] and written by compare-and-swap on the row's `rev`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, ErrorKind, FencingToken, Grant, Identity, Key, LockBackend, LockInfo, Mode, Owner, Page,
    Released, Renewal, Result, Wait, contended, slots_disagree,
};
use tokio::time::Instant;

use super::board::Waiting;
use super::change::{Change, Rows};
use super::ear::Ear;
use super::error::{DUPLICATE, Effect, code, running, unexpected};
use super::line::{Asked, Line, Verdict};
use super::pool::{Pool, number};
use super::row::{floor, micros, read_line, select};
use super::schema::Schema;
use super::text::{NOW, limit, range, text};
use super::tidy::Tidy;
use crate::together::Stage;

/// A waiter looks at least this often by itself: what a lost call costs.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Lease locks in MySQL and MariaDB.
#[derive(Debug)]
pub(crate) struct LeaseLocks {
    rows: Arc<Rows>,
    capability: Capability,
    tidy: Arc<Tidy>,
}

impl LeaseLocks {
    pub(crate) fn new(pool: Arc<Pool>, ear: Arc<Ear>, schema: Schema, capability: Capability, tidy: Arc<Tidy>) -> Self {
        Self { rows: Rows::new(pool, ear, schema), capability, tidy }
    }

    fn table(&self) -> String {
        self.rows.schema.table("locks")
    }

    /// Whether one statement is enough: it is not where somebody waits.
    fn is_quiet(&self, key: &Key, mode: Mode) -> bool {
        mode == Mode::Exclusive && !self.rows.ear.board.is_crowded(key)
    }

    /// One statement: ours if nobody holds, shares or waits.
    async fn seize(&self, req: &Acquire, owner: Owner) -> Result<Option<u64>> {
        let sql = format!(
            "UPDATE {} SET rev = rev + 1, fence = LAST_INSERT_ID(GREATEST(fence, {}) + 1), owner = '{}', identity = {}, \
             since = {NOW}, ends = {NOW} + {} WHERE k = {} AND ends <= {NOW} AND queue IS NULL",
            self.table(),
            floor(req)?,
            owner.to_hex(),
            text(&req.identity.encode()),
            micros(req.ttl),
            text(req.key.as_str()),
        );
        let sets = self.rows.pool.run(&sql, 1, Effect::Write).await?;
        Ok(sets.first().filter(|set| set.found > 0).map(|set| set.id))
    }

    /// The first row of a key; `exclusive`: with us as its holder. `None`: somebody was faster.
    async fn found(&self, req: &Acquire, owner: Owner, exclusive: bool) -> Result<Option<u64>> {
        let (holder, ends) =
            if exclusive { (owner.to_hex(), format!("{NOW} + {}", micros(req.ttl))) } else { Default::default() };
        let step = u64::from(exclusive);
        // The shared lock on the floor keeps `tidy` from forgetting this key's numbers meanwhile. `rev` begins with the
        // time, above every `rev` of the row's earlier lives: who read one of those must not write over this one.
        let sql = format!(
            "INSERT INTO {} (k, rev, fence, owner, identity, since, ends) SELECT {}, {NOW}, \
             LAST_INSERT_ID(GREATEST(value, {}) + {step}), '{holder}', {}, {NOW}, {} FROM {} \
             WHERE name = 'floor' LOCK IN SHARE MODE",
            self.table(),
            text(req.key.as_str()),
            if exclusive { floor(req)? } else { 0 },
            text(&req.identity.encode()),
            if exclusive { ends.as_str() } else { "0" },
            self.rows.schema.table("meta"),
        );
        let parts = self.rows.pool.parts(sql.as_bytes(), 1, Effect::Write).await?;
        match parts.failed {
            None => match parts.sets.first() {
                Some(set) if set.found > 0 => Ok(Some(set.id)),
                _ => Err(unexpected("no floor").hint("open the store again")),
            },
            Some(e) if code(&e) == Some(DUPLICATE) || super::error::is_rollback(&e) => Ok(None),
            Some(e) => Err(running(&e, &self.rows.pool.target.shown, Effect::Write)),
        }
    }

    /// What cannot be read can still be cleared: the way out that the error of a damaged row names.
    async fn clear_damaged(&self, key: &Key) -> Result<bool> {
        let k = text(key.as_str());
        let rows = self.rows.pool.one(&format!("{} WHERE k = {k}", select(&self.rows.schema)), Effect::Read).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        if !read_line(row).is_err_and(|e| e.kind() == ErrorKind::Damaged) {
            return Ok(false);
        }
        let sql = format!(
            "UPDATE {} SET rev = rev + 1, owner = '', identity = '', since = {NOW}, ends = 0, queue = NULL \
             WHERE k = {k} AND rev = {}",
            self.table(),
            number(Some(row), 1)?
        );
        Ok(self.rows.pool.run(&sql, 1, Effect::Write).await?.first().is_some_and(|set| set.found > 0))
    }

    /// The fence of a grant, or who is in the way.
    async fn attempt(&self, req: &Acquire, owner: Owner) -> Result<Result<u64, (Line, Verdict)>> {
        if self.is_quiet(&req.key, req.mode)
            && let Some(fence) = self.seize(req, owner).await?
        {
            return Ok(Ok(fence));
        }
        let asked = Asked {
            owner,
            mode: req.mode,
            ttl: micros(req.ttl),
            floor: floor(req)?,
            wait: req.wait != Wait::No,
            ear: self.rows.ear.number,
            identity: req.identity.encode(),
        };
        if asked.wait {
            // Before it stands in the row: another of this process may hand it the turn before we have our answer.
            self.rows.ear.board.place(&req.key, owner);
        }
        loop {
            let asked = asked.clone();
            let changed = self.rows.change(&req.key, Stage::First, move |line| match line.attempt(&asked) {
                Verdict::Contended { write: false } => Change::Leave(Verdict::Contended { write: false }),
                Verdict::Slots(held) => Change::Leave(Verdict::Slots(held)),
                verdict => Change::Write(verdict),
            });
            match changed.await? {
                Some((_, Verdict::Granted(fence))) => return Ok(Ok(fence)),
                Some(refused) => return Ok(Err(refused)),
                None => {
                    let exclusive = req.mode == Mode::Exclusive;
                    if let Some(fence) = self.found(req, owner, exclusive).await?
                        && exclusive
                    {
                        return Ok(Ok(fence));
                    }
                }
            }
        }
    }
}

#[async_trait]
impl LockBackend for LeaseLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let board = &self.rows.ear.board;
        let answer = self.attempt(req, owner).await.inspect_err(|_| board.leave(owner))?;
        match answer {
            Ok(fence) => {
                board.leave(owner);
                self.tidy.sometimes();
                Ok(Grant::new(req.key.clone(), owner, FencingToken::new(fence, owner), req.mode, req.ttl))
            }
            Err((_, Verdict::Slots(held))) => {
                board.leave(owner);
                let asked = if let Mode::Slots(n) = req.mode { n } else { 0 };
                Err(slots_disagree(&req.key, asked, held))
            }
            Err((line, _)) => {
                if req.wait != Wait::No {
                    board.place(&req.key, owner).see(&line);
                }
                Err(contended(&req.key, line.shown()))
            }
        }
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let place = self.rows.ear.board.place(&req.key, owner);
        place.waiting.store(true, Ordering::SeqCst);
        let _waiting = Waiting(&place.waiting);
        self.rows.ear.board.listen_for(&req.key);
        let mut until = until.min(Instant::now() + HEARTBEAT);
        if !self.rows.ear.ensure() {
            // Well inside a turn, and not all at once.
            until = until.min(Instant::now() + Duration::from_millis(60 + owner.nonce() % 80));
        }
        loop {
            let Some(at) = place.when() else { return Ok(()) };
            if tokio::time::timeout_at(until.min(at), place.bell.notified()).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.rows.ear.board.leave(owner);
        let left = self.rows.change(&req.key, Stage::Further, move |line| {
            if line.withdraw(owner) { Change::Write(()) } else { Change::Leave(()) }
        });
        if let Err(e) = left.await {
            tracing::debug!(error = %e, key = %req.key, "a waiter could not leave the queue; its place lapses");
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        let renewed = if grant.mode == Mode::Exclusive {
            let sql = format!(
                "UPDATE {} SET rev = rev + 1, ends = {NOW} + {} WHERE k = {} AND owner = '{}' AND ends > {NOW}",
                self.table(),
                micros(ttl),
                text(grant.key.as_str()),
                grant.owner.to_hex()
            );
            self.rows.pool.run(&sql, 1, Effect::Write).await.map(|sets| sets.first().is_some_and(|set| set.found > 0))
        } else {
            let (owner, ttl) = (grant.owner, micros(ttl));
            let renewed = self.rows.change(&grant.key, Stage::Further, move |line| {
                if line.renew(owner, ttl) { Change::Write(true) } else { Change::Leave(false) }
            });
            renewed.await.map(|changed| changed.is_some_and(|(_, renewed)| renewed))
        };
        match renewed {
            Ok(true) => Renewal::Renewed,
            Ok(false) => Renewal::Lost,
            Err(e) => Renewal::Unknown(e),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        if self.is_quiet(&grant.key, grant.mode) {
            let sql = format!(
                "UPDATE {} SET rev = rev + 1, owner = '', since = {NOW}, ends = 0 \
                 WHERE k = {} AND owner = '{}' AND ends > {NOW} AND queue IS NULL",
                self.table(),
                text(grant.key.as_str()),
                grant.owner.to_hex()
            );
            if self.rows.pool.run(&sql, 1, Effect::Write).await?.first().is_some_and(|set| set.found > 0) {
                return Ok(Released::Released);
            }
        }
        let owner = grant.owner;
        let released = self.rows.change(&grant.key, Stage::Further, move |line| match line.release(owner) {
            Some(held) => Change::Write(held),
            None => Change::Leave(false),
        });
        Ok(match released.await? {
            Some((_, true)) => Released::Released,
            _ => Released::NotHeld,
        })
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let sql = format!(
            "{} WHERE {} AND (ends > {NOW} OR queue IS NOT NULL) ORDER BY k LIMIT {}",
            select(&self.rows.schema),
            range(prefix, &page),
            limit(&page)
        );
        let mut found = Vec::new();
        for row in self.rows.pool.one(&sql, Effect::Read).await? {
            let (key, line) = read_line(&row)?;
            let mut info = LockInfo::new(Key::from_store(&String::from_utf8_lossy(&key))?);
            let alive = line.holder.iter().chain(&line.shares).filter(|held| held.ends > line.now);
            info.holders = alive.map(|held| line.show(held)).collect();
            let waiting = line.waiters.iter().filter(|waiter| waiter.seen > line.now);
            let waited = |since: u64| Duration::from_micros(line.now.saturating_sub(since));
            info.waiters = waiting.map(|w| (Identity::decode(&w.identity), Some(waited(w.since)))).collect();
            if !info.holders.is_empty() || !info.waiters.is_empty() {
                found.push(info);
            }
        }
        Ok(found)
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        if self.clear_damaged(key).await? {
            return Ok(Released::Released);
        }
        let evicted = self
            .rows
            .change(key, Stage::Further, |line| if line.evict() { Change::Write(true) } else { Change::Leave(false) });
        Ok(match evicted.await? {
            Some((_, true)) => Released::Released,
            _ => Released::NotHeld,
        })
    }
}
