//! Promises and collections: locks that are made of them, errors that are dropped with them.

use std::rc::Rc;

use super::Engine;
use super::caught::gives_empty;
use super::event::{Acquire, Held, Kind, Scope, What, Write};
use super::known::Known;
use super::value::{Origins, Value};
use crate::hir::Span;

impl Engine<'_> {
    /// `read().catch(() => [])`: what was read before may have failed.
    pub(super) fn swallow(&mut self, known: &Known<'_>) {
        let closure = known.get(&known.model.callback).and_then(|callback| callback.closure().cloned());
        let Some(function) = closure.and_then(|c| self.module(c.file).functions.get(c.function)) else { return };
        if self.here.early || !gives_empty(self.words(), &function.body) {
            return;
        }
        let origins = known.this.map(Value::deep_origins).unwrap_or_default();
        let next = self.next_id();
        for id in origins.iter() {
            if let Some(event) = self.events.get_mut(id as usize)
                && matches!(event.what, What::Read { .. })
            {
                event.swallowed = Some(next);
            }
        }
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
            self.emit(What::Write(write), Some(resource), &given, known.span);
        }
        for (_, arg) in known.args {
            self.made.remove(&arg.name);
        }
        self.result(known)
    }

    /// The value of a promise that was waited for.
    pub(super) fn awaited(&mut self, value: Value, span: Span) -> Value {
        // Whoever waits for those before, and has others wait, holds a lock until the call ends.
        let before = value.origins.iter().filter_map(|id| self.events.get(id as usize)?.resource.clone());
        let tail = before
            .filter(|r| r.kind == Kind::Memory)
            .find_map(|r| self.tails.iter().position(|(name, depth)| *name == r.name && *depth == self.frames.len()));
        if let Some(at) = tail {
            let (name, _) = self.tails.swap_remove(at);
            let lock: Rc<str> = format!("promises of {name}").into();
            let acquire = Acquire { scope: Scope::Process, structured: true, ..Acquire::of(Rc::clone(&lock)) };
            self.take(acquire, &Origins::default(), span);
            if let Some(frame) = self.frames.last_mut() {
                frame.lock = Some(lock);
            }
        }
        self.settled(value, span)
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
