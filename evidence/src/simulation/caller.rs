//! A client with a keyed call. Every decision is the real [`ask`] and the real `Claim::step`; the order around them follows
//! `idempotency::{enter, beginning, grip, running}` of the core: begin, take back what was not answered, run, record.

use std::time::Duration;

use stanchion_core::claim::{Asked, Claim, Event, Outcome, State, Wish, ask};
use stanchion_core::{BootTime, Owner};

use super::calls::{DONE, FAILED, answer_in, response};
use super::oracle::Ending;
use super::scenario::Plant;
use super::wire::{Body, Message, NODES, TOOL, Timer};
use super::worker::Phase;
use super::world::World;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    #[default]
    Idle,
    /// The record is read again: another attempt is at work, or something was settled.
    Reading,
    Waiting,
    /// The claim is written, as by a call that has to wait for a lock.
    Claiming,
    /// It waits for the lock.
    Claimed,
    /// It is marked as sent.
    Marking,
    /// The claim is written, marked as sent.
    Beginning,
    /// A lapse is written.
    Settling,
    /// The beginning was not answered: nothing was sent, and it is taken back.
    Undoing,
    /// May be sent, and stands still.
    Stopped,
    /// The tool is at work.
    Running,
    /// What the tool said is written.
    Recording,
    /// A write of ours was not answered, and is looked for.
    Looking,
}

/// What is to be recorded of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Tool { answer: u16, kind: u8 },
    Doubt,
    NothingSent,
}

#[derive(Debug)]
pub(super) struct Caller {
    pub(super) step: Step,
    pub(super) call: u8,
    /// The first byte has left.
    pub(super) has_sent: bool,
    /// The key was used for something else before, or will be.
    pub(super) another_payload: bool,
    owner: u64,
    /// The claim in hand, and the version of the record it stands in.
    seen: Option<Claim>,
    version: u32,
    /// What is being written, and what it was to find.
    writing: u32,
    expected: u32,
    said: Said,
    since: BootTime,
    give_up_at: u64,
    beat: u32,
    answered: bool,
}

impl Default for Caller {
    fn default() -> Caller {
        Caller {
            step: Step::Idle,
            call: 0,
            has_sent: false,
            another_payload: false,
            owner: 0,
            seen: None,
            version: 0,
            writing: 0,
            expected: 0,
            said: Said::NothingSent,
            since: BootTime::from_boot(Duration::ZERO),
            give_up_at: 0,
            beat: 0,
            answered: false,
        }
    }
}

impl World {
    fn caller(&mut self, client: u8) -> &mut Caller {
        &mut self.calls.callers[usize::from(client)]
    }

    fn wish(&mut self, client: u8) -> &Wish {
        let caller = &self.calls.callers[usize::from(client)];
        let (call, strange, owner) = (usize::from(caller.call), caller.another_payload, caller.owner);
        let (usual, another) = (self.calls.payload, self.calls.another_payload);
        let wish = &mut self.calls.wishes[call];
        wish.owner = Owner::from_bits(u128::from(owner));
        wish.fingerprint = if strange { another } else { usual };
        wish
    }

    /// One delivery of a call.
    pub(super) fn enter(&mut self, client: u8, call: u8) {
        self.new_owner(client);
        let owner = self.workers[usize::from(client)].owner;
        let give_up_at = self.now + self.scenario.wait;
        // Now and then somebody uses a key again for something else.
        let another_payload = !self.quiet && self.rng.chance(1_500);
        *self.caller(client) = Caller { call, owner, give_up_at, another_payload, ..Caller::default() };
        self.me(client).phase = Phase::Working;
        match self.scenario.plant {
            Plant::CheckThenAct => self.read(client, Step::Reading),
            // As `enter`: without a look, if nobody has been here.
            _ => self.judge(client, None, 0, 0),
        }
    }

    fn send_to_store(&mut self, client: u8, step: Step, body: Body) {
        let patience = self.scenario.patience;
        let me = self.me(client);
        me.awaited = me.next_request();
        let request = me.awaited;
        self.caller(client).step = step;
        self.ring(client, Timer::Patience, request, patience);
        self.ask(client, NODES, request, body);
    }

    fn read(&mut self, client: u8, step: Step) {
        let call = self.caller(client).call;
        self.send_to_store(client, step, Body::Read { call });
    }

    fn swap(&mut self, client: u8, step: Step, expect: u32, next: Claim) {
        let claim = self.calls.keep(next);
        let caller = self.caller(client);
        (caller.writing, caller.expected) = (claim, expect);
        let call = caller.call;
        self.send_to_store(client, step, Body::Swap { call, expect, claim });
    }

    /// What may be done, given what was found.
    fn judge(&mut self, client: u8, found: Option<u32>, version: u32, age: u32) {
        let found = found.map(|at| self.calls.claims[at as usize].clone());
        // Engines tell whole milliseconds.
        let stood = Duration::from_millis(u64::from(age / 1000));
        let lapsed = found.as_ref().is_some_and(|claim| claim.lapses_after().is_some_and(|after| stood > after));
        if self.scenario.plant == Plant::CheckThenAct {
            return self.check_then_act(client, found);
        }
        let asked = ask(found.as_ref(), lapsed, self.wish(client));
        match asked {
            Asked::Claim(claim) => {
                self.sometimes.claim_taken_over += u64::from(lapsed);
                self.begin_with(client, claim, version);
            }
            Asked::Settle(_) if self.scenario.plant == Plant::RerunAfterLapse => {
                let Asked::Claim(claim) = ask(None, false, self.wish(client)) else { return };
                self.begin_with(client, claim, version);
            }
            Asked::Settle(next) => {
                self.sometimes.call_lapsed += 1;
                self.swap(client, Step::Settling, version, next);
            }
            Asked::InFlight => {
                self.sometimes.call_in_flight += 1;
                if self.now >= self.caller(client).give_up_at && !self.quiet {
                    return self.answer(client, Ending::Failed);
                }
                self.caller(client).step = Step::Waiting;
                let pause = self.rng.about(self.scenario.poll);
                self.wake(client, pause);
            }
            Asked::Done(_, response) => {
                self.sometimes.call_replayed += 1;
                self.told(client, answer_in(&response));
                self.answer(client, Ending::Done);
            }
            Asked::Unknown(_) => self.answer(client, Ending::Indeterminate),
            Asked::Suspended(_) | Asked::OtherPayload | Asked::UsedUp(_) => self.answer(client, Ending::Failed),
        }
    }

    fn begin_with(&mut self, client: u8, claim: Claim, version: u32) {
        let since = self.client_now(client);
        let in_two_steps = self.rng.chance(16_384);
        let (step, next) = match claim.step(Event::Dispatch { by: claim.attempt }) {
            Ok(sent) if !in_two_steps => (Step::Beginning, sent),
            _ => (Step::Claiming, claim),
        };
        let caller = self.caller(client);
        (caller.seen, caller.version, caller.since) = (Some(next.clone()), 0, since);
        self.swap(client, step, version, next);
    }

    /// T3: the lock has come, and the mark is made before the first byte leaves.
    fn mark(&mut self, client: u8) {
        let since = self.client_now(client);
        let caller = self.caller(client);
        let version = caller.version;
        let marked = caller.seen.as_ref().and_then(|claim| claim.step(Event::Dispatch { by: claim.attempt }).ok());
        let Some(sent) = marked else { return self.answer(client, Ending::Failed) };
        caller.since = since;
        self.swap(client, Step::Marking, version, sent);
    }

    /// The claim is another than when it was written: somebody took it over, and nothing was sent.
    fn not_marked(&mut self, client: u8, found: u32, version: u32) {
        let caller = self.caller(client);
        let (writing, owner) = (caller.writing, Owner::from_bits(u128::from(caller.owner)));
        if version != 0 && found == writing {
            self.see(client, found, version);
            return self.run(client, version);
        }
        self.see(client, found, version);
        match &self.caller(client).seen {
            Some(claim) if version != 0 && claim.attempt.owner == owner => self.mark(client),
            _ => self.answer(client, Ending::Failed),
        }
    }

    /// The caller has its answer; whatever is left to record is recorded without it.
    fn answer(&mut self, client: u8, ending: Ending) {
        if !std::mem::replace(&mut self.caller(client).answered, true) {
            self.call_ended(client, ending);
        }
        self.rest(client);
    }

    fn rest(&mut self, client: u8) {
        let caller = self.caller(client);
        (caller.step, caller.seen, caller.beat) = (Step::Idle, None, 0);
        let me = self.me(client);
        (me.awaited, me.phase) = (0, Phase::Idle);
        let pause = self.rng.about(self.scenario.idle);
        self.wake(client, pause);
    }

    pub(super) fn call_answered(&mut self, client: u8, message: &Message) -> bool {
        let caller = &self.calls.callers[usize::from(client)];
        let step = caller.step;
        if message.request == caller.beat && caller.beat != 0 && step == Step::Running {
            self.beaten(client, &message.body);
            return true;
        }
        let me = self.me(client);
        if message.request != me.awaited || me.awaited == 0 {
            return false;
        }
        me.awaited = 0;
        match (step, message.body) {
            (Step::Beginning, Body::Swapped { version }) => self.run(client, version),
            (Step::Marking, Body::Swapped { version }) => {
                let writing = self.caller(client).writing;
                self.see(client, writing, version);
                self.run(client, version);
            }
            (Step::Marking, Body::Found { claim, version, .. }) => self.not_marked(client, claim, version),
            (Step::Claiming, Body::Swapped { version }) => {
                let caller = self.caller(client);
                (caller.version, caller.step) = (version, Step::Claimed);
                let pause = self.rng.about(self.scenario.ttl / 2);
                self.wake(client, pause);
            }
            (Step::Reading | Step::Beginning | Step::Claiming, Body::Found { claim, version, age }) => {
                self.judge(client, (version != 0).then_some(claim), version, age);
            }
            (Step::Settling, _) => self.read(client, Step::Reading),
            (Step::Running, Body::Effected { answer, kind }) => self.record(client, Said::Tool { answer, kind }),
            (Step::Recording, Body::Swapped { version }) => self.recorded(client, version),
            (Step::Recording | Step::Looking, Body::Found { claim, version, .. }) => {
                self.found_instead(client, claim, version);
            }
            (Step::Recording, _) => self.answer(client, Ending::Indeterminate),
            (Step::Undoing, Body::Found { claim, version, .. }) => self.forestall(client, claim, version),
            _ => self.rest(client),
        }
        true
    }

    pub(super) fn call_unanswered(&mut self, client: u8) {
        match self.caller(client).step {
            Step::Reading | Step::Settling => self.answer(client, Ending::Failed),
            Step::Beginning | Step::Claiming | Step::Marking => {
                // Nothing was sent: the caller is told so, and the claim must not stay.
                let ending = Ending::Failed;
                self.caller(client).answered = true;
                self.call_ended(client, ending);
                self.read(client, Step::Undoing);
            }
            Step::Undoing => self.read(client, Step::Undoing),
            Step::Running => self.record(client, Said::Doubt),
            Step::Recording | Step::Looking => self.read(client, Step::Looking),
            Step::Idle | Step::Waiting | Step::Claimed | Step::Stopped => {}
        }
    }

    /// The timer of a wait, or of a heart-beat.
    pub(super) fn call_rings(&mut self, client: u8) -> bool {
        match self.caller(client).step {
            Step::Idle => return self.begin_call(client),
            Step::Waiting => self.read(client, Step::Reading),
            Step::Claimed => self.mark(client),
            Step::Stopped => self.go(client),
            Step::Running => self.give_sign(client),
            _ => return false,
        }
        true
    }

    /// Marked as sent. If that took too long, others may have judged us dead, and nothing is sent.
    fn run(&mut self, client: u8, version: u32) {
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

    fn go(&mut self, client: u8) {
        self.send_to_tool(client);
        self.wake(client, self.scenario.ttl / 3);
    }

    fn send_to_tool(&mut self, client: u8) {
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
    fn give_sign(&mut self, client: u8) {
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

    fn beaten(&mut self, client: u8, body: &Body) {
        match *body {
            Body::Swapped { version } => self.caller(client).version = version,
            Body::Found { claim, version, .. } => self.see(client, claim, version),
            _ => {}
        }
        self.caller(client).beat = 0;
    }

    /// Notes what stands there. Forgotten by the store, it is written anew from what we know.
    fn see(&mut self, client: u8, claim: u32, version: u32) {
        let found = (version != 0).then(|| self.calls.claims[claim as usize].clone());
        let caller = self.caller(client);
        caller.version = version;
        caller.seen = found.or(caller.seen.take());
    }

    /// T5, T6, T7: what came of it.
    fn record(&mut self, client: u8, said: Said) {
        self.caller(client).said = said;
        if self.deletes_on_failure() && !matches!(said, Said::Tool { kind: DONE, .. }) {
            let call = self.caller(client).call;
            return self.send_to_store(client, Step::Recording, Body::Forget { call });
        }
        self.write_said(client);
    }

    fn write_said(&mut self, client: u8) {
        let caller = &self.calls.callers[usize::from(client)];
        let (version, said) = (caller.version, caller.said);
        let Some(claim) = &caller.seen else { return self.rest(client) };
        // Whose attempt it is: ours, whatever stands in the record by now.
        let by = stanchion_core::claim::Attempt { owner: Owner::from_bits(u128::from(caller.owner)), ..claim.attempt };
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
    fn too_late(&mut self, client: u8) {
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

    fn recorded(&mut self, client: u8, version: u32) {
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
    fn found_instead(&mut self, client: u8, claim: u32, version: u32) {
        let ours = self.caller(client).writing;
        if version != 0 && claim == ours {
            self.sometimes.recorded_late += 1;
            return self.recorded(client, version);
        }
        self.see(client, claim, version);
        self.write_said(client);
    }

    /// As `Undo::forestall`: what the request wrote is taken back; if it is still on its way, what it was to find is changed.
    fn forestall(&mut self, client: u8, found: u32, version: u32) {
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

    /// The articles' first attempt: look, run, write.
    fn check_then_act(&mut self, client: u8, found: Option<Claim>) {
        if let Some(State::Done { response, .. }) = found.map(|claim| claim.state) {
            self.told(client, answer_in(&response));
            return self.answer(client, Ending::Done);
        }
        let Asked::Claim(claim) = ask(None, false, self.wish(client)) else { return };
        let caller = self.caller(client);
        let by = claim.attempt;
        (caller.seen, caller.version, caller.has_sent) = (claim.step(Event::Dispatch { by }).ok(), 0, true);
        self.send_to_tool(client);
    }

    /// kill -9 in the middle of a call.
    pub(super) fn caller_died(&mut self, client: u8) {
        if self.caller(client).step != Step::Idle && !self.caller(client).answered {
            self.oracle.ended += 1;
        }
        *self.caller(client) = Caller::default();
    }
}
