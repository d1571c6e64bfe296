//! What a correct service does, one operation at a time.

mod counter;
mod mutex;
mod queue;
mod register;
mod set;

use std::fmt::Debug;
use std::hash::Hash;

pub use counter::Counter;
pub use mutex::{Held, Mutex};
pub use queue::Queue;
pub use register::Register;
pub use set::Set;

use super::{History, Input, Operation, Value};

/// A service that does one operation after the other. The checker asks it whether an operation, with the answer that was
/// seen, could happen in a state.
///
/// ```
/// use stanchion_race::check::{History, Input, Operation, Value, linear::{self, Limits}, model::Model};
///
/// /// Gives every number once, upwards.
/// struct Tickets;
///
/// impl Model for Tickets {
///     type State = i64;
///     fn start(&self) -> i64 {
///         0
///     }
///     fn takes(&self, input: &Input) -> bool {
///         matches!(input, Input::Get)
///     }
///     fn step(&self, last: &i64, operation: &Operation) -> Option<i64> {
///         let next = last.checked_add(1)?;
///         operation.given().is_none_or(|given| given == Value::Int(next)).then_some(next)
///     }
/// }
///
/// let mut history = History::new();
/// let key = history.key("desk")?;
/// history.done(1, key, (0, 5), Input::Get, Value::Int(2));
/// history.done(2, key, (1, 6), Input::Get, Value::Int(1));
/// assert!(linear::check(&Tickets, &history, Limits::default()).is_linearizable());
/// history.done(3, key, (7, 8), Input::Get, Value::Int(2));
/// assert!(linear::check(&Tickets, &history, Limits::default()).violation().is_some());
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
pub trait Model {
    /// All that later answers depend on. It is cloned and compared very often: keep it small.
    type State: Clone + Eq + Hash + Debug;

    /// Whether operations may commute at all; `false` saves the question.
    const COMMUTES: bool = false;

    /// Whether it matters who calls. `false` lets the checker treat calls of different clients as the same.
    const BY_CLIENT: bool = true;

    /// The state before the first operation.
    fn start(&self) -> Self::State;

    /// Whether the model knows this kind of operation; others are left out of the check.
    fn takes(&self, input: &Input) -> bool;

    /// The state after the operation, or nothing if it could not give this answer in this state. An open operation has no
    /// answer; it is asked only for the case that it happens, so that "it has no effect here" may be answered by nothing.
    fn step(&self, state: &Self::State, operation: &Operation) -> Option<Self::State>;

    /// Whether the operation, with this answer, leaves *every* state as it is. Such operations cost nearly nothing.
    fn reads_only(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether two operations, with their answers, can always be exchanged: in every state, both orders are possible or
    /// neither is, and both end in the same state. Asked only with [`Model::COMMUTES`].
    fn commute(&self, _one: &Operation, _other: &Operation) -> bool {
        false
    }

    /// Operations of different parts of one key cannot influence each other and are checked apart.
    fn part(&self, _operation: &Operation) -> Value {
        Value::None
    }

    /// The state in words.
    fn words(&self, state: &Self::State, _history: &History) -> String {
        format!("{state:?}")
    }
}
