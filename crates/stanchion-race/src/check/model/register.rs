use super::Model;
use crate::check::{History, Input, Operation, Value};

/// One value: read, write, and replace if it is still the expected one.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Register};
/// let mut history = History::new();
/// let key = history.key("note")?;
/// history.done(1, key, (0, 9), Input::Write(Value::Int(1)), Value::None);
/// history.done(2, key, (1, 2), Input::Read, Value::None);
/// history.done(2, key, (3, 4), Input::Read, Value::Int(1));
/// assert!(linear::check(&Register::default(), &history, Limits::default()).is_linearizable());
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Register {
    /// The value before the first operation.
    pub start: Value,
}

impl Model for Register {
    type State = Value;
    const BY_CLIENT: bool = false;

    fn start(&self) -> Value {
        self.start
    }

    fn takes(&self, input: &Input) -> bool {
        matches!(input, Input::Read | Input::Write(_) | Input::Cas { .. })
    }

    fn step(&self, state: &Value, operation: &Operation) -> Option<Value> {
        match operation.input {
            Input::Read => operation.given().is_none_or(|given| given == *state).then_some(*state),
            Input::Write(value) => Some(value),
            Input::Cas { from, to } => match operation.given() {
                Some(Value::Bool(false)) => (*state != from).then_some(*state),
                _ => (*state == from).then_some(to),
            },
            _ => None,
        }
    }

    fn reads_only(&self, operation: &Operation) -> bool {
        match operation.input {
            Input::Read => true,
            Input::Cas { .. } => operation.given() == Some(Value::Bool(false)),
            _ => false,
        }
    }

    fn words(&self, state: &Value, history: &History) -> String {
        format!("the value is {}", history.show(*state))
    }
}
