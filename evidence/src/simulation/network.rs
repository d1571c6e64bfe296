//! Messages between clients, engines, the protected store and the tool, and what happens to them on the way.

use super::engine::Ledger;
use super::fault::Fault;
use super::scenario::Backend;
use super::wire::{Body, Message, NODES, NODES_MAX, Place, TOOL, What};
use super::world::{LATE_MOST, World};

impl World {
    /// Asks, on behalf of a client; its answer carries the request's number.
    pub(super) fn ask(&mut self, client: u8, to: Place, request: u32, body: Body) {
        let life = self.workers[usize::from(client)].life;
        self.send(Message { from: client, to, copy: false, life, request, run: 0, uptime: 0, body });
    }

    /// Puts a message on its way, with whatever the network does to it.
    pub(super) fn send(&mut self, message: Message) {
        let bits = self.rng.bits();
        let mut after = 1 + self.scenario.latency * (256 + (bits & 0x3ff)) / 768;
        if bits & 0xf_fc00 == 0 && self.scenario.has(Fault::Slow) {
            after *= 20;
        }
        let dice = u32::try_from(bits >> 48).unwrap_or(0);
        let is_request = message.from < NODES;
        let node = if is_request { message.to } else { message.from };
        if (NODES..NODES + NODES_MAX).contains(&node) {
            let node = &self.nodes[usize::from(node - NODES)];
            let silent = if is_request { node.deaf_to >> message.from } else { node.dumb_to >> message.to };
            if silent & 1 == 1 {
                return;
            }
            if node.slow_until > self.now && !is_request {
                after += ((bits >> 20 & 0xffff) * self.scenario.ttl) >> 15;
            }
        }
        if dice < self.scenario.message_faults && !self.quiet {
            match self.message_fault(bits >> 20 & 3, is_request, message.to == TOOL) {
                Some(Fault::LostRequest) => return,
                Some(Fault::LostReply) => {
                    self.sometimes.reply_lost_after_commit += 1;
                    return;
                }
                Some(Fault::Duplicate) => {
                    let again = after + self.rng.below(LATE_MOST * self.scenario.ttl);
                    let at = self.post.put(Message { copy: true, ..message });
                    self.queue.push(self.now + again, What::Arrive { message: at });
                }
                Some(_) => after += self.rng.below(LATE_MOST * self.scenario.ttl),
                None => {}
            }
        }
        let at = self.post.put(message);
        self.queue.push(self.now + after, What::Arrive { message: at });
    }

    /// Which of the faults of messages happens to this one.
    pub(super) fn message_fault(&mut self, which: u64, is_request: bool, to_tool: bool) -> Option<Fault> {
        let fault = match which {
            0 if is_request => Fault::LostRequest,
            0 | 1 if !is_request => Fault::LostReply,
            // A tool that accepts neither key nor token cannot be protected from a network that repeats its requests.
            1 | 2 if is_request && !to_tool => Fault::Duplicate,
            _ => Fault::Delay,
        };
        (self.scenario.has(fault) && self.count(fault)).then_some(fault)
    }

    /// Counts a fault that is about to happen; `false` if no more may happen.
    pub(super) fn count(&mut self, fault: Fault) -> bool {
        if self.faults_left == 0 {
            return false;
        }
        self.faults_left -= 1;
        self.faults[fault as usize] += 1;
        self.injected |= fault.bit();
        true
    }

    pub(super) fn at_node(&mut self, message: &Message) {
        let index = message.to - NODES;
        if !self.nodes[usize::from(index)].up {
            return;
        }
        if let Body::Read { .. } | Body::Swap { .. } | Body::Forget { .. } = message.body {
            let answer = self.at_records(&message.body);
            return self.reply(message, answer);
        }
        let terms = self.terms(index);
        let (answer, told) = self.nodes[usize::from(index)].state.serve(&terms, &message.body);
        // What one of five nodes does is no grant and no release; its quorum's client tells.
        if self.scenario.backend != Backend::Redlock {
            self.tell(told, message);
        }
        self.reply(message, answer);
    }

    pub(super) fn tell(&mut self, told: Ledger, message: &Message) {
        match told {
            Ledger::Nothing => {}
            Ledger::Granted { key, owner, number, again } => {
                let orphan = !self.workers[usize::from(message.from)].wants(owner, message.life);
                self.sometimes.late_grant += u64::from(orphan);
                self.on_grant(key, owner, number, again);
                if orphan && self.scenario.backend == Backend::PostgresSession {
                    // Its connection has been left, and the lock ends with that.
                    self.oracle.let_go(key, owner);
                }
            }
            Ledger::Renewed { key, owner, for_owner } => {
                self.oracle.renewed(key, owner, for_owner, self.now, self.lasts_until());
            }
            Ledger::Released { key, owner, of_owner } => self.oracle.released(key, owner, of_owner, self.now),
        }
    }

    pub(super) fn reply(&mut self, to: &Message, body: Body) {
        if to.copy {
            return;
        }
        let (run, uptime) = match to.to.checked_sub(NODES).and_then(|node| self.nodes.get(usize::from(node))) {
            Some(node) => (node.run, self.now - node.since),
            None => (0, 0),
        };
        self.send(Message { from: to.to, to: to.from, run, uptime, body, ..*to });
    }

    pub(super) fn at_vault(&mut self, message: &Message) {
        let answer = self.vault.serve(&message.body, &mut self.oracle, &mut self.sometimes, self.now);
        self.reply(message, answer);
    }
}
