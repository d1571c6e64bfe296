//! Promises and collections: locks that are made of them, errors that are dropped with them.

use std::rc::Rc;

use super::absent::if_absent;
use super::call::Args;
use super::caught::gives_constant;
use super::event::{Acquire, Held, Kind, Scope, What, Write};
use super::frame::{Chain, Tail};
use super::instead::Swallowed;
use super::known::Known;
use super::value::{EventId, Origins, Shape, Value};
use super::{Engine, Entry};
use crate::hir::{Loop, Span};
use crate::models::Words;

/// The name of the function that a promise is made with, before a number.
const RESOLVES: &str = "resolve@";
/// Promises behind promises.
const LINE_MOST: usize = 8;

impl Engine<'_> {
    /// `read().catch(() => [])`, `read().then(parse, () => [])`: what was read before may have failed.
    pub(super) fn swallow(&mut self, known: &Known<'_>, handler: Option<&Value>) {
        let closure = handler.and_then(|handler| handler.closure().cloned());
        let Some(closure) = closure.filter(|_| !self.here.early) else { return };
        let Some(function) = self.module(closure.file).functions.get(closure.function) else { return };
        let origins = known.this.map(Value::deep_origins).unwrap_or_default();
        if gives_constant(self.words(), &function.body) {
            self.goes_without(&origins, self.next_id());
            self.goes_without_files(&origins, self.next_id());
        }
        let Some(instead) = self.instead_by(true, &function.body, None, &closure.scope) else { return };
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
            if verb == "add" {
                self.takes_free(&name, known.span);
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
        let mut waiting = self.tails.iter().enumerate().filter(|(_, tail)| tail.depth == self.frames.len());
        let tail = waiting.find_map(|(at, tail)| self.is_behind(&value.origins, &tail.memory).then_some(at));
        if let Some(at) = tail {
            let tail = self.tails.swap_remove(at);
            self.take_turn(&tail.memory, span);
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
        let resolve: Rc<str> = format!("{RESOLVES}{branch}").into();
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

    /// `while (taken) await …`: behind it nobody has what it has asked for, until others can run again.
    pub(super) fn waited_until_free(&mut self, found: &Loop, asked: &Origins, pauses: u32) {
        let cond = found.cond.as_ref().filter(|_| found.each.is_none() && !self.here.early);
        let waits = self.here.suspends > pauses && cond.and_then(|cond| if_absent(cond, true)) == Some(false);
        let free = waits.then(|| (asked.clone(), self.here.suspends));
        if let (Some(frame), Some(free)) = (self.frames.last_mut(), free) {
            frame.free = Some(free);
        }
    }

    /// It is marked as taken before others can run: a lock of the process.
    pub(super) fn takes_free(&mut self, name: &str, span: Span) {
        let is_asked = |asked: &Origins| {
            let mut of = asked.iter().filter_map(|id| self.event(id)?.resource.as_ref());
            of.any(|r| r.kind == Kind::Memory && &*r.name == name)
        };
        let free = self.frames.last().and_then(|frame| frame.free.as_ref());
        if free.is_some_and(|(asked, pauses)| *pauses == self.here.suspends && is_asked(asked)) {
            self.take_turn(name, span);
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
        let of_memory = |at: &usize| self.chains.get(*at).is_some_and(|chain| self.is_behind(&chain.behind, name));
        let mut last = (0..self.chains.len()).filter(|at| self.chains.get(*at).is_some_and(|c| value.contains(c.mark)));
        let Some(line) = last.find_map(|last| Some(self.line_of(last)).filter(|line| line.iter().any(of_memory)))
        else {
            return;
        };
        let marks: Vec<EventId> = line.iter().filter_map(|at| Some(self.chains.get(*at)?.mark)).collect();
        let (line, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.chains).into_iter().partition(|chain| marks.contains(&chain.mark));
        self.chains = others;
        let Some(region) = marks.first().copied() else { return };
        let lock: Rc<str> = format!("promises of {name}").into();
        let mut works = false;
        for event in line.iter().flat_map(|chain| chain.first..chain.last) {
            let Some(event) = self.events.get_mut(event) else { continue };
            works |= !matches!(event.what, What::Suspend);
            let held = Held { lock: Rc::clone(&lock), scope: Scope::Process, region };
            event.held = event.held.iter().cloned().chain([held]).collect();
        }
        self.tails.push(Tail { memory: name.into(), depth: self.frames.len(), works });
    }

    /// A chain, and those that it comes behind.
    fn line_of(&self, last: usize) -> Vec<usize> {
        let (mut line, mut at) = (vec![last], 0);
        while let Some(one) = line.get(at).filter(|_| at < LINE_MOST).and_then(|at| self.chains.get(*at)) {
            let before = |(at, chain): (usize, &Chain)| one.behind.contains(chain.mark).then_some(at);
            let before: Vec<usize> = self.chains.iter().enumerate().filter_map(before).collect();
            let new: Vec<usize> = before.into_iter().filter(|at| !line.contains(at)).collect();
            line.extend(new);
            at += 1;
        }
        line
    }

    /// Whether it comes from what is kept there, or from a promise that has waited for that.
    fn is_behind(&self, of: &Origins, memory: &str) -> bool {
        let is_it = |id: EventId| {
            let resource = self.events.get(id as usize).and_then(|event| event.resource.as_ref());
            resource.is_some_and(|r| r.kind == Kind::Memory && &*r.name == memory)
        };
        let mut behind =
            self.chains.iter().filter(|chain| of.contains(chain.mark)).flat_map(|chain| chain.behind.iter());
        of.iter().any(is_it) || behind.any(is_it)
    }

    /// A call ends: its lock is given back, unless its caller gets the function that does that, or the promise to wait for.
    pub(super) fn turn_ends(&mut self, span: Span) {
        let Some(frame) = self.frames.last_mut() else { return };
        // Most calls have nothing of all this.
        if frame.lock.is_none() && self.tails.is_empty() && self.turns.is_empty() {
            return;
        }
        let (lock, given) = (frame.lock.take(), frame.returned.clone());
        let depth = self.frames.len();
        let caller = depth.checked_sub(2).and_then(|at| self.frames.get_mut(at)).filter(|frame| frame.lock.is_none());
        match (lock, caller) {
            (Some(lock), Some(caller)) if given.as_ref().is_some_and(is_function) => caller.lock = Some(lock),
            (Some(lock), _) => self.give_back(&lock, true, span),
            (None, _) => {}
        }
        let given = given.map(|given| given.deep_origins()).unwrap_or_default();
        let mut tails = std::mem::take(&mut self.tails);
        for tail in tails.iter_mut().filter(|tail| tail.depth == depth && !tail.works) {
            tail.depth -= usize::from(self.is_behind(&given, &tail.memory));
        }
        self.tails = tails;
        self.tails.retain(|tail| tail.depth < depth);
        self.turns.retain(|(_, of, _)| *of < depth);
    }
}

/// Something that can be called: a function of the program, or what a promise is made with.
fn is_function(value: &Value) -> bool {
    value.closure().is_some() || matches!(value.shape, Shape::Unknown) && value.name.starts_with(RESOLVES)
}
