//! A client: takes the lock, reads and writes the protected record under its fence, lets go. Its lease is the real
//! [`LeaseMachine`]; what is around it follows `Locks::acquire`, `Keeper` and `with_lease` of the core.

use std::time::Duration;

use stanchion_core::{BootTime, FencingToken, LeaseEvent, LeaseMachine};

use super::oracle::Ending;
use super::quorum::Quorum;
use super::scenario::{Backend, Plant, Work};
use super::wire::{Body, Message, NODES, Timer, Value};
use super::world::{LATE_MOST, World};

/// Where a client is in its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Down,
    Idle,
    Asking,
    /// Refused; will ask again.
    Waiting,
    Touching,
    Working,
    /// Has looked at its clock, and stands still before it sends.
    Stopped,
    Writing,
    /// The write was not answered.
    Looking,
    Releasing,
}

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) ppm: i64,
    /// Counts processes; what was sent to an earlier one does not reach this.
    pub(super) life: u16,
    pub(super) paused_until: u64,
    pub(super) phase: Phase,
    pub(super) key: u8,
    pub(super) operation: u16,
    /// Once more after the faults, until it is done.
    pub(super) probing: bool,
    pub(super) done: bool,
    pub(super) owner: u64,
    /// The etcd lease or the connection in use.
    pub(super) session: u32,
    pub(super) floor: u64,
    pub(super) requests: u32,
    /// The request whose answer moves the operation on.
    pub(super) awaited: u32,
    /// The `Go` timer that counts.
    pub(super) alarm: u32,
    pub(super) tries: u8,
    /// A request went unanswered: the lock may be ours.
    pub(super) unsure: bool,
    pub(super) give_up_at: u64,
    pub(super) sent: BootTime,
    pub(super) lease: Option<LeaseMachine>,
    pub(super) renewal: u32,
    pub(super) keeper: u32,
    pub(super) token: FencingToken,
    pub(super) read: Value,
    pub(super) version: u32,
    pub(super) quorum: Option<Box<Quorum>>,
}

impl Worker {
    pub(super) fn new(client: u8, ppm: i64) -> Worker {
        Worker {
            ppm,
            life: 1,
            paused_until: 0,
            phase: Phase::Idle,
            key: 0,
            operation: 0,
            probing: false,
            done: false,
            owner: 0,
            session: u32::from(client) << 16 | 1,
            floor: 0,
            requests: 0,
            awaited: 0,
            alarm: 0,
            tries: 0,
            unsure: false,
            give_up_at: 0,
            sent: BootTime::from_boot(Duration::ZERO),
            lease: None,
            renewal: 0,
            keeper: 0,
            token: FencingToken::from_parts(0, 0),
            read: Value::default(),
            version: 0,
            quorum: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Would a grant to this owner find somebody?
    pub(super) fn wants(&self, owner: u64, life: u16) -> bool {
        self.owner == owner && self.life == life && !matches!(self.phase, Phase::Down | Phase::Idle | Phase::Releasing)
    }

    pub(super) fn next_request(&mut self) -> u32 {
        self.requests += 1;
        self.requests
    }

    pub(super) fn holds(&self) -> bool {
        matches!(self.phase, Phase::Touching | Phase::Working | Phase::Stopped | Phase::Writing | Phase::Looking)
    }
}

impl World {
    pub(super) fn me(&mut self, client: u8) -> &mut Worker {
        &mut self.workers[usize::from(client)]
    }

    /// A timer of a client; `false` if it belongs to something that is over.
    pub(super) fn rings(&mut self, client: u8, timer: Timer, number: u32) -> bool {
        let calls = self.scenario.work == Work::Calls;
        let me = &self.workers[usize::from(client)];
        match timer {
            Timer::Go if calls => return me.alarm == number && self.call_rings(client),
            Timer::Patience if calls && me.awaited == number => self.call_unanswered(client),
            Timer::Restart if u32::from(me.life) == number => self.start(client),
            Timer::Go if me.alarm == number => match me.phase {
                Phase::Idle => return self.begin(client),
                Phase::Waiting => self.attempt(client),
                Phase::Working => self.write(client),
                Phase::Stopped => self.send_write(client),
                _ => return false,
            },
            Timer::Patience if me.awaited == number => self.unanswered(client),
            Timer::Keeper if me.keeper == number => self.tend(client, LeaseEvent::Tick),
            Timer::KeeperPatience if me.renewal == number => self.renewal_unanswered(client),
            _ => return false,
        }
        true
    }

    /// The next thing to do, later. What was to be done before is not.
    pub(super) fn wake(&mut self, client: u8, after: u64) {
        let me = self.me(client);
        me.alarm = me.next_request();
        let number = me.alarm;
        self.ring(client, Timer::Go, number, after);
    }

    /// The next operation, if there is one.
    pub(super) fn begin(&mut self, client: u8) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let key = u8::try_from(self.rng.below(u64::from(self.scenario.keys))).unwrap_or(0);
        self.begin_on(client, key, false);
        true
    }

    pub(super) fn begin_on(&mut self, client: u8, key: u8, probing: bool) {
        self.begun += 1;
        let operation = self.begun - 1;
        let give_up_at = self.now + self.scenario.wait;
        let me = self.me(client);
        (me.key, me.operation, me.probing, me.give_up_at) = (key, operation, probing, give_up_at);
        (me.unsure, me.tries) = (false, 0);
        self.oracle.begun(operation, key);
        self.new_owner(client);
        match self.scenario.plant {
            Plant::NoLock => self.touch(client),
            _ => self.attempt(client),
        }
    }

    pub(super) fn new_owner(&mut self, client: u8) {
        self.owners += 1;
        let owner = self.owners;
        self.me(client).owner = owner;
    }

    /// After the faults every key is asked for once more, for as long as it takes.
    pub(super) fn probe(&mut self) {
        let deadline = self.now + (LATE_MOST + 5) * self.scenario.ttl + 1_000_000;
        self.oracle.must_end_by(deadline);
        for key in 0..self.scenario.keys.min(self.scenario.clients) {
            self.begin_on(key, key, true);
        }
    }

    /// One request for the lock. The deadline counts from before it.
    pub(super) fn attempt(&mut self, client: u8) {
        let sent = self.client_now(client);
        let patience = self.scenario.patience;
        let me = self.me(client);
        me.phase = Phase::Asking;
        me.sent = sent;
        me.awaited = me.next_request();
        let (key, owner, floor, session, request) = (me.key, me.owner, me.floor, me.session, me.awaited);
        self.ring(client, Timer::Patience, request, patience);
        if self.scenario.backend == Backend::Redlock {
            return self.take_all(client);
        }
        self.ask(client, NODES, request, Body::Acquire { key, owner, floor, session });
    }

    pub(super) fn at_client(&mut self, client: u8, message: &Message) -> bool {
        if message.life != self.me(client).life {
            return false;
        }
        if self.scenario.work == Work::Calls {
            return self.call_answered(client, message);
        }
        if self.scenario.backend == Backend::Redlock && message.from < super::wire::VAULT {
            return self.node_answered(client, message);
        }
        let me = self.me(client);
        if message.request == me.renewal && me.renewal != 0 {
            me.renewal = 0;
            let event = match message.body {
                Body::Ours(true) => LeaseEvent::Renewed,
                _ => LeaseEvent::RenewalLost,
            };
            self.tend(client, event);
            return true;
        }
        if message.request != me.awaited || me.awaited == 0 {
            return false;
        }
        me.awaited = 0;
        match (me.phase, message.body) {
            (Phase::Asking, Body::Granted { number, .. }) => self.granted(client, number),
            (Phase::Asking, body) => {
                if matches!(body, Body::Ours(false)) {
                    // The connection had ended; the next request opens another.
                    self.me(client).session += 1;
                }
                self.refused(client);
            }
            (Phase::Touching, Body::Touched { value, version }) => self.touched(client, value, version),
            (Phase::Looking, Body::Touched { value, .. }) => {
                let is_there = value.contains(self.me(client).operation);
                self.end(client, if is_there { Ending::Done } else { Ending::Indeterminate });
            }
            (Phase::Looking, _) => self.end(client, Ending::Indeterminate),
            (Phase::Writing, Body::Stored) => self.end(client, Ending::Done),
            (Phase::Touching | Phase::Writing, Body::Refused { floor }) => {
                self.sometimes.stale_holder_fenced += 1;
                let me = self.me(client);
                me.floor = me.floor.max(floor);
                self.end(client, Ending::Failed);
            }
            (Phase::Releasing, _) => self.idle(client),
            _ => {}
        }
        true
    }

    pub(super) fn refused(&mut self, client: u8) {
        let now = self.now;
        let me = self.me(client);
        me.unsure = false;
        if now >= me.give_up_at && !me.probing {
            return self.give_up(client);
        }
        me.phase = Phase::Waiting;
        let pause = self.rng.about(self.scenario.poll);
        self.wake(client, pause);
    }

    pub(super) fn unanswered(&mut self, client: u8) {
        let now = self.now;
        let goes_on = self.scenario.plant == Plant::GoesOnAfterDoubt;
        let me = self.me(client);
        me.awaited = 0;
        me.tries += 1;
        match me.phase {
            Phase::Asking => {
                me.unsure = true;
                if self.scenario.backend == Backend::Redlock {
                    return self.nodes_unanswered(client);
                }
                let me = self.me(client);
                if now >= me.give_up_at && !me.probing {
                    return self.give_up(client);
                }
                self.leave_session(client);
                if matches!(self.scenario.backend, Backend::Etcd | Backend::PostgresSession) {
                    let me = self.me(client);
                    let (key, owner) = (me.key, me.owner);
                    self.ask(client, NODES, 0, Body::Release { key, owner });
                    self.new_owner(client);
                }
                self.attempt(client);
            }
            Phase::Touching if me.tries < 3 => self.touch(client),
            Phase::Touching => self.end(client, Ending::Failed),
            Phase::Writing if goes_on => self.go_on(client),
            Phase::Writing => self.look(client),
            Phase::Looking => self.end(client, Ending::Indeterminate),
            Phase::Releasing if me.tries < 2 => self.release(client),
            Phase::Releasing => {
                // A lease ends by itself; what a session carries ends with it.
                self.leave_session(client);
                self.idle(client);
            }
            _ => {}
        }
    }

    /// What may still arrive on this session or connection would be carried for as long as it lives: it is left.
    pub(super) fn leave_session(&mut self, client: u8) {
        let session = self.me(client).session;
        match self.scenario.backend {
            Backend::Etcd if self.scenario.plant != Plant::LateGrantKept => self.me(client).session += 1,
            Backend::PostgresSession => {
                let me = self.me(client);
                me.session += 1;
                let (key, owner) = (me.key, me.owner);
                self.oracle.let_go(key, owner);
                self.hang_up(client, session);
            }
            _ => {}
        }
    }

    /// kill -9.
    pub(super) fn kill(&mut self, client: u8, back_after: u64) {
        let me = self.me(client);
        // What was told before is told; only the lock is still to be given back.
        let (session, open) = (me.session, !matches!(me.phase, Phase::Idle | Phase::Releasing));
        let (operation, held) = (me.operation, me.holds());
        me.phase = Phase::Down;
        me.life += 1;
        me.session += 1;
        (me.lease, me.keeper, me.renewal, me.awaited, me.alarm) = (None, 0, 0, 0, 0);
        (me.floor, me.paused_until, me.quorum) = (0, 0, None);
        let (key, owner) = (me.key, me.owner);
        let life = u32::from(me.life);
        if self.scenario.work == Work::Calls {
            self.caller_died(client);
        } else if open {
            self.oracle.ended(operation, Ending::Died, self.now);
        }
        if self.scenario.backend == Backend::PostgresSession {
            self.oracle.let_go(key, owner);
        }
        self.sometimes.holder_died += u64::from(held);
        self.hang_up(client, session);
        self.ring(client, Timer::Restart, life, back_after);
    }

    pub(super) fn start(&mut self, client: u8) {
        self.me(client).phase = Phase::Idle;
        self.wake(client, 1);
    }
}
