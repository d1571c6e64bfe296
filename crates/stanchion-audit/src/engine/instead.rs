//! What takes the place of something that could not be read, or not be understood.

use std::rc::Rc;

use super::Engine;
use super::arms::Assigned;
use super::caught::{catches_more, error_of, gives_empty, looks};
use super::eval::is_javascript;
use super::event::{Event, What};
use super::exec::Flow;
use super::value::{EventId, Origins, Scope as Vars, Shape, Value};
use crate::hir::{Expr, ExprKind, Handler, Pattern, Span, Stmt, StmtKind, replaces};

/// From the end of the call on: it is not known yet.
pub(super) const RETURNS: EventId = EventId::MAX;

/// A read that may have failed without anybody being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Swallowed {
    /// From this event on something else is in its place.
    pub(crate) from: EventId,
    pub(crate) instead: Instead,
    /// It was read, and could not be understood: what was put in its place derives from this event, too.
    pub(crate) mark: Option<EventId>,
}

/// What is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Something empty, which is taken for what was there.
    Empty,
    /// Nothing: whoever asks whether there is something hears that there is not.
    Nothing,
    /// Something empty, and whoever called is told so.
    Told,
}

impl Engine<'_> {
    /// What a handler gives in place of what its `try` gives; nothing if it tells errors apart, or goes on with the error.
    pub(super) fn instead(&mut self, tried: &[Stmt], handler: &Handler, scope: &Rc<Vars>) -> Option<Instead> {
        let words = self.words();
        if !catches_more(words, handler) {
            return None;
        }
        let value = gives_value(tried) || assigns(tried) && self.gives_value_in_the_end();
        self.instead_by(value, &handler.body, error_of(handler), scope)
    }

    /// Whether the present function ends with a value: what its `try` has assigned is a part of that.
    fn gives_value_in_the_end(&self) -> bool {
        let frame = self.frames.last().and_then(|frame| self.module(frame.file).functions.get(frame.function));
        let last = frame.and_then(|function| function.body.last()).map(|stmt| &stmt.kind);
        matches!(last, Some(StmtKind::Return(Some(value))) if !matches!(value.kind, ExprKind::Null))
    }

    /// The same of a handler that catches everything; `value`: without an error there is one.
    pub(super) fn instead_by(
        &mut self,
        value: bool,
        body: &[Stmt],
        error: Option<&str>,
        scope: &Rc<Vars>,
    ) -> Option<Instead> {
        let words = self.words();
        let mut nothing = |value: &Expr| self.is_nothing(value, scope);
        if gives_empty(words, body, error, &mut nothing) {
            return Some(Instead::Empty);
        }
        let Some(StmtKind::Return(last)) = body.last().map(|stmt| &stmt.kind) else { return None };
        if looks(words, body, error, &mut nothing) {
            return None;
        }
        // What others see is empty by then.
        let empties = body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Assign { to, value, op } => {
                replaces(op.as_deref())
                    && to.iter().any(|to| self.is_outside(to, scope))
                    && self.is_nothing(value, scope)
            }
            _ => false,
        });
        match last.as_ref().map(|last| &last.kind) {
            None if empties => Some(Instead::Empty),
            Some(ExprKind::Bool(_)) if empties => Some(Instead::Told),
            None | Some(ExprKind::Null) if value => Some(Instead::Nothing),
            _ => None,
        }
    }

    /// Whether what is assigned there is seen outside of the call.
    fn is_outside(&self, to: &Pattern, scope: &Rc<Vars>) -> bool {
        match to {
            Pattern::Place(_) => true,
            Pattern::Name(name) => !self.is_local(name) && scope.is_shared(name) == Some(true),
            _ => false,
        }
    }

    /// What these have read has failed; from there on something else takes its place. The innermost handler has it.
    pub(super) fn swallowed(&mut self, of: &Origins, how: Swallowed) {
        for id in of.iter() {
            if let Some(event) = self.events.get_mut(id as usize).filter(|e| matches!(e.what, What::Read { .. })) {
                event.swallowed = event.swallowed.or(Some(how));
            }
        }
    }

    /// What was read before a `try`, and cannot be understood in it, is as good as not read where the handler puts something
    /// else in its place: gives the mark of that.
    pub(super) fn misread(
        &mut self,
        first: usize,
        handler: &Handler,
        how: Swallowed,
        scope: &Rc<Vars>,
    ) -> Option<EventId> {
        let mut puts = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign { value, .. } => self.is_nothing(value, scope),
            kind => matches!(kind, StmtKind::Return(Some(_))),
        };
        if !handler.body.iter().any(&mut puts) {
            return None;
        }
        if self.here.early {
            return None;
        }
        let given = self.here.tries.last().map(|tried| tried.given.clone()).unwrap_or_default();
        let is_read = |id: &EventId| self.event(*id).is_some_and(|event| matches!(event.what, What::Read { .. }));
        let before = given.iter().filter(|id| (*id as usize) < first).filter(is_read);
        let before = before.fold(Origins::default(), |all, id| all.with(&Origins::one(id)));
        if before.is_empty() {
            return None;
        }
        let mark = self.emit(What::Misread, None, &before, self.at);
        self.swallowed(&before, Swallowed { mark: Some(mark), ..how });
        Some(mark)
    }

    /// What the handler has assigned, or returned, is what was put in its place.
    pub(super) fn marked(&mut self, made: Assigned, mark: EventId, ends: Flow) -> Assigned {
        let mark = Origins::one(mark);
        if let Some(frame) = self.frames.last_mut().filter(|_| ends == Flow::Leaves) {
            frame.returned = frame.returned.take().map(|value| value.from(&mark));
        }
        made.into_iter().map(|(change, after)| (change, after.from(&mark))).collect()
    }

    /// A handler goes on behind a `try` that gives a value: what the call gives then is known when it returns.
    pub(super) fn gives_later(&mut self, first: usize, from: EventId) {
        let is = |event: &&Event| event.swallowed.is_some_and(|how| how.from == from && how.instead == Instead::Empty);
        let failed: Vec<EventId> = self.log().iter().skip(first).filter(is).map(|event| event.id).collect();
        if let Some(frame) = self.frames.last_mut() {
            frame.failed = failed;
        }
    }

    /// And this is what it gives.
    pub(super) fn gives_now(&mut self, value: Option<&Value>) {
        let depth = self.here.depth;
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.depth == depth) else { return };
        let failed = std::mem::take(&mut frame.failed);
        if failed.is_empty() || value.is_some_and(|value| !matches!(value.shape, Shape::Null)) {
            return;
        }
        for event in self.log_mut().iter_mut().filter(|event| failed.contains(&event.id)) {
            event.swallowed = event.swallowed.map(|how| Swallowed { from: RETURNS, instead: Instead::Nothing, ..how });
        }
    }

    /// Or it gives an error after all: nothing has taken the place of what has failed.
    pub(super) fn gives_error(&mut self, failed: &[EventId]) {
        let all = self.log_mut().iter_mut().filter(|event| failed.contains(&event.id));
        all.for_each(|event| event.swallowed = None);
    }

    /// What failed inside of this call is something else for its caller; `plain`: the call ends without a `return`.
    pub(super) fn returned_empty(&mut self, first: usize, plain: bool) {
        if plain {
            self.gives_now(None);
        }
        let next = self.next_id();
        let inside = self.log().iter().skip(first).filter(|event| matches!(event.what, What::Misread));
        // The caller had read it, and had it understood here.
        let given = inside.fold(Origins::default(), |all, event| all.with(&event.deps));
        let gone_on = |event: &mut Event| {
            let how = event.swallowed.as_mut().filter(|how| how.from == RETURNS);
            how.into_iter().for_each(|how| how.from = next);
        };
        self.log_mut().iter_mut().skip(first).for_each(gone_on);
        for id in given.iter().filter(|id| (*id as usize) < first) {
            self.log_mut().get_mut(id as usize).into_iter().for_each(gone_on);
        }
    }

    /// Where there was nothing, something empty is taken from now on.
    pub(super) fn filled(&mut self, of: &Origins) {
        let next = self.next_id();
        for id in of.iter() {
            let how = self.events.get_mut(id as usize).and_then(|event| event.swallowed.as_mut());
            if let Some(how) = how.filter(|how| how.instead == Instead::Nothing) {
                *how = Swallowed { from: next, instead: Instead::Empty, ..*how };
            }
        }
    }

    /// The same of a branch: one of its arms is for nothing.
    pub(super) fn filled_in_arm(&mut self, of: &Origins, arm: &[Stmt], scope: &Rc<Vars>) {
        let fills = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign { value, op, .. } => replaces(op.as_deref()) && self.is_nothing(value, scope),
            _ => false,
        };
        if !of.is_empty() && arm.iter().any(fills) {
            self.filled(of);
        }
    }

    /// A call whose answer nobody wants.
    pub(super) fn unheard(&mut self, first: usize) {
        let inside = self.log_mut().iter_mut().skip(first).filter_map(|event| event.swallowed.as_mut());
        inside.filter(|how| how.instead == Instead::Told).for_each(|how| how.instead = Instead::Empty);
    }

    /// The same of a statement: how many rows it has changed, nobody hears. Elsewhere the connection or cursor knows it.
    pub(super) fn uncounted(&mut self, first: usize, call: Span) {
        if !is_javascript(self.language(self.file())) {
            return;
        }
        let site = self.site(call);
        for event in self.log_mut().iter_mut().skip(first).filter(|event| event.site == site) {
            if let What::Write(how) = &mut event.what {
                how.uncounted = how.by_version;
            }
        }
    }
}

/// Whether a `try` leaves something in a variable.
fn assigns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { .. } => true,
        StmtKind::Block(body) | StmtKind::With { body, .. } => assigns(body),
        _ => false,
    })
}

/// Whether a `try` ends with a value, wherever in it.
pub(super) fn gives_value(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(value) => value.is_some(),
        StmtKind::Block(body) | StmtKind::With { body, .. } => gives_value(body),
        StmtKind::If { then, other, .. } => gives_value(then) || gives_value(other),
        _ => false,
    })
}
