//! The text of a policy file: where things stand in it, and what was found wrong.

use std::ops::Range;

use stanchion_core::text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Excerpt, Place, Problem};

/// Longer values are not shown.
const EXCERPT_MAX: usize = 80;

/// One key of a table and its value.
pub(super) struct Item<'t, 's> {
    pub(super) name: &'t str,
    /// From the top.
    pub(super) path: String,
    pub(super) name_span: Range<usize>,
    pub(super) span: Range<usize>,
    pub(super) value: &'t DeValue<'s>,
}

/// The text, and the problems so far.
pub(super) struct Source<'s> {
    text: &'s str,
    origin: &'s str,
    /// Where each line begins.
    lines: Vec<usize>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

impl<'s> Source<'s> {
    pub(super) fn new(text: &'s str, origin: &'s str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, origin, lines, problems: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let before = self.text.get(self.lines[line - 1]..offset.min(self.text.len())).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }

    /// A value as it is written, on one line.
    pub(super) fn written(&self, span: &Range<usize>) -> String {
        self.text.get(span.clone()).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The entries of a table, sorted by name; their paths begin with `path`.
    pub(super) fn items<'t>(path: &str, table: &'t DeTable<'s>) -> Vec<Item<'t, 's>> {
        let items = table.iter().map(|(name, value)| Item {
            name: name.get_ref(),
            path: join(path, name.get_ref()),
            name_span: name.span(),
            span: value.span(),
            value: value.get_ref(),
        });
        items.collect()
    }

    /// A problem at an offset, with nothing of the text shown.
    pub(super) fn at(&mut self, offset: usize, key: &str, what: impl Into<String>) -> &mut Problem {
        self.problems.push(Problem {
            file: self.origin.to_owned(),
            place: self.place(offset),
            key: key.to_owned(),
            what: what.into(),
            allowed: None,
            did_you_mean: None,
            excerpt: None,
        });
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// Something that is allowed, and may not be meant.
    pub(super) fn warn(&mut self, offset: usize, key: &str, what: String) {
        self.at(offset, key, what);
        self.warnings.extend(self.problems.pop());
    }

    /// A problem of a value that may be shown.
    pub(super) fn value(&mut self, item: &Item<'_, '_>, what: impl Into<String>, allowed: impl Into<String>) {
        let marked = self.text.get(item.span.clone()).filter(|text| !text.contains('\n') && text.len() <= EXCERPT_MAX);
        let excerpt = marked.map(|text| Excerpt { before: format!("{} = ", item.name), marked: text.to_owned() });
        let problem = self.at(item.span.start, &item.path, what);
        (problem.excerpt, problem.allowed) = (excerpt, Some(allowed.into()));
    }

    /// A problem of a value that may be secret.
    pub(super) fn hidden(&mut self, item: &Item<'_, '_>, what: impl Into<String>, allowed: &str) {
        self.at(item.span.start, &item.path, what).allowed = Some(allowed.to_owned());
    }

    /// A problem of a name.
    pub(super) fn name(&mut self, item: &Item<'_, '_>, what: impl Into<String>) -> &mut Problem {
        let marked = item.name.chars().filter(|c| !c.is_control()).take(EXCERPT_MAX).collect();
        let problem = self.at(item.name_span.start, &item.path, what);
        problem.excerpt = Some(Excerpt { before: String::new(), marked });
        problem
    }

    /// A key that nobody knows.
    pub(super) fn unknown(&mut self, item: &Item<'_, '_>, known: &[&str]) {
        let meant = nearest(item.name, known.iter().copied()).map(str::to_owned);
        let problem = self.name(item, "there is no such key here");
        (problem.did_you_mean, problem.allowed) = (meant, Some(known.join(", ")));
    }

    /// The table that a value should be.
    pub(super) fn table<'t>(&mut self, item: &Item<'t, 's>) -> Option<&'t DeTable<'s>> {
        match item.value {
            DeValue::Table(table) => Some(table),
            _ => {
                self.hidden(
                    item,
                    format!("a table belongs here, not {}", kind(item.value)),
                    &format!("[{}]", item.path),
                );
                None
            }
        }
    }
}

/// The kind of a value, in words.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// As TOML writes it: quoted where it must be.
pub(super) fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = if bare { name.to_owned() } else { format!("{name:?}") };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// The texts of a list, each with its place; `None` if it is no list of texts.
pub(super) fn texts<'t>(value: &'t DeValue<'_>) -> Option<Vec<(&'t str, Range<usize>)>> {
    let text = |item: &'t Spanned<DeValue<'_>>| Some((item.get_ref().as_str()?, item.span()));
    value.as_array()?.iter().map(text).collect()
}
