//! One world: its clocks, its network, its queue of events.

use std::time::Duration;

use stanchion_core::BootTime;

use super::calls::Calls;
use super::engine::{KEYS_MAX, State, Terms};
use super::oracle::Oracle;
use super::queue::Queue;
use super::rng::Rng;
use super::scenario::{Backend, Plant, Scenario, Work};
use super::sometimes::Sometimes;
use super::vault::Vault;
use super::wire::{CLIENTS_MAX, NODES, NODES_MAX, Post, TOOL, Timer, VAULT, What};
use super::worker::Worker;

/// A server of an engine.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) state: State,
    pub(super) up: bool,
    /// How far its clock is from the world's, and how much faster it runs.
    pub(super) offset: i64,
    pub(super) ppm: i64,
    pub(super) slow_until: u64,
    /// Its lives are counted; the present one began at this time.
    pub(super) run: u32,
    pub(super) since: u64,
    /// Bits of the places from which nothing arrives, and to which nothing.
    pub(super) deaf_to: u32,
    pub(super) dumb_to: u32,
}

/// Worlds begin after servers have run for long: an hour.
pub(super) const EPOCH: u64 = 3_600_000_000;
/// A message may be this many ttl late.
pub(super) const LATE_MOST: u64 = 20;
/// A world that takes longer than this many events has gone wrong.
const EVENTS_MAX: u64 = 2_000_000;

/// Everything that one seed needs, kept from seed to seed so that nothing is allocated anew.
#[derive(Debug)]
pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) rng: Rng,
    pub(super) now: u64,
    pub(super) queue: Queue,
    pub(super) post: Post,
    pub(super) nodes: [Node; NODES_MAX as usize],
    /// What a replica of node 0 has.
    pub(super) replica: State,
    pub(super) vault: Vault,
    pub(super) workers: Vec<Worker>,
    pub(super) calls: Calls,
    pub(super) oracle: Oracle,
    pub(super) sometimes: Sometimes,
    pub(super) quiet: bool,
    pub(super) events: u64,
    pub(super) faults: [u64; 18],
    pub(super) faults_left: u32,
    pub(super) struck: u32,
    pub(super) injected: u32,
    pub(super) hash: u64,
    /// Operations that nobody has begun yet.
    pub(super) left: u16,
    pub(super) begun: u16,
    pub(super) owners: u64,
}

impl World {
    pub(super) fn new() -> World {
        World {
            scenario: Scenario::with(0, Backend::Redis, Work::Locks, Plant::Nothing),
            rng: Rng::new(0),
            now: 0,
            queue: Queue::default(),
            post: Post::default(),
            nodes: Default::default(),
            replica: State::default(),
            vault: Vault::default(),
            workers: Vec::new(),
            calls: Calls::default(),
            oracle: Oracle::default(),
            sometimes: Sometimes::default(),
            quiet: false,
            events: 0,
            faults: [0; 18],
            faults_left: 0,
            struck: 0,
            injected: 0,
            hash: 0,
            left: 0,
            begun: 0,
            owners: 0,
        }
    }

    /// Plays the world of `seed` and `scenario` to its end.
    pub(super) fn play(&mut self, seed: u64, scenario: &Scenario) {
        self.reset(seed, scenario);
        for client in 0..scenario.clients {
            let first = self.rng.about(scenario.idle);
            self.ring(client, Timer::Go, 0, first);
        }
        if scenario.faults & !0b1111 != 0 {
            self.plan_fault();
        }
        if scenario.backend == Backend::RedisReplica {
            self.queue.push(self.now + 1, What::Replicate);
        }
        while let Some((at, what)) = self.queue.pop() {
            self.now = at;
            if self.step(what) {
                self.events += 1;
            }
            if self.is_over() || self.events > EVENTS_MAX {
                break;
            }
        }
        self.judge_the_end();
    }

    pub(super) fn reset(&mut self, seed: u64, scenario: &Scenario) {
        self.scenario = scenario.clone();
        self.rng = Rng::new(seed ^ 0x5eed);
        self.now = EPOCH;
        self.queue.clear();
        self.post.clear();
        for node in &mut self.nodes {
            node.state.clear();
            // What is allowed: half a per cent against clients that are another half away from true.
            let ppm = i64::try_from(self.rng.below(9_000)).unwrap_or(0) - 4_500;
            *node = Node { state: std::mem::take(&mut node.state), up: true, ppm, run: 1, ..Node::default() };
        }
        self.replica.clear();
        self.vault.clear();
        self.workers.clear();
        for client in 0..scenario.clients.min(CLIENTS_MAX) {
            let ppm = i64::try_from(self.rng.below(9_000)).unwrap_or(0) - 4_500;
            self.workers.push(Worker::new(client, ppm));
        }
        self.quiet = false;
        self.events = 0;
        self.faults = [0; 18];
        self.faults_left = scenario.faults_max;
        self.struck = 0;
        self.injected = 0;
        self.hash = seed;
        self.left = scenario.operations;
        self.begun = 0;
        self.owners = 0;
        self.sometimes = Sometimes::default();
        self.oracle.clear();
        if scenario.work == Work::Calls {
            self.begin_calls();
        }
    }

    /// Returns whether anything happened: a timer of something that is over is no event.
    pub(super) fn step(&mut self, what: What) -> bool {
        match what {
            What::Arrive { message } => {
                let to = self.post.look(message).to;
                if to < NODES {
                    let until = self.workers[usize::from(to)].paused_until;
                    if until > self.now {
                        self.queue.push(until, what);
                        return false;
                    }
                }
                let message = self.post.take(message);
                self.note(u64::from(message.request) << 32 | u64::from(message.from) << 8 | u64::from(message.to));
                match to {
                    VAULT => self.at_vault(&message),
                    TOOL => self.at_tool(&message),
                    NODES.. => self.at_node(&message),
                    client => return self.at_client(client, &message),
                }
            }
            What::Ring { client, timer, number } => {
                let until = self.workers[usize::from(client)].paused_until;
                if until > self.now {
                    self.queue.push(until, what);
                    return false;
                }
                if !self.rings(client, timer, number) {
                    return false;
                }
                self.note(u64::from(number) << 16 | u64::from(client) << 8 | timer as u64);
            }
            What::Fault => self.inject(),
            What::Replicate => {
                self.replicate();
                return false;
            }
            What::Heal { fault, place } => self.heal(fault, place),
        }
        true
    }

    /// The same events at the same times give the same number, and any other do not.
    pub(super) fn note(&mut self, what: u64) {
        self.hash = (self.hash.rotate_left(5) ^ what ^ self.now << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(super) fn ring(&mut self, client: u8, timer: Timer, number: u32, after: u64) {
        self.queue.push(self.now + after, What::Ring { client, timer, number });
    }

    /// The clock of a client now: it never jumps, and goes on while the client stands still.
    pub(super) fn client_now(&self, client: u8) -> BootTime {
        let ppm = self.workers[usize::from(client)].ppm;
        BootTime::from_boot(Duration::from_micros(skewed(self.now, ppm)))
    }

    /// How long it is by the world's clock until a client's clock shows `at`.
    pub(super) fn until(&self, client: u8, at: BootTime) -> u64 {
        let left = at - self.client_now(client);
        let left = u64::try_from(left.as_micros()).unwrap_or(u64::MAX);
        // At most half a per cent slower; a look that comes too early does no harm.
        left + 1
    }

    pub(super) fn terms(&self, node: u8) -> Terms {
        let Scenario { backend, plant, ttl, .. } = self.scenario;
        Terms { backend, plant, ttl, now: self.node_now(node) }
    }

    pub(super) fn node_now(&self, node: u8) -> u64 {
        let Node { offset, ppm, .. } = self.nodes[usize::from(node)];
        skewed(self.now, ppm).saturating_add_signed(offset)
    }

    pub(super) fn is_over(&mut self) -> bool {
        if self.left > 0 || self.scenario.work == Work::Calls {
            return self.scenario.work == Work::Calls && self.calls_are_over();
        }
        if !self.quiet && self.workers.iter().all(Worker::is_idle) {
            self.calm();
            self.probe();
        }
        if self.quiet && self.oracle.is_late(self.now) {
            self.oracle.stuck(self.now);
            return true;
        }
        self.quiet && self.workers.iter().all(Worker::is_idle)
    }

    /// The faults are over: everybody hears each other, and every client lives. A server that is down comes back when it was
    /// to come back, as one that has restarted.
    pub(super) fn calm(&mut self) {
        self.quiet = true;
        for node in &mut self.nodes {
            (node.slow_until, node.deaf_to, node.dumb_to) = (0, 0, 0);
        }
    }

    pub(super) fn judge_the_end(&mut self) {
        match self.scenario.work {
            Work::Locks => {
                let stuck = self.events > EVENTS_MAX;
                for key in 0..usize::from(self.scenario.keys).min(KEYS_MAX) {
                    self.oracle.final_state(u8::try_from(key).unwrap_or(0), self.vault.value(key), self.now);
                }
                if stuck {
                    self.oracle.stuck(self.now);
                }
            }
            // Judged as they end.
            Work::Calls if self.events > EVENTS_MAX => self.oracle.stuck(self.now),
            Work::Calls => {}
        }
    }
}

/// A clock that runs `ppm` millionths faster than the world's.
fn skewed(now: u64, ppm: i64) -> u64 {
    // Worlds last for hours, so this is far from an overflow.
    let by = i64::try_from(now).unwrap_or(i64::MAX) * ppm / 1_000_000;
    now.saturating_add_signed(by)
}
