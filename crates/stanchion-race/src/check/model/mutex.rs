use super::Model;
use crate::check::{History, Input, Operation, Value};

/// A lock without expiry: one holder, and tokens that grow with every grant if there are any. Grants that end by
/// themselves are for [`order`](crate::check::order): no lease can keep a paused process from believing that it holds one.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Mutex};
/// let mut history = History::new();
/// let key = history.key("door")?;
/// history.done(1, key, (0, 5), Input::Acquire, Value::Int(7));
/// history.done(2, key, (6, 8), Input::Acquire, Value::Int(8));
/// let checked = linear::check(&Mutex, &history, Limits::default());
/// assert!(checked.violation().is_some(), "client 1 has not released it");
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Mutex;

/// Who has the lock, and the highest token so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Held {
    /// The client that has it.
    pub by: Option<u32>,
    /// No later grant may have a token up to this.
    pub token: i64,
}

impl Model for Mutex {
    type State = Held;

    fn start(&self) -> Held {
        Held { by: None, token: i64::MIN }
    }

    fn takes(&self, input: &Input) -> bool {
        matches!(input, Input::Acquire | Input::Release)
    }

    fn step(&self, state: &Held, operation: &Operation) -> Option<Held> {
        let mine = state.by == Some(operation.client);
        let (acquires, given) = (operation.input == Input::Acquire, operation.given());
        match given {
            Some(Value::Bool(false)) if acquires => state.by.is_some().then_some(*state),
            Some(Value::Bool(false)) => (!mine).then_some(*state),
            _ if !acquires => mine.then_some(Held { by: None, ..*state }),
            _ if state.by.is_some() => None,
            Some(Value::Int(token)) => (token > state.token).then_some(Held { by: Some(operation.client), token }),
            // An unknown grant has a token above the last one, if it has any: the next one is not held against it.
            _ => Some(Held { by: Some(operation.client), ..*state }),
        }
    }

    fn reads_only(&self, operation: &Operation) -> bool {
        operation.given() == Some(Value::Bool(false))
    }

    fn words(&self, state: &Held, _: &History) -> String {
        let held = state.by.map_or("nobody has the lock".to_owned(), |client| format!("client {client} has the lock"));
        if state.token == i64::MIN { held } else { format!("{held}, the last token was {}", state.token) }
    }
}
