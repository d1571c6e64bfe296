//! How many operations per second the checkers judge: `cargo run --release -p stanchion-race --example check_speed`.

#![expect(clippy::print_stdout, reason = "it is a program that prints")]

use std::time::{Duration, Instant};

use stanchion_race::check::{
    History, Input, OPEN, Operation, Value,
    linear::{self, Limits},
    model::{Counter, Model, Register},
    order,
};

fn main() {
    println!("order, one key:             {}", order_speed(1_000_000, 1, false));
    println!("order, 100 keys:            {}", order_speed(5_000_000, 100, false));
    println!("order, 100 keys, shuffled:  {}", order_speed(5_000_000, 100, true));
    let usual = Mix { values: 5, kinds: 3 };
    println!("linear, 1 M, 10 clients:    {}", register(1_000_000, 10, usual, None));
    println!("... every value once:       {}", register(1_000_000, 10, Mix { values: 1 << 40, kinds: 3 }, None));
    println!("... without cas:            {}", register(1_000_000, 10, Mix { values: 1 << 40, kinds: 2 }, None));
    println!("... counter:                {}", counter(1_000_000, 10));
    println!("linear, 100 k, 10, wrong:   {}", register(100_000, 10, usual, Some(99_000)));
    println!("linear, 100 k, 5, wrong:    {}", register(100_000, 5, usual, Some(99_000)));
    println!("linear, 100 k, 20:          {}", register(100_000, 20, usual, None));
    println!("linear, 10 k, 50:           {}", register(10_000, 50, usual, None));
}

/// The time that this process has had on a core, where the system tells it: others may be at work on the machine.
fn busy_time(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// A small generator of numbers: the same run for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 29)).checked_rem(end).unwrap_or(0)
    }
}

/// Clients that are always busy: each of `clients` operations under way takes effect at a random moment of its time.
fn busy<M: Model>(
    count: usize,
    clients: u64,
    model: &M,
    mut next: impl FnMut(&mut Dice, &M::State) -> (Input, Value),
) -> History {
    let mut dice = Dice(7);
    let mut history = History::new();
    let Ok(key) = history.key("k") else { return history };
    let mut state = model.start();
    let mut calls: Vec<u64> = (0..clients).collect();
    for at in 0..count as u64 {
        // A moment every 100; whoever is next calls soon after its last return, and returns within its turn.
        let moment = (at + 1) * 100;
        let client = dice.below(clients);
        let Some(last) = calls.get_mut(client as usize) else { continue };
        let ret = moment + dice.below(50 * clients);
        let (input, output) = next(&mut dice, &state);
        let operation = Operation { client: client as u32, key, call: (*last).min(moment), ret, input, output };
        *last = ret + 1;
        state = model.step(&state, &operation).unwrap_or(state);
        history.push(operation);
    }
    history
}

/// How many values there are, and whether there are replacements (3) or only reads and writes (2).
#[derive(Clone, Copy)]
struct Mix {
    values: u64,
    kinds: u64,
}

fn register(count: usize, clients: u64, mix: Mix, wrong: Option<usize>) -> String {
    let model = Register { start: Value::Int(0) };
    let history = busy(count, clients, &model, |dice, state| {
        let value = Value::Int(dice.below(mix.values) as i64);
        match dice.below(mix.kinds) {
            0 => (Input::Read, *state),
            1 => (Input::Write(value), Value::None),
            _ => {
                // Half of them expect what is there.
                let from = if dice.below(2) == 0 { *state } else { Value::Int(dice.below(mix.values) as i64) };
                (Input::Cas { from, to: value }, Value::Bool(*state == from))
            }
        }
    });
    let history = wrong.map_or_else(|| history.clone(), |at| spoiled(&history, at));
    linear_speed(&model, &history)
}

/// The same history in which one read later than `at` saw what nobody wrote.
fn spoiled(history: &History, at: usize) -> History {
    let mut all = History::new();
    if all.key("k").is_err() {
        return all;
    }
    let mut spoilt = false;
    for (place, operation) in history.operations().iter().enumerate() {
        let here = !spoilt && place > at && operation.input == Input::Read;
        spoilt |= here;
        all.push(if here { Operation { output: Value::Int(99), ..*operation } } else { *operation });
    }
    all
}

fn counter(count: usize, clients: u64) -> String {
    let model = Counter::default();
    let history = busy(count, clients, &model, |dice, state| match dice.below(4) {
        0 => (Input::Get, Value::Int(i64::try_from(*state).unwrap_or(0))),
        _ => (Input::Add(1), Value::None),
    });
    linear_speed(&model, &history)
}

fn linear_speed<M: Model>(model: &M, history: &History) -> String {
    let under_way = width(history);
    let start = Instant::now();
    let before = busy_time(start);
    let checked = linear::check(model, history, Limits { time: Duration::from_secs(120), ..Limits::default() });
    let (wall, time) = (start.elapsed(), busy_time(start).saturating_sub(before));
    let verdict = match &checked.verdict {
        linear::Verdict::Linearizable => "linearizable".to_owned(),
        linear::Verdict::Violation(found) => format!("violation of {} operations", found.core.len()),
        linear::Verdict::Unknown(why) => format!("unknown: {why}"),
    };
    let rate = checked.operations as f64 / time.as_secs_f64();
    format!(
        "{time:>8.2?} of a core ({wall:.2?}) {rate:>10.0} operations/s, {} steps, {under_way} under way: {verdict}",
        checked.steps
    )
}

/// The most operations that are under way at once.
fn width(history: &History) -> usize {
    let mut events: Vec<(u64, i32)> = Vec::new();
    for operation in history.operations().iter().filter(|one| one.ret != OPEN) {
        events.extend([(operation.call, 1), (operation.ret, -1)]);
    }
    events.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in events {
        now += change;
        most = most.max(now);
    }
    most.unsigned_abs() as usize
}

/// The same operations, in no order.
fn shuffled(history: &History, keys: u64) -> History {
    let mut dice = Dice(9);
    let mut operations = history.operations().to_vec();
    for at in (1..operations.len()).rev() {
        operations.swap(at, dice.below(at as u64 + 1) as usize);
    }
    let mut all = History::new();
    if (0..keys).any(|key| all.key(&key.to_string()).is_err()) {
        return all;
    }
    operations.into_iter().for_each(|operation| all.push(operation));
    all
}

fn order_speed(count: usize, keys: u64, shuffled: bool) -> String {
    let mut dice = Dice(7);
    let mut history = History::new();
    let names: Vec<u32> = (0..keys).filter_map(|key| history.key(&key.to_string()).ok()).collect();
    let mut versions = vec![(0u64, 0u64); names.len()];
    for at in 0..count as u64 {
        let which = dice.below(keys) as usize;
        let (Some(key), Some((version, token))) = (names.get(which), versions.get_mut(which)) else { continue };
        let moment = (at + 1) * 100;
        let times = (moment - dice.below(100), moment + dice.below(1000));
        let (input, output) = match dice.below(4) {
            0 => {
                *token += 1;
                (Input::Acquire, *token)
            }
            1 => (Input::Load { token: *token }, *version),
            _ => {
                let base = Some(*version);
                *version += 1;
                (Input::Store { token: *token, base }, *version)
            }
        };
        history.done(dice.below(10) as u32, *key, times, input, Value::Int(output as i64));
    }
    let history = if shuffled { self::shuffled(&history, keys) } else { history };
    let start = Instant::now();
    let before = busy_time(start);
    let checked = order::check(&history);
    let (wall, time) = (start.elapsed(), busy_time(start).saturating_sub(before));
    let rate = checked.operations as f64 / time.as_secs_f64();
    format!("{time:>8.2?} of a core ({wall:.2?}) {rate:>10.0} operations/s, {} violations", checked.count)
}
