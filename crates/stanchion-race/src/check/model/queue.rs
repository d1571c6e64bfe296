use super::Model;
use crate::check::{History, Input, Operation, Value};

/// First in, first out: push and pop. What waits in it is part of the state, so keep it short.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Queue};
/// let mut history = History::new();
/// let key = history.key("jobs")?;
/// history.done(1, key, (0, 1), Input::Push(Value::Int(1)), Value::None);
/// history.done(1, key, (2, 3), Input::Push(Value::Int(2)), Value::None);
/// history.done(2, key, (4, 5), Input::Pop, Value::Int(2));
/// assert!(linear::check(&Queue, &history, Limits::default()).violation().is_some(), "1 is first");
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Queue;

impl Model for Queue {
    type State = Vec<Value>;
    const BY_CLIENT: bool = false;

    fn start(&self) -> Vec<Value> {
        Vec::new()
    }

    fn takes(&self, input: &Input) -> bool {
        matches!(input, Input::Push(_) | Input::Pop)
    }

    fn step(&self, state: &Vec<Value>, operation: &Operation) -> Option<Vec<Value>> {
        match operation.input {
            Input::Push(value) => {
                let mut after = state.clone();
                after.push(value);
                Some(after)
            }
            _ => match (state.split_first(), operation.given()) {
                // Nothing is not an element: whoever is given nothing has seen an empty queue.
                (first, Some(Value::None)) => first.is_none().then(Vec::new),
                (Some((first, rest)), given) => given.is_none_or(|given| given == *first).then(|| rest.to_vec()),
                (None, _) => None,
            },
        }
    }

    fn reads_only(&self, operation: &Operation) -> bool {
        operation.input == Input::Pop && operation.given() == Some(Value::None)
    }

    fn words(&self, state: &Vec<Value>, history: &History) -> String {
        let waiting: Vec<_> = state.iter().take(5).map(|value| history.show(*value).to_string()).collect();
        let more = if state.len() > 5 { ", ..." } else { "" };
        if waiting.is_empty() {
            "the queue is empty".to_owned()
        } else {
            format!("in the queue: {}{more}", waiting.join(", "))
        }
    }
}
