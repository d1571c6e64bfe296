//! Things in memory that outlive a call.

use std::rc::Rc;

use super::eval::is_javascript;
use super::event::{Kind, Resource, Scope, What, Write};
use super::mark::Mark;
use super::name::joined;
use super::value::{Origins, Shape, Value};
use super::{Engine, EventId};
use crate::hir::{Language, Span};

/// The models' name for lists, sets and maps.
pub(super) const COLLECTION: &str = "collection";
/// And for a path: two who look for it find the same.
const PATH: &str = "path";

impl Engine<'_> {
    /// Of a connection or an object only the question counts whether it is there: whoever uses it changes nothing.
    pub(super) fn is_read(&self, value: &Value) -> bool {
        is_data(value) || self.here.asking > 0 && is_made(value)
    }

    /// Something of this process that outlives the call is read.
    pub(super) fn memory_read(&mut self, name: &str, value: Value, span: Span) -> Value {
        if !self.is_read(&value) {
            return value;
        }
        let id = self.memory_event(What::READ, name, &value.origins, span);
        // A collection is known by where it is kept, so that changes of it can be told.
        let mut value = value;
        if matches!(&value.shape, Shape::Api(kind) if &**kind == COLLECTION) || self.has_entries(&value) {
            value.name = name.into();
        }
        value.from(&Origins::one(id))
    }

    /// The same thing read twice without a pause is one read.
    pub(super) fn memory_event(&mut self, what: What, name: &str, deps: &Origins, span: Span) -> EventId {
        let suspends = self.here.suspends;
        let again = self.events.iter().rev().take(32).find(|event| {
            matches!(event.what, What::Read { .. })
                && event.suspends == suspends
                && *event.held == *self.here.held
                && event.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory && &*r.name == name)
        });
        if let (What::Read { .. }, Some(again)) = (&what, again) {
            return again.id;
        }
        let resource = Resource { kind: Kind::Memory, name: name.into(), part: None, scope: Scope::Process };
        self.emit(what, Some(resource), deps, span)
    }

    /// What a lock protects, read through its guard.
    pub(super) fn protected(&mut self, guard: &Value, span: Span) -> Value {
        let Shape::Lock(lock) = &guard.shape else { return guard.clone() };
        let id = self.memory_event(What::READ, lock, &Origins::default(), span);
        Value::unknown(&**lock).from(&Origins::one(id))
    }

    /// A field of what a lock protects, by its guard.
    pub(super) fn guarded(&self, of: &Value, field: &str) -> Option<Rc<str>> {
        match &of.shape {
            Shape::Lock(lock) if self.language(self.file()) == Language::Rust => Some(joined(&[lock, ".", field])),
            _ => None,
        }
    }

    /// An entry of a map that all calls share, `sessions.get(id)`: whoever has its key has the same one.
    pub(super) fn is_entry(&self, of: &Value) -> bool {
        if self.here.early || !matches!(of.shape, Shape::Unknown) || !is_javascript(self.language(self.file())) {
            return false;
        }
        let is_got =
            |map: &str| of.name.strip_prefix(map).is_some_and(|rest| rest.starts_with(".get(") && is_one(rest));
        let mut read = of.origins.iter().filter_map(|id| self.events.get(id as usize)?.resource.as_ref());
        read.any(|resource| resource.kind == Kind::Memory && is_got(&resource.name))
    }

    /// A value without what it has from memory: what an object holds is given where nothing has to be read any more.
    pub(super) fn beside_memory(&self, value: Value) -> Value {
        let all = value.deep_origins();
        if !all.iter().any(|id| self.is_of_memory(id)) {
            return value;
        }
        let others = all.iter().filter(|id| !self.is_of_memory(*id));
        Value::unknown(&*value.name).from(&others.fold(Origins::default(), |all, id| all.with(&Origins::one(id))))
    }

    /// A part of a map that others can reach is set; the map itself is known by where it was read.
    pub(super) fn part_written(&mut self, of: &Value, value: &Value, span: Span) {
        let mut read = of.origins.iter().rev().filter_map(|id| self.events.get(id as usize)?.resource.clone());
        let Some(resource) = read.find(|r| r.kind == Kind::Memory && r.name == of.name) else { return };
        self.emit(What::Write(Write::default()), Some(resource), &value.deep_origins(), span);
    }

    pub(super) fn memory_written(&mut self, name: &str, value: &Value, span: Span) {
        self.made.remove(&value.name);
        self.chained(name, &value.deep_origins());
        if is_data(value) || is_made(value) {
            let constant = match value.shape {
                // One more than it was, where that is known.
                Shape::Num(_) => value.origins.is_empty(),
                _ => matches!(value.shape, Shape::Bool(_) | Shape::Null | Shape::Str(_)),
            };
            // When it was done, or under which number, is no more than a flag.
            let stamp = Mark::Unique.begins(&value.name) && value.deep_origins().is_empty();
            let timed = || self.here.conditions.iter().any(|around| is_time(&around.text));
            let data = is_record(value) || value.kind().is_some_and(|kind| &**kind == PATH) || timed();
            let write = Write { whole: true, constant: constant || stamp, stamp, data, ..Write::default() };
            let id = self.memory_event(What::Write(write), name, &value.deep_origins(), span);
            self.takes_turn(name, value, id);
            if matches!(value.shape, Shape::Bool(true)) || self.is_turn(value) {
                self.takes_free(name, span);
            }
        }
    }
}

/// Nothing of what a call gives is asked for another thing.
fn is_one(call: &str) -> bool {
    call.ends_with(')') && !call.contains(").")
}

/// Something that is made once and then used: a connection, an object of a class.
fn is_made(value: &Value) -> bool {
    value.kind().is_some_and(|kind| &**kind != COLLECTION) && !matches!(value.shape, Shape::Query(_))
        || value.object().is_some_and(|object| object.class.is_some())
        || matches!(value.shape, Shape::Either(_))
}

/// A record, a list, or a text.
fn is_record(value: &Value) -> bool {
    let plain = value.object().is_some_and(|object| object.class.is_none() && object.api.is_none());
    plain || matches!(value.shape, Shape::List(_) | Shape::Template(_))
}

/// Whether a condition asks what time it is.
fn is_time(condition: &str) -> bool {
    Mark::Unique.is_in(condition) && !Mark::Random.is_in(condition)
}

/// Whether a value is worth being followed as a thing in memory.
fn is_data(value: &Value) -> bool {
    value.is_vague()
        || matches!(value.shape, Shape::Str(_) | Shape::Num(_) | Shape::Bool(_) | Shape::Null | Shape::List(_))
        || value.object().is_some_and(|object| object.class.is_none() && object.api.is_none())
        || matches!(&value.shape, Shape::Method(..))
        || matches!(&value.shape, Shape::Api(kind) if &**kind == COLLECTION)
}
