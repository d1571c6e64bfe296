//! Planted histories: each breaks one rule, and the same history without that step breaks none.

use super::*;

const KEY: u8 = 0;

fn oracle() -> Oracle {
    let mut oracle = Oracle::default();
    oracle.clear();
    oracle
}

fn seen(oracle: &Oracle) -> Vec<Property> {
    oracle.breaches.iter().map(|breach| breach.property).collect()
}

fn token(number: u64) -> FencingToken {
    FencingToken::from_parts(number, number)
}

#[test]
fn a_grant_inside_another_lease_is_seen_and_one_after_it_is_not() {
    for (at, expected) in [(99, vec![Property::S1]), (100, vec![])] {
        let mut oracle = oracle();
        oracle.granted(KEY, 1, 1, false, 0, 100);
        oracle.granted(KEY, 2, 2, false, at, 200);
        assert_eq!(seen(&oracle), expected, "granted at {at}");
        assert_eq!(oracle.takeovers, 1);
    }
}

#[test]
fn a_released_lease_is_over_and_a_renewed_one_lasts_longer() {
    let mut oracle = oracle();
    oracle.granted(KEY, 1, 1, false, 0, 100);
    oracle.renewed(KEY, 1, 1, 50, 150);
    oracle.released(KEY, 1, 1, 60);
    oracle.granted(KEY, 2, 2, false, 61, 161);
    assert_eq!((seen(&oracle), oracle.takeovers), (vec![], 0));
    oracle.renewed(KEY, 2, 2, 150, 250);
    oracle.granted(KEY, 3, 3, false, 200, 300);
    assert_eq!(seen(&oracle), [Property::S1]);
}

#[test]
fn a_token_that_does_not_grow_is_seen() {
    for (number, expected) in [(1, vec![Property::S3]), (2, vec![])] {
        let mut oracle = oracle();
        oracle.granted(KEY, 1, 1, false, 0, 100);
        oracle.released(KEY, 1, 1, 50);
        oracle.granted(KEY, 2, number, false, 60, 160);
        assert_eq!(seen(&oracle), expected, "number {number}");
    }
}

#[test]
fn a_release_or_renewal_by_a_stranger_is_seen() {
    let mut oracle = oracle();
    oracle.granted(KEY, 1, 1, false, 0, 100);
    oracle.renewed(KEY, 2, 1, 10, 110);
    oracle.released(KEY, 2, 1, 20);
    assert_eq!(seen(&oracle), [Property::S3, Property::S3]);
    oracle.granted(KEY, 3, 2, false, 30, 130);
    assert_eq!(seen(&oracle).last(), Some(&Property::S1), "the stranger's release ends nothing");
}

#[test]
fn a_write_that_did_not_see_the_last_one_or_has_a_lower_token_is_seen() {
    let mut oracle = oracle();
    oracle.begun(0, KEY);
    oracle.begun(1, KEY);
    oracle.sent(0);
    oracle.sent(1);
    oracle.applied(KEY, 0, token(2), true, 1);
    oracle.applied(KEY, 1, token(3), true, 2);
    assert_eq!(seen(&oracle), []);
    oracle.applied(KEY, 1, token(3), false, 3);
    oracle.applied(KEY, 1, token(2), true, 4);
    assert_eq!(seen(&oracle), [Property::S2, Property::S2]);
}

#[test]
fn the_final_state_is_what_was_acknowledged_and_some_of_what_is_indeterminate() {
    let endings = [Ending::Done, Ending::Failed, Ending::Indeterminate, Ending::Indeterminate, Ending::Died];
    let history = |sent: &[u16]| {
        let mut oracle = oracle();
        for (number, ending) in (0..).zip(endings) {
            oracle.begun(number, KEY);
            if sent.contains(&number) {
                oracle.sent(number);
            }
            oracle.ended(number, ending, 1);
        }
        oracle
    };
    let all = [0, 1, 2, 3, 4];
    let judged = |sent: &[u16], has: &[u16]| {
        let mut oracle = history(sent);
        let value = has.iter().fold(Value::default(), |value, operation| value.with(*operation));
        oracle.final_state(KEY, &value, 2);
        seen(&oracle)
    };
    assert_eq!(judged(&all, &[0]), []);
    assert_eq!(judged(&all, &[0, 2, 4]), []);
    assert_eq!(judged(&all, &[2]), [Property::S5], "acknowledged and lost");
    assert_eq!(judged(&all, &[0, 1]), [Property::S6], "failed and there");
    assert_eq!(judged(&[0, 1, 2, 3], &[0, 4]), [Property::S5], "nobody sent it");
    assert_eq!(judged(&all, &[0, 2, 2]), [Property::S5], "counted twice");
}

#[test]
fn an_operation_ends_once() {
    let mut oracle = oracle();
    oracle.begun(0, KEY);
    oracle.ended(0, Ending::Failed, 1);
    oracle.ended(0, Ending::Done, 2);
    assert_eq!(seen(&oracle), [Property::S6]);
}
