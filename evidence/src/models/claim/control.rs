//! Designs that are in use and do not work. They run through the same model, with the same properties; if none is
//! found broken, the model sees nothing.

use stanchion_core::claim::{Asked, Claim, Event, Outcome, State, Wish, ask};

use super::system::System;
use super::world::{Closing, Kind, PENDING, World, answer_of, plain, response};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Design {
    /// A placeholder row that is handed out as the answer; removed after any failure; every write by key alone.
    Placeholder,
    /// Whoever finds the lease over takes it; results and removals are written by key alone.
    Unfenced,
    /// Results need the current token, but when the lease is over, the row is gone.
    Vanishing,
}

impl Design {
    /// Three callers that do it this way.
    pub(super) fn system(self) -> System {
        System { losses: false, ..System::new(super::system::Design::Control(self), 3) }
    }

    pub(super) fn ask(self, record: Option<&Claim>, late: bool, wish: &Wish) -> Asked {
        match record.map(|claim| &claim.state) {
            Some(State::Done { outcome, response, .. }) => Asked::Done(*outcome, response.clone()),
            Some(_) if self == Self::Placeholder => Asked::Done(Outcome::Ok, response(PENDING)),
            Some(_) if self == Self::Unfenced && late => ask(record, true, wish),
            Some(_) if self == Self::Vanishing && late => ask(None, false, wish),
            Some(_) => Asked::InFlight,
            None => ask(None, false, wish),
        }
    }

    /// Records what became of caller `i`'s attempt, in one step.
    pub(super) fn close(self, system: &System, world: &mut World, i: usize, closing: Closing) {
        let may_write = match self {
            Self::Placeholder => world.record.is_some(),
            Self::Unfenced => true,
            Self::Vanishing => world.is_mine(i),
        };
        let next = match closing {
            Closing::Tool(kind @ Kind::Works) => {
                world.answered(answer_of(i, 0, kind));
                Some(self.done(system, world, i, closing))
            }
            // Timeouts too: "the caller may try again".
            _ => None,
        };
        if may_write {
            system.write(world, Some(i), next);
        }
        world.over(i, false);
    }

    fn done(self, system: &System, world: &World, i: usize, closing: Closing) -> std::sync::Arc<Claim> {
        let wish = super::world::wish(i, 0, system.callers[i]);
        let Asked::Claim(mut claim) = ask(None, false, &wish) else { panic!("no record, so a claim") };
        claim.attempt.epoch = world.callers[i].epoch;
        let sent = claim.step(Event::Dispatch { by: claim.attempt }).unwrap();
        plain(sent.step(closing.event(world, i)).unwrap())
    }
}
