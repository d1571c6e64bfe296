//! Things that are looked through one by one: behind the loop, none of them was what was looked for.

use super::Engine;
use super::compared::Says;
use super::value::Origins;

/// A loop that is being run.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// What stood around it.
    guards: usize,
    conditions: usize,
    said: usize,
    /// What was asked wherever the call ends inside of it, and at every `break` out of it.
    left: Origins,
    broken: Origins,
}

impl Engine<'_> {
    pub(super) fn round_begins(&mut self) {
        let (guards, conditions) = (self.here.guards.len(), self.here.conditions.len());
        let round = Round { guards, conditions, said: self.here.said.len(), ..Round::default() };
        if let Some(frame) = self.frames.last_mut() {
            frame.rounds.push(round);
        }
    }

    /// `return`, `throw`: whoever goes on behind the loop has not come here.
    pub(super) fn round_left(&mut self) {
        let asked = self.asked_in_round();
        if let Some(round) = self.frames.last_mut().and_then(|frame| frame.rounds.last_mut()) {
            round.left = round.left.with(&asked);
        }
    }

    /// `break`: nor has whoever comes to the loop's `else`.
    pub(super) fn round_broken(&mut self) {
        let asked = self.asked_in_round();
        if let Some(round) = self.frames.last_mut().and_then(|frame| frame.rounds.last_mut()) {
            round.broken = round.broken.with(&asked);
        }
    }

    /// What conditions in the innermost loop ask that compare what they look at with something of the caller. Where nothing was
    /// found, there is something behind the loop.
    fn asked_in_round(&self) -> Origins {
        let Some(round) = self.frames.last().and_then(|frame| frame.rounds.last()) else { return Origins::default() };
        let mut around = self.here.conditions.iter().skip(round.conditions);
        if !around.any(|around| around.text.contains('$')) {
            return Origins::default();
        }
        let absent = self.here.said.iter().skip(round.said).filter(|(says, _)| *says == Says::Absent);
        let absent = absent.fold(Origins::default(), |all, (_, one)| all.with(one));
        let all = self.here.guards.iter().skip(round.guards).fold(Origins::default(), |all, one| all.with(one));
        let found = all.iter().filter(|id| !absent.contains(*id));
        found.fold(Origins::default(), |all, id| all.with(&Origins::one(id)))
    }

    /// What was asked of each of them, for what comes behind the loop, and for its `else`.
    pub(super) fn round_ends(&mut self) -> (Origins, Origins) {
        let rounds = self.frames.last_mut().map(|frame| &mut frame.rounds);
        let Some((round, rounds)) = rounds.and_then(|rounds| Some((rounds.pop()?, rounds))) else {
            return (Origins::default(), Origins::default());
        };
        if let Some(outer) = rounds.last_mut() {
            outer.left = outer.left.with(&round.left);
        }
        let both = round.left.with(&round.broken);
        (round.left, both)
    }
}
