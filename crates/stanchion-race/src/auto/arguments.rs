//! Arguments from a tool's schema: as few as it needs, with values that are found again.

use serde_json::{Map, Value, json};

/// What is created is called so, and what is searched for begins so.
pub(super) const MARK: &str = "race-{id}";
const QUERY: &str = "race";

/// Names of what something is known by.
const KNOWN_BY: [&str; 24] = [
    "name",
    "id",
    "key",
    "title",
    "text",
    "content",
    "contents",
    "note",
    "message",
    "description",
    "value",
    "body",
    "slug",
    "label",
    "subject",
    "task",
    "summary",
    "fact",
    "observation",
    "observations",
    "data",
    "item",
    "todo",
    "thought",
];
/// Names of how much is shown.
const HOW_MANY: [&str; 10] = ["limit", "max", "count", "size", "top", "results", "number", "k", "n", "maxresults"];
const HOW_MANY_SHOWN: u64 = 1000;
/// Deeper schemas are not followed: they may refer to themselves.
const DEPTH: usize = 8;

/// What texts are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// The mark where a thing is known by it, a fixed word elsewhere.
    KnownBy,
    /// The mark in every text.
    All,
    /// The word that all marks begin with.
    Search,
    /// Nothing, which some take for everything.
    Empty,
}

/// For a tool that creates, and for one that shows, in the order in which they are tried.
pub(super) const CREATING: [Texts; 2] = [Texts::KnownBy, Texts::All];
pub(super) const SHOWING: [Texts; 2] = [Texts::Search, Texts::Empty];

/// Arguments in the form of a specification, where `{id}` stands for the call's id; `None` if the schema cannot be met.
pub(super) fn arguments(schema: &Value, texts: Texts) -> Option<Value> {
    let make = Make { root: schema, texts };
    match make.value(schema, "", 0) {
        Some(Value::Object(fields)) => Some(Value::Object(fields)),
        None if !schema.is_object() => Some(json!({})),
        _ => None,
    }
}

/// Whether a call says which one it is.
pub(super) fn has_mark(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => text.contains("{id}"),
        Value::Array(items) => items.iter().any(has_mark),
        Value::Object(fields) => fields.values().any(has_mark),
        _ => false,
    }
}

struct Make<'s> {
    root: &'s Value,
    texts: Texts,
}

impl Make<'_> {
    fn value(&self, schema: &Value, name: &str, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
            return self.value(self.root.pointer(place.strip_prefix('#')?)?, name, depth + 1);
        }
        if let Some(fixed) = schema.get("const").or_else(|| schema.get("enum")?.as_array()?.first()) {
            return Some(plain(fixed));
        }
        for several in ["anyOf", "oneOf", "allOf"] {
            let all = schema.get(several).and_then(Value::as_array);
            if let Some(made) = all.and_then(|all| all.iter().find_map(|it| self.value(it, name, depth + 1))) {
                return Some(made);
            }
        }
        match kind(schema)? {
            "object" => self.object(schema, depth),
            "array" => {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 8);
                let item = schema.get("items").and_then(|it| self.value(it, name, depth + 1));
                Some(item.map_or(json!([]), |item| (0..least).map(|_| item.clone()).collect()))
            }
            "integer" | "number" => Some(self.number(schema, name)),
            "boolean" => Some(schema.get("default").cloned().unwrap_or(json!(false))),
            "string" => Some(Value::String(self.text(schema, name))),
            _ => None,
        }
    }

    /// What is needed, and how much is shown. If nothing is needed and something must be known again, everything.
    fn object(&self, schema: &Value, depth: usize) -> Option<Value> {
        let nothing = Map::new();
        let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let needed = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_needed = |name: &str| needed.iter().any(|it| it.as_str() == Some(name));
        let creates = matches!(self.texts, Texts::KnownBy | Texts::All);
        let mut made = Map::new();
        for (name, inner) in fields {
            let how_many = !creates && is_how_many(name) && matches!(kind(inner), Some("integer" | "number"));
            if is_needed(name) || how_many || (creates && needed.is_empty()) {
                match self.value(inner, name, depth + 1) {
                    Some(value) => made.insert(name.clone(), value),
                    None if is_needed(name) => return None,
                    None => None,
                };
            }
        }
        Some(Value::Object(made))
    }

    fn number(&self, schema: &Value, name: &str) -> Value {
        let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
        if is_how_many(name) && matches!(self.texts, Texts::Search | Texts::Empty) {
            return json!(schema.get("maximum").and_then(Value::as_u64).unwrap_or(HOW_MANY_SHOWN).min(HOW_MANY_SHOWN));
        }
        if let Some(default) = schema.get("default").filter(|it| it.is_number()) {
            return default.clone();
        }
        let least = limit("minimum").or_else(|| limit("exclusiveMinimum").map(|it| it + 1.0)).unwrap_or(1.0).max(1.0);
        let most = limit("maximum").or_else(|| limit("exclusiveMaximum").map(|it| it - 1.0));
        let number = most.map_or(least, |most| least.min(most));
        serde_json::from_str(&number.to_string()).unwrap_or(json!(1))
    }

    fn text(&self, schema: &Value, name: &str) -> String {
        let longest = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let is_path =
            words(name).any(|word| matches!(word.as_str(), "path" | "file" | "filename" | "dir" | "directory"));
        let is_mark = match self.texts {
            Texts::KnownBy => words(name).any(|word| KNOWN_BY.contains(&word.as_str())),
            Texts::All => true,
            Texts::Search | Texts::Empty => false,
        };
        let id = "race-0000000000000000".len();
        match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => return "2026-01-01T00:00:00Z".into(),
            Some("date") => return "2026-01-01".into(),
            Some("time") => return "00:00:00Z".into(),
            Some("uuid") => return "00000000-0000-4000-8000-000000000000".into(),
            Some("email") if is_mark => return format!("{MARK}@example.com"),
            Some("uri" | "url") if is_mark => return format!("http://127.0.0.1/{MARK}"),
            Some("email") => return "race@example.com".into(),
            Some("uri" | "url") => return "http://127.0.0.1/".into(),
            _ => {}
        }
        match self.texts {
            Texts::Search | Texts::Empty if is_path => ".".into(),
            Texts::KnownBy | Texts::All if is_path => format!("{MARK}.txt"),
            Texts::Empty => String::new(),
            _ if is_mark && longest >= id as u64 => MARK.into(),
            _ => {
                schema.get("default").and_then(Value::as_str).filter(|it| !it.is_empty()).map_or(QUERY.into(), escaped)
            }
        }
    }
}

fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // camelCase: its last word, which is what it is.
    let last = name.rfind(char::is_uppercase).and_then(|at| name.get(at..));
    parts.chain(last).map(str::to_lowercase)
}

fn is_how_many(name: &str) -> bool {
    words(name).any(|word| HOW_MANY.contains(&word.as_str()))
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if schema.get("properties").is_some() => Some("object"),
        // Anything goes.
        _ if schema.as_object().is_some_and(|it| !it.contains_key("anyOf")) => Some("string"),
        _ => None,
    }
}

/// Braces are words in a specification.
pub(super) fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(escaped(text)),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, inner)| (name.clone(), plain(inner))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entities() -> Value {
        json!({
            "type": "object", "required": ["entities"],
            "properties": {"entities": {"type": "array", "items": {
                "type": "object", "required": ["name", "entityType", "observations"],
                "properties": {
                    "name": {"type": "string"}, "entityType": {"type": "string"},
                    "observations": {"type": "array", "items": {"type": "string"}}, "more": {"type": "string"}
                }
            }}}
        })
    }

    #[test]
    fn what_is_needed_is_there_and_known_again() {
        let made = arguments(&entities(), Texts::KnownBy).unwrap();
        assert_eq!(made, json!({"entities": [{"name": MARK, "entityType": "race", "observations": [MARK]}]}));
        assert!(has_mark(&made) && !has_mark(&arguments(&entities(), Texts::Search).unwrap()));
    }

    #[test]
    fn fixed_words_references_limits_and_numbers_are_met() {
        let schema = json!({
            "type": "object", "required": ["kind", "who", "amount", "when", "tiny", "odd"], "$defs": {"who": {"type": ["null", "string"]}},
            "properties": {
                "kind": {"enum": ["a{b}", "c"]}, "who": {"$ref": "#/$defs/who"}, "amount": {"type": "integer", "minimum": 5},
                "when": {"type": "string", "format": "date"}, "tiny": {"type": "string", "maxLength": 4},
                "odd": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}
            }
        });
        let made = arguments(&schema, Texts::All).unwrap();
        assert_eq!(
            made,
            json!({"kind": "a{{b}}", "who": MARK, "amount": 5, "when": "2026-01-01", "tiny": "race", "odd": false})
        );
    }

    #[test]
    fn a_listing_is_asked_for_much_and_a_search_for_all_marks() {
        let schema = json!({
            "type": "object", "required": ["query"],
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 50}, "after": {"type": "string"}}
        });
        assert_eq!(arguments(&schema, Texts::Search), Some(json!({"query": "race", "limit": 50})));
        assert_eq!(arguments(&schema, Texts::Empty), Some(json!({"query": "", "limit": 50})));
        assert_eq!(arguments(&Value::Null, Texts::Search), Some(json!({})));
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_given_up() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}});
        assert_eq!(arguments(&schema, Texts::All), None);
    }
}
