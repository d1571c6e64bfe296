//! Stores of keys and of documents.

use std::rc::Rc;

use super::Engine;
use super::compared::is_constant;
use super::condition::is_relative;
use super::event::{Acquire, Kind, Resource, Scope, What, Write};
use super::known::Known;
use super::value::{Origins, Value};
use crate::models::Words;

impl Engine<'_> {
    pub(super) fn key_call(&mut self, known: &Known<'_>, family: &str, verb: &str) -> Value {
        let at = known.at();
        let plain = known.model.table.0.is_empty();
        // Documents that are chosen by conditions are like rows.
        if family == "doc" && plain && verb != "watch" {
            let verb = match verb {
                "get" | "check" => "find",
                "del" => "delete",
                "set" => "upsert",
                verb => verb,
            };
            return self.row_now(known, Kind::Document, verb);
        }
        let key = at.as_ref().map_or_else(|| Rc::from("?"), |at| Rc::clone(&at.name));
        let (kind, name, part) = match family {
            "doc" => {
                let table = known.get(&known.model.table).or_else(|| known.this.cloned());
                let table = table.map_or_else(|| Rc::from("?"), |table| table.name);
                // What derives from a read is most likely the document that was read.
                let derived = at.as_ref().is_some_and(|at| self.is_stored(&at.deep_origins()));
                (Kind::Document, table, (at.is_some() && !derived).then_some(key))
            }
            _ => (Kind::Key, key, None),
        };
        let scope = known.model.scope.map_or(Scope::Cluster, crate::models::Reach::scope);
        let resource = Resource { kind, name: Rc::clone(&name), part, scope };
        let value = known.get(&known.model.value);
        let deps = value.as_ref().map(Value::deep_origins).unwrap_or_default();
        let compares = known.get(&known.model.compares).is_some();
        let creates = known.get(&known.model.creates).is_some();
        match verb {
            // From here on others' writes make the end fail.
            "watch" => {
                let begin = What::Begin { immediate: false, serializable: true };
                self.here.transaction = Some(self.emit(begin, None, &Origins::default(), known.span));
                Value::null()
            }
            "get" => {
                let id = self.emit(What::READ, Some(resource), &Origins::default(), known.span);
                Value::unknown(format_args!("{}({name})", known.name)).from(&Origins::one(id))
            }
            "check" => {
                let id = self.emit(What::Check, Some(resource), &Origins::default(), known.span);
                Value::unknown(format_args!("{}({name})", known.name)).from(&Origins::one(id))
            }
            "set" | "setnx" | "put" => {
                let words = self.words();
                let only_new = verb == "setnx" || known.says_any(&words.only_new) && kind == Kind::Key;
                let expires = known.says_any(&words.expires)
                    || known.model.how.as_deref() == Some("expires")
                    || known.get(&known.model.ttl).is_some_and(|ttl| ttl.as_number() != Some(0.0));
                if only_new {
                    // Whoever sets it first has it: that is how locks are made.
                    let acquire = Acquire { scope, ttl: expires, tries: true, ..Acquire::of(Rc::clone(&name)) };
                    let write = Write { creates: true, ttl: ttl(words, known), ..Write::default() };
                    let id = self.emit(What::Write(write), Some(resource), &deps, known.span);
                    self.take(acquire, &Origins::one(id), known.span);
                    return Value::unknown(format_args!("set {name}")).from(&Origins::one(id));
                }
                let constant = value.as_ref().is_none_or(is_constant);
                let write = Write { whole: !creates, compares, creates, constant, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::null()
            }
            "add" => {
                let write = Write { relative: true, ..Write::default() };
                let id = self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::unknown(format_args!("{}({name})", known.name)).from(&Origins::one(id))
            }
            "del" => {
                let write = Write { deletes: true, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &Origins::default(), known.span);
                self.give_back(&name, false, known.span);
                Value::null()
            }
            "expire" => {
                let what = What::Renew { lock: Rc::clone(&name), checked: false };
                self.emit(what, Some(resource), &Origins::default(), known.span);
                Value::null()
            }
            "eval" => {
                // A script runs as one step; what it compares is its own matter.
                let write = Write { compares: true, relative: true, ..Write::default() };
                let id = self.emit(What::Write(write), Some(resource), &deps, known.span);
                self.give_back(&name, true, known.span);
                Value::unknown(format_args!("eval({name})")).from(&Origins::one(id))
            }
            "update" => {
                let sum = known.get(&known.model.relative).is_some_and(|text| computes(self.words(), &text.name));
                let relative = sum || value.as_ref().is_some_and(|value| is_relative(self.words(), value));
                let write = Write { whole: !relative, relative, compares, creates, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::null()
            }
            "insert" => {
                let write = Write { inserts: true, creates: creates || compares, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
                Value::unknown(format_args!("{}({name})", known.name))
            }
            _ => self.result(known),
        }
    }
}

/// The ttl in seconds: `"EX", 300`, `ex=300`, `{PX: 3000}`.
fn ttl(words: &Words, known: &Known<'_>) -> Option<f64> {
    let unit = |word: &str| words.units.get(word.to_ascii_uppercase().as_str()).copied();
    let mut last = None;
    for (name, value) in known.args {
        if let (Some(unit), Some(number)) = (name.as_deref().and_then(unit).or(last), value.as_number()) {
            return Some(number * unit);
        }
        let option = |(word, unit): (&String, &f64)| Some(value.option(word)?.as_number()? * unit);
        if let Some(number) = words.units.iter().find_map(option) {
            return Some(number);
        }
        last = value.as_text().and_then(unit);
    }
    known.get(&known.model.ttl).and_then(|ttl| seconds(words, &ttl.name))
}

/// Durations as products with units: `5*time.Minute`.
fn seconds(words: &Words, text: &str) -> Option<f64> {
    let unit = |word: &str| words.units.get(word.trim_matches(['(', ')', ' '])).copied();
    let factor = |word: &str| unit(word).or_else(|| word.trim_matches(['(', ')', ' ']).parse().ok());
    let has_unit = text.split('*').any(|word| unit(word).is_some());
    has_unit.then(|| text.split('*').try_fold(1.0, |all, word| Some(all * factor(word)?)))?
}

/// An expression of a store that computes: `SET a = a + :n`, `ADD a :n`.
fn computes(words: &Words, text: &str) -> bool {
    text.contains(['+', '-']) || Words::is_in(&words.computes_text, &text.to_uppercase())
}
