//! Calls with a key: the records behind them, the tool, and what every caller was told. The caller is in `caller`.

use std::time::Duration;

use stanchion_core::claim::{Claim, Response, Wish};
use stanchion_core::{CallKey, Effect, Fingerprint, Scope};

use super::caller::{Caller, Step};
use super::oracle::Ending;
use super::property::Property;
use super::scenario::Plant;
use super::wire::{Body, Message};
use super::world::{LATE_MOST, World};

/// Keys of one world.
pub(super) const CALLS_MAX: usize = 24;

/// A record as its engine keeps it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    /// 0: there is none.
    pub(super) version: u32,
    claim: u32,
    /// By the engine's clock.
    written: u64,
}

/// What the tool and the callers know of one key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Truth {
    /// How often it took effect.
    pub(super) effects: u32,
    /// The answer that everybody gets, once one has got it from the record.
    answer: u16,
    /// Whose payload it was that took effect.
    another_payload: bool,
}

#[derive(Debug)]
pub(super) struct Calls {
    /// One for each key, made once: the machine asks for many texts, and they are always the same.
    pub(super) wishes: Vec<Wish>,
    pub(super) payload: Fingerprint,
    pub(super) another_payload: Fingerprint,
    /// Every claim that is or was in a record or on its way.
    pub(super) claims: Vec<Claim>,
    pub(super) callers: Vec<Caller>,
    pub(super) truths: [Truth; CALLS_MAX],
    pub(super) keys: u8,
    /// Answers of the tool, counted.
    answers: u16,
    /// The keys that were asked for after the faults.
    probed: u8,
}

impl Default for Calls {
    fn default() -> Calls {
        let wish = |number: usize| {
            let scope = Scope::new("somebody", "engine", "send").expect("three short names");
            let key = CallKey::new(format!("call-{number}")).expect("a short key");
            Wish::new(scope, key, Fingerprint::of_bytes(b"payload"))
        };
        Calls {
            wishes: (0..CALLS_MAX).map(wish).collect(),
            payload: Fingerprint::of_bytes(b"payload"),
            another_payload: Fingerprint::of_bytes(b"another payload"),
            claims: Vec::new(),
            callers: Vec::new(),
            truths: [Truth::default(); CALLS_MAX],
            keys: 0,
            answers: 0,
            probed: 0,
        }
    }
}

impl Calls {
    pub(super) fn keep(&mut self, claim: Claim) -> u32 {
        self.claims.push(claim);
        u32::try_from(self.claims.len() - 1).unwrap_or(u32::MAX)
    }
}

/// What the tool says.
pub(super) const DONE: u8 = 0;
pub(super) const FAILED: u8 = 1;
pub(super) const NO_EFFECT: u8 = 2;

pub(super) fn response(answer: u16) -> Response {
    Response::new("", answer.to_be_bytes().to_vec())
}

pub(super) fn answer_in(response: &Response) -> u16 {
    response.bytes().and_then(|body| body[..].try_into().ok()).map_or(0, u16::from_be_bytes)
}

impl World {
    pub(super) fn begin_calls(&mut self) {
        let idempotent = self.rng.chance(13_107);
        let lease = Duration::from_micros(self.scenario.ttl);
        let calls = &mut self.calls;
        calls.claims.clear();
        calls.truths = [Truth::default(); CALLS_MAX];
        calls.keys = u8::try_from(self.rng.between(4, CALLS_MAX as u64)).unwrap_or(4);
        (calls.answers, calls.probed) = (0, 0);
        for wish in &mut calls.wishes {
            wish.lease = lease;
            wish.effect = if idempotent { Effect::Idempotent } else { Effect::NonIdempotent };
        }
        calls.callers.clear();
        calls.callers.resize_with(usize::from(self.scenario.clients), Caller::default);
        let rows = &mut self.nodes[0].state.rows;
        rows.clear();
        rows.resize(CALLS_MAX, Row::default());
        self.replica.rows.clone_from(rows);
    }

    /// The record store: reads, and compare-and-swap on the version.
    pub(super) fn at_records(&mut self, body: &Body) -> Body {
        let now = self.node_now(0);
        let state = &mut self.nodes[0].state;
        // A server that has forgotten everything has no rows either.
        state.rows.resize(CALLS_MAX, Row::default());
        let (Body::Read { call } | Body::Swap { call, .. } | Body::Forget { call }) = *body else { return Body::Busy };
        let row = &mut state.rows[usize::from(call)];
        match *body {
            Body::Swap { expect, claim, .. } if expect == row.version => {
                state.counter += 1;
                let version = u32::try_from(state.counter & 0x7fff_ffff).unwrap_or(1);
                *row = Row { version, claim, written: now };
                Body::Swapped { version }
            }
            Body::Forget { .. } => {
                *row = Row::default();
                Body::Stored
            }
            _ => {
                let age = u32::try_from(now.saturating_sub(row.written)).unwrap_or(u32::MAX);
                Body::Found { claim: row.claim, version: row.version, age }
            }
        }
    }

    /// The tool, which accepts neither key nor token.
    pub(super) fn at_tool(&mut self, message: &Message) {
        let Body::Effect { call, another_payload } = message.body else { return };
        let bits = self.rng.bits();
        let kind = match bits & 31 {
            0 => NO_EFFECT,
            1 => FAILED,
            _ => DONE,
        };
        let calls = &mut self.calls;
        calls.answers += 1;
        let answer = calls.answers;
        if kind != NO_EFFECT {
            let truth = &mut calls.truths[usize::from(call)];
            truth.effects += 1;
            truth.another_payload = another_payload;
            if truth.effects > 1 && calls.wishes[0].effect != Effect::Idempotent {
                self.oracle.breach(Property::S4, "a keyed call took effect twice", self.now, call);
            }
        }
        self.reply(message, Body::Effected { answer, kind });
    }

    /// A caller was told that the call is done, with this answer from the record.
    pub(super) fn told(&mut self, client: u8, answer: u16) {
        let Caller { call, another_payload, .. } = self.calls.callers[usize::from(client)];
        let idempotent = self.calls.wishes[0].effect == Effect::Idempotent;
        let truth = &mut self.calls.truths[usize::from(call)];
        if truth.effects == 0 {
            self.oracle.breach(Property::S6, "a call is said to be done, and had no effect", self.now, call);
        } else if truth.another_payload != another_payload {
            self.oracle.breach(Property::S4, "a call got the answer to another payload", self.now, call);
        } else if truth.answer == 0 {
            truth.answer = answer;
        } else if truth.answer != answer {
            let what = if idempotent { "two recorded answers" } else { "two answers to one call" };
            self.oracle.breach(Property::S4, what, self.now, call);
        }
    }

    pub(super) fn call_ended(&mut self, client: u8, ending: Ending) {
        let caller = &self.calls.callers[usize::from(client)];
        if ending == Ending::Failed && caller.has_sent {
            let call = caller.call;
            self.oracle.breach(Property::S6, "said to have had no effect, after it was sent", self.now, call);
        }
        self.sometimes.indeterminate += u64::from(ending == Ending::Indeterminate);
        self.oracle.ended += 1;
    }

    /// The next delivery of some call; after the faults, one of each.
    pub(super) fn begin_call(&mut self, client: u8) -> bool {
        let call = if self.quiet {
            if self.calls.probed >= self.calls.keys {
                return false;
            }
            self.calls.probed += 1;
            self.calls.probed - 1
        } else {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            u8::try_from(self.rng.below(u64::from(self.calls.keys))).unwrap_or(0)
        };
        self.enter(client, call);
        true
    }

    pub(super) fn calls_are_over(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        let at_rest = self.calls.callers.iter().all(|caller| caller.step == Step::Idle)
            && self.workers.iter().all(super::worker::Worker::is_idle);
        if at_rest && !self.quiet {
            self.calm();
            self.oracle.must_end_by(self.now + (LATE_MOST + 5) * self.scenario.ttl + 2_000_000);
            for client in 0..self.scenario.clients {
                self.wake(client, 1);
            }
            return false;
        }
        if self.quiet && self.oracle.is_late(self.now) {
            self.oracle.stuck(self.now);
            return true;
        }
        self.quiet && at_rest && self.calls.probed >= self.calls.keys
    }

    /// A plant of the articles: the key goes when the call is not known to have succeeded.
    pub(super) fn deletes_on_failure(&self) -> bool {
        self.scenario.plant == Plant::DeleteOnFailure
    }
}
