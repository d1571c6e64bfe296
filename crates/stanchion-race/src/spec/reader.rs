//! The text of a specification, read table by table; whatever nobody asked for is refused.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use serde_json::Value;
use stanchion_core::text::nearest;
use toml::de::{DeTable, DeValue};

use super::problem::SpecProblem;
use super::template::{Template, ValueTemplate, Words};

/// The problems so far, and where lines begin.
pub(super) struct Source<'s> {
    text: &'s str,
    problems: RefCell<Vec<SpecProblem>>,
}

/// One table, and the keys that were asked for.
pub(super) struct Table<'t, 's> {
    source: &'t Source<'s>,
    path: String,
    at: usize,
    table: &'t DeTable<'s>,
    asked: RefCell<BTreeSet<&'static str>>,
}

/// A value and where it stands.
pub(super) struct Item<'t, 's> {
    pub(super) path: String,
    pub(super) span: Range<usize>,
    pub(super) value: &'t DeValue<'s>,
}

impl<'s> Source<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, problems: RefCell::default() }
    }

    pub(super) fn into_problems(self) -> Vec<SpecProblem> {
        self.problems.into_inner()
    }

    pub(super) fn wrong(&self, at: usize, key: &str, what: impl Into<String>, allowed: &str, next: &str) {
        let before = self.text.get(..at.min(self.text.len())).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let (key, what) = (key.to_owned(), what.into());
        let (allowed, next) = (allowed.to_owned(), next.to_owned());
        self.problems.borrow_mut().push(SpecProblem { line, column, key, what, allowed, next });
    }

    pub(super) fn top<'t>(&'t self, table: &'t DeTable<'s>) -> Table<'t, 's> {
        Table { source: self, path: String::new(), at: 0, table, asked: RefCell::default() }
    }

    pub(super) fn template(&self, item: &Item<'_, '_>, words: Words) -> Option<Template> {
        let Some(text) = item.value.as_str() else {
            self.wrong(item.span.start, &item.path, "not a text", "a text in quotes", "");
            return None;
        };
        Template::parse(text, words)
            .map_err(|what| {
                self.wrong(item.span.start, &item.path, what, words.allowed(), "write {{ and }} for braces")
            })
            .ok()
    }

    /// A value of any kind, with templates in its strings.
    pub(super) fn value(&self, item: &Item<'_, '_>, words: Words) -> Option<ValueTemplate> {
        let inner = |name: String, span, value| Item { path: format!("{}.{name}", item.path), span, value };
        Some(match item.value {
            DeValue::String(_) => ValueTemplate::Text(self.template(item, words)?),
            DeValue::Array(list) => {
                let items = list.iter().enumerate().map(|(n, it)| inner(n.to_string(), it.span(), it.get_ref()));
                ValueTemplate::List(items.map(|it| self.value(&it, words)).collect::<Option<_>>()?)
            }
            DeValue::Table(table) => {
                let entry = |name: &str, span, value| {
                    Some((name.to_owned(), self.value(&inner(name.to_owned(), span, value), words)?))
                };
                let entries = table.iter().map(|(name, it)| entry(name.get_ref(), it.span(), it.get_ref()));
                ValueTemplate::Table(entries.collect::<Option<_>>()?)
            }
            DeValue::Boolean(is) => ValueTemplate::Plain(Value::Bool(*is)),
            DeValue::Integer(it) => match i64::from_str_radix(it.as_str(), it.radix()) {
                Ok(number) => ValueTemplate::Plain(number.into()),
                Err(_) => {
                    self.wrong(item.span.start, &item.path, "a number that is too large", "64 bits", "");
                    return None;
                }
            },
            DeValue::Float(it) => match it.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
                Some(number) => ValueTemplate::Plain(Value::Number(number)),
                None => {
                    self.wrong(item.span.start, &item.path, "a number that JSON does not have", "finite numbers", "");
                    return None;
                }
            },
            DeValue::Datetime(it) => ValueTemplate::Plain(Value::String(it.to_string())),
        })
    }
}

impl<'t, 's> Table<'t, 's> {
    fn join(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            ("", name) => name.to_owned(),
            (path, "") => path.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.table.iter().any(|(key, _)| key.get_ref() == name)
    }

    pub(super) fn item(&self, name: &'static str) -> Option<Item<'t, 's>> {
        self.asked.borrow_mut().insert(name);
        let (_, found) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(Item { path: self.join(name), span: found.span(), value: found.get_ref() })
    }

    /// Says what is wrong with a key, or with the table if the key is not there.
    pub(super) fn wrong(&self, name: &str, what: impl Into<String>, allowed: &str, next: &str) {
        let place = self.table.iter().find(|(key, _)| key.get_ref() == name).map_or(self.at, |(_, it)| it.span().start);
        self.source.wrong(place, &self.join(name), what, allowed, next);
    }

    /// Refuses a key here, with the reason.
    pub(super) fn refuse(&self, name: &'static str, why: &str) {
        if self.item(name).is_some() {
            self.wrong(name, why, "", "delete the key");
        }
    }

    /// Refuses every key that was not asked for.
    pub(super) fn finish(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table.iter().filter(|(key, _)| !asked.contains(key.get_ref().as_ref())) {
            let known = asked.iter().copied().collect::<Vec<_>>();
            let near = nearest(key.get_ref(), known.iter().copied());
            let next = near.map_or("delete it".to_owned(), |near| format!("did you mean `{near}`?"));
            let at = key.span().start;
            self.source.wrong(at, &self.join(key.get_ref()), "there is no such key here", &known.join(", "), &next);
        }
    }

    fn inner(&self, path: String, at: usize, value: &'t DeValue<'s>, allowed: &str) -> Option<Table<'t, 's>> {
        let DeValue::Table(table) = value else {
            self.source.wrong(at, &path, "not a table", allowed, "");
            return None;
        };
        Some(Table { source: self.source, path, at, table, asked: RefCell::default() })
    }

    pub(super) fn table(&self, name: &'static str) -> Option<Table<'t, 's>> {
        let item = self.item(name)?;
        self.inner(item.path, item.span.start, item.value, &format!("[{name}]"))
    }

    /// `[[name]]`, at most 100.
    pub(super) fn tables(&self, name: &'static str) -> Vec<Table<'t, 's>> {
        let Some(item) = self.item(name) else { return Vec::new() };
        let Some(list) = item.value.as_array() else {
            self.wrong(name, "not a list of tables", &format!("[[{name}]]"), "write double brackets");
            return Vec::new();
        };
        if list.len() > 100 {
            self.wrong(name, format!("{} of them", list.len()), "at most 100", "use `times` to repeat a call");
        }
        let all = list.iter().take(100).enumerate();
        all.filter_map(|(n, it)| {
            self.inner(format!("{}.{n}", item.path), it.span().start, it.get_ref(), &format!("[[{name}]]"))
        })
        .collect()
    }

    pub(super) fn text(&self, name: &'static str) -> Option<&'t str> {
        let item = self.item(name)?;
        let text = item.value.as_str();
        if text.is_none() {
            self.wrong(name, "not a text", "a text in quotes", "");
        }
        text
    }

    pub(super) fn template(&self, name: &'static str, words: Words) -> Option<Template> {
        self.item(name).and_then(|item| self.source.template(&item, words))
    }

    pub(super) fn value(&self, name: &'static str, words: Words) -> Option<ValueTemplate> {
        self.item(name).and_then(|item| self.source.value(&item, words))
    }

    pub(super) fn integer(&self, name: &'static str, range: RangeInclusive<u64>, default: u64) -> u64 {
        let Some(item) = self.item(name) else { return default };
        let number = match item.value {
            DeValue::Integer(it) => u64::from_str_radix(it.as_str(), it.radix()).ok(),
            _ => None,
        };
        number.filter(|number| range.contains(number)).unwrap_or_else(|| {
            let allowed = format!("a whole number, {} to {}", range.start(), range.end());
            self.wrong(name, "not such a number", &allowed, "");
            default
        })
    }

    /// `true`, or nothing: what is not expected is not written.
    pub(super) fn yes(&self, name: &'static str) -> bool {
        let Some(item) = self.item(name) else { return false };
        let yes = item.value.as_bool() == Some(true);
        if !yes {
            self.wrong(name, "not `true`", "true", "delete the key if it is not expected");
        }
        yes
    }

    /// Each of a list of texts.
    pub(super) fn items(&self, name: &'static str) -> Option<Vec<Item<'t, 's>>> {
        let item = self.item(name)?;
        let Some(list) = item.value.as_array() else {
            self.wrong(name, "not a list", "a list of texts", "write brackets around it");
            return None;
        };
        let all = list.iter().enumerate();
        let items =
            all.map(|(n, it)| Item { path: format!("{}.{n}", item.path), span: it.span(), value: it.get_ref() });
        Some(items.collect())
    }

    pub(super) fn templates(&self, name: &'static str, words: Words) -> Option<Vec<Template>> {
        Some(self.items(name)?.iter().filter_map(|item| self.source.template(item, words)).collect())
    }

    /// A table of texts.
    pub(super) fn strings(&self, name: &'static str, words: Words) -> BTreeMap<String, Template> {
        let Some(table) = self.table(name) else { return BTreeMap::new() };
        let entries = table.table.iter().filter_map(|(key, it)| {
            let item = Item { path: table.join(key.get_ref()), span: it.span(), value: it.get_ref() };
            Some((key.get_ref().to_string(), self.source.template(&item, words)?))
        });
        entries.collect()
    }

    /// A list of words out of a few.
    pub(super) fn choices<T: Copy>(&self, name: &'static str, known: &[(&'static str, T)]) -> Vec<T> {
        let items = self.items(name).unwrap_or_default();
        let chosen = items.iter().filter_map(|item| {
            let found = item.value.as_str().and_then(|word| known.iter().find(|(it, _)| *it == word));
            if found.is_none() {
                self.unknown_word(item, known);
            }
            found.map(|(_, it)| *it)
        });
        chosen.collect()
    }

    /// One word out of a few.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, known: &[(&'static str, T)]) -> Option<T> {
        let item = self.item(name)?;
        let found = item.value.as_str().and_then(|word| known.iter().find(|(it, _)| *it == word));
        if found.is_none() {
            self.unknown_word(&item, known);
        }
        found.map(|(_, it)| *it)
    }

    fn unknown_word<T>(&self, item: &Item<'_, '_>, known: &[(&'static str, T)]) {
        let words = known.iter().map(|(word, _)| *word);
        let near = item.value.as_str().and_then(|word| nearest(word, words.clone()));
        let next = near.map_or(String::new(), |near| format!("did you mean \"{near}\"?"));
        let allowed = words.collect::<Vec<_>>().join(", ");
        self.source.wrong(item.span.start, &item.path, "not a known word", &allowed, &next);
    }
}
