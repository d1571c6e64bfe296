//! The locks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, Grant, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal, Result,
};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use zookeeper_client as zk;

use super::fault::Fault;
use super::names;
use super::queue::Queue;
use super::seats::{Ahead, Seats};
use super::sessions::Sessions;
use super::store::{CAPABILITY, Store};
use crate::line::{Deadlines, Standing, info, standing};

/// A wait looks again after this long, whatever is heard, and its entry is kept that much longer.
const HEARTBEAT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct ZooKeeperLocks {
    queue: Arc<Queue>,
    reaper: AbortHandle,
}

impl Drop for ZooKeeperLocks {
    fn drop(&mut self) {
        self.reaper.abort();
    }
}

impl ZooKeeperLocks {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let (sessions, seats) = (Sessions::new(Arc::clone(store.options())), Seats::default());
        let deadlines = Arc::clone(&seats.deadlines);
        let queue = Arc::new(Queue { store, sessions, seats });
        let reaper = tokio::spawn(reap(deadlines, Arc::downgrade(&queue))).abort_handle();
        Self { queue, reaper }
    }

    async fn lines(&self, prefix: &str, page: &Page) -> Result<Vec<LockInfo>, Fault> {
        let store = &self.queue.store;
        let link = store.session.link().await?;
        let locks = &store.names.locks;
        let both = futures_util::future::try_join(link.client.sync(locks), link.client.list_children(locks));
        let names = store.session.ask(&link, both).await?.1;
        let listed = |key: &Key| key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > after);
        let mut keys: Vec<Key> = names.iter().filter_map(|name| names::key(name)).filter(listed).collect();
        keys.sort();
        let mut found = Vec::new();
        for key in keys {
            if found.len() >= page.limit {
                break;
            }
            let (_, line, lift) = self.queue.seen(&key).await?;
            if !line.is_empty() {
                found.push(info(key, &line, lift));
            }
        }
        Ok(found)
    }

    async fn evict_all(&self, key: &Key) -> Result<Released, Fault> {
        let (link, line, _) = self.queue.seen(key).await?;
        let mut answer = Released::NotHeld;
        for entry in &line {
            let holds = matches!(standing(key, &line, entry.card.owner), Ok(Standing::Granted(_)));
            if holds {
                let deleted = self.queue.delete(&self.queue.store.session, &link, key, entry.card.owner).await?;
                if deleted == Released::Released {
                    answer = Released::Released;
                }
            }
        }
        Ok(answer)
    }

    async fn await_turn(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<(), Fault> {
        let seats = &self.queue.seats;
        while Instant::now() < until {
            let Some(seat) = seats.get(owner) else { return Ok(()) };
            let round = until.min(Instant::now() + HEARTBEAT);
            if !seats.deadlines.extend(owner, round + req.ttl) {
                return Ok(());
            }
            let link = seat.session.link().await?;
            if link.session() != seat.number {
                return Ok(());
            }
            // Each watch stands before its look.
            match &seat.ahead {
                Ahead::Nobody => return Ok(()),
                Ahead::One(path) => {
                    let looked = link.client.check_and_watch_stat(path);
                    let (there, watcher) = seat.session.ask(&link, looked).await?;
                    if there.is_none() {
                        return Ok(());
                    }
                    link.hear(watcher, round).await;
                }
                Ahead::Any(before) => {
                    let path = self.queue.store.names.line(&req.key);
                    let looked = link.client.list_and_watch_children(&path);
                    let (names, watcher) = match seat.session.ask(&link, looked).await {
                        Err(fault) if fault.is(&zk::Error::NoNode) => return Ok(()),
                        looked => looked?,
                    };
                    if before.iter().any(|name| !names.contains(name)) {
                        return Ok(());
                    }
                    link.hear(watcher, round).await;
                }
            }
        }
        Ok(())
    }
}

/// Takes out the owners that nobody keeps.
async fn reap(deadlines: Arc<Deadlines>, queue: Weak<Queue>) {
    loop {
        let due = deadlines.due().await;
        let Some(queue) = queue.upgrade() else { return };
        let all = due.iter().map(|(key, owner)| queue.take_out(key, *owner));
        futures_util::future::join_all(all).await;
    }
}

#[async_trait]
impl LockBackend for ZooKeeperLocks {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        Box::pin(self.queue.try_acquire(req, owner)).await
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.await_turn(req, owner, until).await.map_err(|fault| self.queue.error(fault, &req.key, false))
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        let granted = self.queue.seats.get(owner).is_some_and(|seat| seat.granted.is_some());
        let Some(session) = self.queue.seats.session(owner).filter(|_| !granted) else { return };
        // The background sees to it if this fails or is dropped.
        self.queue.seats.deadlines.set(&req.key, owner, Instant::now() + HEARTBEAT);
        let deleted = async {
            let link = session.link().await?;
            self.queue.delete(&session, &link, &req.key, owner).await
        };
        match deleted.await {
            Ok(_) => self.queue.seats.forget(owner),
            Err(_) => self.queue.seats.deadlines.set(&req.key, owner, Instant::now()),
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        let (seats, owner) = (&self.queue.seats, grant.owner);
        let sent = Instant::now();
        let Some(seat) = seats.get(owner) else { return Renewal::Lost };
        if !seats.deadlines.extend(owner, sent + ttl) {
            return Renewal::Lost;
        }
        let unknown = |fault| Renewal::Unknown(self.queue.error(fault, &grant.key, false));
        let link = match seat.session.link().await {
            Ok(link) => link,
            Err(fault) => return unknown(fault),
        };
        if link.session() != seat.number {
            seats.forget(owner);
            return Renewal::Lost;
        }
        if link.sure() < ttl {
            let error = Error::new(ErrorKind::Invalid, "the ttl is longer than the session of this lease lives");
            return Renewal::Unknown(error.with("key", &grant.key));
        }
        // A step of the whole ensemble that changes nothing: a read could be answered from yesterday.
        let checked = {
            let mut writer = link.client.new_multi_writer();
            match writer.add_check_version(&self.queue.store.names.entry(&grant.key, owner), 0) {
                Ok(()) => writer.commit(),
                Err(error) => return unknown(error.into()),
            }
        };
        match seat.session.ask(&link, checked).await {
            Ok(_) => Renewal::Renewed,
            Err(Fault::Refused(zk::Error::NoNode | zk::Error::BadVersion) | Fault::Expired) => {
                seats.forget(owner);
                Renewal::Lost
            }
            Err(fault) => unknown(fault),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let (seats, owner) = (&self.queue.seats, grant.owner);
        let own = seats.session(owner);
        let session = own.as_deref().unwrap_or(&self.queue.store.session);
        let link = session.link().await.map_err(|fault| self.queue.error(fault, &grant.key, false))?;
        match self.queue.delete(session, &link, &grant.key, owner).await {
            Ok(released) => {
                seats.forget(owner);
                Ok(released)
            }
            Err(fault) => {
                // Made sure of in the background.
                if own.is_some() {
                    seats.deadlines.set(&grant.key, owner, Instant::now());
                }
                Err(self.queue.error(fault, &grant.key, true))
            }
        }
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        self.lines(prefix, &page).await.map_err(|fault| self.queue.store.error(fault, false))
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.evict_all(key).await.map_err(|fault| self.queue.error(fault, key, true))
    }
}
