//! The locks: what a [`LockBackend`] is asked, in terms of the line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Grant, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal, Result, Wait,
};
use tokio::time::Instant;

use super::line::{Line, Look};
use super::proto::{Compare, Op, Range, Ranged, Txn, TxnAnswer};
use super::records::{RANGE, TXN};
use super::watch;
use crate::line::{self, Entry, Lift, Standing};

/// A watch that told nothing is not trusted for longer; and so long an entry stays whose waiter was dropped.
const LOOK: Duration = Duration::from_secs(10);
/// One who is not in line looks this soon.
const SOON: Duration = Duration::from_millis(50);
/// Entries in one piece of a listing.
const PIECE: i64 = 512;
/// etcd takes 128 operations in one transaction.
const OPS: usize = 100;

/// Leases as a line of keys for each lock.
pub(crate) struct EtcdLocks {
    line: Arc<Line>,
    sweeper: tokio::task::AbortHandle,
    capability: Capability,
}

impl std::fmt::Debug for EtcdLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EtcdLocks({})", self.line.hub.options.shown)
    }
}

impl Drop for EtcdLocks {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

impl EtcdLocks {
    pub(super) fn new(line: Line, capability: Capability) -> Self {
        let line = Arc::new(line);
        let sweeper =
            tokio::spawn(super::sweep::run(Arc::clone(&line.deadlines), Arc::downgrade(&line))).abort_handle();
        Self { line, sweeper, capability }
    }

    /// The entry is gone or goes: nobody of this process stands there any more.
    async fn delete(&self, key: &Key, owner: Owner) -> Result<Released> {
        Ok(if self.line.delete(key, owner).await? { Released::Released } else { Released::NotHeld })
    }

    async fn check(&self, grant: &Grant, ttl: Duration) -> Result<bool> {
        let line = &self.line;
        let Some(place) = line.place(grant.owner) else { return Ok(false) };
        let fail = |fault| line.error(fault, &grant.key, false);
        if !place.session.can_carry(ttl) || place.session.is_tainted() {
            let session = line.sessions.carrying(ttl).await.map_err(fail)?;
            return line.rebind(&grant.key, grant.owner, &place, &session).await;
        }
        if !line.sessions.ensure(&place.session, ttl).await.map_err(fail)? {
            return Ok(false);
        }
        let range = Range { keys_only: true, ..Range::one(&place.name) };
        let found: Ranged = line.hub.read(RANGE, &range).await.map_err(fail)?;
        Ok(found.kvs.first().is_some_and(|kv| place.order.is_none_or(|order| order == kv.create_revision)))
    }

    /// All entries under a prefix, by lock.
    async fn lines(&self, prefix: &str, page: &Page) -> Result<BTreeMap<Key, Vec<Entry>>> {
        let names = &self.line.names;
        let (mut start, end) = names.lines(prefix, page.after.as_ref());
        let mut found: BTreeMap<Key, Vec<Entry>> = BTreeMap::new();
        loop {
            let range = Range { key: start, range_end: end.clone(), limit: PIECE, ..Range::default() };
            let piece: Ranged = self.line.hub.read(RANGE, &range).await.map_err(|fault| self.line.fault(fault))?;
            for kv in &piece.kvs {
                // What another program has put there is no entry of ours.
                if let (Some(key), Some(entry)) = (names.key_of_entry(&kv.key), Look::entry(kv)) {
                    found.entry(key).or_default().push(entry);
                }
            }
            // The last lock may go on in the next piece.
            match piece.kvs.last() {
                Some(last) if piece.more && found.len() <= page.limit => start = [&last.key[..], &[0]].concat(),
                _ => return Ok(found),
            }
        }
    }
}

#[async_trait]
impl LockBackend for EtcdLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        self.line.attempt(req, owner).await
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let line = &self.line;
        let Some(mut behind) = line.place(owner).and_then(|place| place.behind) else {
            // Not in line, so nobody's leaving would tell us: an early return lets the caller look.
            tokio::time::sleep_until(until.min(Instant::now() + SOON)).await;
            return Ok(());
        };
        let slice = until.min(Instant::now() + LOOK);
        if !line.deadlines.extend(owner, slice + req.ttl) {
            return Ok(());
        }
        let fail = |fault| line.error(fault, &req.key, false);
        let (key, end) = line.names.line(&req.key);
        let watched = watch::Place { key, end, deletes_only: true };
        let Ok(ear) = tokio::time::timeout_at(slice, line.watches.listen(watched)).await else { return Ok(()) };
        let ear = ear.map_err(fail)?;
        if !ear.heard.covers(behind.seen) {
            let begins = slice.min(Instant::now() + line.hub.options.timeout);
            if tokio::time::timeout_at(begins, ear.heard.begun()).await.is_err() {
                if begins < slice {
                    ear.give_up();
                }
                return Ok(());
            }
            // Listening has begun; whoever left before that is seen now.
            let look = line.look(&req.key).await?;
            match line::standing(&req.key, &look.line, owner) {
                Ok(Standing::Behind { wake, .. }) if wake == behind.wake => behind.seen = look.revision,
                _ => return Ok(()),
            }
        }
        drop(tokio::time::timeout_at(slice, ear.heard.told(behind.name, behind.seen)).await);
        Ok(())
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        if let Err(error) = self.delete(&req.key, owner).await {
            tracing::debug!(%error, "could not leave the line; the entry ends by its deadline");
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        if !self.line.deadlines.extend(grant.owner, Instant::now() + ttl) {
            return Renewal::Lost;
        }
        match self.check(grant, ttl).await {
            Ok(true) => Renewal::Renewed,
            Ok(false) => {
                self.line.forget(grant.owner);
                Renewal::Lost
            }
            Err(error) => Renewal::Unknown(error),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.delete(&grant.key, grant.owner).await
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let lift = self.line.lift().await?.0;
        let mut lines = self.lines(prefix, &page).await?;
        for line in lines.values_mut() {
            line.sort_by_key(|entry| entry.order);
        }
        Ok(lines.into_iter().take(page.limit).map(|(key, line)| line::info(key, &line, lift)).collect())
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let look = self.line.look(key).await?;
        let held =
            |entry: &&Entry| matches!(line::standing(key, &look.line, entry.card.owner), Ok(Standing::Granted(_)));
        let holders: Vec<&Entry> = look.line.iter().filter(held).collect();
        let mut deleted = 0;
        for some in holders.chunks(OPS) {
            let deletes = some.iter().filter_map(|entry| {
                let (name, order) = (look.name(entry)?, i64::try_from(entry.order).unwrap_or(0));
                Some(Txn::when(vec![Compare::created_at(name, order)], vec![Op::delete(name)], Vec::new()).into())
            });
            let txn = Txn::always(deletes.collect());
            let mut answer: TxnAnswer =
                self.line.hub.write(TXN, &txn).await.map_err(|fault| self.line.error(fault, key, true))?;
            deleted += (0..some.len()).map(|at| answer.inner(at).deleted(0)).sum::<i64>();
        }
        Ok(if deleted > 0 { Released::Released } else { Released::NotHeld })
    }
}

/// Waiting requests stand in line; others never do.
pub(super) fn waits(req: &Acquire) -> bool {
    req.wait != Wait::No
}

/// The fence of an entry with this order.
pub(super) fn grant(req: &Acquire, lift: Lift, entry: &Entry) -> Grant {
    Grant::new(req.key.clone(), entry.card.owner, lift.token(entry), req.mode, req.ttl)
}
