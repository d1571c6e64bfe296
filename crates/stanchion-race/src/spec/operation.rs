//! `operation`: which operation of the model a call is, for `linearizable`.

use serde_json::json;

use super::calls::is_pointer;
use super::reader::Table;
use super::template::Words;
use super::{Model, Template, ValueTemplate};

/// What a call does to the object that `linearizable` names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Operation {
    /// Which operation.
    pub action: Action,
    /// Which object: calls with different keys do not meet.
    pub key: Template,
    /// What is written, added, inserted, removed or looked for.
    pub value: ValueTemplate,
    /// What must be there to be replaced.
    pub from: ValueTemplate,
    /// Where in the answer the result is: a JSON pointer, with `*` for `list`.
    pub gives: Option<String>,
    /// Who calls: whoever has acquired a mutex releases it.
    pub client: Template,
    /// An error means "no": it ran, and did nothing.
    pub error_is_no: bool,
}

/// Operations of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Register: gives the value.
    Read,
    /// Register: replaces the value.
    Write,
    /// Register: replaces `from` by `value`; gives whether it did.
    Cas,
    /// Counter: adds `value`; gives nothing, or the sum afterwards.
    Add,
    /// Counter: gives the sum.
    Get,
    /// Set: adds `value`; gives nothing, or whether it is new.
    Insert,
    /// Set: takes `value` away; gives nothing, or whether it was there.
    Remove,
    /// Set: gives whether `value` is there.
    Contains,
    /// Set: gives all elements.
    List,
    /// Mutex: gives nothing, the fencing token, or `false`.
    Acquire,
    /// Mutex: gives nothing, or `false` if it was not the caller's.
    Release,
}

const REGISTER: [(&str, Action); 3] = [("read", Action::Read), ("write", Action::Write), ("cas", Action::Cas)];
const COUNTER: [(&str, Action); 2] = [("add", Action::Add), ("get", Action::Get)];
const SET: [(&str, Action); 4] =
    [("insert", Action::Insert), ("remove", Action::Remove), ("contains", Action::Contains), ("list", Action::List)];
const MUTEX: [(&str, Action); 2] = [("acquire", Action::Acquire), ("release", Action::Release)];

impl Model {
    fn actions(self) -> &'static [(&'static str, Action)] {
        match self {
            Self::Register => &REGISTER,
            Self::Counter => &COUNTER,
            Self::Set => &SET,
            Self::Mutex => &MUTEX,
        }
    }
}

impl Action {
    /// Means nothing without an answer.
    fn needs_answer(self) -> bool {
        matches!(self, Self::Read | Self::Get | Self::Contains | Self::List)
    }

    /// Changes nothing.
    pub(crate) fn looks(self) -> bool {
        self.needs_answer()
    }

    fn needs_value(self) -> bool {
        matches!(self, Self::Write | Self::Cas | Self::Insert | Self::Remove | Self::Contains)
    }

    fn takes_value(self) -> bool {
        self.needs_value() || self == Self::Add
    }

    /// Can be answered with "no".
    fn can_be_no(self) -> bool {
        matches!(self, Self::Cas | Self::Insert | Self::Remove | Self::Acquire | Self::Release)
    }
}

/// Whether a specification is about the order of calls, as far as its calls must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordered {
    No,
    /// The model is misspelt, which is told elsewhere.
    Misspelt,
    By(Model),
}

/// The operation of a call. `is_needed`: without it the model says nothing about the call.
pub(super) fn operation(table: &Table<'_, '_>, ordered: Ordered, is_needed: bool) -> Option<Operation> {
    let model = match ordered {
        Ordered::By(model) => model,
        Ordered::Misspelt => {
            table.item("operation");
            return None;
        }
        Ordered::No => {
            table.refuse("operation", "only `expect.linearizable` asks which operation a call is");
            return None;
        }
    };
    let words = model.actions();
    let allowed = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    if !table.has("operation") {
        if is_needed {
            let next = format!("write operation = {{ do = \"…\" }} with one of: {allowed}");
            table.wrong("operation", "`linearizable` needs to know which operation this call is", "", &next);
        }
        table.item("operation");
        return None;
    }
    let inner = table.table("operation")?;
    if !inner.has("do") {
        inner.wrong("do", "`do` is needed", &allowed, "");
    }
    let action = inner.choice("do", words);
    let key = inner.template("key", Words::Call).unwrap_or_else(Template::nothing);
    let value = inner.value("value", Words::Call);
    let from = inner.value("from", Words::Call).unwrap_or(ValueTemplate::Plain(json!(null)));
    let client = inner.template("client", Words::Call).unwrap_or_else(Template::word_i);
    let gives = inner.text("gives").map(str::to_owned);
    let error_is_no = inner.choice("error", &[("no", ())]).is_some();
    inner.finish();
    let action = action?;
    if gives.as_ref().is_some_and(|it| !is_pointer(it)) {
        inner.wrong("gives", "not a JSON pointer", "\"\" or /a/b", "begin it with a slash");
    }
    if action.needs_answer() && gives.is_none() {
        inner.wrong("gives", "its answer is not found", "\"\" or /a/b", "say where in the answer the result is");
    }
    if action.needs_value() && value.is_none() {
        inner.wrong("value", "`value` is needed", "as it is in the arguments, templates too", "");
    }
    if inner.has("value") && !action.takes_value() {
        inner.wrong("value", "this operation takes no value", "", "delete the key");
    }
    if inner.has("from") && action != Action::Cas {
        inner.wrong("from", "only `cas` replaces a value", "", "delete the key");
    }
    if inner.has("client") && model != Model::Mutex {
        inner.wrong("client", "only a mutex asks who calls", "", "delete the key");
    }
    if error_is_no && !action.can_be_no() {
        inner.wrong("error", "this operation cannot be answered with \"no\"", "", "delete the key");
    }
    let value = value.unwrap_or(ValueTemplate::Plain(json!(1)));
    Some(Operation { action, key, value, from, gives, client, error_is_no })
}
