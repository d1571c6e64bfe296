//! `try`, and what its handlers tell.

use std::rc::Rc;

use super::again::leaves;
use super::arms::put_entries;
use super::caught::{catches_more, gives_constant, is_refused};
use super::compared::Says;
use super::event::{Event, Kind, What};
use super::exec::Flow;
use super::instead::{RETURNS, Swallowed, gives_value};
use super::value::{Origins, Scope as Vars, Value};
use super::{Engine, EventId, Frame};
use crate::hir::{Handler, Stmt, StmtKind};

/// A `try` block that is under way.
#[derive(Debug)]
pub(super) struct Tried {
    /// How many calls were open when it began, and how many events there were.
    frames: usize,
    first: usize,
    /// What unknown calls in it were given: whether those fail depends on it.
    pub(super) given: Origins,
}

impl Engine<'_> {
    /// A call that may fail because of what it is given.
    pub(super) fn may_fail(&mut self, given: &Origins) {
        if let Some(tried) = self.here.tries.last_mut() {
            tried.given = tried.given.with(given);
        }
    }

    pub(super) fn log(&self) -> &[Event] {
        if self.here.early { &self.early } else { &self.events }
    }

    pub(super) fn log_mut(&mut self) -> &mut Vec<Event> {
        if self.here.early { Rc::make_mut(&mut self.early) } else { &mut self.events }
    }

    /// What a `return true` tells: the conditions it stands under, and whether the `try` around it got so far.
    pub(super) fn answers(&self) -> Origins {
        let guards = self.frames.last().map_or(0, |frame| frame.guards);
        let by_guards = self.here.guards.iter().skip(guards).fold(Origins::default(), |all, one| all.with(one));
        let Some(Tried { first, given, .. }) = self.own_try() else { return by_guards };
        let asks = |event: &&Event| matches!(event.what, What::Read { .. } | What::Check) || event.is_made_file();
        let tried = self.log().iter().skip(*first).filter(asks);
        tried.fold(by_guards.with(given), |all, event| all.with(&Origins::one(event.id)))
    }

    /// The innermost one of the present call: who has called it hears nothing else of its own.
    pub(super) fn own_try(&self) -> Option<&Tried> {
        self.here.tries.iter().rev().find(|tried| tried.frames == self.frames.len())
    }

    /// Files that the innermost `try` has made so far, where there was none: what is returned there tells of it.
    pub(super) fn created(&self) -> Origins {
        let Some(Tried { first, .. }) = self.own_try() else { return Origins::default() };
        let made = self.log().iter().skip(*first).filter(|event| event.is_made_file());
        made.fold(Origins::default(), |all, event| all.with(&Origins::one(event.id)))
    }

    /// A call has ended: lock files that it can have gone on without.
    pub(super) fn gone_on(&mut self, frame: Option<&Frame>) {
        let Some(frame) = frame.filter(|frame| !frame.throws && !frame.untaken.is_empty()) else { return };
        for (id, from) in &frame.untaken {
            let made = self.log_mut().iter_mut().find(|event| event.id == *id);
            if let Some(What::Write(how)) = made.map(|event| &mut event.what) {
                how.open = Some(*from);
            }
        }
    }

    /// What was inserted since then, or is committed since then, is inserted once: the database sees to it.
    fn refused(&mut self, first: usize) {
        let ends = self.log().iter().skip(first).filter(|event| matches!(event.what, What::End));
        let ended: Vec<EventId> = ends.filter_map(|event| event.transaction).collect();
        for (at, event) in self.log_mut().iter_mut().enumerate() {
            let inside = at >= first || event.transaction.is_some_and(|begin| ended.contains(&begin));
            if let What::Write(write) = &mut event.what
                && inside
                && write.inserts
            {
                write.creates = true;
            }
        }
    }

    /// Behind this handler comes the next round of a loop that ends only by leaving.
    fn tries_anew(&self, handler: &Handler) -> bool {
        self.frames.last().is_some_and(|frame| frame.endless > 0) && !leaves(&handler.body)
    }

    /// Whoever could not make the file goes on behind this handler, and not to another try.
    fn untaken(&mut self, first: usize, from: EventId, handler: &Handler, ends: Flow) {
        if ends == Flow::Leaves || self.tries_anew(handler) {
            return;
        }
        let log = if self.here.early { &self.early } else { &self.events };
        let made = log.iter().skip(first).filter(|event| event.is_made_file() && !event.handler);
        let made: Vec<(EventId, EventId)> = made.map(|event| (event.id, from)).collect();
        if let Some(frame) = self.frames.last_mut() {
            frame.untaken.extend(made);
        }
    }

    pub(super) fn attempt(
        &mut self,
        body: &[Stmt],
        handlers: &[Handler],
        otherwise: &[Stmt],
        finally: &[Stmt],
        scope: &Rc<Vars>,
    ) -> Flow {
        let path = self.here.path.len();
        let before = self.here.held.clone();
        let first = self.log().len();
        self.here.tries.push(Tried { frames: self.frames.len(), first, given: Origins::default() });
        let changes = self.changes.len();
        self.here.depth += 1;
        let mut flow = self.block(body, scope);
        let words = self.words();
        // Where the next round tries anew, nothing takes the place of what this one could not read.
        let is_left = flow != Flow::Next || leaves(otherwise);
        let goes_on = handlers.iter().find_map(|handler| {
            let is_last = !(is_left && self.tries_anew(handler));
            if is_last { Some((handler, self.instead(body, handler, scope)?)) } else { None }
        });
        let goes_on = goes_on.map(|(handler, instead)| {
            // A handler that returns lets only the caller go on.
            let returns = handler.body.iter().any(|stmt| matches!(stmt.kind, StmtKind::Return(_)));
            let from = if returns { RETURNS } else { self.next_id() };
            let how = Swallowed { from, instead, mark: None };
            let reads = self.log_mut().iter_mut().skip(first).filter(|event| matches!(event.what, What::Read { .. }));
            // The innermost handler has it.
            reads.for_each(|event| event.swallowed = event.swallowed.or(Some(how)));
            (handler, from, self.misread(first, handler, how, scope))
        });
        if handlers.iter().any(|handler| is_refused(words, handler)) {
            self.refused(first);
        }
        if flow == Flow::Next {
            flow = self.block(otherwise, scope);
        }
        self.here.depth -= 1;
        // Where something fails, what it should have given has not been assigned.
        let tried_to = self.taken_back(changes);
        // Unless a round before that one has.
        if body.iter().any(|stmt| matches!(stmt.kind, StmtKind::Loop(_))) {
            put_entries(&tried_to);
        }
        let mut ways = vec![(flow, tried_to)];
        let path_after = self.here.path.split_off(path.min(self.here.path.len()));
        let (after, open) = (self.here.held.clone(), self.here.transaction);
        // `passed`: behind all this comes also who has failed, and not only into the next round.
        let (mut caught, mut passed, tried_until) = (Flow::Leaves, false, self.next_id());
        // A check that fails by an exception has answered.
        let checks = self.log().iter().skip(first).filter(|event| matches!(event.what, What::Check));
        let asked = checks.fold(Origins::default(), |all, event| all.with(&Origins::one(event.id)));
        // Where more was done than asked, it can be the rest that failed.
        let acts = self.log().iter().skip(first).any(|event| {
            matches!(event.what, What::Write(_)) && event.resource.as_ref().is_some_and(|r| r.kind == Kind::File)
        });
        let files = |id: &EventId| {
            let mut all = self.log().iter().filter_map(|e| Some((e.id, e.resource.as_ref()?.kind)));
            all.any(|(event, kind)| event == *id && kind == Kind::File)
        };
        let tried = self.here.tries.last().map(|tried| tried.given.clone()).unwrap_or_default();
        let asked = if acts { Origins::default() } else { asked };
        let failed = tried.iter().filter(files).fold(asked.clone(), |all, id| all.with(&Origins::one(id)));
        let failed = if acts { Origins::default() } else { failed };
        for handler in handlers {
            // Whatever the body has done may have happened.
            let branch = self.new_branch();
            self.here.held.clone_from(&before);
            self.here.transaction = open;
            self.here.handler += 1;
            let from = std::mem::replace(&mut self.here.handler_from, self.here.path.len() + 1);
            let (ends, made) = self.one_arm(branch, 0, &failed, |engine| {
                let inner = engine.inside(scope);
                if let Some(name) = &handler.name {
                    engine.bind(name, &Value::unknown("$error"), &inner);
                }
                engine.block(&handler.body, &inner)
            });
            self.here.handler -= 1;
            self.here.handler_from = from;
            let made = match goes_on.filter(|(who, ..)| std::ptr::eq(*who, handler)) {
                Some((_, _, Some(mark))) => self.marked(made, mark, ends),
                Some((_, from, None)) if flow == Flow::Leaves && ends == Flow::Next && gives_value(body) => {
                    self.gives_later(first, from);
                    made
                }
                _ => made,
            };
            if ends == Flow::Next {
                caught = Flow::Next;
                passed |= !(is_left && self.tries_anew(handler));
            }
            self.untaken(first, tried_until, handler, ends);
            ways.push((ends, made));
        }
        let left = ways.iter().any(|(ends, _)| *ends != Flow::Next);
        self.behind(ways, true);
        self.here.tries.pop();
        self.here.held = after;
        // A handler that ends the transaction and leaves ends it for nobody else.
        if caught != Flow::Next || flow == Flow::Next {
            self.here.transaction = open;
        }
        // Who asked and got an answer has left: the rest is for those who got none, as behind `if (exists) return`.
        // What was done with a file's content asks something else.
        // Where nothing was asked, it has been left all the same: what follows depends on the condition around it.
        if flow != Flow::Next && caught == Flow::Next {
            // Who has read it has left with it.
            let is_read = |event: &&Event| {
                matches!(event.what, What::Read { .. }) && event.resource.as_ref().is_some_and(|r| r.kind == Kind::File)
            };
            let read = self.log().iter().skip(first).filter(is_read).filter(|_| !acts);
            let read = read.fold(Origins::default(), |all, event| all.with(&Origins::one(event.id)));
            self.here.said.push((Says::Absent, read.clone()));
            self.here.guards.push(asked.with(&read));
        } else if left {
            self.here.guards.push(Origins::default());
        }
        self.here.path.extend(path_after);
        self.here.always += 1;
        let last = self.block(finally, scope);
        self.here.always -= 1;
        // A lock that the block gives back, and a handler that gives something else instead.
        if flow == Flow::Leaves
            && handlers.iter().any(|handler| catches_more(words, handler) && gives_constant(words, &handler.body))
        {
            let given = self.frames.last().and_then(|frame| frame.returned.as_ref()).map(Value::deep_origins);
            self.goes_without(&given.unwrap_or_default(), tried_until);
        }
        // What was not followed to its end has not given back what it took.
        if passed && !self.cut {
            let still: Vec<_> = self.here.held.iter().map(|held| held.region).collect();
            let taken = self.log_mut().iter_mut().skip(first).filter(|event| still.contains(&event.id));
            for event in taken {
                if let What::Acquire(lock) = &mut event.what {
                    lock.open = lock.open.or(Some(tried_until));
                }
            }
        }
        if last != Flow::Next {
            return last;
        }
        if flow == Flow::Next || caught == Flow::Next { Flow::Next } else { flow }
    }
}
