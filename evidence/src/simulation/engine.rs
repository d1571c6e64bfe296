//! The lock services, as far as a client can tell them apart: what they grant, when they forget, which numbers they draw.

use super::calls::Row;
use super::scenario::{Backend, Plant};
use super::wire::{Body, CLIENTS_MAX};

pub(super) const KEYS_MAX: usize = 4;
/// In line for one key at the same time, the dead included.
const LINE_MAX: usize = 24;

/// One lock of an engine that keeps one owner and an end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lock {
    /// 0: nobody.
    pub(super) owner: u64,
    /// By the clock of the node.
    pub(super) until: u64,
    pub(super) number: u64,
    /// The highest number that this node knows of: Redlock keeps it apart from the lock.
    known: u64,
    session: u32,
}

/// One who holds or waits in etcd.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    owner: u64,
    order: u64,
    session: u32,
}

/// What a server has in memory or on disk: what a replica copies and an amnesia clears.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) locks: [Lock; KEYS_MAX],
    pub(super) counter: u64,
    lines: [Vec<Entry>; KEYS_MAX],
    /// etcd's leases: who, until when.
    sessions: Vec<(u32, u64)>,
    /// Of each client the last connection that has ended.
    closed: [u32; CLIENTS_MAX as usize],
    pub(super) rows: Vec<Row>,
}

impl State {
    pub(super) fn clear(&mut self) {
        self.locks = [Lock::default(); KEYS_MAX];
        self.counter = 0;
        self.closed = [0; CLIENTS_MAX as usize];
        self.lines.iter_mut().for_each(Vec::clear);
        self.sessions.clear();
        self.rows.clear();
    }

    /// As `clone_from`, in the memory that is there.
    pub(super) fn copy(&mut self, from: &State) {
        self.locks = from.locks;
        (self.counter, self.closed) = (from.counter, from.closed);
        for (line, from) in self.lines.iter_mut().zip(&from.lines) {
            line.clone_from(from);
        }
        self.sessions.clone_from(&from.sessions);
        self.rows.clone_from(&from.rows);
    }
}

/// What the oracle is told of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ledger {
    Nothing,
    /// `again`: the same owner asked again.
    Granted {
        key: u8,
        owner: u64,
        number: u64,
        again: bool,
    },
    /// `for_owner`: whose lease it is that was prolonged.
    Renewed {
        key: u8,
        owner: u64,
        for_owner: u64,
    },
    Released {
        key: u8,
        owner: u64,
        of_owner: u64,
    },
}

/// What an engine needs to know of the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) backend: Backend,
    pub(super) plant: Plant,
    pub(super) ttl: u64,
    /// The node's own clock.
    pub(super) now: u64,
}

impl State {
    /// Serves one request of the lock protocol.
    pub(super) fn serve(&mut self, terms: &Terms, body: &Body) -> (Body, Ledger) {
        match (terms.backend, *body) {
            (Backend::Etcd, Body::Acquire { key, owner, floor, session }) => {
                self.stand(terms, key, owner, floor, session)
            }
            (Backend::Etcd, Body::Renew { key, owner, session }) => {
                self.sweep(terms.now);
                if self.sessions.iter().any(|(id, _)| *id == session) {
                    self.keep_alive(terms, session);
                }
                // The holder's own entry: one that a late copy of its request has made since stands behind others.
                let ours = self.lines[usize::from(key)].first().is_some_and(|entry| entry.owner == owner);
                (
                    Body::Ours(ours),
                    if ours { Ledger::Renewed { key, owner, for_owner: owner } } else { Ledger::Nothing },
                )
            }
            (Backend::Etcd, Body::Release { key, owner }) => {
                let line = &mut self.lines[usize::from(key)];
                let at = line.iter().position(|entry| entry.owner == owner);
                let held = at == Some(0);
                if let Some(at) = at {
                    line.remove(at);
                }
                let told = if held { Ledger::Released { key, owner, of_owner: owner } } else { Ledger::Nothing };
                (Body::Ours(at.is_some()), told)
            }
            (Backend::PostgresSession, Body::Acquire { session, .. }) if self.is_closed(session) => {
                (Body::Ours(false), Ledger::Nothing)
            }
            (_, Body::Acquire { key, owner, floor, session }) => self.acquire(terms, key, owner, floor, session),
            (_, Body::Renew { key, owner, .. }) => self.renew(terms, key, owner),
            (_, Body::Release { key, owner }) => self.release(terms, key, owner),
            (_, Body::HangUp { session }) => {
                self.hang_up(session);
                (Body::Stored, Ledger::Nothing)
            }
            (_, Body::Take { key, owner, number }) => self.take(terms, key, owner, number),
            (_, Body::Write { key, owner, number }) => self.write(terms, key, owner, number),
            _ => (Body::Busy, Ledger::Nothing),
        }
    }

    /// Sessions end with their connection, leases with their time.
    fn lives(terms: &Terms, lock: &Lock) -> bool {
        let held = matches!(terms.backend, Backend::PostgresSession) || matches!(terms.plant, Plant::LateGrantKept);
        lock.owner != 0 && (held || terms.now < lock.until)
    }

    fn acquire(&mut self, terms: &Terms, key: u8, owner: u64, floor: u64, session: u32) -> (Body, Ledger) {
        let counter = self.counter;
        let lock = &mut self.locks[usize::from(key)];
        if Self::lives(terms, lock) {
            if lock.owner != owner {
                return (Body::Busy, Ledger::Nothing);
            }
            lock.until = terms.now + terms.ttl;
            let number = lock.number;
            return (Body::Granted { number, owner, key }, Ledger::Granted { key, owner, number, again: true });
        }
        // Redis draws numbers that carry its time, so that they grow also when it has forgotten them.
        let by_time = match terms.backend {
            Backend::Redis | Backend::RedisReplica => terms.now / 1000 * 1024,
            _ => 0,
        };
        let number = match terms.plant {
            Plant::ConstantFence => 1,
            _ => (counter + 1).max(by_time).max(floor + 1),
        };
        *lock = Lock { owner, until: terms.now + terms.ttl, number, known: number, session };
        self.counter = counter.max(number);
        (Body::Granted { number, owner, key }, Ledger::Granted { key, owner, number, again: false })
    }

    fn renew(&mut self, terms: &Terms, key: u8, owner: u64) -> (Body, Ledger) {
        let lock = &mut self.locks[usize::from(key)];
        let ours = Self::lives(terms, lock) && (lock.owner == owner || terms.plant == Plant::RenewWithoutOwner);
        if !ours {
            return (Body::Ours(false), Ledger::Nothing);
        }
        lock.until = terms.now + terms.ttl;
        (Body::Ours(true), Ledger::Renewed { key, owner, for_owner: lock.owner })
    }

    fn release(&mut self, terms: &Terms, key: u8, owner: u64) -> (Body, Ledger) {
        let lock = &mut self.locks[usize::from(key)];
        let ours = Self::lives(terms, lock) && (lock.owner == owner || terms.plant == Plant::ReleaseWithoutOwner);
        if !ours {
            return (Body::Ours(false), Ledger::Nothing);
        }
        let of_owner = std::mem::take(&mut lock.owner);
        (Body::Ours(true), Ledger::Released { key, owner, of_owner })
    }

    /// The engine sees the end of a connection, or a session's.
    pub(super) fn hang_up(&mut self, session: u32) {
        let closed = &mut self.closed[(session >> 16) as usize];
        *closed = session.max(*closed);
        for lock in self.locks.iter_mut().filter(|lock| lock.session == session) {
            lock.owner = 0;
        }
    }

    /// Nothing that is still on its way on this connection is heard.
    fn is_closed(&self, session: u32) -> bool {
        session <= self.closed[(session >> 16) as usize]
    }

    pub(super) fn session_of(&self, key: usize) -> Option<u32> {
        let lock = &self.locks[key];
        (lock.owner != 0).then_some(lock.session)
    }

    /// As `take.lua` of `redlock:` for one exclusive holder.
    fn take(&mut self, terms: &Terms, key: u8, owner: u64, number: u64) -> (Body, Ledger) {
        let lock = &mut self.locks[usize::from(key)];
        let until = terms.now + terms.ttl;
        if lock.owner != 0 && terms.now < lock.until {
            if lock.owner != owner {
                return (Body::Busy, Ledger::Nothing);
            }
            lock.until = until;
            return (Body::Granted { number: lock.number, owner, key }, Ledger::Nothing);
        }
        let number = number.max(lock.known + 1);
        *lock = Lock { owner, until, number, known: number, session: 0 };
        (Body::Granted { number, owner, key }, Ledger::Nothing)
    }

    /// As `write.lua`: the agreed number, where the lock is still the owner's.
    fn write(&mut self, terms: &Terms, key: u8, owner: u64, number: u64) -> (Body, Ledger) {
        let lock = &mut self.locks[usize::from(key)];
        if lock.owner != owner || terms.now >= lock.until {
            return (Body::Ours(false), Ledger::Nothing);
        }
        lock.number = number;
        lock.known = lock.known.max(number);
        (Body::Ours(true), Ledger::Nothing)
    }

    /// etcd: a place in line, and the lock if it is the first.
    fn stand(&mut self, terms: &Terms, key: u8, owner: u64, floor: u64, session: u32) -> (Body, Ledger) {
        // A lease that is over does not come back: its entries are gone before a new one takes its name.
        self.sweep(terms.now);
        self.keep_alive(terms, session);
        let line = &mut self.lines[usize::from(key)];
        let is_full = line.len() >= LINE_MAX;
        match line.iter_mut().find(|entry| entry.owner == owner) {
            // As `etcd:` binds its entry to the session that it has now; a request of an earlier one finds it there, and writes nothing.
            Some(entry) => entry.session = entry.session.max(session),
            None if is_full => return (Body::Busy, Ledger::Nothing),
            None => {
                self.counter = (self.counter + 1).max(floor + 1);
                line.push(Entry { owner, order: self.counter, session });
            }
        }
        let first = line[0];
        if first.owner != owner {
            return (Body::Busy, Ledger::Nothing);
        }
        // The ledger hears of it once: when it was not the holder before.
        let lock = &mut self.locks[usize::from(key)];
        let again = lock.owner == owner;
        (lock.owner, lock.number) = (owner, first.order);
        let number = first.order;
        (Body::Granted { number, owner, key }, Ledger::Granted { key, owner, number, again })
    }

    /// Half as much again as a ttl, as `etcd:` asks for.
    fn keep_alive(&mut self, terms: &Terms, session: u32) {
        let until = terms.now + terms.ttl + terms.ttl / 2;
        match self.sessions.iter_mut().find(|(id, _)| *id == session) {
            Some(found) => found.1 = until,
            None => self.sessions.push((session, until)),
        }
    }

    /// Ends sessions whose time is over, and their entries.
    fn sweep(&mut self, now: u64) {
        if self.sessions.iter().all(|(_, until)| now < *until) {
            return;
        }
        let State { sessions, lines, .. } = self;
        sessions.retain(|(_, until)| now < *until);
        for line in lines {
            line.retain(|entry| sessions.iter().any(|(id, _)| *id == entry.session));
        }
    }

    /// A new leader of etcd gives every lease its whole time again.
    pub(super) fn new_leader(&mut self, terms: &Terms) {
        self.sweep(terms.now);
        for (_, until) in &mut self.sessions {
            *until = terms.now + terms.ttl + terms.ttl / 2;
        }
    }
}
