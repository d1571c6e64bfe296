//! JSON, with comments and trailing commas.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::tree::{Layout, List, Map, Member, Node, Span, Word};

/// What editors accept in their settings, and nothing more: what we do not understand is not edited.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// `None` for a text without any value. Nesting is bounded by the parser.
pub(super) fn parse(text: &str) -> Result<Option<Node>, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|e| e.to_string())?;
    Ok(parsed.value.map(node))
}

fn span(range: Range) -> Span {
    range.start..range.end
}

fn node(value: Value<'_>) -> Node {
    match value {
        Value::StringLit(text) => Node::Text(Word { span: span(text.range), value: text.value.into_owned() }),
        Value::Array(list) => {
            Node::List(List { span: span(list.range), items: list.elements.into_iter().map(node).collect() })
        }
        Value::Object(object) => {
            let members = object.properties.into_iter().map(|property| {
                let key = match &property.name {
                    ObjectPropName::String(name) => span(name.range()),
                    ObjectPropName::Word(name) => span(name.range()),
                };
                Member { name: property.name.into_string(), key, value: node(property.value) }
            });
            Node::Map(Map { layout: Layout::Json, members: members.collect() })
        }
        Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => Node::Other,
    }
}
