//! A call that may have been sent: the tool at work, signs of life, and what is written of its end.

use std::time::Duration;

use stanchion_core::Owner;
use stanchion_core::claim::{Attempt, Event, Outcome, State};

use super::caller::{Said, Step};
use super::calls::{DONE, FAILED, answer_in, response};
use super::oracle::Ending;
use super::wire::{Body, NODES, TOOL, Timer};
use super::world::World;

impl World {
    /// Marked as sent. If that took too long, others may have judged us dead, and nothing is sent.
    pub(super) fn run(&mut self, client: u8, version: u32) {
        let now = self.client_now(client);
        let lease = Duration::from_micros(self.scenario.ttl);
        let caller = self.caller(client);
        caller.version = version;
        if now - caller.since >= lease {
            return self.record(client, Said::NothingSent);
        }
        caller.has_sent = true;
        if self.stops_here(client) {
            self.caller(client).step = Step::Stopped;
            return self.wake(client, 1);
        }
        self.go(client);
    }

    pub(super) fn go(&mut self, client: u8) {
        self.send_to_tool(client);
        self.wake(client, self.scenario.ttl / 3);
    }

    pub(super) fn send_to_tool(&mut self, client: u8) {
        let patience = self.scenario.patience + self.scenario.working;
        let me = self.me(client);
        me.awaited = me.next_request();
        let request = me.awaited;
        let caller = self.caller(client);
        caller.step = Step::Running;
        let (call, another_payload) = (caller.call, caller.another_payload);
        self.ring(client, Timer::Patience, request, patience);
        self.ask(client, TOOL, request, Body::Effect { call, another_payload });
    }

    /// A sign of life: the claim as it is, written anew.
    pub(super) fn give_sign(&mut self, client: u8) {
        let caller = self.caller(client);
        let (version, call) = (caller.version, caller.call);
        let Some(next) = caller.seen.as_ref().and_then(|claim| claim.step(Event::Beat { by: claim.attempt }).ok())
        else {
            return;
        };
        let claim = self.calls.keep(next);
        let me = self.me(client);
        let request = me.next_request();
        self.caller(client).beat = request;
        self.ask(client, NODES, request, Body::Swap { call, expect: version, claim });
        self.wake(client, self.scenario.ttl / 3);
    }

    pub(super) fn beaten(&mut self, client: u8, body: &Body) {
        match *body {
            Body::Swapped { version } => self.caller(client).version = version,
            Body::Found { claim, version, .. } => self.see(client, claim, version),
            _ => {}
        }
        self.caller(client).beat = 0;
    }

    /// Notes what stands there. Forgotten by the store, it is written anew from what we know.
    pub(super) fn see(&mut self, client: u8, claim: u32, version: u32) {
        let found = (version != 0).then(|| self.calls.claims[claim as usize].clone());
        let caller = self.caller(client);
        caller.version = version;
        caller.seen = found.or(caller.seen.take());
    }

    /// T5, T6, T7: what came of it.
    pub(super) fn record(&mut self, client: u8, said: Said) {
        self.caller(client).said = said;
        if self.deletes_on_failure() && !matches!(said, Said::Tool { kind: DONE, .. }) {
            let call = self.caller(client).call;
            return self.send_to_store(client, Step::Recording, Body::Forget { call });
        }
        self.write_said(client);
    }

    pub(super) fn write_said(&mut self, client: u8) {
        let caller = &self.calls.callers[usize::from(client)];
        let (version, said) = (caller.version, caller.said);
        let Some(claim) = &caller.seen else { return self.rest(client) };
        // Whose attempt it is: ours, whatever stands in the record by now.
        let by = Attempt { owner: Owner::from_bits(u128::from(caller.owner)), ..claim.attempt };
        let keep = claim.keep.answer;
        let event = match said {
            Said::Tool { answer, kind: DONE } => {
                Event::Finish { by, outcome: Outcome::Ok, response: response(answer), keep }
            }
            Said::Tool { answer, kind: FAILED } => {
                Event::Finish { by, outcome: Outcome::Failed, response: response(answer), keep }
            }
            Said::Tool { answer, .. } => Event::NoEffect { by, response: Some(response(answer)) },
            Said::NothingSent => Event::NoEffect { by, response: None },
            Said::Doubt => Event::Doubt { by, reason: String::new() },
        };
        match claim.step(event) {
            Ok(next) => self.swap(client, Step::Recording, version, next),
            Err(_) => self.too_late(client),
        }
    }

    /// The claim has moved on without us: the caller is told what the record says.
    pub(super) fn too_late(&mut self, client: u8) {
        let said = self.caller(client).said;
        let state = self.caller(client).seen.as_ref().map(|claim| claim.state.clone());
        match (said, state) {
            (Said::NothingSent, _) => self.answer(client, Ending::Failed),
            (_, Some(State::Done { response, .. } | State::Tombstone { response, .. })) => {
                self.told(client, answer_in(&response));
                self.answer(client, Ending::Done);
            }
            _ => self.answer(client, Ending::Indeterminate),
        }
    }

    pub(super) fn recorded(&mut self, client: u8, version: u32) {
        let caller = self.caller(client);
        let (said, writing) = (caller.said, caller.writing);
        caller.version = version;
        let unknown = matches!(self.calls.claims[writing as usize].state, State::Unknown { .. });
        match said {
            Said::Tool { answer, kind: DONE | FAILED } => {
                self.told(client, answer);
                self.answer(client, Ending::Done);
            }
            // An earlier attempt may have run.
            _ if unknown => self.answer(client, Ending::Indeterminate),
            Said::Tool { .. } => {
                self.caller(client).has_sent = false;
                self.answer(client, Ending::Failed);
            }
            Said::NothingSent => self.answer(client, Ending::Failed),
            Said::Doubt => self.answer(client, Ending::Indeterminate),
        }
    }

    /// The record is another than we thought, or our write was not answered. Is it what we were writing?
    pub(super) fn found_instead(&mut self, client: u8, claim: u32, version: u32) {
        let ours = self.caller(client).writing;
        if version != 0 && claim == ours {
            self.sometimes.recorded_late += 1;
            return self.recorded(client, version);
        }
        self.see(client, claim, version);
        self.write_said(client);
    }

    /// As `Undo::forestall`: what the request wrote is taken back; if it is still on its way, what it was to find is changed.
    pub(super) fn forestall(&mut self, client: u8, found: u32, version: u32) {
        self.sometimes.beginning_taken_back += 1;
        let caller = &self.calls.callers[usize::from(client)];
        let (owner, expected) = (Owner::from_bits(u128::from(caller.owner)), caller.expected);
        if version == 0 {
            if expected == 0 {
                self.caller(client).version = 0;
                return self.record(client, Said::NothingSent);
            }
            return self.rest(client);
        }
        let claim = &self.calls.claims[found as usize];
        if claim.attempt.owner == owner {
            self.see(client, found, version);
            return self.record(client, Said::NothingSent);
        }
        if expected == version {
            // The same again, as another version.
            let (same, call) = (found, caller.call);
            return self.send_to_store(client, Step::Undoing, Body::Swap { call, expect: version, claim: same });
        }
        self.rest(client);
    }
}
