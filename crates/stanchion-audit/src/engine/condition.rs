//! Conditions and values of statements that are put together by calls.

use std::rc::Rc;

use super::Engine;
use super::known::Known;
use super::mark::Mark;
use super::value::{Origins, Shape, Value};
use crate::models::Words;

/// Conditions of one statement.
pub(super) const CONDITIONS_MOST: usize = 64;

/// One condition that must hold.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pub(super) column: Rc<str>,
    pub(super) text: Rc<str>,
    pub(super) equal: bool,
    pub(super) origins: Origins,
}

impl Engine<'_> {
    /// Conditions that functions make: `eq(users.id, id)`.
    pub(super) fn condition_call(&mut self, known: &Known<'_>, verb: &str) -> Value {
        let origins = known.origins();
        let name = |at: usize| known.args.get(at).map_or("?", |(_, arg)| &*arg.name);
        match verb {
            "equal" => Value::unknown(format_args!("({}=={})", name(0), name(1))).from(&origins),
            "all" => {
                let all: Vec<Value> = known.args.iter().map(|(_, arg)| arg.clone()).collect();
                Value::of(Shape::List(all.into()), "all")
            }
            // Computed by the store from what it holds then.
            "stored" => Value::unknown(format_args!("{}{}", Mark::Stored, name(0))).from(&origins),
            _ => Value::unknown(format_args!("({}?{})", name(0), name(1))).from(&origins),
        }
    }

    /// `where(...)` in its many forms.
    pub(super) fn conditions_of(&self, known: &Known<'_>, all: &mut Vec<Condition>) {
        let texts: Vec<&Value> = known.args.iter().filter(|(name, _)| name.is_none()).map(|(_, arg)| arg).collect();
        for (name, arg) in known.args.iter().filter_map(|(name, arg)| Some((name.as_ref()?, arg))) {
            // Django's `balance__gte`.
            let (column, operator) = name.split_once("__").unwrap_or((name, "exact"));
            all.push(condition(column, matches!(operator, "exact" | "in" | "pk" | "id"), arg));
        }
        match texts.as_slice() {
            [column, value] if column.as_text().is_some() => {
                let equal = known.model.how.as_deref() != Some("compares");
                all.push(condition(column.as_text().unwrap_or_default(), equal, value));
            }
            [column, operator, value] if column.as_text().is_some() => {
                let equal = matches!(operator.as_text(), Some("=" | "==" | "===" | "in"));
                all.push(condition(column.as_text().unwrap_or_default(), equal, value));
            }
            [text, values @ ..] if text.as_text().is_some_and(|text| text.contains(['=', '<', '>'])) => {
                let text = text.as_text().unwrap_or_default();
                for (index, part) in text.split(" AND ").flat_map(|part| part.split(" and ")).enumerate() {
                    let column = part.split(['=', '<', '>', '!', ' ']).next().unwrap_or_default();
                    let column = column.rsplit('.').next().unwrap_or(column);
                    let equal = part.contains('=') && !part.contains(['<', '>', '!']);
                    let unknown = Value::unknown(part);
                    all.push(condition(column, equal, values.get(index).unwrap_or(&&unknown)));
                }
            }
            values => values.iter().for_each(|value| conditions(self.words(), value, all, 3)),
        }
    }

    /// Which row: conditions on what identifies it. What derives from a read is most likely the row that was read.
    pub(super) fn part(&self, filter: &[Condition]) -> Option<Rc<str>> {
        let mut equal: Vec<String> = filter
            .iter()
            .filter(|c| c.equal && is_identity(&c.column) && !self.is_of_row(&c.origins))
            .map(|c| {
                let column = c.column.trim_start_matches('_');
                format!("{}={}", if column == "pk" { "id" } else { column }, c.text)
            })
            .collect();
        equal.sort();
        (!equal.is_empty()).then(|| equal.join(",").into())
    }
}

impl Engine<'_> {
    /// Fields of what was given that the conditions around look for in a list or a set: `known.has(item.id)`.
    pub(super) fn looked_for(&self) -> Vec<Rc<str>> {
        let words = self.words();
        let conditions = self.here.conditions.iter();
        conditions.flat_map(|around| looked_for(words, &around.text)).take(CONDITIONS_MOST).map(Into::into).collect()
    }
}

/// The same in one condition.
fn looked_for<'a>(words: &'a Words, condition: &'a str) -> impl Iterator<Item = &'a str> {
    condition.match_indices('$').filter_map(|(at, _)| {
        let (before, path) = (condition.get(..at)?, condition.get(at..)?);
        let is_path = |c: char| c.is_alphanumeric() || "$_.[]".contains(c);
        let end = path.find(|c| !is_path(c)).unwrap_or(path.len());
        let (path, after) = path.split_at(end);
        let asked = before.strip_suffix('(').is_some_and(|before| Words::is_last(&words.has, before));
        let is_in = after.starts_with(" in ");
        let (of, field) = path.rsplit_once('.')?;
        (asked || is_in).then_some(field).filter(|_| of.len() > 1 && !field.is_empty())
    })
}

/// Which row it is, and no other one that it is about: that never changes.
pub(super) fn is_row_key(column: &str) -> bool {
    ["id", "_id", "pk", "uuid", "rowid"].iter().any(|key| column.eq_ignore_ascii_case(key))
}

/// Columns that say which row it is.
pub(crate) fn is_identity(column: &str) -> bool {
    let lower = column.to_lowercase();
    is_row_key(&lower)
        || lower == "key"
        || lower.ends_with("_id")
        || lower.ends_with("_uuid")
        || column.ends_with("Id")
        || column.ends_with("ID")
}

pub(super) fn condition(column: &str, equal: bool, value: &Value) -> Condition {
    Condition { column: column.into(), text: Rc::clone(&value.name), equal, origins: value.deep_origins() }
}

/// Conditions in an object, a list, or an expression such as `User.id == id`.
pub(super) fn conditions(words: &Words, value: &Value, all: &mut Vec<Condition>, depth: u32) {
    if all.len() >= CONDITIONS_MOST {
        return;
    }
    match &value.shape {
        Shape::Object(object) => {
            for (name, field) in object.fields.borrow().iter() {
                // `{version: {$lt: 3}}`, `{AND: [...]}`.
                let inner = field.object().is_some_and(|inner| !inner.fields.borrow().is_empty());
                if Words::is_one(&words.both, name) && depth > 0 {
                    conditions(words, field, all, depth - 1);
                } else {
                    let equal = !inner || words.equals.iter().any(|word| field.option(word).is_some());
                    // Prisma's compound keys: `{userId_day: {userId, day}}`.
                    let plain = inner && !words.operators.iter().any(|word| field.option(word).is_some());
                    all.push(condition(name, equal || plain, field));
                }
            }
        }
        Shape::List(items) if depth > 0 => items.iter().for_each(|item| conditions(words, item, all, depth - 1)),
        Shape::Null => {}
        _ => {
            let inner = value.name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
            if let Some((one, other)) = inner.and_then(both).filter(|_| depth > 0) {
                for part in [one, other] {
                    conditions(words, &Value::unknown(part).from(&value.deep_origins()), all, depth - 1);
                }
                return;
            }
            match inner.and_then(|inner| inner.split_once("==")) {
                Some((left, right)) => {
                    let column = left.rsplit('.').next().unwrap_or(left);
                    all.push(Condition {
                        column: column.into(),
                        text: right.into(),
                        equal: true,
                        origins: value.deep_origins(),
                    });
                }
                None if inner.is_some() => all.push(condition("", false, value)),
                None => all.push(condition("id", true, value)),
            }
        }
    }
}

/// The two sides of `(a == b) & (c == d)`.
fn both(name: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    let is_between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '&' && depth == 0
    };
    let at = name.find(is_between)?;
    let (one, other) = (name.get(..at)?, name.get(at + 1..)?);
    (one.ends_with(')') && other.starts_with('(')).then_some((one, other))
}

/// Both of them are written.
pub(super) fn pair(one: &Value, other: &Value) -> Value {
    Value::of(Shape::List(Rc::from([one.clone(), other.clone()])), &*one.name)
}

/// All fields are computed by the store from their own values.
pub(super) fn is_relative(words: &Words, data: &Value) -> bool {
    match &data.shape {
        Shape::Object(object) => {
            let fields = object.fields.borrow();
            if words.computes.iter().any(|op| fields.contains_key(op.as_str())) {
                return true;
            }
            let relative = |field: &Value| is_relative_value(words, field);
            let stored = |field: &&Value| !field.deep_origins().is_empty();
            fields.values().any(relative) && fields.values().filter(stored).all(relative)
        }
        _ => is_relative_value(words, data),
    }
}

pub(super) fn is_relative_value(words: &Words, field: &Value) -> bool {
    words.computes_field.iter().any(|op| field.option(op).is_some()) || Mark::Stored.is_in(&field.name)
}

/// Columns that are written.
pub(super) fn columns(words: &Words, value: &Value) -> Vec<Rc<str>> {
    match &value.shape {
        Shape::Object(object) => {
            let fields = object.fields.borrow();
            let operators = [&words.sets, &words.computes, &words.operators];
            let is_column = |key: &&Rc<str>| !operators.iter().any(|words| Words::is_one(words, key));
            let mut all: Vec<Rc<str>> = fields.keys().filter(is_column).cloned().collect();
            for set in words.sets.iter().filter_map(|op| fields.get(op.as_str())) {
                all.extend(columns(words, set));
            }
            all
        }
        Shape::List(items) => items.iter().flat_map(|item| columns(words, item)).collect(),
        Shape::Str(text) => vec![Rc::clone(text)],
        _ => Vec::new(),
    }
}
