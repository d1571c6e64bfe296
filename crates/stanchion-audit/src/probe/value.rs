//! Arguments of a call, made up from their schema.

use super::argument::{Argument, Shape};

/// What stands where only a person can say what belongs there.
pub(super) const OPEN: &str = "fill in";

/// How calls differ from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vary {
    /// Each brings something of its own.
    Each,
    /// All are the same.
    Same,
}

/// An inline table, and what is to be said about it.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) text: String,
    /// What a person has to fill in.
    pub(super) open: Vec<String>,
    /// Something in it tells the calls apart.
    pub(super) has_mark: bool,
}

/// Values for these arguments. `fixed` names the ones that say which thing is meant: they are the same in all calls.
pub(super) fn values(arguments: &[Argument], fixed: &dyn Fn(&str) -> bool, vary: Vary) -> Made {
    let mut made = Made::default();
    let is_text = |argument: &&Argument| holds_text(&argument.shape) && !fixed(&argument.name);
    let needed: Vec<&Argument> = arguments.iter().filter(|argument| argument.needed).collect();
    // A text that may be left out is still the best place for a mark.
    let more = if needed.iter().any(is_text) { None } else { arguments.iter().find(is_text) };
    let chosen = arguments.iter().filter(|it| it.needed || more.is_some_and(|more| more.name == it.name));
    let fields = chosen.map(|argument| {
        let vary = if fixed(&argument.name) { Vary::Same } else { vary };
        let is_fixed = fixed(&argument.name);
        (argument.name.as_str(), value(&argument.name, &argument.shape, vary, is_fixed, &mut made))
    });
    let fields: Vec<String> = fields.map(|(name, value)| format!("{} = {value}", key(name))).collect();
    made.text = if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
    made
}

fn holds_text(shape: &Shape) -> bool {
    match shape {
        Shape::Text => true,
        Shape::List(inner) => holds_text(inner),
        Shape::Object(fields) => fields.iter().any(|field| holds_text(&field.shape)),
        _ => false,
    }
}

fn value(name: &str, shape: &Shape, vary: Vary, is_fixed: bool, made: &mut Made) -> String {
    match shape {
        Shape::Text if is_fixed => "\"probe-{seed}\"".to_owned(),
        Shape::Text => {
            made.has_mark = true;
            if vary == Vary::Each { "\"{id}\"" } else { "\"probe-{seed}\"" }.to_owned()
        }
        Shape::Number => "1".to_owned(),
        Shape::Truth => "true".to_owned(),
        Shape::Word(word) => quoted(word),
        Shape::List(inner) => format!("[{}]", value(name, inner, vary, is_fixed, made)),
        Shape::Object(fields) => {
            let needed = fields.iter().filter(|field| field.needed || fields.iter().all(|field| !field.needed));
            let all: Vec<String> = needed
                .map(|field| {
                    format!("{} = {}", key(&field.name), value(&field.name, &field.shape, vary, is_fixed, made))
                })
                .collect();
            if all.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", all.join(", ")) }
        }
        Shape::Unknown => {
            made.open.push(format!("`{name}`: what belongs here; `{{id}}` in it tells the calls apart"));
            quoted(OPEN)
        }
    }
}

/// A key as TOML has it.
pub(super) fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// A string as TOML has it. Braces of the code are no templates.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '{' | '}' => out.extend([c, c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A string with templates of ours in it.
pub(super) fn template(text: &str) -> String {
    quoted(text).replace("{{", "{").replace("}}", "}")
}

/// For comments: on one line.
pub(super) fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
