//! TOML.

use toml_edit::{Document, Item, Table, Value};

use super::tree::{Layout, List, Map, Member, Node, Span, Word};

pub(super) fn parse(text: &str) -> Result<Option<Node>, String> {
    let document = Document::parse(text).map_err(|e| one_line(&e, text))?;
    Ok(Some(table(document.as_table())))
}

/// Where and what, without the line itself: it may hold a secret.
fn one_line(error: &toml_edit::TomlError, text: &str) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    format!("{} on line {line}", error.message().lines().collect::<Vec<_>>().join(", "))
}

/// Everything that was parsed has a place; only implicit tables have none, and those are not edited.
fn place(span: Option<Span>) -> Span {
    span.unwrap_or(0..0)
}

fn table(table: &Table) -> Node {
    let members = table.iter().map(|(name, value)| Member {
        name: name.to_owned(),
        key: place(table.key(name).and_then(toml_edit::Key::span)),
        value: item(value),
    });
    Node::Map(Map { layout: Layout::TomlLines, members: members.collect() })
}

fn item(item: &Item) -> Node {
    match item {
        Item::None => Node::Other,
        Item::Value(found) => value(found),
        Item::Table(found) => table(found),
        Item::ArrayOfTables(tables) => {
            Node::List(List { span: place(tables.span()), items: tables.iter().map(table).collect() })
        }
    }
}

fn value(found: &Value) -> Node {
    match found {
        Value::String(text) => Node::Text(Word { span: place(text.span()), value: text.value().clone() }),
        Value::Array(list) => Node::List(List { span: place(list.span()), items: list.iter().map(value).collect() }),
        Value::InlineTable(inline) => {
            let members = inline.iter().map(|(name, found)| Member {
                name: name.to_owned(),
                key: place(inline.key(name).and_then(toml_edit::Key::span)),
                value: value(found),
            });
            // `a.b = 1` makes `a` look like an inline table; a sibling of `b` stands on a line of its own.
            let layout = if inline.is_dotted() { Layout::TomlLines } else { Layout::TomlInline };
            Node::Map(Map { layout, members: members.collect() })
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => Node::Other,
    }
}
