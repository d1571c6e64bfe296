//! Planted histories for the order of tokens and versions.

use proptest::prelude::*;
use stanchion_race::check::{
    History, Input, OPEN, Operation, Value,
    order::{Kind, SHOWN, check},
};

fn store(token: u64, base: impl Into<Option<u64>>) -> Input {
    Input::Store { token, base: base.into() }
}

fn load(token: u64) -> Input {
    Input::Load { token }
}

/// One key; every row is (call, return, input, token or version that was given).
fn history(rows: &[(u64, u64, Input, i64)]) -> History {
    let mut history = History::new();
    let key = history.key("k").expect("room for a key");
    for (call, ret, input, output) in rows.iter().copied() {
        history.push(Operation { client: 1, key, call, ret, input, output: Value::Int(output) });
    }
    history
}

/// Exactly these violations: the rule, and the rows.
fn finds(rows: &[(u64, u64, Input, i64)], expected: &[(Kind, usize, Option<usize>)]) {
    let history = history(rows);
    let checked = check(&history);
    let found: Vec<_> = checked.violations.iter().map(|found| (found.kind, found.one, found.other)).collect();
    let stories: Vec<_> = checked.violations.iter().map(|found| found.story(&history)).collect();
    assert_eq!(found, expected, "{stories:#?}");
}

#[test]
fn tokens_grow_in_real_time_and_are_given_once() {
    let acquire = Input::Acquire;
    finds(&[(0, 5, acquire, 1), (6, 9, acquire, 2), (7, 8, acquire, 30)], &[]);
    // Concurrent grants may be in any order, also if they only touch.
    finds(&[(0, 5, acquire, 2), (5, 9, acquire, 1)], &[]);
    finds(&[(0, 5, acquire, 2), (6, 9, acquire, 1)], &[(Kind::TokenOrder, 1, Some(0))]);
    finds(&[(0, 5, acquire, 2), (3, 9, acquire, 2)], &[(Kind::TokenTwice, 1, Some(0))]);
    // A refusal and an unknown outcome give no token.
    let mut history = history(&[(0, 5, acquire, 2), (6, OPEN, acquire, 1)]);
    history.done(1, 0, (6, 7), acquire, Value::Bool(false));
    let checked = check(&history);
    assert_eq!((checked.is_ordered(), checked.operations, checked.left_out), (true, 1, 2));
}

#[test]
fn versions_grow_in_real_time_and_are_given_once() {
    finds(&[(0, 5, store(0, None), 1), (6, 9, load(0), 1), (10, 11, store(0, 1), 5), (12, 13, load(0), 5)], &[]);
    finds(&[(0, 5, store(0, None), 2), (6, 9, store(0, None), 1)], &[(Kind::VersionOrder, 1, Some(0))]);
    finds(&[(0, 5, store(0, None), 2), (3, 9, store(0, None), 2)], &[(Kind::VersionTwice, 1, Some(0))]);
}

#[test]
fn reads_are_neither_stale_nor_from_the_future() {
    finds(
        &[(0, 1, store(0, None), 1), (2, 5, store(0, None), 2), (6, 7, load(0), 1)],
        &[(Kind::StaleRead, 2, Some(1))],
    );
    // What only touches is concurrent.
    finds(&[(0, 1, store(0, None), 1), (2, 5, store(0, None), 2), (5, 7, load(0), 1)], &[]);
    // Two readers: the second must not see less than the first.
    finds(
        &[(0, 1, store(0, None), 1), (2, 50, store(0, None), 2), (3, 4, load(0), 2), (6, 7, load(0), 1)],
        &[(Kind::StaleRead, 3, Some(2))],
    );
    finds(&[(0, 1, load(0), 1), (2, 3, store(0, None), 1)], &[(Kind::FutureRead, 0, Some(1))]);
    finds(
        &[(0, 1, store(0, 7), 1), (2, OPEN, store(0, None), 0)],
        &[(Kind::FutureRead, 0, None), (Kind::NobodysVersion, 0, None)],
    );
}

#[test]
fn a_version_that_nobody_wrote_is_found_unless_an_unknown_write_explains_it() {
    let written = (0, 1, store(0, None), 1);
    finds(&[written, (2, 3, load(0), 9)], &[(Kind::NobodysVersion, 1, None)]);
    finds(&[written, (0, OPEN, store(0, None), 0), (2, 3, load(0), 9), (4, 5, load(0), 9)], &[]);
    // One unknown write cannot be two versions, nor one that was seen before it was called.
    let two = [written, (0, OPEN, store(0, None), 0), (2, 3, load(0), 8), (4, 5, load(0), 9)];
    finds(&two, &[(Kind::NobodysVersion, 3, None)]);
    finds(&[written, (4, OPEN, store(0, None), 0), (2, 3, load(0), 8)], &[(Kind::NobodysVersion, 2, None)]);
    // What was there from the start was written by nobody.
    finds(&[(0, 1, load(0), 41), (2, 3, store(0, 41), 42), (4, 5, load(0), 42)], &[]);
    // The base of a write has been seen, too.
    finds(&[written, (2, 3, store(0, 5), 9)], &[(Kind::NobodysVersion, 1, None)]);
}

#[test]
fn no_write_is_acknowledged_below_a_token_that_was_seen() {
    finds(&[(0, 1, store(1, None), 1), (2, 3, store(2, None), 2), (4, 5, store(2, None), 3)], &[]);
    finds(&[(0, 1, store(2, None), 1), (2, 3, store(1, None), 2)], &[(Kind::BelowFence, 1, Some(0))]);
    // The textbook fence that only writes raise: the next holder has read, and then the old one writes.
    let textbook = [(0, 1, load(1), 0), (2, 3, load(2), 0), (4, 5, store(1, 0), 1), (6, 7, store(2, 0), 2)];
    finds(&textbook, &[(Kind::BelowFence, 2, Some(1)), (Kind::LostUpdate, 3, Some(2))]);
    // By version, also where real time says nothing.
    finds(&[(0, 9, load(2), 0), (0, 9, store(1, None), 1)], &[(Kind::BelowFence, 1, Some(0))]);
    // Reads of an old holder do no harm, and without a token there is no fence.
    finds(&[(0, 1, store(2, None), 1), (2, 3, load(1), 1), (4, 5, store(0, None), 2), (6, 7, store(2, 2), 3)], &[]);
}

#[test]
fn a_write_that_replaces_one_it_has_not_seen_is_a_lost_update() {
    finds(&[(0, 9, store(0, 0), 1), (0, 9, store(0, 0), 2)], &[(Kind::LostUpdate, 1, Some(0))]);
    // Also with a version of an unknown write between them.
    let between = [(0, 1, store(0, None), 1), (0, OPEN, store(0, None), 0), (2, 3, load(0), 2), (4, 5, store(0, 0), 3)];
    finds(&between, &[(Kind::LostUpdate, 3, Some(0))]);
    finds(&[(0, 9, store(0, 0), 1), (0, 9, store(0, 1), 2), (0, 9, store(0, None), 3)], &[]);
}

#[test]
fn keys_do_not_mix_and_only_so_many_violations_are_kept() {
    let mut history = History::new();
    for key in 0..(SHOWN as u64 + 50) {
        let key = history.key(&key.to_string()).unwrap();
        history.done(1, key, (0, 1), Input::Acquire, Value::Int(9));
    }
    assert!(check(&history).is_ordered());
    for key in 0..(SHOWN as u32 + 50) {
        history.done(1, key, (2, 3), Input::Acquire, Value::Int(9 - i64::from(key % 2)));
    }
    let checked = check(&history);
    // An equal token is wrong once (twice given), a lower one once (out of order).
    assert_eq!((checked.count, checked.violations.len()), (SHOWN + 50, SHOWN));
    // Hostile places and numbers are left out.
    history.done(1, u32::MAX, (0, 1), Input::Acquire, Value::Int(1));
    history.done(1, 0, (0, 1), Input::Acquire, Value::Int(-1));
    assert_eq!(check(&history).left_out, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_fenced_store_did_is_ordered(
        steps in prop::collection::vec((0..5u8, 0..40u64, 0..40u64, prop::bool::weighted(0.1)), 0..200),
    ) {
        let mut history = History::new();
        let key = history.key("k").expect("room for a key");
        let (mut version, mut token, mut clock) = (0u64, 0u64, 100);
        for (step, before, after, lost) in steps {
            clock += 10;
            let (input, output) = match step {
                0 => {
                    token += 1;
                    (Input::Acquire, token)
                }
                1 | 2 => (load(token), version),
                _ => {
                    let base = (step == 3).then_some(version);
                    version += 1 + before % 3;
                    (Input::Store { token, base }, version)
                }
            };
            let ret = if lost { OPEN } else { clock + after };
            let output = Value::Int(i64::try_from(output).unwrap());
            history.push(Operation { client: 1, key, call: clock - before, ret, input, output });
        }
        let checked = check(&history);
        prop_assert!(checked.is_ordered(), "{:?}", checked);
    }
}
