//! Redlock in every interleaving, and the rules that must not be left out.

use crate::models::{holds, is_found};

const MODEL: &str = "redlock";

#[test]
fn the_protocol_holds_in_every_interleaving() {
    holds(MODEL, "leases end by themselves, fences are agreed", 2);
    holds(MODEL, "locks are given back", 2);
}

#[test]
fn a_lease_that_counts_from_its_grant_has_two_holders() {
    is_found(MODEL, "the lease counts from its grant");
}

#[test]
fn a_node_that_gains_time_needs_the_drift() {
    holds(MODEL, "a node gains time, and the drift allows for it", 2);
    is_found(MODEL, "a node gains time, without drift");
}

#[test]
fn a_node_that_forgets_needs_the_quarantine() {
    holds(MODEL, "a node forgets, and is in quarantine", 2);
    is_found(MODEL, "a node forgets, without quarantine");
}

#[test]
fn a_late_yes_that_is_kept_stays_behind() {
    is_found(MODEL, "a late yes is kept");
}

#[test]
fn a_release_to_a_minority_leaves_the_lock_taken() {
    is_found(MODEL, "a release to a minority");
}
