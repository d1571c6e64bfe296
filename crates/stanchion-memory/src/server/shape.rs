//! What is expected of a JSON value, and what is said when it is something else: in the official server's words.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// So many problems of one message are told. The rest is a number.
const TOLD: usize = 100;

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Text,
    Flag,
    /// Any object.
    Record,
    List(&'static Shape),
    /// An object with at least these members.
    Object(&'static [Member]),
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    /// What a model reads of it.
    pub(super) about: Option<&'static str>,
    pub(super) shape: Shape,
    pub(super) optional: bool,
}

impl Member {
    pub(super) const fn new(name: &'static str, shape: Shape) -> Self {
        Self { name, about: None, shape, optional: false }
    }

    pub(super) const fn about(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, about: Some(about), shape, optional: false }
    }

    pub(super) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, about: None, shape, optional: true }
    }
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Flag => "boolean",
            Self::Record => "record",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Its JSON Schema. One that is closed allows no further members.
    pub(super) fn schema(self, closed: bool) -> Map<String, Value> {
        let mut schema = Map::new();
        match self {
            Self::Text | Self::Flag => schema.insert("type".into(), json!(self.name())),
            Self::Record => schema.insert("type".into(), json!("object")),
            Self::List(of) => {
                schema.insert("type".into(), json!("array"));
                schema.insert("items".into(), of.schema(closed).into())
            }
            Self::Object(members) => {
                let property = |member: &Member| {
                    let mut property = member.shape.schema(closed);
                    property.extend(member.about.map(|about| ("description".to_owned(), json!(about))));
                    (member.name.to_owned(), property.into())
                };
                let properties: Map<String, Value> = members.iter().map(property).collect();
                let required: Vec<&str> =
                    members.iter().filter(|member| !member.optional).map(|member| member.name).collect();
                if !required.is_empty() {
                    schema.insert("required".into(), json!(required));
                }
                if closed {
                    schema.insert("additionalProperties".into(), json!(false));
                }
                schema.insert("type".into(), json!("object"));
                schema.insert("properties".into(), properties.into())
            }
        };
        schema
    }

    /// What is wrong with the value; nothing, if it is as it should be. `at` is where it stands.
    pub(super) fn problems(self, value: Option<&Value>, at: &[&'static str]) -> Problems {
        let mut problems = Problems::default();
        let mut path: Vec<Step> = at.iter().map(|name| Step::Member(name)).collect();
        self.look(value, &mut path, &mut problems);
        problems
    }

    /// Is one of these members not as it should be?
    pub(super) fn is_wrong(self, object: &Map<String, Value>) -> bool {
        let Self::Object(members) = self else { return true };
        let wrong = |member: &Member| match (object.get(member.name), member.optional) {
            (None, optional) => !optional,
            (value, _) => !member.shape.problems(value, &[]).is_empty(),
        };
        members.iter().any(wrong)
    }

    fn look(self, value: Option<&Value>, path: &mut Vec<Step>, problems: &mut Problems) {
        match (self, value) {
            (Self::Text, Some(Value::String(_)))
            | (Self::Flag, Some(Value::Bool(_)))
            | (Self::Record, Some(Value::Object(_))) => {}
            (Self::List(of), Some(Value::Array(items))) => {
                for (at, item) in items.iter().enumerate() {
                    path.push(Step::Item(at));
                    of.look(Some(item), path, problems);
                    path.pop();
                }
            }
            (Self::Object(members), Some(Value::Object(object))) => {
                for member in members {
                    let value = object.get(member.name);
                    if value.is_none() && member.optional {
                        continue;
                    }
                    path.push(Step::Member(member.name));
                    member.shape.look(value, path, problems);
                    path.pop();
                }
            }
            (expected, found) => problems.add(path, expected.name(), name_of(found)),
        }
    }
}

const fn name_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Member(&'static str),
    Item(usize),
}

#[derive(Debug)]
struct Wrong {
    path: Vec<Step>,
    expected: &'static str,
    found: &'static str,
}

impl Wrong {
    fn message(&self) -> String {
        format!("Invalid input: expected {}, received {}", self.expected, self.found)
    }
}

/// Everything that is wrong with one value, in the order of what was expected.
#[derive(Debug, Default)]
pub(super) struct Problems {
    told: Vec<Wrong>,
    more: usize,
}

impl Problems {
    fn add(&mut self, path: &[Step], expected: &'static str, found: &'static str) {
        match self.told.len() < TOLD {
            true => self.told.push(Wrong { path: path.to_vec(), expected, found }),
            false => self.more += 1,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// One line each: for models.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        for wrong in &self.told {
            let separator = if text.is_empty() { "" } else { "\n" };
            text.push_str(separator);
            text.push_str(&wrong.message());
            for (nth, step) in wrong.path.iter().enumerate() {
                let before = if nth == 0 { " at " } else { "." };
                // Writing to a text cannot fail.
                match step {
                    Step::Member(name) => write!(text, "{before}{name}").ok(),
                    Step::Item(at) => write!(text, "[{at}]").ok(),
                };
            }
        }
        if self.more > 0 {
            write!(text, "\nand {} more", self.more).ok();
        }
        text
    }

    /// As JSON in a text: what the official server says of messages that its SDK refuses.
    pub(super) fn json(&self) -> String {
        let step = |step: &Step| match step {
            Step::Member(name) => json!(name),
            Step::Item(at) => json!(at),
        };
        let mut text = String::from("[");
        for (nth, wrong) in self.told.iter().enumerate() {
            let path: Vec<Value> = wrong.path.iter().map(step).collect();
            let path = pretty(&path).replace('\n', "\n    ");
            // In this order, which a JSON object of ours would not keep.
            write!(
                text,
                "{}\n  {{\n    \"expected\": \"{}\",\n    \"code\": \"invalid_type\",\n    \"path\": {path},\n    \"message\": \"{}\"\n  }}",
                if nth == 0 { "" } else { "," },
                wrong.expected,
                wrong.message()
            )
            .ok();
        }
        text.push_str("\n]");
        text
    }
}

/// As `JSON.stringify(value, null, 2)` writes it.
pub(super) fn pretty(value: &impl serde::Serialize) -> String {
    // What we show has texts as names and no failing parts.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Shape = Shape::Object(&[Member::new("x", Shape::Text), Member::new("on", Shape::Flag)]);

    #[test]
    fn all_problems_are_told_with_their_place() {
        let value = json!([{"x": 1}, null, {"x": "a", "on": true, "more": 0}]);
        let problems = Shape::List(&POINT).problems(Some(&value), &["points"]);
        assert_eq!(
            problems.lines(),
            "Invalid input: expected string, received number at points[0].x\n\
             Invalid input: expected boolean, received undefined at points[0].on\n\
             Invalid input: expected object, received null at points[1]"
        );
    }

    #[test]
    fn of_very_many_problems_the_rest_is_a_number() {
        let value = Value::from(vec![1; 1000]);
        let problems = Shape::List(&Shape::Text).problems(Some(&value), &["names"]);
        assert!(problems.lines().ends_with("at names[99]\nand 900 more"), "{}", problems.lines());
    }
}
