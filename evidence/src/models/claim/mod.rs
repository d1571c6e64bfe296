//! The claim machine: every interleaving of a few callers with one key. Each decision is made by the
//! real `ask` and the real `Claim::step`; the record, the wire and the tool are the model's.
//!
//! A caller asks, claims, marks, sends, records the outcome. Between any two steps it may stand still, crash, or find
//! that its lease is over; a write, its answer, the request and the tool's answer may be lost or late. The request is
//! on its own once it is sent: it may be carried out after its sender has given up or died. Time is not modelled:
//! whoever reads may find that any lease has lapsed, so no assumption on clocks is left.

#![expect(clippy::unwrap_used, reason = "a step that the model does not allow ends the check by panicking")]

mod control;
mod happened;
mod properties;
mod steps;
mod system;
mod world;

use stanchion_core::Effect;

use self::happened::What;
use self::properties::{AGREEMENT, NO_AMNESIA, NOT_AGAIN, ONCE};
pub(super) use self::properties::{ANSWER, NO_FALSE_SUCCESS};
use self::system::{Design, Reaper, Reconciler, System};
use super::check::{Case, Control};

/// In every variant of our design.
const ALWAYS: [What; 7] =
    [What::LateEvidence, What::LateNoEffect, What::Doubted, What::Lapsed, What::Retried, What::Buried, What::Conflict];
/// In calls of several rounds.
const ROUNDS: [What; 5] = [What::Suspended, What::Continued, What::SuspensionLapsed, What::Lapsed, What::LateEvidence];

impl System {
    /// Ours, in which all that happens in every variant must happen, and this, too.
    fn ours(design: Design, callers: usize, must_happen: &[What]) -> Self {
        Self { must_happen: [&ALWAYS, must_happen].concat(), ..Self::new(design, callers) }
    }

    fn rounds(design: Design, callers: usize, questions: u8) -> Self {
        Self { questions, losses: false, must_happen: ROUNDS.to_vec(), ..Self::new(design, callers) }
    }

    fn claim_then_mark(callers: usize) -> Self {
        Self::ours(Design::Ours, callers, &[What::Takeover, What::Fenced, What::AnswerLost])
    }

    fn strays(design: Design, callers: usize) -> Self {
        Self { strays: true, ..Self::ours(design, callers, &[What::Stray, What::AnswerLost]) }
    }

    fn reconciled(design: Design, callers: usize) -> Self {
        let must_happen = [What::SettledDone, What::SettledNotExecuted];
        Self { reconciler: Reconciler::GoneThenProbe, ..Self::ours(design, callers, &must_happen) }
    }

    fn repeating(design: Design, callers: usize) -> Self {
        let must_happen = [What::RunAgain, What::Fenced];
        let repeating = vec![Effect::Idempotent; callers];
        Self { callers: repeating, losses: false, ..Self::ours(design, callers, &must_happen) }
    }
}

pub(super) fn cases() -> Vec<Case> {
    let case = |name, callers, least, make: fn() -> System| Case::new("claim", name, callers, least, make);
    vec![
        case("claim then mark", 3, 10_000, || System::claim_then_mark(3)),
        case("claim and mark in one", 3, 10_000, || System::ours(Design::OursFused, 3, &[What::AnswerLost])),
        case("stray writes", 2, 1_000, || System { failures: true, ..System::strays(Design::Ours, 2) }),
        case("stray writes, claim and mark in one", 2, 1_000, || System {
            failures: true,
            ..System::strays(Design::OursFused, 2)
        }),
        case("stray writes, claim and mark in one", 3, 10_000, || System::strays(Design::OursFused, 3)),
        case("final failures", 3, 10_000, || System {
            failures: true,
            losses: false,
            ..System::ours(Design::Ours, 3, &[])
        }),
        case("reaper", 3, 10_000, || System { reaper: Reaper::Finished, ..System::ours(Design::Ours, 3, &[]) }),
        case("reconciler with proof, claim and mark in one", 3, 10_000, || System::reconciled(Design::OursFused, 3)),
        case("reconciler with proof", 3, 10_000, || System { losses: false, ..System::reconciled(Design::Ours, 3) }),
        case("2 rounds, claim and mark in one", 2, 1_000, || System::rounds(Design::OursFused, 2, 1)),
        case("2 rounds", 2, 1_000, || System::rounds(Design::Ours, 2, 1)),
        case("4 rounds, claim and mark in one", 2, 1_000, || System::rounds(Design::OursFused, 2, 3)),
        case("2 rounds, lost writes and answers", 2, 1_000, || System {
            losses: true,
            ..System::rounds(Design::OursFused, 2, 1)
        }),
        case("2 rounds, claim and mark in one", 3, 10_000, || System::rounds(Design::OursFused, 3, 1)),
        case("idempotent", 3, 10_000, || System::repeating(Design::Ours, 3)),
        case("two that may repeat, one that must not", 3, 10_000, || System {
            callers: vec![Effect::Idempotent, Effect::Idempotent, Effect::NonIdempotent],
            losses: false,
            must_happen: vec![What::RunAgain],
            ..System::new(Design::OursFused, 3)
        }),
        case("claim and mark in one", 4, 100_000, || System::ours(Design::OursFused, 4, &[What::AnswerLost])).long(),
        case("claim then mark, no losses", 4, 100_000, || System {
            losses: false,
            ..System::ours(Design::Ours, 4, &[What::Takeover, What::Fenced])
        })
        .long(),
        case("stray writes", 3, 100_000, || System::strays(Design::Ours, 3)).long(),
        case("reconciler with proof, losses", 3, 40_000, || System::reconciled(Design::Ours, 3)).long(),
        case("2 rounds", 3, 100_000, || System::rounds(Design::Ours, 3, 1)).long(),
        case("idempotent", 4, 100_000, || System::repeating(Design::OursFused, 4)).long(),
    ]
}

pub(super) fn controls() -> Vec<Control> {
    let control = |name, property, make: fn() -> System| Control::new("claim", name, property, make);
    let mut all = vec![
        control("naive reconciler", ONCE, || System {
            reconciler: Reconciler::Naive,
            ..System::new(Design::OursFused, 2)
        }),
        control("probe, then proof", ONCE, || System {
            reconciler: Reconciler::ProbeThenGone,
            ..System::new(Design::OursFused, 2)
        }),
        control("owner gone, request on its way", ONCE, || System {
            reconciler: Reconciler::OwnerGoneThenProbe,
            ..System::new(Design::OursFused, 2)
        }),
        control("own answer after a repetition", AGREEMENT, || System {
            hands_out_refused: true,
            ..System::repeating(Design::OursFused, 2)
        }),
        control("own answer after a settlement", AGREEMENT, || System {
            losses: false,
            hands_out_refused: true,
            ..System::reconciled(Design::OursFused, 2)
        }),
    ];
    let reaper: fn() -> System = || System { reaper: Reaper::Anything, ..System::new(Design::Ours, 2) };
    all.extend([ONCE, NO_AMNESIA].map(|property| control("reaper of anything", property, reaper)));
    let placeholder: fn() -> System = || control::Design::Placeholder.system();
    let properties = [ONCE, NOT_AGAIN, NO_FALSE_SUCCESS, AGREEMENT, ANSWER];
    all.extend(properties.map(|property| control("placeholder, deleted on failure", property, placeholder)));
    let unfenced: fn() -> System = || control::Design::Unfenced.system();
    all.extend([ONCE, AGREEMENT, NOT_AGAIN].map(|property| control("lease without a fence", property, unfenced)));
    let vanishing: fn() -> System = || control::Design::Vanishing.system();
    all.extend([ONCE, NOT_AGAIN].map(|property| control("fenced lease that vanishes", property, vanishing)));
    all
}
