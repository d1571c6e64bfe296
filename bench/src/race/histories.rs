//! Histories of busy clients, made from a seed, and how fast the checkers judge them.

use std::time::{Duration, Instant};

use stanchion_race::check::linear::{self, Limits, Verdict};
use stanchion_race::check::model::{Counter, Model, Register};
use stanchion_race::check::{History, Input, Operation, Value, order};

use crate::Outcome;

/// A search that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(120);

/// A small generator of numbers: the same run for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 29)).checked_rem(end).unwrap_or(0)
    }

    fn value(&mut self, values: u64) -> Value {
        Value::Int(i64::try_from(self.below(values)).unwrap_or(0))
    }
}

/// The time that this thread has had on a core: others may be at work on the machine.
fn busy_time(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// What it gives, and its seconds on a core.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let before = busy_time(start);
    let given = work();
    (given, busy_time(start).saturating_sub(before).as_secs_f64())
}

/// Clients that are always busy: each of `clients` operations under way takes effect at a random moment of its time.
fn busy<M: Model>(
    count: u64,
    clients: u32,
    model: &M,
    mut next: impl FnMut(&mut Dice, &M::State) -> (Input, Value),
) -> Outcome<History> {
    let mut dice = Dice(7);
    let mut history = History::new();
    let key = history.key("k")?;
    let mut state = model.start();
    let mut calls: Vec<u64> = (0..u64::from(clients)).collect();
    for at in 0..count {
        // A moment every 100; whoever is next calls soon after its last return, and returns within its turn.
        let moment = (at + 1) * 100;
        let client = u32::try_from(dice.below(u64::from(clients)))?;
        let Some(last) = calls.get_mut(usize::try_from(client)?) else { continue };
        let ret = moment + dice.below(50 * u64::from(clients));
        let (input, output) = next(&mut dice, &state);
        let operation = Operation { client, key, call: (*last).min(moment), ret, input, output };
        *last = ret + 1;
        state = model.step(&state, &operation).unwrap_or(state);
        history.push(operation);
    }
    Ok(history)
}

/// Seconds for a register of so many values: reads, writes, and replacements of which half expect what is there.
pub(super) fn register(count: u64, clients: u32, values: u64) -> Outcome<f64> {
    let model = Register { start: Value::Int(0) };
    let history = busy(count, clients, &model, |dice, state| match dice.below(3) {
        0 => (Input::Read, *state),
        1 => (Input::Write(dice.value(values)), Value::None),
        _ => {
            let from = if dice.below(2) == 0 { *state } else { dice.value(values) };
            (Input::Cas { from, to: dice.value(values) }, Value::Bool(*state == from))
        }
    })?;
    linear(&model, &history)
}

/// Seconds for a counter: three additions to one look.
pub(super) fn counter(count: u64, clients: u32) -> Outcome<f64> {
    let model = Counter::default();
    let history = busy(count, clients, &model, |dice, state| match dice.below(4) {
        0 => (Input::Get, Value::Int(i64::try_from(*state).unwrap_or(0))),
        _ => (Input::Add(1), Value::None),
    })?;
    linear(&model, &history)
}

fn linear<M: Model>(model: &M, history: &History) -> Outcome<f64> {
    let limits = Limits { time: LONGEST, ..Limits::default() };
    let (checked, seconds) = timed(|| linear::check(model, history, limits));
    match checked.verdict {
        Verdict::Linearizable => Ok(seconds),
        Verdict::Violation(found) => Err(format!("a correct history is called wrong: {}", found.story(history)).into()),
        Verdict::Unknown(why) => Err(format!("not decided: {why}").into()),
    }
}

/// Operations that the order checker judges in a second: grants, loads and stores on so many keys.
pub(super) fn order(count: u64, keys: u64) -> Outcome<f64> {
    let mut dice = Dice(7);
    let mut history = History::new();
    let names = (0..keys).map(|key| history.key(&key.to_string())).collect::<Result<Vec<u32>, _>>()?;
    let mut versions = vec![(0_u64, 0_u64); names.len()];
    for at in 0..count {
        let which = usize::try_from(dice.below(keys))?;
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
        history.done(u32::try_from(dice.below(10))?, *key, times, input, Value::Int(i64::try_from(output)?));
    }
    let (checked, seconds) = timed(|| order::check(&history));
    #[expect(clippy::cast_precision_loss, reason = "operations of a benchmark")]
    let operations = checked.operations as f64;
    Ok(operations / seconds)
}
