//! Statements that are put together by calls: query builders, and the rows that object mappers give.

use std::rc::Rc;

use super::Engine;
use super::bound::is_fresh;
use super::condition::{
    CONDITIONS_MOST, Condition, columns, conditions, is_identity, is_relative, is_relative_value, pair,
};
use super::event::{Kind, Resource, Scope, What, Write};
use super::known::Known;
use super::mark::Mark;
use super::value::{EventId, Origins, Shape, Value};
use crate::hir::{ClassId, ExprKind, Field, Span};
use crate::models::{Begins, Words};

/// Fields that were set, and to what.
pub(super) type Assigned = Vec<(Rc<str>, Value)>;

/// Those of one row.
const ASSIGNED_MOST: usize = 64;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Find,
    Count,
    Update,
    Insert,
    Upsert,
    Delete,
}

/// A statement that is being put together.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// The model's type.
    pub(crate) kind: Rc<str>,
    pub(super) store: Kind,
    pub(super) verb: Verb,
    pub(super) table: Option<Rc<str>>,
    pub(super) filter: Vec<Condition>,
    pub(super) set: Option<Value>,
    pub(super) locks: bool,
    /// It goes to a connection that the caller has given.
    is_given: bool,
    /// Nothing happens if it is there.
    pub(super) creates: bool,
    pub(super) compares: bool,
    /// Written statement, and what is bound to it.
    pub(super) text: Option<Value>,
    pub(super) bound: Vec<Value>,
}

impl Query {
    pub(super) fn new(kind: &Rc<str>, store: Kind, verb: Verb, table: Option<Rc<str>>) -> Self {
        Self {
            kind: Rc::clone(kind),
            store,
            verb,
            table,
            filter: Vec::new(),
            set: None,
            locks: false,
            is_given: false,
            creates: false,
            compares: false,
            text: None,
            bound: Vec::new(),
        }
    }
}

fn verb_of(word: &str) -> Option<Verb> {
    Some(match word {
        "find" => Verb::Find,
        "count" => Verb::Count,
        "update" => Verb::Update,
        "insert" | "create" => Verb::Insert,
        "upsert" => Verb::Upsert,
        "delete" => Verb::Delete,
        _ => return None,
    })
}

impl Engine<'_> {
    /// A step of a builder.
    pub(super) fn build_call(&mut self, known: &Known<'_>, verb: &str) -> Value {
        let given = known.at().filter(|at| matches!(at.shape, Shape::Query(_)));
        let begun = match known.this.map(|this| &this.shape) {
            Some(Shape::Query(query)) => Some((**query).clone()),
            _ => None,
        };
        if verb == "run" {
            let query = match (&given.as_ref().map(|given| &given.shape), begun) {
                (Some(Shape::Query(query)), _) => Some((**query).clone()),
                (_, begun) => begun,
            };
            return match query {
                Some(query) => self.run_query(&query, known.span),
                None => self.result(known),
            };
        }
        let origins = known.this.map(|this| this.origins.clone()).unwrap_or_default();
        let mut query = begun.unwrap_or_else(|| {
            let kind: Rc<str> = known.model.gives.as_deref().unwrap_or("?").into();
            // The receiver is the table, unless the call says otherwise.
            let table = known.this.filter(|_| known.model.table.0.is_empty()).map(|this| Rc::clone(&this.name));
            let is_given = known.this.is_some_and(|this| self.is_of_caller(this));
            Query { is_given, ..Query::new(&kind, Kind::Table, Verb::Find, table) }
        });
        if let Some(verb) = verb_of(verb) {
            query.verb = verb;
        }
        if let Some(table) = known.get(&known.model.table) {
            query.table = Some(self.table_of(&table));
        }
        match verb {
            "where" => {
                let mut found = Vec::new();
                self.conditions_of(known, &mut found);
                query.filter.extend(found);
                query.filter.truncate(CONDITIONS_MOST);
            }
            "relative" => {
                query.verb = Verb::Update;
                query.set = Some(Value::unknown(Mark::Stored.to_string()));
                if let Some(at) = known.at() {
                    conditions(self.words(), &at, &mut query.filter, 3);
                }
            }
            "lock" => query.locks = true,
            "new" => query.creates = true,
            _ => {
                if !known.model.at.0.is_empty()
                    && let Some(at) = known.at()
                {
                    conditions(self.words(), &at, &mut query.filter, 3);
                }
            }
        }
        query.locks |= self.locks_rows(known);
        query.compares |= known.get(&known.model.compares).is_some();
        query.creates |= known.get(&known.model.creates).is_some();
        if let Some(value) = known.get(&known.model.value) {
            query.set = Some(match query.set.take() {
                Some(old) => pair(&old, &value),
                None => value,
            });
        }
        if known.model.how.as_deref() == Some("now") {
            return self.run_query(&query, known.span);
        }
        Value::of(Shape::Query(Rc::new(query)), format_args!("{}.{}", known.this.map_or("", |t| &*t.name), known.name))
            .from(&origins)
    }

    /// `row.find` and the like: put together and run at once.
    pub(super) fn row_now(&mut self, known: &Known<'_>, store: Kind, verb: &str) -> Value {
        if verb == "save" {
            return self.save(known);
        }
        // What was read is watched already; what is new is inserted.
        if verb == "add" {
            let old = known.at().is_some_and(|row| self.is_stored(&row.origins));
            return if old { self.result(known) } else { self.save(known) };
        }
        let Some(verb) = verb_of(verb) else { return self.result(known) };
        let table = known.get(&known.model.table).or_else(|| known.this.cloned()).map(|table| table.name);
        let kind = known.this.and_then(|this| this.kind().cloned()).unwrap_or_else(|| Rc::from("?"));
        let mut query = Query::new(&kind, store, verb, table);
        if let Some(at) = known.at() {
            conditions(self.words(), &at, &mut query.filter, 3);
        }
        query.set = known.get(&known.model.value);
        query.locks = self.locks_rows(known);
        query.creates = known.get(&known.model.creates).is_some();
        query.compares = known.get(&known.model.compares).is_some();
        self.run_query(&query, known.span)
    }

    fn locks_rows(&self, known: &Known<'_>) -> bool {
        let words = self.words();
        known.says_any(&words.locks) || known.is_set(&words.lock_options)
    }

    pub(super) fn run_query(&mut self, query: &Query, span: Span) -> Value {
        let table = query.table.clone().unwrap_or_else(|| Rc::from("?"));
        let part = self.part(&query.filter);
        let resource = Resource { kind: query.store, name: Rc::clone(&table), part, scope: Scope::Cluster };
        self.begins(&query.kind, !matches!(query.verb, Verb::Find | Verb::Count), span);
        let deps = query.set.as_ref().map(Value::deep_origins).unwrap_or_default();
        let write = match query.verb {
            Verb::Find | Verb::Count => {
                let by = query.filter.iter().filter(|condition| condition.equal).map(|c| Rc::clone(&c.column));
                let (by, empty, through, columns) = (by.collect(), Vec::new(), Vec::new(), Vec::new());
                if query.locks && query.is_given {
                    self.presumed(span);
                }
                let locks = query.locks;
                let within = Vec::new();
                let what = What::Read { locks, tries: false, by, empty, through, highest: None, within, columns };
                let id = self.emit(what, Some(resource), &Origins::default(), span);
                return Value::unknown(format_args!("rows of {table}@{}", span.line)).from(&Origins::one(id));
            }
            Verb::Update => {
                let relative = query.set.as_ref().is_some_and(|set| is_relative(self.words(), set));
                let columns = query.set.as_ref().map(|set| columns(self.words(), set)).unwrap_or_default();
                let many = query.filter.len() > 1;
                let compares = query.compares
                    || query.filter.iter().any(|condition| columns.contains(&condition.column) || !condition.equal);
                let expects = |c: &&Condition| many && !is_identity(&c.column) && self.is_stored(&c.origins);
                let expected = query.filter.iter().filter(expects).map(|c| Rc::clone(&c.column)).collect();
                let decided = self.decided(&columns);
                Write { whole: !relative, relative, compares, expected, columns, decided, ..Write::default() }
            }
            Verb::Insert => {
                let columns = query.set.as_ref().map(|set| columns(self.words(), set)).unwrap_or_default();
                let fields = query.set.as_ref().and_then(Value::object);
                let is_fresh = |column: &Rc<str>| {
                    fields.is_some_and(|object| object.fields.borrow().get(column).is_some_and(|v| is_fresh(&v.name)))
                };
                let given = columns.iter().filter(|column| !is_fresh(column)).cloned().collect();
                let looked_for = self.looked_for();
                Write { inserts: true, creates: query.creates, columns, given, looked_for, ..Write::default() }
            }
            Verb::Upsert => Write { creates: true, whole: true, ..Write::default() },
            Verb::Delete => Write { deletes: true, ..Write::default() },
        };
        let found = self.models.of_type(self.language(self.file()), &query.kind);
        let write = Write { keyless: found.is_some_and(|kind| kind.keyless), ..write };
        let id = self.emit(What::Write(write), Some(resource), &deps, span);
        let back = Value::unknown(format_args!("rows of {table}@{}", span.line));
        if query.verb == Verb::Insert { back } else { back.from(&Origins::one(id)) }
    }

    /// A row is written back to where it was read from.
    fn save(&mut self, known: &Known<'_>) -> Value {
        let Some(row) = known.at().or_else(|| known.this.cloned()) else { return self.result(known) };
        let value = known.get(&known.model.value);
        let mut deps = value.as_ref().map_or_else(|| row.deep_origins(), Value::deep_origins);
        let read = self.read_of(&row.deep_origins());
        let assigned = read.as_ref().filter(|_| value.is_none()).and_then(|(id, _)| self.assigned.get(id));
        let assigned = assigned.cloned().unwrap_or_default();
        let computed = |(_, value): &(Rc<str>, Value)| is_relative_value(self.words(), value);
        let relative = known.model.how.as_deref() == Some("relative")
            || value.as_ref().is_some_and(|set| is_relative(self.words(), set))
            || !assigned.is_empty() && assigned.iter().all(computed);
        // Only what was assigned is written, whatever else is in the row by then.
        let columns: Vec<Rc<str>> = assigned.iter().map(|(field, _)| Rc::clone(field)).collect();
        let by_field = known.model.how.as_deref() == Some("assigned") && !columns.is_empty() && !self.decided(&columns);
        if by_field {
            deps = assigned.iter().fold(Origins::default(), |all, (_, value)| all.with(&value.deep_origins()));
        }
        let kind = known.this.and_then(|this| this.kind().cloned());
        if let Some(kind) = kind {
            self.begins(&kind, true, known.span);
        }
        match read {
            Some((id, resource)) => {
                if value.is_none() && !by_field {
                    deps = deps.with(&Origins::one(id));
                }
                let compares = known.get(&known.model.compares).is_some();
                let write = Write { saves: true, whole: !relative, relative, compares, ..Write::default() };
                self.emit(What::Write(write), Some(resource), &deps, known.span);
            }
            None => {
                let name = known.get(&known.model.table).map_or_else(|| Rc::clone(&row.name), |table| table.name);
                let resource = Resource { kind: Kind::Table, name, part: None, scope: Scope::Cluster };
                self.emit(What::Write(Write { inserts: true, ..Write::default() }), Some(resource), &deps, known.span);
            }
        }
        row
    }

    /// A field of a row is set, and will be written when the row is saved. More than that is known of no part of a field.
    pub(super) fn note_assigned(&mut self, of: &Value, field: &str, value: &Value) {
        let Some((id, _)) = self.read_of(&of.origins) else { return };
        let value = if of.kind().is_some() { value.clone() } else { value.clone().from(&of.origins) };
        let all = self.assigned.entry(id).or_default();
        if all.len() < ASSIGNED_MOST {
            all.push((field.into(), value));
        }
    }

    /// The latest read of a store among these.
    pub(super) fn read_of(&self, origins: &Origins) -> Option<(EventId, Resource)> {
        origins.iter().rev().find_map(|id| {
            let event = self.event(id)?;
            let resource = event.resource.as_ref().filter(|r| r.kind != Kind::Memory && r.kind != Kind::Remote)?;
            matches!(event.what, What::Read { .. }).then(|| (id, resource.clone()))
        })
    }

    /// Whether something derives from what a store holds.
    pub(super) fn is_stored(&self, origins: &Origins) -> bool {
        self.read_of(origins).is_some()
    }

    /// Whether a key is most likely that of a row that was read. One from a file says which row it is, as a caller's does.
    pub(super) fn is_of_row(&self, key: &Origins) -> bool {
        self.read_of(key).is_some_and(|(_, resource)| resource.kind != Kind::File)
    }

    /// Whether a session watches rows of this type, and writes what is set.
    pub(super) fn is_tracked(&self, kind: &str) -> bool {
        self.models.of_type(self.language(self.file()), kind).is_some_and(|kind| kind.tracked)
    }

    /// The table that a statement is about, if only some of its columns are given.
    fn table_of(&self, given: &Value) -> Rc<str> {
        let first = match &given.shape {
            Shape::List(items) => items.first().unwrap_or(given),
            _ => given,
        };
        let kind = first.kind().and_then(|kind| self.models.of_type(self.language(self.file()), kind));
        let of = first.name.rsplit_once('.').filter(|_| kind.is_some_and(|kind| kind.column));
        of.map_or_else(|| Rc::clone(&given.name), |(table, _)| table.into())
    }

    /// A field of a row that its session watches is set.
    pub(super) fn tracked_set(&mut self, of: &Value, field: &str, value: &Value, span: Span) {
        let Some((_, resource)) = self.read_of(&of.origins) else { return };
        // Or a new one, if there was none: `row = find() or Row()`.
        let is_row = |(file, class): (usize, ClassId)| {
            self.module(file).classes.get(class).is_some_and(|class| *class.name == *resource.name)
        };
        let class = of.object().and_then(|object| object.class).filter(|_| resource.kind == Kind::Table);
        if !of.kind().is_some_and(|kind| self.is_tracked(kind)) && !class.is_some_and(is_row) {
            return;
        }
        let relative = is_relative_value(self.words(), value);
        let columns = vec![field.into()];
        let decided = self.decided(&columns);
        let compares = self.is_versioned(&resource.name);
        let write = Write { whole: !relative, relative, columns, decided, compares, ..Write::default() };
        self.emit(What::Write(write), Some(resource), &value.deep_origins(), span);
    }

    /// Whether the mapper compares a version of the row with each change: `__mapper_args__ = {"version_id_col": …}`.
    fn is_versioned(&mut self, class: &str) -> bool {
        let Some(scope) = self.modules.get(&self.file()).cloned() else { return false };
        let found = self.find(&scope, class).map(|(found, _)| found.value.shape);
        let Some(Shape::Class(file, class)) = found else { return false };
        let fields = self.module(file).classes.get(class).map_or(&[][..], |class| &class.fields);
        let words = self.words();
        let says = |field: &Field| match field.value.as_ref().map(|value| &value.kind) {
            Some(ExprKind::Object { fields, .. }) => {
                fields.iter().any(|(name, _)| name.as_ref().is_some_and(|name| Words::is_one(&words.versions, name)))
            }
            _ => false,
        };
        fields.iter().any(says)
    }

    /// Whether a connection was given by the caller, or nothing is known of it. A pool is none: each of its statements is on
    /// its own.
    pub(super) fn is_of_caller(&self, on: &Value) -> bool {
        let Some(kind) = on.kind() else { return true };
        let pools = self.models.of_type(self.language(self.file()), kind).is_some_and(|kind| kind.pools);
        let last = on.name.rsplit('.').next().unwrap_or_default();
        let is_symbol =
            last.strip_prefix('$').is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        is_symbol && !pools
    }

    /// Whoever locks rows on it has begun a transaction there, where we do not see it.
    pub(super) fn presumed(&mut self, span: Span) {
        if self.here.transaction.is_none() {
            let begin = What::Begin { immediate: false, serializable: false };
            self.here.transaction = Some(self.emit(begin, None, &Origins::default(), span));
        }
    }

    /// Some stores open a transaction by themselves.
    pub(super) fn begins(&mut self, kind: &str, writes: bool, span: Span) {
        let language = self.language(self.file());
        let found = self.models.of_type(language, kind);
        let serializable = found.is_some_and(|kind| kind.serial);
        let begins = found.and_then(|kind| kind.begins);
        let opens = match begins {
            Some(Begins::Any) => true,
            Some(Begins::Write) => writes,
            None => false,
        };
        if opens && self.here.transaction.is_none() {
            let begin = What::Begin { immediate: false, serializable };
            self.here.transaction = Some(self.emit(begin, None, &Origins::default(), span));
        }
    }
}
