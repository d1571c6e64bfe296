use super::Model;
use crate::check::{History, Input, Operation, Value};

/// A sum: add and get. An answer to an addition, if there is one, is the sum afterwards.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Counter};
/// let mut history = History::new();
/// let key = history.key("stock")?;
/// history.done(1, key, (0, 5), Input::Add(1), Value::None);
/// history.done(2, key, (1, 6), Input::Add(1), Value::None);
/// history.done(3, key, (7, 8), Input::Get, Value::Int(1));
/// assert!(linear::check(&Counter::default(), &history, Limits::default()).violation().is_some(), "one was lost");
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Counter {
    /// The sum before the first operation.
    pub start: i64,
}

impl Model for Counter {
    // The sum of as many numbers as a history can hold does not overflow this.
    type State = i128;
    const COMMUTES: bool = true;
    const BY_CLIENT: bool = false;

    fn start(&self) -> i128 {
        i128::from(self.start)
    }

    fn takes(&self, input: &Input) -> bool {
        matches!(input, Input::Add(_) | Input::Get)
    }

    fn step(&self, state: &i128, operation: &Operation) -> Option<i128> {
        let is = |sum: i128| match operation.given() {
            Some(Value::Int(given)) => i128::from(given) == sum,
            Some(Value::None) => matches!(operation.input, Input::Add(_)),
            Some(_) => false,
            None => true,
        };
        let after = match operation.input {
            Input::Add(number) => state.checked_add(i128::from(number))?,
            _ => *state,
        };
        is(after).then_some(after)
    }

    fn reads_only(&self, operation: &Operation) -> bool {
        matches!(operation.input, Input::Get | Input::Add(0))
    }

    fn commute(&self, one: &Operation, other: &Operation) -> bool {
        let blind = |operation: &Operation| {
            matches!(operation.input, Input::Add(_)) && matches!(operation.given(), None | Some(Value::None))
        };
        let reads = |operation: &Operation| self.reads_only(operation);
        (blind(one) && blind(other)) || (reads(one) && reads(other))
    }

    fn words(&self, state: &i128, _: &History) -> String {
        format!("the sum is {state}")
    }
}
