//! Promises and collections: locks that are made of them, errors that are dropped with them.

use std::rc::Rc;

use super::call::Args;
use super::caught::gives_constant;
use super::event::{Acquire, Held, Kind, Scope, What, Write};
use super::instead::Swallowed;
use super::known::Known;
use super::value::{EventId, Origins, Shape, Value};
use super::{Engine, Entry};
use crate::hir::Span;
use crate::models::Words;

impl Engine<'_> {
    /// `read().catch(() => [])`: what was read before may have failed.
    pub(super) fn swallow(&mut self, known: &Known<'_>) {
        let closure = known.get(&known.model.callback).and_then(|callback| callback.closure().cloned());
        let Some(closure) = closure.filter(|_| !self.here.early) else { return };
        let Some(function) = self.module(closure.file).functions.get(closure.function) else { return };
        let origins = known.this.map(Value::deep_origins).unwrap_or_default();
        if gives_constant(self.words(), &function.body) {
            self.goes_without(&origins, self.next_id());
        }
        let Some(instead) = self.instead_by(true, &function.body, &closure.scope) else { return };
        self.swallowed(&origins, Swallowed { from: self.next_id(), instead, mark: None });
    }

    /// A list, set or map: as a thing in memory if it outlives the call.
    pub(super) fn collection(&mut self, known: &Known<'_>, verb: &str) -> Value {
        let read = known.this.and_then(|this| {
            let events = this.origins.iter().rev().filter_map(|id| self.events.get(id as usize));
            events.filter_map(|event| event.resource.clone()).find(|r| r.kind == Kind::Memory && r.name == this.name)
        });
        if let (Some(resource), "add" | "remove") = (read, verb) {
            let given = known.args.iter().fold(Origins::default(), |all, (_, arg)| all.with(&arg.deep_origins()));
            let write = Write { inserts: verb == "add", deletes: verb == "remove", ..Default::default() };
            self.chained(&resource.name, &given);
            let name = Rc::clone(&resource.name);
            let id = self.emit(What::Write(write), Some(resource), &given, known.span);
            for (_, arg) in known.args {
                self.takes_turn(&name, arg, id);
            }
        }
        for (_, arg) in known.args {
            self.made.remove(&arg.name);
        }
        // A table of functions that is filled before anything is read: whoever asks for one by its name calls it.
        let is_table = verb == "add" && !known.model.handler.0.is_empty();
        if is_table && (self.here.early || self.events.is_empty()) {
            self.handler(known, Entry::Hook);
        }
        self.result(known)
    }

    /// The value of a promise that was waited for.
    pub(super) fn awaited(&mut self, value: Value, span: Span) -> Value {
        self.waits_for_turn(&value, span);
        // Whoever waits for those before, and has others wait, holds a lock until the call ends.
        let before = value.origins.iter().filter_map(|id| self.events.get(id as usize)?.resource.clone());
        let tail = before
            .filter(|r| r.kind == Kind::Memory)
            .find_map(|r| self.tails.iter().position(|(name, depth)| *name == r.name && *depth == self.frames.len()));
        if let Some(at) = tail {
            let (name, _) = self.tails.swap_remove(at);
            self.take_turn(&name, span);
        }
        self.settled(value, span)
    }

    /// It is ours until the call ends.
    fn take_turn(&mut self, name: &str, span: Span) {
        let lock: Rc<str> = format!("promises of {name}").into();
        let acquire = Acquire { scope: Scope::Process, structured: true, ..Acquire::of(Rc::clone(&lock)) };
        self.take(acquire, &Origins::default(), span);
        if let Some(frame) = self.frames.last_mut() {
            frame.lock = Some(lock);
        }
    }

    /// `new Promise((resolve) => …)`: what comes is what `resolve` is given, wherever it is called.
    pub(super) fn promise(&mut self, callee: &Value, args: &Args, span: Span) -> Option<Value> {
        if !Words::is_one(&self.words().turns, &callee.name) {
            return None;
        }
        let [(None, maker)] = args.as_slice() else { return None };
        let closure = Rc::clone(maker.closure()?);
        let branch = self.new_branch();
        let resolve: Rc<str> = format!("resolve@{branch}").into();
        self.resolved.insert(Rc::clone(&resolve), None);
        let given = vec![(None, Value::unknown(&*resolve)), (None, Value::unknown("$reject"))];
        let site = self.site(span);
        let back = self.arm(branch, 0, &Origins::default(), |engine| engine.call_closure(&closure, given, site));
        let origins = back.deep_origins();
        // Where nothing came yet, the promise itself is what is known.
        let value = self.resolved.remove(&resolve).flatten();
        let value = value.filter(|value| !matches!(value.shape, Shape::Null));
        let made = value.unwrap_or_else(|| Value::unknown(format!("{}({})", callee.name, maker.name)));
        Some(made.from(&origins))
    }

    /// A promise that was made here.
    pub(super) fn is_turn(&self, value: &Value) -> bool {
        value.name.split_once('(').is_some_and(|(head, _)| Words::is_one(&self.words().turns, head))
    }

    /// A promise of our own is put where those who come later find it.
    pub(super) fn takes_turn(&mut self, name: &str, value: &Value, write: EventId) {
        if self.is_turn(value) {
            self.turns.push((name.into(), self.frames.len(), write));
        }
    }

    /// What stood there before is waited for.
    fn waits_for_turn(&mut self, value: &Value, span: Span) {
        if self.turns.is_empty() || self.is_turn(value) {
            return;
        }
        let before = value.origins.iter().filter_map(|id| self.events.get(id as usize)).find_map(|read| {
            let resource = read.resource.as_ref().filter(|r| r.kind == Kind::Memory)?;
            let frames = self.frames.len();
            self.turns
                .iter()
                .position(|(name, depth, write)| *name == resource.name && *depth == frames && read.id < *write)
        });
        if let Some(at) = before {
            let (name, ..) = self.turns.swap_remove(at);
            self.take_turn(&name, span);
        }
    }

    /// `tail = tail.then(work)`: whoever comes next waits for all before, so the work had a lock of the process.
    pub(super) fn chained(&mut self, name: &str, value: &Origins) {
        let Some(at) = self.chains.iter().position(|chain| {
            let behind = chain.behind.iter().filter_map(|id| self.events.get(id as usize));
            value.contains(chain.mark)
                && behind
                    .filter_map(|event| event.resource.as_ref())
                    .any(|r| r.kind == Kind::Memory && &*r.name == name)
        }) else {
            return;
        };
        let chain = self.chains.swap_remove(at);
        self.tails.push((name.into(), self.frames.len()));
        let lock: Rc<str> = format!("promises of {name}").into();
        for event in self.events.iter_mut().take(chain.last).skip(chain.first) {
            let held = Held { lock: Rc::clone(&lock), scope: Scope::Process, region: chain.mark };
            event.held = event.held.iter().cloned().chain([held]).collect();
        }
    }
}
