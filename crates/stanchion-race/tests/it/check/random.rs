//! The checker against the definition, and against histories that a real service made.

use proptest::prelude::*;
use stanchion_race::check::{
    History, Input, OPEN, Operation, Value,
    linear::{Limits, check},
    model::{Counter, Model, Mutex, Queue, Register, Set},
};

use super::brute;

fn history(operations: Vec<Operation>) -> History {
    let mut history = History::new();
    let key = history.key("k").expect("room for a key");
    operations.into_iter().for_each(|operation| history.push(Operation { key, ..operation }));
    history
}

/// Few clients, times and values, so that much overlaps and much is wrong.
fn operations(inputs: Vec<Input>, outputs: Vec<Value>) -> impl Strategy<Value = Vec<Operation>> {
    let one = (0..3u32, 0..14u64, 0..9u64, prop::sample::select(inputs), prop::sample::select(outputs));
    let one = one.prop_map(|(client, call, long, input, output)| {
        let ret = if long == 8 { OPEN } else { call + long };
        Operation { client, key: 0, call, ret, input, output }
    });
    prop::collection::vec(one, 0..8)
}

fn int(number: i64) -> Value {
    Value::Int(number)
}

const YES: Value = Value::Bool(true);
const NO: Value = Value::Bool(false);

/// Same verdict as the definition, and a core that cannot be ordered even if all others are open.
fn agrees<M: Model>(model: &M, operations: Vec<Operation>) -> Result<(), TestCaseError> {
    let history = history(operations);
    let checked = check(model, &history, Limits::default());
    prop_assert_eq!(checked.is_linearizable(), brute::is_linearizable(model, &history), "{}", history.lines());
    if let Some(found) = checked.violation() {
        prop_assert!(found.core.contains(&found.failing));
        let weaker = history.operations().iter().enumerate().map(|(at, operation)| {
            let ret = if found.core.contains(&at) { operation.ret } else { OPEN };
            Operation { ret, ..*operation }
        });
        prop_assert!(!brute::is_linearizable(model, &self::history(weaker.collect())), "{}", found.story(&history));
    }
    Ok(())
}

/// Runs inputs on the model itself: operation `i` takes effect at time `10 * i`, somewhere between its call and return.
fn execute<M: Model>(
    model: &M,
    inputs: &[(u32, Input, u64, u64, bool)],
    answer: impl Fn(&M::State, u32, &Input) -> Value,
) -> History {
    let mut state = model.start();
    let mut all = Vec::new();
    for (at, (client, input, before, after, lost)) in (1u64..).zip(inputs) {
        let output = answer(&state, *client, input);
        let moment = at * 10;
        let (call, ret) = (moment.saturating_sub(*before), moment + after);
        let operation = Operation { client: *client, key: 0, call, ret, input: *input, output };
        state = model.step(&state, &operation).expect("the model takes its own answers");
        all.push(Operation { ret: if *lost { OPEN } else { ret }, ..operation });
    }
    history(all)
}

fn run(inputs: Vec<Input>) -> impl Strategy<Value = Vec<(u32, Input, u64, u64, bool)>> {
    long(inputs, 60, 120)
}

/// Each operation overlaps with those whose moment is less than `width` away.
fn long(inputs: Vec<Input>, width: u64, count: usize) -> impl Strategy<Value = Vec<(u32, Input, u64, u64, bool)>> {
    let one = (0..4u32, prop::sample::select(inputs), 0..width, 0..width, prop::bool::weighted(0.05));
    prop::collection::vec(one, 0..count)
}

fn register_inputs() -> Vec<Input> {
    let cas = |from, to| Input::Cas { from: int(from), to: int(to) };
    vec![Input::Read, Input::Read, Input::Write(int(1)), Input::Write(int(2)), cas(1, 2), cas(2, 3), cas(3, 1)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_register_agrees_with_the_definition(all in operations(register_inputs(), vec![Value::None, int(1), int(2), int(3), NO])) {
        let start = Register { start: int(1) };
        agrees(&start, all)?;
    }

    #[test]
    fn a_counter_agrees_with_the_definition(
        all in operations(
            vec![Input::Add(1), Input::Add(1), Input::Add(-1), Input::Add(2), Input::Add(0), Input::Get],
            vec![Value::None, Value::None, int(1), int(2)],
        ),
    ) {
        agrees(&Counter::default(), all)?;
    }

    #[test]
    fn a_set_agrees_with_the_definition(
        all in operations(
            vec![Input::Insert(int(1)), Input::Remove(int(1)), Input::Contains(int(1))],
            vec![Value::None, YES, NO],
        ),
    ) {
        agrees(&Set, all)?;
    }

    #[test]
    fn a_mutex_agrees_with_the_definition(
        all in operations(vec![Input::Acquire, Input::Acquire, Input::Release], vec![Value::None, int(1), int(2), NO]),
    ) {
        agrees(&Mutex, all)?;
    }

    #[test]
    fn a_queue_agrees_with_the_definition(
        all in operations(
            vec![Input::Push(int(1)), Input::Push(int(2)), Input::Pop, Input::Pop],
            vec![Value::None, int(1), int(2)],
        ),
    ) {
        agrees(&Queue, all)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_register_did_is_linearizable(inputs in run(register_inputs())) {
        let history = execute(&Register::default(), &inputs, |state, _, input| match input {
            Input::Read => *state,
            Input::Cas { from, .. } => Value::Bool(state == from),
            _ => Value::None,
        });
        prop_assert!(check(&Register::default(), &history, Limits::default()).is_linearizable());
    }

    #[test]
    fn what_a_counter_did_is_linearizable(inputs in run(vec![Input::Add(1), Input::Add(5), Input::Get])) {
        let history = execute(&Counter::default(), &inputs, |state, client, input| match input {
            Input::Get => int(i64::try_from(*state).unwrap()),
            Input::Add(number) if client == 0 => int(i64::try_from(*state).unwrap() + number),
            _ => Value::None,
        });
        prop_assert!(check(&Counter::default(), &history, Limits::default()).is_linearizable());
    }

    #[test]
    fn what_a_set_did_is_linearizable(
        inputs in run(vec![Input::Insert(int(1)), Input::Insert(int(2)), Input::Remove(int(1)), Input::Contains(int(1))]),
    ) {
        // `Set` is checked per element, and so is run with one state per element.
        for element in [int(1), int(2)] {
            let of = |input: &Input| matches!(input, Input::Insert(one) | Input::Remove(one) | Input::Contains(one) if *one == element);
            let inputs: Vec<_> = inputs.iter().filter(|(_, input, ..)| of(input)).copied().collect();
            let history = execute(&Set, &inputs, |there, client, input| match input {
                Input::Insert(_) if client > 1 => Value::Bool(!there),
                Input::Remove(_) if client > 1 => Value::Bool(*there),
                Input::Contains(_) => Value::Bool(*there),
                _ => Value::None,
            });
            prop_assert!(check(&Set, &history, Limits::default()).is_linearizable());
        }
    }

    #[test]
    fn what_a_mutex_did_is_linearizable(inputs in run(vec![Input::Acquire, Input::Release])) {
        let history = execute(&Mutex, &inputs, |held, client, input| match (input, held.by) {
            (Input::Acquire, None) => int(held.token.max(0) + 1),
            (Input::Release, Some(by)) if by == client => Value::None,
            _ => NO,
        });
        prop_assert!(check(&Mutex, &history, Limits::default()).is_linearizable());
    }

    #[test]
    fn what_a_queue_did_is_linearizable(inputs in long(vec![Input::Push(int(1)), Input::Push(int(2)), Input::Pop], 25, 40)) {
        let history = execute(&Queue, &inputs, |waiting, _, input| match input {
            Input::Pop => waiting.first().copied().unwrap_or_default(),
            _ => Value::None,
        });
        prop_assert!(check(&Queue, &history, Limits::default()).is_linearizable());
    }
}
