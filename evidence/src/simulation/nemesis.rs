//! Faults that happen at times of their own.

use super::fault::{FAULTS, Fault};
use super::property::Property;
use super::scenario::Backend;
use super::wire::{Body, Message, NODES, NODES_MAX, What};
use super::worker::Phase;
use super::world::World;

/// No server comes back within the millisecond in which it went: numbers that carry the time count on it.
const RESTART: u64 = 2_000;

/// More do not happen to one world, so that it comes to an end.
const STRIKES_MAX: u32 = 400;

impl World {
    pub(super) fn plan_fault(&mut self) {
        let after = self.rng.about(self.scenario.fault_every);
        self.queue.push(self.now + after, What::Fault);
    }

    /// One of the kinds of this world.
    pub(super) fn inject(&mut self) {
        if self.quiet || self.struck >= STRIKES_MAX {
            return;
        }
        self.plan_fault();
        let kinds = self.scenario.faults & !0b1111;
        let nth = self.rng.below(u64::from(kinds.count_ones()));
        let mut of = FAULTS.iter().filter(|fault| kinds & fault.bit() != 0);
        let Some(fault) = of.nth(usize::try_from(nth).unwrap_or(0)).copied() else { return };
        let client = u8::try_from(self.rng.below(u64::from(self.scenario.clients))).unwrap_or(0);
        let node = u8::try_from(self.rng.below(u64::from(self.scenario.nodes()))).unwrap_or(0);
        if !self.can_strike(fault, client, node) || !self.count(fault) {
            return;
        }
        self.struck += 1;
        self.note(u64::from(fault.bit()) << 16 | u64::from(client) << 8 | u64::from(node));
        self.strike(fault, client, node);
    }

    /// Nothing is done twice to one that lies on the ground already.
    fn can_strike(&self, fault: Fault, client: u8, node: u8) -> bool {
        let me = &self.workers[usize::from(client)];
        let stands = me.paused_until + self.scenario.ttl < self.now;
        match fault {
            Fault::Kill => me.phase != Phase::Down,
            Fault::Pause => stands && me.phase != Phase::Down,
            Fault::Restart | Fault::Amnesia => self.nodes[usize::from(node)].up,
            _ => true,
        }
    }

    fn strike(&mut self, fault: Fault, client: u8, node: u8) {
        let ttl = self.scenario.ttl;
        let lasting = self.rng.about(ttl);
        let now = self.now;
        let server = &mut self.nodes[usize::from(node)];
        match fault {
            Fault::Kill => self.kill(client, lasting / 2 + 1),
            Fault::Pause => {
                let until = now + ttl + ttl / 5 + self.rng.below(4 * ttl);
                self.me(client).paused_until = until;
            }
            Fault::Partition => {
                server.deaf_to |= 1 << client;
                server.dumb_to |= 1 << client;
                self.queue.push(now + lasting, What::Heal { fault: fault as u8, place: node << 4 | client });
            }
            Fault::OneWay => {
                server.dumb_to |= 1 << client;
                self.queue.push(now + lasting, What::Heal { fault: fault as u8, place: node << 4 | client });
            }
            Fault::Minority | Fault::Majority => {
                let cut = if fault == Fault::Minority { NODES_MAX / 2 } else { NODES_MAX / 2 + 1 };
                for other in (0..cut).map(|step| (node + step) % NODES_MAX) {
                    let server = &mut self.nodes[usize::from(other)];
                    (server.deaf_to, server.dumb_to) = (u32::MAX, u32::MAX);
                    self.queue.push(now + lasting, What::Heal { fault: fault as u8, place: other << 4 });
                }
            }
            Fault::Slow => server.slow_until = now + lasting,
            Fault::Restart | Fault::Amnesia => self.restart(fault, node, lasting / 8 + RESTART),
            Fault::FailOver => self.fail_over(),
            Fault::Disconnect => {
                let key = usize::from(client % self.scenario.keys);
                if let Some(session) = server.state.session_of(key) {
                    server.state.hang_up(session);
                }
            }
            Fault::ClockJump => {
                // The same two nodes of five: a minority.
                let server = &mut self.nodes[usize::from(node % 2).min(usize::from(node))];
                server.offset += jump(self.rng.bits(), ttl);
            }
            Fault::ClockJumps => {
                let by = jump(self.rng.bits(), ttl);
                self.nodes.iter_mut().take(3).for_each(|node| node.offset += by);
            }
            Fault::Drift => server.ppm = 100_000,
            Fault::LostRequest | Fault::LostReply | Fault::Duplicate | Fault::Delay => {}
        }
    }

    fn restart(&mut self, fault: Fault, node: u8, back_after: u64) {
        let place = node << 4;
        let server = &mut self.nodes[usize::from(node)];
        server.up = false;
        if fault == Fault::Amnesia {
            server.state.clear();
        }
        // The connections of a server end with it.
        if self.scenario.backend == Backend::PostgresSession {
            for key in 0..usize::from(self.scenario.keys) {
                if let Some(session) = server.state.session_of(key) {
                    server.state.hang_up(session);
                }
            }
        }
        self.queue.push(self.now + back_after, What::Heal { fault: fault as u8, place });
    }

    /// Whatever the replica has not heard of is gone.
    fn fail_over(&mut self) {
        let (primary, replica) = (&mut self.nodes[0].state, &self.replica);
        let lost = primary.counter != replica.counter
            || primary.locks.iter().zip(&replica.locks).any(|(one, other)| one.owner != other.owner);
        primary.copy(replica);
        self.sometimes.replica_lost_a_write += u64::from(lost);
    }

    pub(super) fn replicate(&mut self) {
        if self.quiet {
            return;
        }
        let World { replica, nodes, .. } = self;
        replica.copy(&nodes[0].state);
        let lag = self.rng.about(self.scenario.latency * 8 + self.scenario.ttl / 50);
        self.queue.push(self.now + lag, What::Replicate);
    }

    pub(super) fn heal(&mut self, fault: u8, place: u8) {
        let (node, client) = (place >> 4, place & 15);
        let terms = self.terms(node);
        let now = self.now;
        let server = &mut self.nodes[usize::from(node)];
        match FAULTS[usize::from(fault)] {
            Fault::Restart | Fault::Amnesia if !server.up => {
                server.up = true;
                server.run += 1;
                server.since = now;
                if terms.backend == Backend::Etcd {
                    server.state.new_leader(&terms);
                }
            }
            Fault::Minority | Fault::Majority => (server.deaf_to, server.dumb_to) = (0, 0),
            _ => {
                server.deaf_to &= !(1 << client);
                server.dumb_to &= !(1 << client);
            }
        }
    }

    /// The end of a connection reaches the engine, soon or after a while; nothing on the way can lose it.
    pub(super) fn hang_up(&mut self, client: u8, session: u32) {
        if self.scenario.backend != Backend::PostgresSession {
            return;
        }
        let after = self.rng.about(self.scenario.latency * 4);
        let body = Body::HangUp { session };
        let message = Message { from: client, to: NODES, copy: true, life: 0, request: 0, run: 0, uptime: 0, body };
        let at = self.post.put(message);
        self.queue.push(self.now + after, What::Arrive { message: at });
    }

    /// A lease from now lasts at least this long in truth: clocks may be half a per cent fast.
    pub(super) fn lasts_until(&self) -> u64 {
        self.now + self.scenario.ttl - self.scenario.ttl / 100
    }

    /// An engine or a quorum has granted: is anybody else's lease alive, or believed in?
    pub(super) fn on_grant(&mut self, key: u8, owner: u64, number: u64, again: bool) {
        // A quorum's lease began when its first node was asked, so the ghost of it is what its holder believes.
        let until = if self.scenario.backend == Backend::Redlock { self.now } else { self.lasts_until() };
        self.oracle.granted(key, owner, number, again, self.now, until);
        for client in 0..self.scenario.clients {
            let now = self.client_now(client);
            let other = &self.workers[usize::from(client)];
            if other.key == key && other.owner != owner && other.lease.as_ref().is_some_and(|lease| lease.is_valid(now))
            {
                self.oracle.breach(Property::L3, "a holder believes although the lock has passed on", self.now, key);
            }
        }
    }

    /// A client has been told that the lock is its own: is it the only one?
    pub(super) fn believes(&mut self, client: u8) {
        let key = self.workers[usize::from(client)].key;
        for other in (0..self.scenario.clients).filter(|other| *other != client) {
            let now = self.client_now(other);
            let them = &self.workers[usize::from(other)];
            if them.key == key && them.lease.as_ref().is_some_and(|lease| lease.is_valid(now)) {
                self.oracle.breach(Property::S1, "two clients hold by their own clocks", self.now, key);
            }
        }
    }
}

/// Up to 120 ttl forward or back.
fn jump(bits: u64, ttl: u64) -> i64 {
    let by = i64::try_from((bits >> 1) % (120 * ttl)).unwrap_or(0);
    if bits & 1 == 0 { by } else { -by }
}
