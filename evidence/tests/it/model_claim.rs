//! The claim machine in every interleaving, and the designs that must not hold.

use crate::models::{holds, is_found};

const MODEL: &str = "claim";

#[test]
fn callers_that_claim_and_then_mark_have_one_effect() {
    holds(MODEL, "claim then mark", 3);
}

#[test]
fn callers_that_claim_and_mark_at_once_have_one_effect() {
    holds(MODEL, "claim and mark in one", 3);
}

#[test]
fn writes_that_arrive_after_they_were_given_up_do_no_harm() {
    holds(MODEL, "stray writes", 2);
    holds(MODEL, "stray writes, claim and mark in one", 2);
    holds(MODEL, "stray writes, claim and mark in one", 3);
}

#[test]
fn a_failure_for_good_is_an_answer_like_a_success() {
    holds(MODEL, "final failures", 3);
}

#[test]
fn a_reaper_of_finished_records_does_no_harm() {
    holds(MODEL, "reaper", 3);
}

#[test]
fn control_a_reaper_that_ignores_the_state_is_found() {
    is_found(MODEL, "reaper of anything");
}

#[test]
fn a_reconciler_that_first_proves_the_owner_gone_does_no_harm() {
    holds(MODEL, "reconciler with proof, claim and mark in one", 3);
    holds(MODEL, "reconciler with proof", 3);
}

#[test]
fn control_a_reconciler_without_proof_is_found() {
    is_found(MODEL, "naive reconciler");
}

#[test]
fn control_a_reconciler_that_looks_before_the_owner_is_gone_is_found() {
    is_found(MODEL, "probe, then proof");
}

#[test]
fn control_a_request_that_outlives_its_sender_defeats_the_proof() {
    is_found(MODEL, "owner gone, request on its way");
}

#[test]
fn a_call_that_asks_for_input_has_each_of_its_rounds_once() {
    holds(MODEL, "2 rounds, claim and mark in one", 2);
    holds(MODEL, "2 rounds", 2);
    holds(MODEL, "4 rounds, claim and mark in one", 2);
    holds(MODEL, "2 rounds, lost writes and answers", 2);
    holds(MODEL, "2 rounds, claim and mark in one", 3);
}

#[test]
fn callers_that_may_repeat_agree_on_one_answer() {
    holds(MODEL, "idempotent", 3);
}

#[test]
fn control_an_answer_that_is_not_the_recorded_one_is_found() {
    is_found(MODEL, "own answer after a repetition");
    is_found(MODEL, "own answer after a settlement");
}

#[test]
fn a_caller_that_must_not_repeat_is_not_misled_by_those_that_may() {
    holds(MODEL, "two that may repeat, one that must not", 3);
}

#[test]
fn control_a_placeholder_that_is_handed_out_is_found() {
    is_found(MODEL, "placeholder, deleted on failure");
}

#[test]
fn control_a_lease_without_a_fence_is_found() {
    is_found(MODEL, "lease without a fence");
}

#[test]
fn control_a_fenced_lease_that_vanishes_is_found() {
    is_found(MODEL, "fenced lease that vanishes");
}
