//! What a call asks for, or why it asks for nothing.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::shape::{Member, Shape};
use super::tools::{self, Spec};
use crate::{Mutation, Query};

/// So much of a name that nobody knows is said back.
const SHOWN: usize = 1000;

/// What is looked at in the params of a call, whatever the tool.
const PARAMS: Shape = Shape::Object(&[
    Member::optional("task", Shape::Object(&[])),
    Member::new("name", Shape::Text),
    Member::optional("arguments", Shape::Record),
]);

/// A call whose arguments are as they should be.
#[derive(Debug)]
pub(super) enum Wanted {
    Change(Mutation),
    Read(Query),
}

/// Why a call is none.
#[derive(Debug)]
pub(super) enum Refused {
    /// The message is wrong: an error of the protocol.
    Message(String),
    /// The call is wrong: a result that the model sees.
    Call(String),
}

/// A call, as far as all tools have it in common.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    /// The key of SEP-3182, whatever it is.
    pub(super) key: Option<Value>,
}

impl Call {
    /// # If it fails
    /// The message is no call of a tool, or wants to be a task.
    pub(super) fn of(params: Option<Value>) -> Result<Self, Refused> {
        let problems = PARAMS.problems(params.as_ref(), &["params"]);
        if !problems.is_empty() {
            return Err(Refused::Message(problems.json()));
        }
        let Some(Value::Object(mut params)) = params else { return Err(Refused::Message(String::new())) };
        if params.contains_key("task") {
            let why = "Server does not support task creation (required for tools/call)";
            return Err(Refused::Message(why.to_owned()));
        }
        let name = match params.remove("name") {
            Some(Value::String(name)) => name,
            _ => String::new(),
        };
        let arguments = match params.remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        Ok(Self { name, arguments, key: params.remove("idempotencyKey") })
    }

    /// What the call asks for.
    ///
    /// # If it fails
    /// There is no such tool, or its arguments are others.
    pub(super) fn wanted(&self) -> Result<(&'static Spec, Wanted), Refused> {
        let invalid = |why: String| Refused::Call(format!("MCP error -32602: {why}"));
        let tool = tools::find(&self.name).ok_or_else(|| invalid(format!("Tool {} not found", shown(&self.name))))?;
        let wrong =
            |why: String| invalid(format!("Input validation error: Invalid arguments for tool {}: {why}", self.name));
        for member in tool.input {
            let problems = member.shape.problems(self.arguments.get(member.name), &[member.name]);
            if !problems.is_empty() {
                return Err(wrong(problems.lines()));
            }
        }
        let wanted = match tool.name {
            "create_entities" => self.get("entities").map(Mutation::CreateEntities).map(Wanted::Change),
            "create_relations" => self.get("relations").map(Mutation::CreateRelations).map(Wanted::Change),
            "add_observations" => self.get("observations").map(Mutation::AddObservations).map(Wanted::Change),
            "delete_entities" => self.get("entityNames").map(Mutation::DeleteEntities).map(Wanted::Change),
            "delete_observations" => self.get("deletions").map(Mutation::DeleteObservations).map(Wanted::Change),
            "delete_relations" => self.get("relations").map(Mutation::DeleteRelations).map(Wanted::Change),
            "search_nodes" => self.get("query").map(Query::Search).map(Wanted::Read),
            "open_nodes" => self.get("names").map(Query::Open).map(Wanted::Read),
            _ => Ok(Wanted::Read(Query::All)),
        };
        wanted.map(|wanted| (tool, wanted)).map_err(|error| wrong(error.to_string()))
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, serde_json::Error> {
        T::deserialize(self.arguments.get(name).unwrap_or(&Value::Null))
    }
}

/// A text of somebody else, no longer than we want to repeat.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
