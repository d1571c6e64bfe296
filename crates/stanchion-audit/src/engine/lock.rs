//! Locks and transactions that are taken by calls and blocks.

use std::rc::Rc;

use super::Engine;
use super::bound::Bound;
use super::event::{Acquire, Event, Held, Kind, Scope, What};
use super::known::Known;
use super::value::{EventId, Origins, Shape, Value};
use crate::hir::Span;
use crate::sql::{LockAction, LockKind, Statement};

/// Lock files of one entry point.
const LOCK_FILES_MOST: usize = 16;

impl Engine<'_> {
    pub(super) fn take(&mut self, acquire: Acquire, deps: &Origins, span: Span) -> EventId {
        let (lock, scope) = (Rc::clone(&acquire.lock), acquire.scope);
        let region = self.emit(What::Acquire(acquire), None, deps, span);
        self.here.held.push(Held { lock, scope, region });
        region
    }

    pub(super) fn give_back(&mut self, lock: &Rc<str>, checked: bool, span: Span) {
        if self.here.held.iter().any(|held| held.lock == *lock) {
            self.emit(What::Release { lock: Rc::clone(lock), checked }, None, &Origins::default(), span);
            if let Some(at) = self.here.held.iter().rposition(|held| held.lock == *lock) {
                self.here.held.remove(at);
            }
        }
    }

    /// The call ends with an error: those who cannot have a lock that was asked for here do not go on.
    pub(super) fn refuses(&mut self) {
        // What a handler of the call itself does then, it knows.
        if self.here.held.is_empty() || self.own_try().is_some() {
            return;
        }
        let outer = self.frames.last().map_or(0, |frame| frame.guards);
        let asked = self.here.guards.iter().skip(outer).fold(Origins::default(), |all, one| all.with(one));
        self.mark_had(0, |event| asked.contains(event.id) || event.deps.iter().any(|id| asked.contains(id)));
    }

    /// Whoever goes on behind these has what they ask for: else there is an error, or another try.
    pub(super) fn mark_had(&mut self, first: usize, is: impl Fn(&Event) -> bool) {
        for event in self.log_mut().iter_mut().skip(first).filter(|event| is(event)) {
            if let What::Acquire(lock) = &mut event.what {
                lock.had = true;
            }
        }
    }

    /// Whoever cannot have these locks, as far as they are still held, goes on without them.
    pub(super) fn goes_without(&mut self, locks: &Origins, from: EventId) {
        let held = self.here.held.iter().map(|held| held.region);
        let held: Vec<EventId> = held.filter(|region| locks.contains(*region)).collect();
        for event in self.log_mut().iter_mut().filter(|event| held.contains(&event.id)) {
            if let What::Acquire(lock) = &mut event.what {
                lock.open = lock.open.or(Some(from));
            }
        }
    }

    /// The same of lock files that were there already.
    pub(super) fn goes_without_files(&mut self, files: &Origins, from: EventId) {
        for event in self.log_mut().iter_mut().filter(|event| files.contains(event.id) && event.is_made_file()) {
            if let What::Write(how) = &mut event.what {
                how.open = how.open.or(Some(from));
            }
        }
    }

    /// Whether these were had was asked, and nothing depends on the answer.
    pub(super) fn goes_on(&mut self, asked: &Origins) {
        let is_asked = |event: &&Event| {
            matches!(&event.what, What::Acquire(lock) if lock.tries) && event.deps.iter().any(|id| asked.contains(id))
        };
        let locks = self.log().iter().filter(is_asked);
        let locks = locks.fold(Origins::default(), |all, event| all.with(&Origins::one(event.id)));
        self.goes_without(&locks, self.next_id());
    }

    /// A file that is made only if it is not there, and removed in the end, is a lock: what is done in between has it.
    pub(super) fn lock_files(&mut self) {
        let is_file = |event: &Event| event.resource.as_ref().is_some_and(|r| r.kind == Kind::File);
        let made = |event: &&Event| event.is_made_file();
        // Where something went wrong, what was begun is taken back.
        let removed = |event: &&Event| {
            matches!(&event.what, What::Write(how) if how.deletes) && is_file(event) && (event.always || !event.handler)
        };
        let regions: Vec<(EventId, EventId, Rc<str>)> = self
            .events
            .iter()
            .filter(made)
            .filter_map(|taken| {
                let name = &taken.resource.as_ref()?.name;
                let same = |event: &&Event| event.resource.as_ref().is_some_and(|r| r.name == *name);
                let last = self.events.iter().rev().filter(removed).find(same)?;
                Some((taken.id, last.id, Rc::clone(name)))
            })
            .take(LOCK_FILES_MOST)
            .collect();
        for (region, last, lock) in regions {
            let held = Held { lock, scope: Scope::Host, region };
            for event in self.events.iter_mut().filter(|event| event.id > region && event.id < last) {
                event.held = event.held.iter().cloned().chain([held.clone()]).collect();
            }
        }
    }

    /// Locks that the database keeps for the session or transaction that a statement runs in.
    pub(super) fn advisory_locks(&mut self, statement: &Statement, bound: &Bound, pooled: bool, span: Span) {
        for lock in &statement.locks {
            let name: Rc<str> =
                format!("advisory {}", lock.key.iter().map(|key| bound.name(key)).collect::<Vec<_>>().join(",")).into();
            match lock.action {
                LockAction::Lock | LockAction::TryLock => {
                    let structured = lock.kind == LockKind::Transaction;
                    let acquire = Acquire {
                        scope: Scope::Cluster,
                        structured,
                        pooled: pooled && !structured,
                        session: !structured,
                        ..Acquire::of(name)
                    };
                    self.take(acquire, &Origins::default(), span);
                }
                LockAction::Unlock | LockAction::UnlockAll => self.give_back(&name, true, span),
            }
        }
    }

    /// How far a lock of this type reaches.
    pub(super) fn reach(&self, of: &Value) -> Option<Scope> {
        let Shape::Api(kind) = &of.shape else { return None };
        let kind = self.models.of_type(self.language(self.file()), kind)?;
        Some(kind.lock?.scope())
    }

    fn fresh(&self, name: &Rc<str>) -> bool {
        let Some((depth, function)) = self.made.get(name) else { return false };
        // A function inside the one that made it: the lock is for tasks that are started there.
        let inner = self.frames.iter().skip(*depth).any(|frame| {
            self.module(frame.file).functions.get(frame.function).is_some_and(|f| f.parent == Some(*function))
        });
        !inner
    }

    pub(super) fn lock_call(&mut self, known: &Known<'_>, verb: &str) -> Value {
        let at = known.at().or_else(|| known.this.cloned());
        // It is left with the block that stands around it.
        if let ("enter", Some(at)) = (verb, &at) {
            return self.enter(at, known.span);
        }
        // A lock on an open file ends when the file is closed.
        let is_file = at.as_ref().and_then(Value::kind).is_some_and(|kind| kind.starts_with("file."));
        let name = at.map_or_else(|| Rc::from("?"), |at| at.name);
        let this_reach = known.this.and_then(|this| self.reach(this));
        let scope = known.model.scope.map(crate::models::Reach::scope).or(this_reach).unwrap_or(Scope::Process);
        let fresh = self.fresh(&name) || known.this.is_some_and(|this| self.fresh(&this.name));
        let acquire = |structured| Acquire {
            scope,
            structured,
            fresh,
            pooled: known.model.how.as_deref() == Some("pooled"),
            tries: known.model.how.as_deref() != Some("raises")
                && (known.says("timeout") || known.args.iter().any(|(_, arg)| matches!(arg.shape, Shape::Bool(false)))),
            ..Acquire::of(Rc::clone(&name))
        };
        let calls = known.get(&known.model.callback).is_some_and(|callback| callback.closure().is_some());
        let gives_back = known.says_any(&self.words().unlocks);
        match verb {
            // One call for both, told apart by a flag.
            "acquire" if gives_back => {
                self.give_back(&name, true, known.span);
                Value::null()
            }
            "acquire" if !calls => {
                let id = self.take(acquire(is_file), &known.origins(), known.span);
                // What comes back may be a guard, or a function that gives it back.
                Value::of(Shape::Lock(Rc::clone(&name)), &*name).from(&Origins::one(id))
            }
            "release" => {
                self.give_back(&name, true, known.span);
                Value::null()
            }
            // One of several permits: it keeps nobody else out, but it can be lost.
            "permit" => {
                let acquire = Acquire { scope: Scope::Task, ..Acquire::of(name) };
                self.emit(What::Acquire(acquire), None, &Origins::default(), known.span);
                self.result(known)
            }
            "return" => {
                self.emit(What::Release { lock: name, checked: true }, None, &Origins::default(), known.span);
                Value::null()
            }
            "renew" => {
                self.emit(What::Renew { lock: name, checked: true }, None, &Origins::default(), known.span);
                Value::null()
            }
            "with" | "acquire" => {
                let held = self.here.held.len();
                self.take(acquire(true), &Origins::default(), known.span);
                let back = self.call_back(known);
                self.give_back(&name, true, known.span);
                self.here.held.truncate(held);
                back
            }
            _ => self.result(known),
        }
    }

    /// `with value:`
    pub(super) fn enter(&mut self, value: &Value, span: Span) -> Value {
        if let Some(scope) = self.reach(value) {
            let fresh = self.fresh(&value.name);
            let lock = Rc::clone(&value.name);
            self.take(Acquire { scope, structured: true, fresh, ..Acquire::of(lock) }, &Origins::default(), span);
            return value.clone();
        }
        if let Shape::Api(kind) = &value.shape
            && kind.ends_with(".transaction")
        {
            let serializable = self.is_serial(Some(value));
            let id = self.emit(What::Begin { immediate: false, serializable }, None, &Origins::default(), span);
            self.here.transaction = Some(id);
            return value.clone();
        }
        for name in ["__enter__", "__aenter__"] {
            if let Some((file, class)) = value.object().and_then(|object| object.class)
                && let Some(method) = self.method(file, class, name, value)
            {
                let entered = self.invoke(&method, Vec::new(), false, span);
                return if matches!(entered.shape, Shape::Null) { value.clone() } else { entered };
            }
        }
        value.clone()
    }

    /// The end of `with value:`
    pub(super) fn leave(&mut self, value: &Value, span: Span) {
        self.give_back(&Rc::clone(&value.name), true, span);
        if let Shape::Api(kind) = &value.shape
            && self.models.of_type(self.language(self.file()), kind).is_some_and(|kind| !kind.returns.is_empty())
        {
            self.emit(What::GivenBack, None, &Origins::default(), span);
        }
        for name in ["__exit__", "__aexit__"] {
            if let Some((file, class)) = value.object().and_then(|object| object.class)
                && let Some(method) = self.method(file, class, name, value)
            {
                self.invoke(&method, Vec::new(), false, span);
            }
        }
    }
}
