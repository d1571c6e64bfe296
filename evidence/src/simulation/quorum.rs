//! A client of five nodes: the real [`Attempt`], [`Tally`] and [`Trust`] of the core, driven as `redlock:` drives them.

use std::time::Duration;

use stanchion_core::redlock::{Answer, Attempt, Next, Tally, Trust, Verdict, Vote, drift};
use stanchion_core::{BootTime, LeaseEvent};

use super::wire::{Body, Message, NODES, NODES_MAX, Timer};
use super::worker::Phase;
use super::world::World;

const N: usize = NODES_MAX as usize;

/// What one client knows of the nodes, and its attempt.
#[derive(Debug)]
pub(super) struct Quorum {
    attempt: Attempt,
    renewals: Tally,
    trust: [Trust; N],
    runs: [u32; N],
    heard: [Option<BootTime>; N],
    /// The highest number it has seen.
    seen: u64,
}

impl World {
    fn quorum(&mut self, client: u8) -> &mut Quorum {
        let ttl = Duration::from_micros(self.scenario.ttl);
        let me = &mut self.workers[usize::from(client)];
        me.quorum.get_or_insert_with(|| {
            Box::new(Quorum {
                attempt: Attempt::new(N, ttl, drift(ttl), me.sent, 0, true),
                renewals: Tally::new(N),
                // As `redlock:` sets it: the longest ttl, and the drift.
                trust: std::array::from_fn(|_| Trust::new(ttl + drift(ttl))),
                runs: [0; N],
                heard: [None; N],
                seen: 0,
            })
        })
    }

    fn ask_all(&mut self, client: u8, request: u32, body: Body) {
        for node in 0..NODES_MAX {
            self.ask(client, NODES + node, request, body);
        }
    }

    /// Round 0: takes the lock on every node.
    pub(super) fn take_all(&mut self, client: u8) {
        let ttl = Duration::from_micros(self.scenario.ttl);
        let me = &self.workers[usize::from(client)];
        let (sent, key, owner, request, floor) = (me.sent, me.key, me.owner, me.awaited, me.floor);
        let quorum = self.quorum(client);
        quorum.attempt = Attempt::new(N, ttl, drift(ttl), sent, floor, true).spread(owner % 64);
        let number = (quorum.seen + 1).max(floor + 1);
        self.ask_all(client, request, Body::Take { key, owner, number });
    }

    /// Gives back wherever it may be.
    pub(super) fn let_go(&mut self, client: u8) {
        let me = &self.workers[usize::from(client)];
        let (key, owner) = (me.key, me.owner);
        self.ask_all(client, 0, Body::Release { key, owner });
    }

    pub(super) fn node_answered(&mut self, client: u8, message: &Message) -> bool {
        let node = usize::from(message.from - NODES);
        let now = self.client_now(client);
        let me = &self.workers[usize::from(client)];
        let (owner, awaited, renewal, phase) = (me.owner, me.awaited, me.renewal, me.phase);
        let trusted = self.meet(client, node, message, now);
        if message.request == renewal && renewal != 0 {
            self.vote(client, node, trusted, &message.body);
            return true;
        }
        if let Body::Granted { owner: whose, key, .. } = message.body
            && whose != owner
        {
            // Nobody waits for it any more: given back at once.
            self.sometimes.late_grant += 1;
            self.ask(client, message.from, 0, Body::Release { key, owner: whose });
            return true;
        }
        if message.request != awaited || awaited == 0 || phase != Phase::Asking {
            return false;
        }
        let answer = match message.body {
            _ if !trusted => Answer::Error,
            Body::Granted { number, .. } => Answer::Yes(number),
            Body::Ours(true) => Answer::Yes(0),
            _ => Answer::No,
        };
        let quorum = self.quorum(client);
        if let Answer::Yes(number) = answer {
            quorum.seen = quorum.seen.max(number);
        }
        let round = quorum.attempt.round();
        let next = quorum.attempt.answer(node, round, answer, now);
        self.follow(client, next);
        true
    }

    /// Whether the node has a vote. A node that has restarted is met again.
    fn meet(&mut self, client: u8, node: usize, message: &Message, now: BootTime) -> bool {
        // As `INFO` tells it: whole seconds, of which one may be too many.
        let uptime = Duration::from_secs((message.uptime / 1_000_000).saturating_sub(1));
        let quorum = self.quorum(client);
        if quorum.runs[node] != message.run {
            quorum.runs[node] = message.run;
            quorum.trust[node].met(&message.run.to_string(), uptime, now, quorum.heard[node]);
        }
        quorum.heard[node] = Some(now);
        let trusted = quorum.trust[node].left(now).is_zero();
        self.sometimes.node_without_vote += u64::from(!trusted);
        trusted
    }

    fn follow(&mut self, client: u8, next: Next) {
        match next {
            Next::Wait | Next::Release(_) => {}
            Next::WriteBack(number) => {
                self.sometimes.fence_written_back += 1;
                let patience = self.scenario.patience;
                let me = self.me(client);
                me.awaited = me.next_request();
                let (key, owner, request) = (me.key, me.owner, me.awaited);
                self.ring(client, Timer::Patience, request, patience);
                self.quorum(client).seen = number;
                self.ask_all(client, request, Body::Write { key, owner, number });
            }
            Next::Granted(number) => {
                let quorum = self.quorum(client);
                quorum.seen = quorum.seen.max(number);
                let missing = quorum.attempt.tally().counts().0 < N;
                self.sometimes.granted_by_a_part += u64::from(missing);
                self.me(client).awaited = 0;
                let (key, owner) = (self.me(client).key, self.me(client).owner);
                self.on_grant(key, owner, number, false);
                self.granted(client, number);
            }
            Next::GiveUp(_) => {
                self.me(client).awaited = 0;
                self.let_go(client);
                self.new_owner(client);
                self.refused(client);
            }
        }
    }

    /// Whoever has not answered by now has not answered.
    pub(super) fn nodes_unanswered(&mut self, client: u8) {
        self.sometimes.quorum_missed += 1;
        let now = self.client_now(client);
        let quorum = self.quorum(client);
        let round = quorum.attempt.round();
        for node in 0..N {
            if !quorum.attempt.tally().has(node) {
                let next = quorum.attempt.answer(node, round, Answer::Error, now);
                if next != Next::Wait {
                    return self.follow(client, next);
                }
            }
        }
        let next = self.quorum(client).attempt.time_is_up();
        self.follow(client, next);
    }

    pub(super) fn renew_all(&mut self, client: u8) {
        let me = self.me(client);
        let (key, owner, session, request) = (me.key, me.owner, me.session, me.renewal);
        self.quorum(client).renewals = Tally::new(N);
        self.ask_all(client, request, Body::Renew { key, owner, session });
    }

    fn vote(&mut self, client: u8, node: usize, trusted: bool, body: &Body) {
        let vote = match body {
            _ if !trusted => Vote::Error,
            Body::Ours(true) => Vote::Yes,
            _ => Vote::No,
        };
        let verdict = self.quorum(client).renewals.cast(node, vote);
        if verdict == Verdict::Open {
            return;
        }
        match verdict {
            Verdict::Yes => {
                self.me(client).renewal = 0;
                self.tend(client, LeaseEvent::Renewed);
            }
            Verdict::No => {
                self.me(client).renewal = 0;
                self.tend(client, LeaseEvent::RenewalLost);
            }
            _ => self.renewal_unanswered(client),
        }
    }
}
