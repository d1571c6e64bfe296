//! Lease and fence in every interleaving, and the rules that must not be left out.

use crate::models::{holds, is_found};

const MODEL: &str = "lease and fence";

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update() {
    holds(MODEL, "first touch, lost answers", 2);
    holds(MODEL, "first touch", 3);
}

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update_with_renewals() {
    holds(MODEL, "first touch, renewals", 2);
}

#[test]
fn a_fence_raised_by_the_first_touch_loses_no_update_when_clients_come_again() {
    holds(MODEL, "first touch, 2 sessions each", 2);
}

#[test]
fn a_counter_that_is_lost_loses_no_update() {
    holds(MODEL, "first touch, the counter is lost, 2 sessions each", 2);
}

#[test]
fn control_numbers_without_owners_lose_an_update_after_the_counter() {
    is_found(MODEL, "the counter is lost, and numbers alone are compared");
}

#[test]
fn comparing_the_version_that_was_read_loses_no_update() {
    holds(MODEL, "version, lost answers", 2);
    holds(MODEL, "version", 3);
}

#[test]
fn comparing_the_version_that_was_read_loses_no_update_with_renewals() {
    holds(MODEL, "version, renewals", 2);
}

#[test]
fn control_the_textbook_fence_on_writes_loses_an_update() {
    is_found(MODEL, "the textbook fence on writes");
}

#[test]
fn control_without_a_fence_an_update_is_lost() {
    is_found(MODEL, "no fence");
}

#[test]
fn on_a_common_clock_no_holder_believes_longer_than_the_service() {
    holds(MODEL, "common clock, renewals", 2);
}

#[test]
fn control_a_deadline_counted_from_the_answer_is_found() {
    is_found(MODEL, "a deadline counted from the answer");
}

#[test]
fn control_a_release_by_anybody_is_found() {
    is_found(MODEL, "a release by anybody");
}

#[test]
fn control_a_forgotten_counter_is_found() {
    is_found(MODEL, "a forgotten counter");
}
