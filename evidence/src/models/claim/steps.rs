//! What can happen next.

use stanchion_core::claim::State;

use super::system::{Reconciler, Step, System};
use super::world::{Caller, Kind, Phase, Reconciling, Wire, World};

impl System {
    /// Is it proven that the last attempt has no effect any more?
    fn owner_is_gone(&self, world: &World) -> bool {
        let Some(owner) = world.record_owner() else { return false };
        let owner = &world.callers[owner];
        owner.phase == Phase::Dead && (owner.wire == Wire::Nothing || self.reconciler == Reconciler::OwnerGoneThenProbe)
    }

    pub(super) fn caller_steps(&self, world: &World, i: usize, steps: &mut Vec<Step>) {
        let caller = &world.callers[i];
        match &caller.phase {
            Phase::Ask => {
                steps.push(Step::Ask(i));
                if world.state().is_some_and(|state| state.lapses_after().is_some()) {
                    steps.push(Step::AskLate(i));
                }
            }
            Phase::Write { next: Some(_), .. } if self.losses => {
                steps.extend([Step::WriteArrives(i), Step::WriteAnswerLost(i), Step::WriteLost(i)]);
            }
            Phase::Write { .. } => steps.push(Step::WriteArrives(i)),
            Phase::Recover => steps.push(Step::Recover(i)),
            Phase::Held { fresh } => {
                steps.extend([Step::Mark(i), Step::CallOff(i)]);
                if *fresh && self.losses {
                    steps.push(Step::BeatAnswerLost(i));
                }
            }
            Phase::Marked => steps.extend([Step::Send(i), Step::CallOff(i)]),
            Phase::Sent => steps.push(Step::TimeOut(i)),
            Phase::Close(_) => steps.push(Step::Close(i)),
            Phase::Over | Phase::Dead => {}
        }
        let others_write = |(j, other): (usize, &Caller)| {
            j != i && (matches!(other.phase, Phase::Write { next: Some(_), .. }) || other.stray.is_some())
        };
        let lives = matches!(caller.phase, Phase::Held { fresh: true } | Phase::Marked | Phase::Sent);
        // A beat changes nothing but the version.
        if lives && world.is_mine(i) && world.callers.iter().enumerate().any(others_write) {
            steps.push(Step::Beat(i));
        }
        match caller.wire {
            Wire::Nothing => {}
            Wire::Request => {
                let kind = if caller.round < self.questions { Kind::Asks } else { Kind::Works };
                steps.extend([Step::Tool(i, kind), Step::Tool(i, Kind::Refuses)]);
                steps.extend(self.failures.then_some(Step::Tool(i, Kind::Fails)));
                steps.extend((self.reconciler != Reconciler::Nobody).then_some(Step::RequestLost(i)));
            }
            Wire::Answer(_) if matches!(caller.phase, Phase::Sent | Phase::Over) => steps.push(Step::AnswerArrives(i)),
            Wire::Answer(_) => {}
        }
        if caller.stray.is_some() {
            steps.push(Step::StrayWriteArrives(i));
        }
        if !matches!(caller.phase, Phase::Over | Phase::Dead) {
            steps.push(Step::Crash(i));
        }
    }

    pub(super) fn reconciler_steps(&self, world: &World, steps: &mut Vec<Step>) {
        if !matches!(world.state(), Some(State::Unknown { .. })) {
            return;
        }
        let happened = world.seen.effects[0] > 0;
        if happened {
            steps.push(Step::SettleDone);
        }
        match (self.reconciler, world.reconciling) {
            (Reconciler::Naive, _) | (_, Reconciling::OwnerIsGone) if !happened => steps.push(Step::SettleNotExecuted),
            (Reconciler::GoneThenProbe | Reconciler::OwnerGoneThenProbe, Reconciling::Idle)
                if self.owner_is_gone(world) =>
            {
                steps.push(Step::SeeOwnerGone);
            }
            (Reconciler::ProbeThenGone, Reconciling::Idle) if !happened => steps.push(Step::SeeNoEffect),
            (_, Reconciling::NoEffectSeen) if self.owner_is_gone(world) => steps.push(Step::SettleNotExecuted),
            _ => {}
        }
    }
}
