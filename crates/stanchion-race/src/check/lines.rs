//! A history as JSON lines: one operation per line, so that a run can be kept and judged again.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Full, History, Input, OPEN, Operation, Value};

/// A line that is no operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line's number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for BadLine {}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    client: u32,
    key: String,
    call: u64,
    #[serde(rename = "return", default, skip_serializing_if = "Option::is_none")]
    ret: Option<u64>,
    #[serde(rename = "do")]
    action: String,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    value: Json,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    from: Json,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    to: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<u64>,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    got: Json,
}

impl History {
    /// Reads JSON lines; empty lines are passed over. A line without `return` is an operation whose outcome is unknown.
    ///
    /// ```
    /// use stanchion_race::check::History;
    /// let history = History::parse(r#"{"client":1,"key":"a","call":0,"return":4,"do":"write","value":"x"}"#)?;
    /// assert_eq!(history.operations().len(), 1);
    /// let bad = History::parse(r#"{"client":1,"key":"a","call":9,"return":4,"do":"read"}"#);
    /// assert_eq!(bad.unwrap_err().to_string(), "line 1: it returned before it was called");
    /// # Ok::<(), stanchion_race::check::BadLine>(())
    /// ```
    ///
    /// # Errors
    /// The first line that is no operation.
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let mut history = History::new();
        for (number, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                read(&mut history, line).map_err(|why| BadLine { line: number.saturating_add(1), why })?;
            }
        }
        Ok(history)
    }

    /// All operations as JSON lines, in the order in which they were added.
    #[must_use]
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for operation in self.operations() {
            // A struct of numbers, texts and JSON values always has a JSON form.
            if let Ok(line) = serde_json::to_string(&print(self, operation)) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }
}

fn read(history: &mut History, line: &str) -> Result<(), String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if line.ret.is_some_and(|ret| ret < line.call) {
        return Err("it returned before it was called".to_owned());
    }
    if line.call == OPEN || line.ret == Some(OPEN) {
        return Err(format!("{OPEN} is no time"));
    }
    let full = |Full| Full.to_string();
    let key = history.key(&line.key).map_err(full)?;
    let mut value = |json: &Json| match json {
        Json::Null => Ok(Value::None),
        Json::Bool(yes) => Ok(Value::Bool(*yes)),
        Json::Number(number) if number.is_i64() => number.as_i64().map(Value::Int).ok_or_else(String::new),
        Json::String(text) => history.text(text).map_err(full),
        // Whatever else there is can be compared by its text.
        other => history.text(&other.to_string()).map_err(full),
    };
    let number = |json: &Json| json.as_i64().ok_or_else(|| "`add` needs a whole number as `value`".to_owned());
    let token = line.token.unwrap_or(0);
    let input = match line.action.as_str() {
        "read" => Input::Read,
        "write" => Input::Write(value(&line.value)?),
        "cas" => Input::Cas { from: value(&line.from)?, to: value(&line.to)? },
        "add" => Input::Add(number(&line.value)?),
        "get" => Input::Get,
        "insert" => Input::Insert(value(&line.value)?),
        "remove" => Input::Remove(value(&line.value)?),
        "contains" => Input::Contains(value(&line.value)?),
        "acquire" => Input::Acquire,
        "release" => Input::Release,
        "push" => Input::Push(value(&line.value)?),
        "pop" => Input::Pop,
        "store" => Input::Store { token, base: line.base },
        "load" => Input::Load { token },
        other => return Err(format!("unknown operation {other:?}")),
    };
    let output = value(&line.got)?;
    let ret = line.ret.unwrap_or(OPEN);
    history.push(Operation { client: line.client, key, call: line.call, ret, input, output });
    Ok(())
}

fn print(history: &History, operation: &Operation) -> Line {
    let json = |value: Value| match value {
        Value::None => Json::Null,
        Value::Bool(yes) => Json::Bool(yes),
        Value::Int(number) => Json::from(number),
        Value::Text(place) => Json::from(history.name(place)),
    };
    let mut line = Line {
        client: operation.client,
        key: history.name(operation.key).to_owned(),
        call: operation.call,
        ret: Some(operation.ret).filter(|ret| *ret != OPEN),
        got: operation.given().map_or(Json::Null, json),
        ..Line::default()
    };
    let token = |token: u64| Some(token).filter(|token| *token != 0);
    let action = match operation.input {
        Input::Read => "read",
        Input::Write(value) => {
            line.value = json(value);
            "write"
        }
        Input::Cas { from, to } => {
            (line.from, line.to) = (json(from), json(to));
            "cas"
        }
        Input::Add(number) => {
            line.value = Json::from(number);
            "add"
        }
        Input::Get => "get",
        Input::Insert(value) => {
            line.value = json(value);
            "insert"
        }
        Input::Remove(value) => {
            line.value = json(value);
            "remove"
        }
        Input::Contains(value) => {
            line.value = json(value);
            "contains"
        }
        Input::Acquire => "acquire",
        Input::Release => "release",
        Input::Push(value) => {
            line.value = json(value);
            "push"
        }
        Input::Pop => "pop",
        Input::Store { token: under, base } => {
            (line.token, line.base) = (token(under), base);
            "store"
        }
        Input::Load { token: under } => {
            line.token = token(under);
            "load"
        }
    };
    action.clone_into(&mut line.action);
    line
}
