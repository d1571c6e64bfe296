//! Rows of tables: what statements and query builders do.

use std::rc::Rc;

use super::Engine;
use super::bound::{Bound, ROWS, by_version, columns_only, parts, raised, within};
use super::condition::{is_identity, is_row_key};
use super::event::{Event, Kind, Resource, Scope, What, Write};
use super::known::Known;
use super::query::{self, Query};
use super::value::{EventId, Origins, Shape, Value};
use crate::models::{Reach, Which};
use crate::sql::{self, BeginMode, Isolation, OnConflict, Operator, Statement, Verb};

/// Values of one statement.
const BOUND_MOST: usize = 256;
/// The models' name for a transaction that is serializable.
const SERIAL: &str = "serial.transaction";

impl Engine<'_> {
    pub(super) fn row_call(&mut self, known: &Known<'_>, family: &str, verb: &str) -> Value {
        match (family, verb) {
            ("sql", "prepare" | "bound") => {
                let text = known.at().unwrap_or_else(|| Value::unknown("?"));
                let kind: Rc<str> = known.model.gives.as_deref().unwrap_or("sql statement").into();
                let mut query = Query::new(&kind, Kind::Table, query::Verb::Find, None);
                query.text = Some(text.clone());
                if verb == "bound" {
                    let after = known.args.iter().map(|(_, arg)| arg).skip_while(|arg| arg.name != text.name).skip(1);
                    query.bound.extend(after.take(BOUND_MOST).cloned());
                }
                Value::long(Shape::Query(Rc::new(query)), &text.name)
            }
            ("sql", "bind") => {
                let Some(Shape::Query(query)) = known.this.map(|this| &this.shape) else { return self.result(known) };
                let mut query = (**query).clone();
                query.bound.extend(known.args.iter().map(|(_, arg)| arg.clone()));
                query.bound.truncate(BOUND_MOST);
                Value::long(Shape::Query(Rc::new(query)), known.this.map_or("?", |this| &this.name))
            }
            ("sql", "transaction") => {
                let outer = self.here.transaction;
                let how = known.model.how.as_deref();
                let words = self.words();
                let serializable =
                    known.says_any(&words.serializable) || how == Some("serializable") || self.is_serial(known.this);
                let immediate = known.says_any(&words.immediate) || how == Some("immediate");
                let begin = What::Begin { immediate, serializable };
                self.here.transaction = Some(self.emit(begin, None, &Origins::default(), known.span));
                // The function works with the transaction as it would with the store itself.
                let back = match known.get(&known.model.callback).filter(|callback| callback.closure().is_some()) {
                    Some(callback) => {
                        let this = known.this.cloned().unwrap_or_else(|| Value::unknown("$transaction"));
                        let given = match &known.model.given {
                            Some(kind) => Value::of(Shape::Api(kind.as_str().into()), &*this.name),
                            None => this,
                        };
                        let args = known.pass.clone().unwrap_or_else(|| vec![(None, given)]);
                        let back = self.invoke(&callback, args, false, known.span);
                        self.settled(back, known.span)
                    }
                    None => {
                        // An array of statements.
                        let all = known.at().unwrap_or_else(|| self.result(known));
                        self.settled(all, known.span)
                    }
                };
                self.emit(What::End, None, &Origins::default(), known.span);
                self.here.transaction = outer;
                back
            }
            ("sql", "begin") => {
                let strict = known.model.how.as_deref() == Some("serializable")
                    || known.says_any(&self.words().serializable)
                    || self.is_serial(known.this);
                let begin = What::Begin { immediate: known.says_any(&self.words().immediate), serializable: strict };
                self.here.transaction = Some(self.emit(begin, None, &Origins::default(), known.span));
                Value::null()
            }
            ("sql", "end") => {
                self.emit(What::End, None, &Origins::default(), known.span);
                self.here.transaction = None;
                Value::null()
            }
            ("sql", "opens") => {
                let opened = self.result(known);
                let strict = known.says_any(&self.words().serializable);
                if strict { Value::of(Shape::Api(SERIAL.into()), &*opened.name) } else { opened }
            }
            // Already bound: what is given now is the connection.
            ("sql", "run") => {
                let (none, on) = (Vec::new(), known.args.first().map(|(_, on)| on));
                let (args, name) = (&none, known.name);
                self.statement_call(&Known { args, name, pass: None, ..*known }, on)
            }
            // A cursor gives the rows of the statement that it ran last.
            ("sql", "rows") => {
                let last = known.this.and_then(|this| self.results.get(&this.name)).cloned();
                let rows = self.result(known);
                match last {
                    Some(origins) => Value { origins, ..rows },
                    None => rows,
                }
            }
            ("sql", _) => self.statement_call(known, known.this),
            ("row", _) => self.row_now(known, Kind::Table, verb),
            _ => self.result(known),
        }
    }

    pub(super) fn is_serial(&self, store: Option<&Value>) -> bool {
        let kind = store.and_then(Value::kind);
        kind.and_then(|kind| self.models.of_type(self.language(self.file()), kind)).is_some_and(|kind| kind.serial)
    }

    fn statement_call(&mut self, known: &Known<'_>, on: Option<&Value>) -> Value {
        let Some(at) = known.at() else { return self.result(known) };
        let (mut values, mut rest) = (Vec::new(), Origins::default());
        let text = match &at.shape {
            Shape::Query(query) => {
                let Some(text) = query.text.clone() else { return self.run_query(&Query::clone(query), known.span) };
                values.extend(query.bound.iter().cloned());
                text
            }
            // A statement written by hand inside of a builder's call.
            _ => at,
        };
        let (pieces, names, holes) = parts(&text);
        let given = known.get(&known.model.value).filter(|value| matches!(value.shape, Shape::List(_)));
        // Of many rows, one is like the other.
        let many = given.as_ref().filter(|_| known.model.how.as_deref() == Some("many")).and_then(first_row);
        values.extend(many.iter().flat_map(|row| row.iter().cloned()));
        // What is bound comes after the statement; before it there may be a context, or what is to be filled.
        let skip = match known.args.iter().position(|(_, arg)| arg.name == text.name) {
            Some(at) => at + 1,
            None => {
                known.model.value.0.first().map_or(0, |first| if let Which::Position(at) = first { *at } else { 0 })
            }
        };
        let others = known.args.iter().skip(skip).map(|(_, arg)| arg);
        let others = others.filter(|arg| given.as_ref().is_none_or(|given| given.name != arg.name));
        for arg in given.iter().chain(others).filter(|_| many.is_none()) {
            match &arg.shape {
                Shape::List(items) => {
                    values.extend(items.iter().cloned());
                    // What was pushed into it has no place, but it is there.
                    rest = rest.with(&arg.origins);
                }
                // Who is told of the result.
                _ if arg.closure().is_some() => {}
                _ => values.push(arg.clone()),
            }
        }
        let bound = Bound { names, holes, values, rest };
        self.attaches(&pieces, &bound, known.span);
        let kind = on.and_then(|on| on.kind().cloned());
        let mut statements = sql::read(&pieces);
        statements.iter_mut().for_each(|statement| bound.align(statement));
        if statements.is_empty() {
            return self.result(known);
        }
        let found = kind.as_ref().and_then(|kind| self.models.of_type(self.language(self.file()), kind));
        let pooled = found.is_some_and(|kind| kind.pools);
        let alone = self.here.transaction.is_none() && !on.is_some_and(|on| self.is_of_caller(on));
        let anywhere = pooled || alone && found.is_some_and(|kind| kind.has_pool);
        let shared = found.and_then(|kind| kind.scope).map_or(Scope::Cluster, Reach::scope);
        // What goes through the pool itself is not part of a transaction on one of its connections.
        let outer = self.here.transaction;
        if pooled && self.here.connection.is_some() && self.here.connection.as_ref() != on.map(|on| &on.name) {
            self.here.transaction = None;
        }
        let inside = self.here.transaction;
        let mut origins = text.origins.clone();
        for statement in &statements {
            if let Some(kind) = &kind
                && matches!(
                    statement.verb,
                    Verb::Select | Verb::Insert | Verb::Update | Verb::Upsert | Verb::Delete | Verb::Merge
                )
            {
                self.begins(kind, statement.verb != Verb::Select, known.span);
            }
            if (statement.for_update || statement.for_share) && on.is_some_and(|on| self.is_of_caller(on)) {
                self.presumed(known.span);
            }
            origins = origins.with(&self.statement_runs(statement, &bound, anywhere, shared, known));
        }
        if self.here.transaction == inside {
            self.here.transaction = outer;
        } else if self.here.transaction.is_some() {
            self.here.connection = on.map(|on| Rc::clone(&on.name));
        }
        if let Some(this) = known.this {
            self.results.insert(Rc::clone(&this.name), origins.clone());
        }
        // Columns that a statement speaks of are not fields of a row.
        Value::unknown(format_args!("{ROWS}{}", text.name.replace('.', " "))).from(&origins)
    }

    /// `pooled`: on any connection of a pool; `scope`: how far the tables are shared.
    fn statement_runs(
        &mut self,
        statement: &Statement,
        bound: &Bound,
        pooled: bool,
        scope: Scope,
        known: &Known<'_>,
    ) -> Origins {
        let span = known.span;
        self.advisory_locks(statement, bound, pooled, span);
        let table = statement.tables.first().map_or("?", String::as_str);
        let table: Rc<str> = table.into();
        let part = self.part_of(statement, bound);
        let resource = Resource { kind: Kind::Table, name: table, part, scope };
        let deps = bound.deps(statement);
        let columns: Vec<Rc<str>> = statement.set.iter().map(|set| set.column.as_str().into()).collect();
        let write = match statement.verb {
            Verb::Select => {
                let locks = statement.for_update || statement.for_share;
                let equal = |condition: &&sql::Condition| matches!(condition.operator, Operator::Equal | Operator::In);
                let by = statement.filter.iter().filter(equal).map(|condition| &condition.column);
                let by = by.chain(&statement.made_of).map(|column| column.as_str().into());
                // A row that the caller names is not taken.
                let is_empty = |condition: &&sql::Condition| condition.operator == Operator::IsNull;
                let named = resource.part.is_some();
                let empty = statement.filter.iter().filter(|_| !named).filter(is_empty);
                let empty = empty.map(|condition| condition.column.as_str().into()).collect();
                let through = self.through(statement, bound);
                let (by, columns) = (by.collect(), given(statement));
                let (highest, tries) = (highest(statement), statement.nowait);
                let within = within(statement);
                let what = What::Read { locks, tries, by, empty, through, highest, within, columns };
                let id = self.emit(what, Some(resource), &Origins::default(), span);
                return Origins::one(id);
            }
            // Which connection is in a transaction then, nobody knows.
            Verb::Begin { .. } if pooled => return Origins::default(),
            Verb::Begin { mode, isolation } => {
                let immediate = matches!(mode, BeginMode::Immediate | BeginMode::Exclusive);
                let serializable =
                    isolation.is_some_and(|level| level >= Isolation::Serializable) || self.is_serial(known.this);
                self.here.transaction =
                    Some(self.emit(What::Begin { immediate, serializable }, None, &Origins::default(), span));
                return Origins::default();
            }
            Verb::SetIsolation(level) => {
                if level >= Isolation::Serializable
                    && let Some(begin) = self.here.transaction
                    && let Some(event) = self.events.get_mut(begin as usize)
                {
                    event.what = What::Begin { immediate: false, serializable: true };
                }
                return Origins::default();
            }
            Verb::Commit | Verb::Rollback => {
                self.emit(What::End, None, &Origins::default(), span);
                self.here.transaction = None;
                return Origins::default();
            }
            Verb::Update => {
                let relative = !statement.set.is_empty() && statement.set.iter().all(|set| set.relative);
                let many = statement.filter.len() > 1;
                let compares = statement.filter_other
                    || statement.filter.iter().any(|condition| {
                        columns.iter().any(|column| **column == *condition.column)
                            || !matches!(condition.operator, Operator::Equal | Operator::In)
                    });
                let expects = |condition: &&sql::Condition| {
                    many && !is_identity(&condition.column) && self.is_stored(&bound.origins(&condition.operand))
                };
                let expected = statement.filter.iter().filter(expects).map(|c| c.column.as_str().into()).collect();
                let mut raised = raised(statement, bound, known);
                // What the database counts is a version only if somebody looks at it.
                let counted =
                    |column: &Rc<str>| statement.set.iter().any(|set| set.relative && *set.column == **column);
                raised.retain(|column| !counted(column) || self.decided(std::slice::from_ref(column)));
                let set = bound.set_to(statement);
                let (decided, skips) = self.decided_unless(&columns, &set);
                // What is made of a row is the same whoever makes it.
                let made = |set: &sql::Assignment| self.is_stored(&bound.origins(&set.operand));
                let own = statement.set.iter().zip(set).filter(|(set, (_, _, is_same))| !is_same && !made(set));
                let own = own.map(|(_, (column, ..))| column).collect();
                let (whole, by_version) = (!relative, by_version(statement));
                let keys = statement.filter.iter().filter(|condition| is_row_key(&condition.column));
                let keys = keys.map(|condition| bound.origins(&condition.operand));
                let which = keys.fold(Origins::default(), |all, one| all.with(&one));
                let stamp = bound.is_stamp(statement);
                let written = Write { by_version, decided, skips, own, which, stamp, ..Write::default() };
                Write { whole, relative, compares, expected, columns, raised, ..written }
            }
            Verb::Insert => {
                let creates = statement.on_conflict != OnConflict::None || statement.not_exists;
                let columns = statement.insert.iter().map(|(column, _)| column.as_str().into()).collect();
                let (given, looked_for) = (bound.given(statement), self.looked_for());
                let numbered = self.numbered(statement, bound);
                Write { inserts: true, creates, columns, given, looked_for, numbered, ..Write::default() }
            }
            Verb::Upsert | Verb::Merge => {
                let relative = !statement.set.is_empty() && statement.set.iter().all(|set| set.relative);
                let inserted = || statement.insert.iter().map(|(column, _)| column.as_str().into()).collect();
                let replaces = (statement.set.is_empty() && statement.verb == Verb::Upsert).then(inserted);
                let (given, whole) = (bound.given(statement), !relative);
                let looked_for = self.looked_for();
                let (decided, skips) = self.decided_unless(&columns, &bound.set_to(statement));
                let creates = true;
                Write {
                    decided,
                    skips,
                    whole,
                    relative,
                    creates,
                    columns,
                    given,
                    looked_for,
                    replaces,
                    ..Write::default()
                }
            }
            Verb::Delete => Write { deletes: true, removes: columns_only(statement).map(Rc::from), ..Write::default() },
            _ => return Origins::default(),
        };
        let (asks, named) = bound.chosen(statement);
        let write = Write { asks, named, looks: self.looks(), ..write };
        let id = self.emit(What::Write(write), Some(resource), &deps, span);
        // Rows that a write gives back are as they are now, and the number of a new row is its own.
        if statement.returning || statement.verb == Verb::Insert { Origins::one(id) } else { Origins::default() }
    }
}

/// The column whose highest value is all that is asked for.
fn highest(statement: &Statement) -> Option<Rc<str>> {
    match (&statement.aggregates[..], &statement.columns[..]) {
        ([max], [column]) if max == "max" => Some(column.as_str().into()),
        _ => None,
    }
}

/// The columns that it gives of its rows, if it names them all.
fn given(statement: &Statement) -> Vec<Rc<str>> {
    let is_plain = statement.tables.len() == 1 && statement.aggregates.is_empty();
    let named = statement.columns.iter().filter(|_| is_plain && statement.columns.iter().all(|column| column != "*"));
    named.map(|column| column.as_str().into()).collect()
}

/// What is bound to a statement for the first of many rows.
fn first_row(rows: &Value) -> Option<Rc<[Value]>> {
    let Shape::List(rows) = &rows.shape else { return None };
    match &rows.first()?.shape {
        Shape::List(row) => Some(Rc::clone(row)),
        _ => None,
    }
}

impl Engine<'_> {
    /// A column of a new row is computed from the highest value that it has in the table: the read of that.
    fn numbered(&self, statement: &Statement, bound: &Bound) -> Option<EventId> {
        statement.insert.iter().find_map(|(column, operand)| {
            bound.origins(operand).iter().rev().find(|id| {
                let Some(Event { what: What::Read { highest: Some(of), .. }, resource, .. }) = self.event(*id) else {
                    return false;
                };
                let table = resource.as_ref().map(|r| &*r.name);
                **of == **column && table == statement.tables.first().map(String::as_str)
            })
        })
    }

    /// What of other rows the rows were looked for by.
    fn through(&self, statement: &Statement, bound: &Bound) -> Vec<(Rc<str>, Origins)> {
        let operands = statement.filter.iter().map(|condition| &condition.operand);
        let stored = operands.map(|operand| (operand, bound.origins(operand))).filter(|(_, from)| self.is_stored(from));
        let field = |name: String| name.rsplit('.').next().unwrap_or_default().into();
        stored.map(|(operand, from)| (field(bound.name(operand)), from)).collect()
    }

    /// Which rows: the conditions on what identifies them. What derives from a read is most likely the row that was read.
    fn part_of(&self, statement: &Statement, bound: &Bound) -> Option<Rc<str>> {
        let mut equal: Vec<String> = statement
            .filter
            .iter()
            .filter(|condition| condition.operator == Operator::Equal && is_identity(&condition.column))
            .filter(|condition| Bound::has(&condition.operand))
            .filter(|condition| !self.is_of_row(&bound.origins(&condition.operand)))
            .map(|condition| format!("{}={}", condition.column, bound.name(&condition.operand)))
            .collect();
        // What is put in the place of a row has the row's key.
        if matches!(statement.verb, Verb::Upsert | Verb::Merge) {
            let keys = statement.insert.iter().filter(|(column, _)| is_identity(column));
            let own = keys.filter(|(_, operand)| !self.is_of_row(&bound.origins(operand)));
            equal.extend(own.map(|(column, operand)| format!("{column}={}", bound.name(operand))));
        }
        equal.sort();
        (!equal.is_empty()).then(|| equal.join(",").into())
    }
}
