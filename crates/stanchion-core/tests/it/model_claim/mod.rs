//! The claim machine, model-checked: every interleaving of a few callers with one key. Each decision is made by the
//! real `ask` and the real `Claim::step`; the record, the wire and the tool are the model's.
//!
//! A caller asks, claims, marks, sends, records the outcome. Between any two steps it may stand still, crash, or find
//! that its lease is over; a write, its answer, the request and the tool's answer may be lost or late. The request is
//! on its own once it is sent: it may be carried out after its sender has given up or died. Time is not modelled:
//! whoever reads may find that any lease has lapsed, so no assumption on clocks is left.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

mod control;
mod happened;
mod properties;
mod steps;
mod system;
mod world;

use std::time::Instant;

use stanchion_core::Effect;
use stateright::{Checker, HasDiscoveries, Model};

use self::happened::{Happened, What};
use self::properties::{AGREEMENT, ANSWER, NO_AMNESIA, NO_FALSE_SUCCESS, NOT_AGAIN, ONCE};
use self::system::{Design, Reaper, Reconciler, System};

impl System {
    /// Visits every reachable state; panics if a property fails, or if something that must happen never did.
    fn stays_clean(self, name: &str, least: usize, must_happen: &[What]) {
        let started = Instant::now();
        let checker = self.checker().threads(1).spawn_bfs().join();
        let (states, happened) = (checker.unique_state_count(), &checker.model().happened);
        eprintln!("model claim, {name}: {states} unique states, {} ms, {happened:?}", started.elapsed().as_millis());
        checker.assert_properties();
        assert!(checker.is_done(), "void: the check of {name} did not visit every state");
        assert!(states > least, "void: {name} has only {states} states");
        for what in must_happen {
            assert!(happened.of(*what) > 0, "void: {what:?} never happened in {name}");
        }
    }

    /// The shortest way to break `property`, one step deeper each time; panics as void if there is none.
    fn breaks(&self, name: &str, property: &'static str) {
        let started = Instant::now();
        for depth in 1..=30 {
            let found = HasDiscoveries::AnyOf([property].into());
            let same = Self { happened: Happened::default(), callers: self.callers.clone(), ..*self };
            let checker = same.checker().threads(1).target_max_depth(depth).finish_when(found).spawn_bfs().join();
            let Some(path) = checker.discovery(property) else { continue };
            let (states, steps) = (checker.unique_state_count(), path.into_actions());
            let took = started.elapsed().as_millis();
            eprintln!(
                "model claim, {name}: broken in {} steps ({states} unique states, {took} ms), {property}: {steps:?}",
                steps.len()
            );
            return;
        }
        panic!("void: {name} should break {property:?}, and did not");
    }
}

/// In every variant of our design.
const ALWAYS: [What; 7] =
    [What::LateEvidence, What::LateNoEffect, What::Doubted, What::Lapsed, What::Retried, What::Buried, What::Conflict];

#[test]
fn callers_that_claim_and_then_mark_have_one_effect() {
    let must = [&ALWAYS[..], &[What::Takeover, What::Fenced, What::AnswerLost]].concat();
    System::new(Design::Ours, 3).stays_clean("claim then mark, 3 callers", 10_000, &must);
}

#[test]
fn callers_that_claim_and_mark_at_once_have_one_effect() {
    let must = [&ALWAYS[..], &[What::AnswerLost]].concat();
    System::new(Design::OursFused, 3).stays_clean("claim and mark in one, 3 callers", 10_000, &must);
}

#[test]
fn writes_that_arrive_after_they_were_given_up_do_no_harm() {
    let must = [&ALWAYS[..], &[What::Stray, What::AnswerLost]].concat();
    let strays = |design| System { strays: true, failures: true, ..System::new(design, 2) };
    strays(Design::Ours).stays_clean("stray writes, 2 callers", 1_000, &must);
    strays(Design::OursFused).stays_clean("stray writes, claim and mark in one, 2 callers", 1_000, &must);
    let three = System { failures: false, callers: vec![Effect::NonIdempotent; 3], ..strays(Design::OursFused) };
    three.stays_clean("stray writes, claim and mark in one, 3 callers", 10_000, &must);
}

#[test]
fn a_failure_for_good_is_an_answer_like_a_success() {
    let system = System { failures: true, losses: false, ..System::new(Design::Ours, 3) };
    system.stays_clean("final failures, 3 callers", 10_000, &ALWAYS);
}

#[test]
fn a_reaper_of_finished_records_does_no_harm() {
    let system = System { reaper: Reaper::Finished, ..System::new(Design::Ours, 3) };
    system.stays_clean("reaper, 3 callers", 10_000, &ALWAYS);
}

#[test]
fn control_a_reaper_that_ignores_the_state_is_found() {
    let reaper = System { reaper: Reaper::Anything, ..System::new(Design::Ours, 2) };
    reaper.breaks("reaper of anything", ONCE);
    reaper.breaks("reaper of anything", NO_AMNESIA);
}

#[test]
fn a_reconciler_that_first_proves_the_owner_gone_does_no_harm() {
    let must = [&ALWAYS[..], &[What::SettledDone, What::SettledNotExecuted]].concat();
    let system = |design| System { reconciler: Reconciler::GoneThenProbe, ..System::new(design, 3) };
    system(Design::OursFused).stays_clean("reconciler with proof, 3 callers", 10_000, &must);
    let few = System { losses: false, ..system(Design::Ours) };
    few.stays_clean("reconciler with proof, claim then mark, 3 callers", 10_000, &must);
}

#[test]
fn control_a_reconciler_without_proof_is_found() {
    let naive = System { reconciler: Reconciler::Naive, ..System::new(Design::OursFused, 2) };
    naive.breaks("naive reconciler", ONCE);
}

#[test]
fn control_a_reconciler_that_looks_before_the_owner_is_gone_is_found() {
    let hasty = System { reconciler: Reconciler::ProbeThenGone, ..System::new(Design::OursFused, 2) };
    hasty.breaks("probe, then proof", ONCE);
}

#[test]
fn control_a_request_that_outlives_its_sender_defeats_the_proof() {
    let half = System { reconciler: Reconciler::OwnerGoneThenProbe, ..System::new(Design::OursFused, 2) };
    half.breaks("owner gone, request on its way", ONCE);
}

#[test]
fn a_call_that_asks_for_input_has_each_of_its_rounds_once() {
    let must = [What::Suspended, What::Continued, What::SuspensionLapsed, What::Lapsed, What::LateEvidence];
    let rounds = |design, questions| System { questions, losses: false, ..System::new(design, 2) };
    rounds(Design::OursFused, 1).stays_clean("2 rounds, claim and mark in one", 1_000, &must);
    rounds(Design::Ours, 1).stays_clean("2 rounds", 1_000, &must);
    rounds(Design::OursFused, 3).stays_clean("4 rounds", 1_000, &must);
    let lossy = System { losses: true, ..rounds(Design::OursFused, 1) };
    lossy.stays_clean("2 rounds, lost writes and answers", 1_000, &must);
    let three = System { questions: 1, losses: false, ..System::new(Design::OursFused, 3) };
    three.stays_clean("2 rounds, 3 callers", 10_000, &must);
}

#[test]
fn callers_that_may_repeat_agree_on_one_answer() {
    let must = [&ALWAYS[..], &[What::RunAgain, What::Fenced]].concat();
    let callers = vec![Effect::Idempotent; 3];
    let system = System { callers, losses: false, ..System::new(Design::Ours, 3) };
    system.stays_clean("idempotent, 3 callers", 10_000, &must);
}

#[test]
fn control_an_answer_that_is_not_the_recorded_one_is_found() {
    let callers = vec![Effect::Idempotent; 2];
    let repeats = System { callers, losses: false, hands_out_refused: true, ..System::new(Design::OursFused, 2) };
    repeats.breaks("own answer after a repetition", AGREEMENT);
    let reconciler = Reconciler::GoneThenProbe;
    let settled = System { reconciler, losses: false, hands_out_refused: true, ..System::new(Design::OursFused, 2) };
    settled.breaks("own answer after a settlement", AGREEMENT);
}

#[test]
fn a_caller_that_must_not_repeat_is_not_misled_by_those_that_may() {
    let callers = vec![Effect::Idempotent, Effect::Idempotent, Effect::NonIdempotent];
    let system = System { callers, losses: false, ..System::new(Design::OursFused, 3) };
    system.stays_clean("two that may repeat, one that must not", 10_000, &[What::RunAgain]);
}

#[test]
fn control_a_placeholder_that_is_handed_out_is_found() {
    let seed = System { losses: false, ..System::new(Design::Control(control::Design::Placeholder), 3) };
    seed.breaks("placeholder row", ONCE);
    seed.breaks("placeholder row", NOT_AGAIN);
    seed.breaks("placeholder row", NO_FALSE_SUCCESS);
    seed.breaks("placeholder row", AGREEMENT);
    seed.breaks("placeholder row", ANSWER);
}

#[test]
fn control_a_lease_without_a_fence_is_found() {
    let unfenced = System { losses: false, ..System::new(Design::Control(control::Design::Unfenced), 3) };
    unfenced.breaks("lease without a fence", ONCE);
    unfenced.breaks("lease without a fence", AGREEMENT);
    unfenced.breaks("lease without a fence", NOT_AGAIN);
}

#[test]
fn control_a_fenced_lease_that_vanishes_is_found() {
    let vanishing = System { losses: false, ..System::new(Design::Control(control::Design::Vanishing), 3) };
    vanishing.breaks("fenced lease that vanishes", ONCE);
    vanishing.breaks("fenced lease that vanishes", NOT_AGAIN);
}
