//! Planted histories of calls that touch several keys.

use proptest::prelude::*;
use stanchion_race::check::{
    History, Input, OPEN, Operation, Value,
    cycle::{Checked, Time, check, check_with},
};

/// One call: client, call, return, what it saw and what it wrote, as (key, version).
type Row<'a> = (u32, u64, u64, &'a [(&'a str, i64)], &'a [(&'a str, i64)]);

fn history(rows: &[Row<'_>]) -> History {
    let mut history = History::new();
    for (client, call, ret, saw, wrote) in rows.iter().copied() {
        let inputs = [(saw, Input::Load { token: 0 }), (wrote, Input::Store { token: 0, base: None })];
        for (all, input) in inputs {
            for (key, version) in all {
                let key = history.key(key).expect("room for a key");
                history.push(Operation { client, key, call, ret, input, output: Value::Int(*version) });
            }
        }
    }
    history
}

fn names(checked: &Checked) -> Vec<&'static str> {
    checked.cycles.iter().map(|cycle| cycle.name()).collect()
}

#[test]
fn calls_that_can_be_ordered_pass() {
    assert_eq!(check(&History::new()).count, 0);
    let history = history(&[
        (1, 0, 9, &[("a", 0), ("b", 0)], &[("a", 1), ("b", 1)]),
        (2, 1, 8, &[("a", 1), ("b", 1)], &[("a", 2)]),
        // A snapshot between the two.
        (3, 5, 20, &[("a", 1), ("b", 1)], &[]),
        (3, 21, 22, &[("a", 2), ("b", 1)], &[]),
    ]);
    let checked = check(&history);
    assert_eq!((checked.count, checked.calls, checked.left_out), (0, 4, 0), "{checked:?}");
}

#[test]
fn every_kind_of_cycle_is_found_and_named() {
    let cases: &[(&str, &[Row<'_>])] = &[
        ("lost update", &[(1, 0, 9, &[("a", 0)], &[("a", 1)]), (2, 0, 9, &[("a", 0)], &[("a", 2)])]),
        ("write skew", &[(1, 0, 9, &[("a", 0)], &[("b", 1)]), (2, 0, 9, &[("b", 0)], &[("a", 1)])]),
        ("read skew", &[(1, 0, 9, &[], &[("a", 1), ("b", 1)]), (2, 0, 9, &[("a", 1), ("b", 0)], &[])]),
        ("circular flow", &[(1, 0, 9, &[("a", 1)], &[("b", 1)]), (2, 0, 9, &[("b", 1)], &[("a", 1)])]),
        ("writes in two orders", &[(1, 0, 9, &[], &[("a", 1), ("b", 2)]), (2, 0, 9, &[], &[("a", 2), ("b", 1)])]),
        ("writes in two orders", &[(1, 0, 9, &[], &[("a", 1)]), (2, 0, 9, &[], &[("a", 1)])]),
        ("stale read", &[(1, 0, 1, &[], &[("a", 1)]), (2, 2, 3, &[("a", 0)], &[])]),
        ("order against real time", &[(1, 2, 3, &[], &[("a", 1)]), (2, 0, 1, &[], &[("a", 2)])]),
    ];
    for (name, rows) in cases {
        let history = history(rows);
        let checked = check(&history);
        assert_eq!(names(&checked), [*name]);
        assert_eq!((checked.count, checked.cycles[0].steps.len()), (1, 2), "{}", checked.cycles[0].story(&history));
        let without_time = check_with(&history, Time::Ignored).count;
        assert_eq!(without_time, usize::from(!["stale read", "order against real time"].contains(name)), "{name}");
    }
}

#[test]
fn a_cycle_is_told_as_a_short_story() {
    let history = history(&[
        (1, 0, 9, &[("a", 0)], &[("b", 1)]),
        (2, 1, 8, &[("b", 0)], &[("a", 1)]),
        (3, 20, 30, &[("a", 1), ("b", 1)], &[]),
    ]);
    assert_eq!(
        check(&history).cycles[0].story(&history),
        "write skew: each of these calls must come before the next, and the last before the first:\n  \
         client 1 [0, 9] saw \"a\" version 0, which client 2 [1, 8] replaced by version 1\n  \
         client 2 [1, 8] saw \"b\" version 0, which client 1 [0, 9] replaced by version 1\n"
    );
}

#[test]
fn a_cycle_through_real_time_and_three_keys_is_as_short_as_possible() {
    let mut rows: Vec<Row<'_>> = Vec::new();
    // Far apart in time, with many calls between: the chain of returns is one step.
    rows.push((1, 0, 1, &[], &[("a", 1)]));
    for at in 0..500 {
        rows.push((5, 10 + at * 10, 12 + at * 10, &[("c", 0)], &[]));
    }
    // In the same knot, a cycle of three without time.
    rows.push((6, 8000, 8009, &[("x", 0)], &[("y", 1)]));
    rows.push((7, 8000, 8009, &[("y", 0)], &[("z", 1)]));
    rows.push((8, 8000, 8009, &[("z", 0)], &[("x", 1)]));
    rows.push((2, 9000, 9001, &[("a", 0)], &[("b", 1)]));
    let history = history(&rows);
    let checked = check(&history);
    assert_eq!((names(&checked), checked.cycles[0].steps.len()), (vec!["stale read"], 2));
    let clients: Vec<_> = checked.cycles[0].steps.iter().map(|step| step.call.client).collect();
    assert!(clients.contains(&1) && clients.contains(&2), "{clients:?}");
}

#[test]
fn three_calls_can_make_a_cycle_and_two_knots_are_two_stories() {
    let history = history(&[
        (1, 0, 9, &[("a", 0)], &[("b", 1)]),
        (2, 0, 9, &[("b", 0)], &[("c", 1)]),
        (3, 0, 9, &[("c", 0)], &[("a", 1)]),
        (4, 0, 9, &[("x", 0)], &[("x", 1)]),
        (5, 0, 9, &[("x", 0)], &[("x", 2)]),
    ]);
    let checked = check(&history);
    assert_eq!(names(&checked), ["write skew", "lost update"]);
    assert_eq!(checked.cycles[0].steps.len(), 3);
}

#[test]
fn an_unknown_outcome_makes_no_cycle_and_a_base_counts_as_seen() {
    let mut all = history(&[(1, 0, 9, &[("a", 0)], &[("a", 1)]), (2, 0, OPEN, &[("a", 0)], &[("a", 2)])]);
    assert_eq!((check(&all).count, check(&all).left_out), (0, 2));
    let key = all.key("a").unwrap();
    all.done(3, key, (0, 9), Input::Store { token: 0, base: Some(0) }, Value::Int(3));
    assert_eq!(names(&check(&all)), ["lost update"]);
}

#[test]
fn a_long_history_neither_overflows_the_stack_nor_takes_long() {
    let mut history = History::new();
    let key = history.key("a").unwrap();
    for at in 0..100_000u32 {
        let version = i64::from(at);
        let base = Some(u64::from(at));
        history.done(
            at % 9,
            key,
            (u64::from(at) * 10, u64::from(at) * 10 + 15),
            Input::Store { token: 0, base },
            Value::Int(version + 1),
        );
    }
    assert_eq!(check(&history).count, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_serial_store_did_has_no_cycle(
        calls in prop::collection::vec((prop::collection::vec((0..4usize, any::<bool>()), 1..4), 0..40u64, 0..40u64), 0..80),
    ) {
        let mut history = History::new();
        let keys: Vec<u32> = (0..4).map(|key| history.key(&key.to_string()).unwrap()).collect();
        let mut versions = [0i64; 4];
        for ((client, moment), (touches, before, after)) in (0u32..).zip((10u64..).step_by(10)).zip(calls) {
            let times = (moment.saturating_sub(before), moment + after);
            for (key, writes) in touches {
                versions[key] += i64::from(writes);
                let input = if writes { Input::Store { token: 0, base: None } } else { Input::Load { token: 0 } };
                history.done(client, keys[key], times, input, Value::Int(versions[key]));
            }
        }
        let checked = check(&history);
        prop_assert_eq!(checked.count, 0, "{}", checked.cycles[0].story(&history));
    }
}
