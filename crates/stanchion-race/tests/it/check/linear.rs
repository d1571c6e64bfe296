//! Planted histories for the linearizability checker.

use std::time::Duration;

use stanchion_race::check::{
    History, Input, Operation, Value,
    linear::{Checked, Limits, Unknown, Verdict, check},
    model::{Counter, Model, Mutex, Queue, Register, Set},
};

const NONE: Value = Value::None;
const YES: Value = Value::Bool(true);
const NO: Value = Value::Bool(false);
/// A return time that never comes.
const OPEN: u64 = u64::MAX;

fn int(number: i64) -> Value {
    Value::Int(number)
}

fn write(number: i64) -> Input {
    Input::Write(int(number))
}

fn cas(from: i64, to: i64) -> Input {
    Input::Cas { from: int(from), to: int(to) }
}

/// One key; every row is (client, call, return, input, output).
fn history(rows: &[(u32, u64, u64, Input, Value)]) -> History {
    let mut history = History::new();
    let key = history.key("k").expect("room for a key");
    for (client, call, ret, input, output) in rows.iter().copied() {
        history.push(Operation { client, key, call, ret, input, output });
    }
    history
}

fn judge<M: Model>(model: &M, rows: &[(u32, u64, u64, Input, Value)]) -> Checked {
    check(model, &history(rows), Limits::default())
}

fn passes<M: Model>(model: &M, rows: &[(u32, u64, u64, Input, Value)]) {
    let checked = judge(model, rows);
    assert!(checked.is_linearizable(), "{checked:?}");
}

/// A violation whose core is exactly these rows.
fn fails<M: Model>(model: &M, rows: &[(u32, u64, u64, Input, Value)], core: &[usize]) {
    let checked = judge(model, rows);
    let found = checked.violation().unwrap_or_else(|| panic!("{checked:?}"));
    assert_eq!(found.core, core, "{}", found.story(&history(rows)));
}

#[test]
fn registers_that_are_right_pass() {
    let register = Register::default();
    passes(&register, &[]);
    passes(&register, &[(1, 0, 1, Input::Read, NONE), (1, 2, 3, write(1), NONE), (1, 4, 5, Input::Read, int(1))]);
    // Two reads that overlap a write may see both values, in this order.
    passes(&register, &[(1, 0, 9, write(1), NONE), (2, 1, 2, Input::Read, NONE), (2, 3, 4, Input::Read, int(1))]);
    passes(&register, &[(1, 0, 9, cas(1, 2), YES), (2, 0, 9, write(1), NONE), (3, 10, 11, Input::Read, int(2))]);
    // A return before the call, by a clock that was set, is one at the call.
    passes(&register, &[(1, 5, 1, write(1), NONE), (2, 4, 5, Input::Read, NONE), (2, 6, 2, Input::Read, int(1))]);
    // Operations that meet in one instant may be in either order.
    passes(&register, &[(1, 0, 5, write(1), NONE), (2, 5, 6, Input::Read, NONE)]);
}

#[test]
fn every_kind_of_wrong_register_is_found_with_a_minimal_core() {
    let register = Register::default();
    // Lost write, with an operation beside it that has nothing to do with it.
    fails(&register, &[(1, 0, 1, write(1), NONE), (3, 0, 1, Input::Read, NONE), (2, 2, 3, Input::Read, NONE)], &[0, 2]);
    // Stale read.
    fails(
        &register,
        &[(1, 0, 1, write(1), NONE), (1, 2, 3, write(2), NONE), (2, 4, 5, Input::Read, int(1))],
        &[0, 1, 2],
    );
    // A value that nobody wrote.
    fails(&register, &[(1, 0, 1, write(1), NONE), (2, 4, 5, Input::Read, int(7))], &[1]);
    // A value that was read before it was written.
    fails(&register, &[(2, 0, 1, Input::Read, int(1)), (1, 2, 3, write(1), NONE)], &[0]);
    // A value comes back that was written once.
    fails(
        &register,
        &[
            (1, 0, 100, write(1), NONE),
            (2, 0, 100, write(2), NONE),
            (3, 10, 20, Input::Read, int(1)),
            (3, 30, 40, Input::Read, int(2)),
            (4, 50, 60, Input::Read, int(1)),
        ],
        &[2, 3, 4],
    );
    // Both of two replacements of the same value succeed: a lost update.
    fails(&register, &[(9, 0, 1, write(0), NONE), (1, 2, 5, cas(0, 1), YES), (2, 3, 6, cas(0, 2), YES)], &[1, 2]);
    // A replacement that must have worked says that it did not.
    fails(&register, &[(9, 0, 1, write(0), NONE), (1, 2, 5, cas(0, 1), NO)], &[0, 1]);
}

#[test]
fn an_unknown_outcome_may_happen_late_early_or_never_but_only_once_and_not_before_its_call() {
    let register = Register::default();
    let read = |at: u64, value: Value| (2, at, at + 1, Input::Read, value);
    passes(&register, &[(1, 0, OPEN, write(1), NONE), read(5, NONE), read(9, int(1))]);
    passes(&register, &[(1, 0, OPEN, write(1), NONE), read(5, NONE), read(9, NONE)]);
    passes(&register, &[(1, 0, OPEN, write(1), NONE), read(5, int(1))]);
    fails(&register, &[(1, 0, OPEN, write(1), NONE), read(5, int(1)), read(9, NONE)], &[1, 2]);
    fails(&register, &[(1, 7, OPEN, write(1), NONE), read(5, int(1))], &[1]);
    let add = (1, 0, OPEN, Input::Add(1), NONE);
    let get = |at: u64, sum: i64| (2, at, at + 1, Input::Get, int(sum));
    passes(&Counter::default(), &[add, add, get(5, 0), get(7, 1), get(9, 2)]);
    fails(&Counter::default(), &[add, add, get(5, 3)], &[2]);
    // A replacement with an unknown outcome has an effect only where it fits.
    passes(&register, &[(3, 0, 1, write(0), NONE), (1, 0, OPEN, cas(0, 1), NONE), read(5, int(0)), read(9, int(1))]);
    fails(&register, &[(3, 0, 1, write(5), NONE), (1, 0, OPEN, cas(0, 1), NONE), read(5, int(1))], &[2]);
}

#[test]
fn hundreds_of_unknown_outcomes_do_not_make_the_search_explode() {
    let mut rows: Vec<_> = (0..120).map(|at| (1, at, OPEN, write(at as i64), NONE)).collect();
    rows.extend((0..120).map(|at| (2, 1000 + 10 * at, 1005 + 10 * at, Input::Read, int(119 - at as i64))));
    passes(&Register::default(), &rows);
    // Each write happens at most once.
    rows.push((2, 9000, 9001, Input::Read, int(90)));
    let checked = judge(&Register::default(), &rows);
    assert!(checked.violation().is_some(), "{checked:?}");
    assert!(checked.steps < 3_000_000, "{}", checked.steps);
    let mut rows: Vec<_> = (0..300).map(|at| (1, at, OPEN, Input::Add(1), NONE)).collect();
    rows.push((2, 1000, 1001, Input::Get, int(300)));
    passes(&Counter::default(), &rows);
    rows.push((2, 1002, 1003, Input::Get, int(299)));
    assert!(judge(&Counter::default(), &rows).violation().is_some());
}

#[test]
fn counters_lose_nothing_and_invent_nothing() {
    let counter = Counter::default();
    let adds: Vec<_> = (0..200).map(|client| (client, 0, 50, Input::Add(1), NONE)).collect();
    let with = |sum: i64| [adds.clone(), vec![(999, 60, 61, Input::Get, int(sum))]].concat();
    passes(&counter, &with(200));
    let checked = judge(&counter, &with(199));
    assert!(checked.violation().is_some(), "{checked:?}");
    assert!(judge(&counter, &with(201)).violation().is_some());
    // Sums that are given out are given once.
    fails(&counter, &[(1, 0, 9, Input::Add(1), int(1)), (2, 0, 9, Input::Add(1), int(1))], &[0, 1]);
    passes(&counter, &[(1, 0, 9, Input::Add(1), int(2)), (2, 0, 9, Input::Add(1), int(1))]);
    fails(&counter, &[(1, 0, 9, Input::Get, YES)], &[0]);
}

#[test]
fn sets_are_checked_per_element() {
    let (a, b) = (int(1), int(2));
    passes(
        &Set,
        &[
            (1, 0, 9, Input::Insert(a), YES),
            (2, 0, 9, Input::Insert(b), NONE),
            (3, 10, 11, Input::Contains(a), YES),
            (3, 12, 13, Input::Remove(a), YES),
            (3, 14, 15, Input::Contains(a), NO),
            (3, 14, 15, Input::Contains(b), YES),
        ],
    );
    fails(
        &Set,
        &[(1, 0, 1, Input::Insert(b), NONE), (1, 2, 3, Input::Insert(a), NONE), (2, 4, 5, Input::Contains(a), NO)],
        &[1, 2],
    );
    fails(&Set, &[(2, 4, 5, Input::Contains(a), YES)], &[0]);
    fails(
        &Set,
        &[(1, 0, 1, Input::Insert(a), YES), (2, 2, 6, Input::Remove(a), YES), (3, 2, 6, Input::Remove(a), YES)],
        &[1, 2],
    );
}

#[test]
fn a_mutex_has_one_holder_and_growing_tokens() {
    let (acquire, release) = (Input::Acquire, Input::Release);
    passes(
        &Mutex,
        &[(1, 0, 1, acquire, int(3)), (2, 0, 9, acquire, int(4)), (1, 2, 3, release, NONE), (2, 10, 11, release, NONE)],
    );
    passes(
        &Mutex,
        &[(1, 0, 1, acquire, NONE), (2, 2, 3, acquire, NO), (1, 4, 5, release, NONE), (1, 6, 7, release, NO)],
    );
    // Two holders.
    fails(&Mutex, &[(1, 0, 1, acquire, int(3)), (2, 2, 3, acquire, int(4))], &[0, 1]);
    // A token that does not grow.
    fails(&Mutex, &[(1, 0, 1, acquire, int(3)), (1, 2, 3, release, NONE), (2, 4, 5, acquire, int(3))], &[0, 2]);
    // A refusal although nobody had it.
    fails(&Mutex, &[(1, 0, 1, acquire, NO)], &[0]);
    // A release by somebody else.
    fails(&Mutex, &[(1, 0, 1, acquire, int(3)), (2, 2, 3, release, NONE)], &[1]);
    // A release with an unknown outcome explains the next grant; an unknown grant explains a refusal.
    passes(&Mutex, &[(1, 0, 1, acquire, int(3)), (1, 2, OPEN, release, NONE), (2, 4, 5, acquire, int(4))]);
    passes(&Mutex, &[(1, 0, OPEN, acquire, NONE), (2, 4, 5, acquire, NO)]);
}

#[test]
fn a_queue_keeps_its_order_and_gives_everything_once() {
    let push = |number: i64| Input::Push(int(number));
    passes(
        &Queue,
        &[
            (1, 0, 9, push(1), NONE),
            (2, 0, 9, push(2), NONE),
            (1, 10, 11, Input::Pop, int(2)),
            (1, 12, 13, Input::Pop, int(1)),
            (1, 14, 15, Input::Pop, NONE),
        ],
    );
    fails(&Queue, &[(1, 0, 1, push(1), NONE), (1, 2, 6, Input::Pop, int(1)), (2, 2, 6, Input::Pop, int(1))], &[1, 2]);
    fails(&Queue, &[(1, 0, 1, push(1), NONE), (1, 2, 6, Input::Pop, NONE)], &[0, 1]);
}

#[test]
fn keys_are_checked_apart_and_what_the_model_does_not_take_is_counted() {
    let mut history = History::new();
    let (a, b) = (history.key("a").unwrap(), history.key("b").unwrap());
    history.done(1, a, (0, 1), write(1), NONE);
    history.done(2, b, (2, 3), Input::Read, NONE);
    history.done(2, b, (2, 3), Input::Add(1), NONE);
    let checked = check(&Register::default(), &history, Limits::default());
    assert_eq!((checked.verdict, checked.operations, checked.left_out), (Verdict::Linearizable, 2, 1));
    history.done(2, a, (4, 5), Input::Read, NONE);
    let checked = check(&Register::default(), &history, Limits::default());
    assert_eq!(checked.violation().unwrap().key, a);
}

/// Writes of different values all at once, and a read that nothing explains: every order has to be tried.
fn hard(clients: u32) -> History {
    let mut rows: Vec<_> = (0..clients)
        .map(|client| (client, 0, 100 + u64::from(client), cas(client.into(), (client + 1).into()), YES))
        .collect();
    rows.extend((0..clients).map(|client| (100 + client, 0, 100, write(client.into()), NONE)));
    rows.push((999, 0, 200, Input::Read, int(-1)));
    history(&rows)
}

#[test]
fn a_search_that_does_not_end_in_time_is_unknown() {
    let register = Register::default();
    let limits = Limits { time: Duration::from_millis(20), ..Limits::default() };
    assert_eq!(check(&register, &hard(30), limits).verdict, Verdict::Unknown(Unknown::Time));
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let checked = check(&register, &hard(30), limits);
    assert_eq!((checked.verdict, checked.steps), (Verdict::Unknown(Unknown::Steps), 10_000));
    let limits = Limits { time: Duration::MAX, configurations: 100, ..Limits::default() };
    assert!(matches!(check(&register, &hard(4), limits).verdict, Verdict::Violation(_) | Verdict::Unknown(_)));
}

#[test]
fn a_violation_on_a_small_key_is_found_although_a_large_one_takes_for_ever() {
    let mut history = hard(30);
    let small = history.key("small").unwrap();
    history.done(1, small, (0, 1), Input::Read, int(5));
    let limits = Limits { time: Duration::from_millis(200), ..Limits::default() };
    assert_eq!(check(&Register::default(), &history, limits).violation().map(|found| found.key), Some(small));
}

#[test]
fn more_than_can_be_told_apart_is_unknown_and_not_wrong() {
    let rows: Vec<_> = (0..1100).map(|client| (client, 0, 100, write(1), NONE)).collect();
    assert_eq!(judge(&Register::default(), &rows).verdict, Verdict::Unknown(Unknown::Width));
    let mut rows: Vec<_> =
        (0..600).map(|client| (client, u64::from(client), OPEN, write(client.into()), NONE)).collect();
    rows.push((999, 1000, 1001, Input::Read, int(100)));
    passes(&Register::default(), &rows);
    rows.push((999, 1002, 1003, Input::Read, int(599)));
    assert_eq!(judge(&Register::default(), &rows).verdict, Verdict::Unknown(Unknown::OpenOperations));
}

#[test]
fn a_violation_late_in_a_long_history_is_told_in_a_few_lines() {
    let mut rows = Vec::new();
    for at in 0..20_000u64 {
        let client = (at % 4) as u32;
        rows.push((client, at * 10, at * 10 + 25, write(at as i64), NONE));
        rows.push((client + 4, at * 10 + 26, at * 10 + 28, Input::Read, int(at as i64)));
    }
    let last = rows.len();
    rows.push((50, 300_000, 300_001, Input::Read, int(7)));
    let history = history(&rows);
    let checked = check(&Register::default(), &history, Limits::default());
    let found = checked.violation().unwrap();
    assert_eq!(found.failing, last);
    let story = found.story(&history);
    assert_eq!(found.core, [last], "{story}");
    assert_eq!(found.prefix, last);
    assert!(story.contains("client 50 read -> 7 [300000, 300001]   <- no place for this answer"), "{story}");
}
