//! Dead-locks inside one explicit scope are refused, not waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Acquire, Error, ErrorKind, Key, Lease, Locks, Mode, Released, Result};

/// A group of actors whose locks are watched together.
///
/// Within the scope, asking for a lock that one holds already, or for one that closes a cycle of waiting, is
/// refused at once with `Deadlock`. Locks outside the scope, or in another process, are not seen; bounded
/// waits are what protects there.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, ErrorKind, Key, LockScope, Locks, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
/// let actor = scope.actor();
/// let request = Acquire::new(Key::new("deploy")?);
/// let _held = actor.acquire(&request).await?;
/// assert_eq!(actor.acquire(&request).await.unwrap_err().kind(), ErrorKind::Deadlock);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct LockScope {
    locks: Locks,
    graph: Arc<Mutex<Graph>>,
}

/// One line of work inside a scope: a task, a request, an agent.
///
/// ```
/// # use stanchion_core::{CasLock, LockScope, Locks, MemoryStore};
/// let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
/// let (_a, _b) = (scope.actor(), scope.actor());
/// ```
#[derive(Debug)]
pub struct Actor {
    scope: LockScope,
    id: u64,
}

/// A lease of an actor.
///
/// ```
/// # use stanchion_core::{Acquire, CasLock, Key, LockScope, Locks, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
/// let lease = scope.actor().acquire(&Acquire::new(Key::new("a")?)).await?;
/// assert!(lease.lease().fence().is_ok());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "dropping a lease releases it late; call `release().await`"]
pub struct ScopedLease {
    lease: Lease,
    held: Edge,
}

#[derive(Debug, Default)]
struct Graph {
    next_actor: u64,
    held: Vec<(Key, u64, Mode)>,
    /// In the order of arrival: within a process the gate of a key serves its waiters in this order.
    waits: Vec<(u64, Key, Mode)>,
}

/// A line of the graph, taken out when it is dropped.
#[derive(Debug)]
struct Edge {
    graph: Arc<Mutex<Graph>>,
    key: Key,
    actor: u64,
    held: bool,
}

impl LockScope {
    /// A scope over `locks`.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, LockScope, Locks, MemoryStore};
    /// let _scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// ```
    #[must_use]
    pub fn new(locks: Locks) -> Self {
        Self { locks, graph: Arc::default() }
    }

    /// A new line of work.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, LockScope, Locks, MemoryStore};
    /// let _actor = LockScope::new(Locks::new(CasLock::new(MemoryStore::new()))).actor();
    /// ```
    #[must_use]
    pub fn actor(&self) -> Actor {
        let mut graph = lock(&self.graph);
        graph.next_actor += 1;
        Actor { scope: self.clone(), id: graph.next_actor }
    }
}

impl Actor {
    /// As [`Locks::acquire`], refusing at once what could never be granted.
    ///
    /// # If it fails
    /// `Deadlock` if this actor holds the key, or if its holder waits, directly or through others, for
    /// this actor. Nothing ran. Otherwise as [`Locks::acquire`].
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, LockScope, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// scope.actor().acquire(&Acquire::new(Key::new("a")?)).await?.release().await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn acquire(&self, req: &Acquire) -> Result<ScopedLease> {
        let waiting = self.begin_wait(req)?;
        let lease = self.scope.locks.acquire(req).await?;
        drop(waiting);
        lock(&self.scope.graph).held.push((req.key.clone(), self.id, req.mode));
        Ok(ScopedLease { lease, held: self.edge(&req.key, true) })
    }

    /// Checks and enters the graph under one lock, so that of two requests that close a cycle one sees the other.
    fn begin_wait(&self, req: &Acquire) -> Result<Edge> {
        let mut graph = lock(&self.scope.graph);
        if let Some(path) = graph.path_back(self.id, req) {
            let path = path.iter().map(Key::as_str).collect::<Vec<_>>().join(" → ");
            return Err(Error::new(ErrorKind::Deadlock, "waiting for this lock would never end")
                .with("key", &req.key)
                .with("cycle", path)
                .hint("take all locks at once with `acquire_all`, or always in one order"));
        }
        graph.waits.push((self.id, req.key.clone(), req.mode));
        drop(graph);
        Ok(self.edge(&req.key, false))
    }

    fn edge(&self, key: &Key, held: bool) -> Edge {
        Edge { graph: Arc::clone(&self.scope.graph), key: key.clone(), actor: self.id, held }
    }
}

impl Graph {
    /// The keys on the way from the request back to its own actor, if there is such a way.
    fn path_back(&self, actor: u64, req: &Acquire) -> Option<Vec<Key>> {
        // A waiter waits for every holder it cannot share with, and for everybody ahead of it.
        let mut open = vec![(&req.key, req.mode, self.waits.len(), vec![req.key.clone()])];
        let mut seen = vec![];
        while let Some((key, mode, place, path)) = open.pop() {
            let holders = self.held.iter().filter(|(held, _, with)| held == key && !together(*with, mode));
            let ahead = self.waits[..place].iter().filter(|(_, wanted, _)| wanted == key);
            for blocker in holders.map(|(_, actor, _)| *actor).chain(ahead.map(|(actor, ..)| *actor)) {
                if blocker == actor {
                    return Some(path);
                }
                if seen.contains(&blocker) {
                    continue;
                }
                seen.push(blocker);
                if let Some(at) = self.waits.iter().position(|(waiter, ..)| *waiter == blocker) {
                    let (_, next, mode) = &self.waits[at];
                    let mut path = path.clone();
                    if path.last() != Some(next) {
                        path.push(next.clone());
                    }
                    open.push((next, *mode, at, path));
                }
            }
        }
        None
    }
}

/// May both hold one key? Of several slots any may become free, so they are never waited for as one cycle.
fn together(a: Mode, b: Mode) -> bool {
    a == b && !matches!(a, Mode::Exclusive | Mode::Slots(1))
}

impl ScopedLease {
    /// The lease itself.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, LockScope, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// let lease = scope.actor().acquire(&Acquire::new(Key::new("a")?)).await?;
    /// assert_eq!(lease.lease().grant().key.as_str(), "a");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// As [`Lease::release`].
    ///
    /// # If it fails
    /// As [`Lease::release`].
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, LockScope, Locks, MemoryStore, Released};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// let lease = scope.actor().acquire(&Acquire::new(Key::new("a")?)).await?;
    /// assert_eq!(lease.release().await?, Released::Released);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn release(self) -> Result<Released> {
        let released = self.lease.release().await;
        drop(self.held);
        released
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        let mut graph = lock(&self.graph);
        if !self.held {
            graph.waits.retain(|(actor, key, _)| *actor != self.actor || *key != self.key);
        } else if let Some(at) = graph.held.iter().position(|(key, actor, _)| *key == self.key && *actor == self.actor)
        {
            graph.held.swap_remove(at);
        }
    }
}

fn lock(graph: &Mutex<Graph>) -> MutexGuard<'_, Graph> {
    graph.lock().unwrap_or_else(PoisonError::into_inner)
}
