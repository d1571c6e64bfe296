//! What can happen. Every caller's decision is made by the real `ask` and `Claim::step`.

use std::sync::Arc;

use stanchion_core::Effect;
use stanchion_core::claim::{Asked, Claim, Event, Gone, Note, Outcome, Refused, State, Verdict};
use stateright::{Model, Property};

use super::control;
use super::happened::{Happened, What};
use super::world::{Caller, Closing, FOUND, Kind, Phase, Reconciling, Then, Wire, World};
use super::world::{answer_of, plain, response, which, wish};
use crate::models::check::Judged;

/// Who settles UNKNOWN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reconciler {
    Nobody,
    /// First it makes sure that neither the owner nor its request can act any more, then it looks for the effect.
    GoneThenProbe,
    /// The same two in the other order.
    ProbeThenGone,
    /// It makes sure of the owner, but not of what the owner has sent.
    OwnerGoneThenProbe,
    /// It looks for the effect only.
    Naive,
}

/// What removes records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaper {
    Nobody,
    /// RETRYABLE only: what is final, and of no use.
    Finished,
    /// By age, whatever the state.
    Anything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Design {
    Ours,
    /// Claim and mark in one write.
    OursFused,
    Control(control::Design),
}

#[derive(Debug)]
pub(super) struct System {
    pub(super) design: Design,
    /// One for each caller: how it may repeat.
    pub(super) callers: Vec<Effect>,
    /// The tool asks for input so many times before it works.
    pub(super) questions: u8,
    /// The tool may also fail for good.
    pub(super) failures: bool,
    /// Writes and their answers get lost.
    pub(super) losses: bool,
    /// Lost writes may still arrive.
    pub(super) strays: bool,
    /// A bug to be found: a caller whose outcome is refused hands out its own answer instead of the record's.
    pub(super) hands_out_refused: bool,
    pub(super) reconciler: Reconciler,
    pub(super) reaper: Reaper,
    /// A check in which one of these never happened proves nothing.
    pub(super) must_happen: Vec<What>,
    pub(super) happened: Happened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Ask(usize),
    /// The same; the record stood unchanged for long enough.
    AskLate(usize),
    WriteArrives(usize),
    /// Written, and nobody hears of it.
    WriteAnswerLost(usize),
    WriteLost(usize),
    StrayWriteArrives(usize),
    Recover(usize),
    Mark(usize),
    Beat(usize),
    BeatAnswerLost(usize),
    /// Called off before anything was sent.
    CallOff(usize),
    Send(usize),
    Tool(usize, Kind),
    RequestLost(usize),
    AnswerArrives(usize),
    TimeOut(usize),
    Close(usize),
    Crash(usize),
    Reap,
    SeeOwnerGone,
    SeeNoEffect,
    SettleDone,
    SettleNotExecuted,
}

impl System {
    pub(super) fn new(design: Design, callers: usize) -> Self {
        Self {
            design,
            callers: vec![Effect::NonIdempotent; callers],
            questions: 0,
            failures: false,
            losses: true,
            strays: false,
            hands_out_refused: false,
            reconciler: Reconciler::Nobody,
            reaper: Reaper::Nobody,
            must_happen: Vec::new(),
            happened: Happened::default(),
        }
    }

    pub(super) fn ask(&self, record: Option<&Claim>, late: bool, wish: &stanchion_core::claim::Wish) -> Asked {
        match self.design {
            Design::Ours | Design::OursFused => stanchion_core::claim::ask(record, late, wish),
            Design::Control(design) => design.ask(record, late, wish),
        }
    }

    /// The record becomes `next`, by caller `by` or by nobody in particular.
    pub(super) fn write(&self, world: &mut World, by: Option<usize>, next: Option<Arc<Claim>>) {
        let before = std::mem::replace(&mut world.record, next);
        world.invalidate(by);
        self.happened.transition(before.as_deref(), world.record.as_deref());
        let (was_done, seen) = (before.as_ref().is_some_and(|c| c.state.name() == "done"), &mut world.seen);
        match world.record.as_deref() {
            Some(claim) if claim.state.name() == "dispatched" => {
                let owner = (0..self.callers.len()).find(|i| super::world::owner(*i) == claim.attempt.owner);
                seen.marked[owner.unwrap()] = true;
            }
            Some(Claim { state: State::Done { .. }, .. }) => {
                seen.done_changed |= was_done;
                seen.two_winners |= seen.done;
                seen.done = true;
            }
            Some(Claim { state: State::Tombstone { outcome, response }, .. }) => {
                let same = before.as_ref().is_some_and(|claim| match &claim.state {
                    State::Done { outcome: was, response: full, .. } => {
                        was == outcome && full.without_body() == *response
                    }
                    _ => false,
                });
                seen.done_changed |= !same;
            }
            _ => seen.done_changed |= was_done || before.is_some_and(|c| c.state.name() == "tombstone"),
        }
    }

    /// What caller `i` does with what `ask` says; `None` if it goes on waiting.
    fn follow(&self, world: &mut World, i: usize, asked: Asked) -> Option<()> {
        match asked {
            Asked::Claim(claim) => {
                let claim = match self.design {
                    Design::OursFused => claim.step(Event::Dispatch { by: claim.attempt }).unwrap(),
                    Design::Ours | Design::Control(_) => claim,
                };
                world.callers[i].epoch = claim.attempt.epoch;
                world.seen.marked[i] = false;
                world.callers[i].phase = Phase::Write { next: Some(plain(claim)), then: Then::Claimed };
            }
            Asked::Settle(claim) => {
                world.callers[i].phase = Phase::Write { next: Some(plain(claim)), then: Then::Ask };
            }
            Asked::InFlight => return None,
            Asked::Done(_, response) => {
                world.answered(which(&response));
                world.over(i, false);
            }
            Asked::Suspended(question) => go_on(world, i, which(&question) / 16),
            Asked::Unknown(_) | Asked::UsedUp(_) => world.over(i, false),
            Asked::OtherPayload => panic!("all callers ask for the same"),
        }
        Some(())
    }

    fn write_done(&self, world: &mut World, i: usize, then: Then) {
        let round = world.callers[i].round;
        match then {
            Then::Claimed if self.design == Design::Ours => world.callers[i].phase = Phase::Held { fresh: true },
            Then::Claimed | Then::Marked => world.callers[i].phase = Phase::Marked,
            Then::Ask => world.callers[i].phase = Phase::Ask,
            Then::Closed(Closing::Tool(kind @ (Kind::Works | Kind::Fails))) => {
                world.answered(answer_of(i, round, kind));
                world.over(i, false);
            }
            Then::Closed(Closing::Tool(Kind::Asks)) => go_on(world, i, round),
            Then::Closed(Closing::Tool(Kind::Refuses) | Closing::NotSent | Closing::Doubt) => world.over(i, false),
        }
    }

    /// A write was refused, or nobody knows what became of it: read again.
    fn write_unclear(world: &mut World, i: usize, then: Then) {
        world.callers[i].phase = match then {
            Then::Claimed | Then::Marked => Phase::Recover,
            Then::Ask => Phase::Ask,
            Then::Closed(closing) => Phase::Close(closing),
        };
    }

    /// Nothing was sent yet: either the attempt stands, or it is as if it had never been.
    fn recover(world: &mut World, i: usize) {
        let mine = world.is_mine(i);
        world.callers[i].phase = match world.state() {
            Some(State::Claimed { .. }) if mine => Phase::Held { fresh: true },
            Some(State::Dispatched { .. }) if mine => Phase::Marked,
            Some(State::Unknown { .. }) if mine => Phase::Close(Closing::NotSent),
            _ => Phase::Ask,
        };
        if world.callers[i].phase == Phase::Ask {
            world.callers[i].epoch = 0;
        }
    }

    fn close(&self, world: &mut World, i: usize, closing: Closing) -> Option<()> {
        if let Design::Control(design) = self.design {
            design.close(self, world, i, closing);
            return Some(());
        }
        let event = closing.event(world, i);
        match world.record.as_ref().map(|claim| claim.step(event)) {
            Some(Ok(next)) => {
                world.callers[i].phase = Phase::Write { next: Some(plain(next)), then: Then::Closed(closing) };
                return Some(());
            }
            Some(Err(refused)) => self.happened.count(What::Fenced, refused == Refused::Stale && !world.is_mine(i)),
            None => {}
        }
        if let (true, Closing::Tool(kind @ (Kind::Works | Kind::Fails))) = (self.hands_out_refused, closing) {
            world.answered(answer_of(i, world.callers[i].round, kind));
        }
        // Something was sent, so it asks only for the answer: whatever else the record says, it does not run again.
        let Caller { round, .. } = world.callers[i];
        match self.ask(world.record.as_deref(), false, &wish(i, round, self.callers[i])) {
            asked @ (Asked::Done(..) | Asked::Suspended(_)) => self.follow(world, i, asked),
            _ => {
                world.over(i, false);
                Some(())
            }
        }
    }

    fn settle(&self, world: &mut World, verdict: Verdict) -> Option<()> {
        let note = Note { at_ms: 0, by: String::new(), text: String::new() };
        let executed = matches!(verdict, Verdict::Done { .. });
        self.happened.count(if executed { What::SettledDone } else { What::SettledNotExecuted }, true);
        let next = world.record.as_ref()?.step(Event::Settle { verdict, note }).ok()?;
        self.write(world, None, Some(plain(next)));
        Some(())
    }
}

/// The client is asked for input, and comes back with it.
fn go_on(world: &mut World, i: usize, question: u8) {
    let caller = &mut world.callers[i];
    (caller.phase, caller.epoch, caller.wire, caller.round) = (Phase::Ask, 0, Wire::Nothing, question + 1);
}

impl Model for System {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.callers.len())]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for i in 0..self.callers.len() {
            self.caller_steps(world, i, steps);
        }
        if self.reconciler != Reconciler::Nobody {
            self.reconciler_steps(world, steps);
        }
        let reaped = match self.reaper {
            Reaper::Nobody => false,
            Reaper::Finished => matches!(world.state(), Some(State::Retryable { .. })),
            Reaper::Anything => world.record.is_some(),
        };
        let vanishes = self.design == Design::Control(control::Design::Vanishing)
            && matches!(world.state(), Some(State::Claimed { .. }));
        if reaped || vanishes {
            steps.push(Step::Reap);
        }
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        let mut world = last.clone();
        match step {
            Step::Ask(i) | Step::AskLate(i) => {
                let wish = wish(i, last.callers[i].round, self.callers[i]);
                let asked = self.ask(last.record.as_deref(), matches!(step, Step::AskLate(_)), &wish);
                self.follow(&mut world, i, asked)?;
            }
            Step::WriteArrives(i) | Step::WriteAnswerLost(i) => {
                let Phase::Write { next, then } = last.callers[i].phase.clone() else { return None };
                let (applied, heard) = (next.is_some(), matches!(step, Step::WriteArrives(_)));
                if applied {
                    self.happened.written(last.state(), then);
                    self.write(&mut world, Some(i), next);
                }
                self.happened.count(What::Conflict, !applied);
                self.happened.count(What::AnswerLost, applied && !heard);
                if applied && heard {
                    self.write_done(&mut world, i, then);
                } else {
                    Self::write_unclear(&mut world, i, then);
                }
            }
            Step::WriteLost(i) => {
                let Phase::Write { next, then } = last.callers[i].phase.clone() else { return None };
                Self::write_unclear(&mut world, i, then);
                if self.strays && world.callers[i].stray.is_none() {
                    world.callers[i].stray = next;
                }
            }
            Step::StrayWriteArrives(i) => {
                let next = last.callers[i].stray.clone();
                self.write(&mut world, None, next);
                self.happened.count(What::Stray, true);
            }
            Step::Recover(i) => Self::recover(&mut world, i),
            Step::Mark(i) => {
                let fresh = last.callers[i].phase == Phase::Held { fresh: true };
                let marked = |claim: &Arc<Claim>| plain(claim.step(Event::Dispatch { by: claim.attempt }).unwrap());
                let next = last.record.as_ref().filter(|_| fresh).map(marked);
                world.callers[i].phase = Phase::Write { next, then: Then::Marked };
            }
            Step::Beat(i) | Step::BeatAnswerLost(i) => {
                let claim = last.record.as_ref()?;
                // In UNKNOWN nothing is renewed.
                let same = claim.step(Event::Beat { by: claim.attempt }).ok()?;
                assert_eq!(**claim, same, "a beat changes nothing but the version");
                world.invalidate((step == Step::Beat(i)).then_some(i));
            }
            Step::CallOff(i) => world.callers[i].phase = Phase::Close(Closing::NotSent),
            Step::Send(i) => {
                world.seen.unmarked_send |= !last.seen.marked[i];
                (world.callers[i].phase, world.callers[i].wire) = (Phase::Sent, Wire::Request);
            }
            Step::Tool(i, kind) => {
                world.callers[i].wire = Wire::Answer(kind);
                if matches!(kind, Kind::Works | Kind::Asks) {
                    world.effect(i, self.callers[i]);
                }
                if last.callers[i].phase == Phase::Dead {
                    world.over(i, true);
                }
            }
            Step::RequestLost(i) => {
                world.callers[i].wire = Wire::Nothing;
                if matches!(last.callers[i].phase, Phase::Over | Phase::Dead) {
                    world.over(i, last.callers[i].phase == Phase::Dead);
                }
            }
            Step::AnswerArrives(i) => {
                let Wire::Answer(kind) = last.callers[i].wire else { return None };
                world.callers[i].wire = Wire::Nothing;
                world.callers[i].phase = Phase::Close(Closing::Tool(kind));
            }
            Step::TimeOut(i) => world.callers[i].phase = Phase::Close(Closing::Doubt),
            Step::Close(i) => {
                let Phase::Close(closing) = last.callers[i].phase else { return None };
                self.close(&mut world, i, closing)?;
            }
            // One that stops for good differs from one that has its answer only for a reconciler.
            Step::Crash(i) => world.over(i, self.reconciler != Reconciler::Nobody),
            Step::Reap => self.write(&mut world, None, None),
            Step::SeeOwnerGone => world.reconciling = Reconciling::OwnerIsGone,
            Step::SeeNoEffect => world.reconciling = Reconciling::NoEffectSeen,
            Step::SettleDone => {
                let keep = std::time::Duration::from_secs(60);
                self.settle(&mut world, Verdict::Done { outcome: Outcome::Ok, response: response(FOUND), keep })?;
            }
            Step::SettleNotExecuted => self.settle(&mut world, Verdict::NotExecuted { gone: Gone::Exited })?,
        }
        world.renumber();
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        super::properties::all(self)
    }
}

impl Judged for System {
    fn never_happened(&self) -> Vec<String> {
        let never = self.must_happen.iter().filter(|what| self.happened.of(**what) == 0);
        never.map(|what| format!("never happened: {what:?}")).collect()
    }
}
