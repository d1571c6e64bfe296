use super::Model;
use crate::check::{History, Input, Operation, Value};

/// A set: insert, remove, contains. Each element is checked by itself, so that large sets are cheap. A listing is one
/// `contains` per element that could be in it.
///
/// ```
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Set};
/// let mut history = History::new();
/// let key = history.key("todo")?;
/// let milk = history.text("milk")?;
/// history.done(1, key, (0, 5), Input::Insert(milk), Value::Bool(true));
/// history.done(2, key, (1, 6), Input::Insert(milk), Value::Bool(true));
/// assert!(linear::check(&Set, &history, Limits::default()).violation().is_some(), "it was new twice");
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Set;

impl Model for Set {
    type State = bool;
    const COMMUTES: bool = true;
    const BY_CLIENT: bool = false;

    fn start(&self) -> bool {
        false
    }

    fn takes(&self, input: &Input) -> bool {
        matches!(input, Input::Insert(_) | Input::Remove(_) | Input::Contains(_))
    }

    fn step(&self, there: &bool, operation: &Operation) -> Option<bool> {
        let (answer, after) = match operation.input {
            Input::Insert(_) => (!there, true),
            Input::Remove(_) => (*there, false),
            _ => (*there, *there),
        };
        match operation.given() {
            Some(Value::Bool(given)) => (given == answer).then_some(after),
            Some(Value::None) => (!matches!(operation.input, Input::Contains(_))).then_some(after),
            Some(_) => None,
            // Inserting what is there changes nothing, and so need not happen.
            None => (after != *there).then_some(after),
        }
    }

    fn reads_only(&self, operation: &Operation) -> bool {
        match operation.input {
            Input::Contains(_) => true,
            _ => operation.given() == Some(Value::Bool(false)),
        }
    }

    fn commute(&self, one: &Operation, other: &Operation) -> bool {
        let blind = |operation: &Operation| operation.given() == Some(Value::None);
        match (one.input, other.input) {
            (Input::Insert(_), Input::Insert(_)) | (Input::Remove(_), Input::Remove(_)) => blind(one) && blind(other),
            _ => self.reads_only(one) && self.reads_only(other),
        }
    }

    fn part(&self, operation: &Operation) -> Value {
        match operation.input {
            Input::Insert(value) | Input::Remove(value) | Input::Contains(value) => value,
            _ => Value::None,
        }
    }

    fn words(&self, there: &bool, _: &History) -> String {
        if *there { "the element is there".to_owned() } else { "the element is not there".to_owned() }
    }
}
