//! A client that has the lock: it reads, works, writes and lets go, and keeps its lease alive meanwhile.

use std::time::Duration;

use stanchion_core::{FencingToken, LeaseAction, LeaseEvent, LeaseMachine, Owner};

use super::fault::Fault;
use super::oracle::Ending;
use super::scenario::{Backend, Plant};
use super::wire::{Body, Check, NODES, OPERATIONS_MAX, Timer, VAULT, Value};
use super::worker::Phase;
use super::world::World;

impl World {
    pub(super) fn granted(&mut self, client: u8, number: u64) {
        let (now, ttl) = (self.client_now(client), self.scenario.ttl);
        let backend = self.scenario.backend;
        let lasting = Duration::from_micros(ttl);
        let me = &mut self.workers[usize::from(client)];
        let sent = if self.scenario.plant == Plant::DeadlineFromAnswer { now } else { me.sent };
        let machine = match backend {
            Backend::PostgresSession => LeaseMachine::held(sent, lasting, None),
            _ => LeaseMachine::new(sent, lasting, None, false),
        };
        if !machine.is_valid(now) {
            // As `Locks::hold`: asked for again as this owner, or given back.
            me.unsure = true;
            if self.now >= me.give_up_at && !me.probing {
                return self.give_up(client);
            }
            if backend == Backend::Redlock {
                self.let_go(client);
                self.new_owner(client);
            }
            return self.attempt(client);
        }
        me.lease = Some(machine);
        me.token = FencingToken::new(number, Owner::from_bits(u128::from(me.owner)));
        me.tries = 0;
        self.believes(client);
        let first = self.until(client, sent + lasting / 3);
        let me = self.me(client);
        me.keeper = me.next_request();
        let keeper = me.keeper;
        self.ring(client, Timer::Keeper, keeper, first);
        self.touch(client);
    }

    /// As `lease.fence()`: by our own clock, at each use.
    pub(super) fn may_act(&mut self, client: u8) -> bool {
        if matches!(self.scenario.plant, Plant::NoLock | Plant::BlindHolder) {
            return true;
        }
        let now = self.client_now(client);
        self.me(client).lease.as_ref().is_some_and(|lease| lease.is_valid(now))
    }

    pub(super) fn check(&self) -> Check {
        match self.scenario.plant {
            Plant::NoLock | Plant::NoFence | Plant::BlindHolder => Check::Nothing,
            Plant::WriteOnlyFence => Check::WriteOnly,
            _ => Check::FirstTouch,
        }
    }

    pub(super) fn touch(&mut self, client: u8) {
        if !self.may_act(client) {
            return self.end(client, Ending::Failed);
        }
        let (check, patience) = (self.check(), self.scenario.patience);
        let me = self.me(client);
        me.phase = Phase::Touching;
        me.awaited = me.next_request();
        let (key, token, request) = (me.key, me.token, me.awaited);
        self.ring(client, Timer::Patience, request, patience);
        self.ask(client, VAULT, request, Body::Touch { key, token, check });
    }

    pub(super) fn touched(&mut self, client: u8, value: Value, version: u32) {
        let pause = self.rng.about(self.scenario.working);
        let me = self.me(client);
        (me.read, me.version, me.phase, me.tries) = (value, version, Phase::Working, 0);
        self.wake(client, pause);
    }

    pub(super) fn write(&mut self, client: u8) {
        if !self.may_act(client) {
            return self.end(client, Ending::Failed);
        }
        if self.stops_here(client) {
            self.me(client).phase = Phase::Stopped;
            return self.wake(client, 1);
        }
        self.send_write(client);
    }

    /// Between a look at the clock and what is done on the strength of it, a process can stand still for any time.
    pub(super) fn stops_here(&mut self, client: u8) -> bool {
        let stops =
            self.scenario.has(Fault::Pause) && !self.quiet && self.rng.chance(1_000) && self.count(Fault::Pause);
        if stops {
            let ttl = self.scenario.ttl;
            self.me(client).paused_until = self.now + ttl + ttl / 5 + self.rng.below(4 * ttl);
        }
        stops
    }

    pub(super) fn send_write(&mut self, client: u8) {
        let (check, patience) = (self.check(), self.scenario.patience);
        let me = self.me(client);
        me.phase = Phase::Writing;
        me.awaited = me.next_request();
        let (key, token, request, operation) = (me.key, me.token, me.awaited, me.operation);
        let body = Body::Put { key, token, check, based_on: me.version, operation, value: me.read.with(operation) };
        self.ring(client, Timer::Patience, request, patience);
        self.oracle.sent(operation);
        self.ask(client, VAULT, request, body);
    }

    /// The write was not answered: what stands there is asked for, never written again.
    pub(super) fn look(&mut self, client: u8) {
        if !self.may_act(client) || self.check() != Check::FirstTouch {
            return self.end(client, Ending::Indeterminate);
        }
        self.touch(client);
        self.me(client).phase = Phase::Looking;
    }

    /// The next operation under the lease of one whose outcome is not known. A plant.
    pub(super) fn go_on(&mut self, client: u8) {
        let (operation, key) = (self.me(client).operation, self.me(client).key);
        if self.left == 0 {
            return self.end(client, Ending::Indeterminate);
        }
        self.ended(client, operation, Ending::Indeterminate);
        self.left -= 1;
        self.begun += 1;
        self.me(client).operation = self.begun - 1;
        self.oracle.begun(self.begun - 1, key);
        self.touch(client);
    }

    /// Nothing was done; what may have been granted is given back.
    pub(super) fn give_up(&mut self, client: u8) {
        let me = self.me(client);
        let (operation, unsure) = (me.operation, me.unsure);
        self.ended(client, operation, Ending::Failed);
        let etcd_line = self.scenario.backend == Backend::Etcd;
        if (unsure || etcd_line) && self.scenario.plant != Plant::LateGrantKept {
            self.leave_session(client);
            return self.release(client);
        }
        self.idle(client);
    }

    /// The operation is over; the lock is given back.
    pub(super) fn end(&mut self, client: u8, ending: Ending) {
        let operation = self.me(client).operation;
        self.ended(client, operation, ending);
        if self.scenario.plant == Plant::NoLock {
            return self.idle(client);
        }
        self.me(client).tries = 0;
        self.release(client);
    }

    pub(super) fn ended(&mut self, client: u8, operation: u16, ending: Ending) {
        self.sometimes.indeterminate += u64::from(ending == Ending::Indeterminate);
        self.me(client).done = ending == Ending::Done;
        self.oracle.ended(operation, ending, self.now);
    }

    pub(super) fn release(&mut self, client: u8) {
        let patience = self.scenario.patience;
        let me = self.me(client);
        me.phase = Phase::Releasing;
        (me.lease, me.keeper, me.renewal) = (None, 0, 0);
        me.awaited = me.next_request();
        let (key, owner, request) = (me.key, me.owner, me.awaited);
        self.ring(client, Timer::Patience, request, patience);
        if self.scenario.backend == Backend::Redlock {
            // There is no one place where it ends: it ends for us.
            self.oracle.let_go(key, owner);
            self.let_go(client);
            return self.idle(client);
        }
        self.ask(client, NODES, request, Body::Release { key, owner });
    }

    pub(super) fn idle(&mut self, client: u8) {
        let pause = self.rng.about(self.scenario.idle);
        let me = self.me(client);
        (me.lease, me.keeper, me.renewal, me.awaited) = (None, 0, 0, 0);
        me.phase = Phase::Idle;
        let (key, again) = (me.key, me.probing && !me.done);
        if again && self.begun < OPERATIONS_MAX {
            // Late messages of the time before can still spoil a try; the next one must do.
            return self.begin_on(client, key, true);
        }
        self.wake(client, pause);
    }

    /// Passes an event to the lease, and does what follows from it: as `Keeper::tell`.
    pub(super) fn tend(&mut self, client: u8, event: LeaseEvent) {
        let now = self.client_now(client);
        let Some(lease) = self.me(client).lease.as_mut() else { return };
        match lease.step(event, now) {
            LeaseAction::WaitUntil(at) => {
                let after = self.until(client, at);
                let me = self.me(client);
                me.keeper = me.next_request();
                let keeper = me.keeper;
                if after < 1_000_000_000 {
                    self.ring(client, Timer::Keeper, keeper, after);
                }
            }
            LeaseAction::Renew => self.renew(client),
            LeaseAction::SignalLost(_) => self.lost(client),
            LeaseAction::Nothing => {}
        }
    }

    pub(super) fn renew(&mut self, client: u8) {
        let patience = self.scenario.ttl / 3;
        let me = self.me(client);
        me.renewal = me.next_request();
        let (key, owner, session, request) = (me.key, me.owner, me.session, me.renewal);
        self.ring(client, Timer::KeeperPatience, request, patience);
        if self.scenario.backend == Backend::Redlock {
            return self.renew_all(client);
        }
        self.ask(client, NODES, request, Body::Renew { key, owner, session });
    }

    pub(super) fn renewal_unanswered(&mut self, client: u8) {
        self.me(client).renewal = 0;
        let retry_in = Duration::from_micros(1000 + self.rng.below(self.scenario.ttl / 10));
        self.tend(client, LeaseEvent::RenewalUnknown { retry_in });
    }

    /// The work is dropped. What was sent may have taken effect.
    pub(super) fn lost(&mut self, client: u8) {
        self.sometimes.lost_signal += 1;
        if self.scenario.plant == Plant::BlindHolder {
            return;
        }
        let me = self.me(client);
        if !me.holds() {
            return;
        }
        let sent = matches!(me.phase, Phase::Writing | Phase::Looking);
        self.end(client, if sent { Ending::Indeterminate } else { Ending::Failed });
    }
}
