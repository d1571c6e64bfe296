//! What must be true in every state: I1 to I7 of the specification.

use stanchion_core::Effect;
use stanchion_core::claim::Asked;
use stateright::Property;

use super::system::{Design, System};
use super::world::{World, alone, wish};

pub(super) const ONCE: &str = "I1: at most one effect, unless every caller may repeat it";
pub(super) const NO_AMNESIA: &str = "I2: after an effect the record says that it happened or may have happened";
pub(super) const NOT_AGAIN: &str = "I2: after an effect nobody who must not repeat it is told to run";
pub(in crate::models) const NO_FALSE_SUCCESS: &str = "I3: who is told of a success is told the truth";
pub(super) const AGREEMENT: &str = "I4: all answers are equal, and DONE never changes";
pub(super) const MARK_FIRST: &str = "I5: nothing is sent under an epoch that is not marked";
pub(super) const ONE_WINNER: &str = "I6: one epoch writes DONE";
pub(in crate::models) const ANSWER: &str = "I7: when all others have stopped, a new caller runs or gets an answer";

pub(super) fn all(system: &System) -> Vec<Property<System>> {
    let mut all = vec![
        Property::<System>::always(ONCE, |_, world| !world.seen.repeated),
        Property::<System>::always(NOT_AGAIN, not_again),
        Property::<System>::always(NO_FALSE_SUCCESS, |_, world| !world.seen.false_success),
        Property::<System>::always(AGREEMENT, |_, world| !world.seen.answers_differ && !world.seen.done_changed),
        Property::<System>::always(ONE_WINNER, |_, world| !world.seen.two_winners),
        Property::<System>::always(ANSWER, an_answer),
    ];
    if !matches!(system.design, Design::Control(_)) {
        all.push(Property::<System>::always(MARK_FIRST, |_, world| !world.seen.unmarked_send));
    }
    // With T9 and with rounds, CLAIMED may stand for something that ran before; `NOT_AGAIN` looks at those.
    if system.questions == 0 && system.callers.iter().all(|effect| *effect != Effect::Idempotent) {
        all.push(Property::<System>::always(NO_AMNESIA, |_, world| {
            let remembers = ["dispatched", "unknown", "done", "tombstone"];
            world.seen.effects[0] == 0 || world.state().is_some_and(|state| remembers.contains(&state.name()))
        }));
    }
    all
}

/// A caller that comes now, alone, early or late.
fn newcomer(system: &System, world: &World, late: bool, round: u8) -> Asked {
    let wish = wish(system.callers.len(), round, Effect::NonIdempotent);
    match system.design {
        Design::Control(design) => design.ask(world.record.as_deref(), late, &wish),
        Design::Ours | Design::OursFused => alone(world.record.as_ref(), late, &wish),
    }
}

fn not_again(system: &System, world: &World) -> bool {
    let happened = (0..).zip(world.seen.effects).filter(|(_, effects)| *effects > 0).map(|(round, _)| round);
    let runs = |round: u8, late| matches!(newcomer(system, world, late, round), Asked::Claim(_));
    happened.into_iter().all(|round| !runs(round, false) && !runs(round, true))
}

fn an_answer(system: &System, world: &World) -> bool {
    match newcomer(system, world, true, 0) {
        Asked::InFlight | Asked::Settle(_) | Asked::OtherPayload => false,
        // An answer that nobody has given: the seed's placeholder.
        Asked::Done(_, response) => super::world::which(&response) != super::world::PENDING,
        Asked::Claim(_) | Asked::Suspended(_) | Asked::Unknown(_) | Asked::UsedUp(_) => true,
    }
}
