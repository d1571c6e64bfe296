//! Loops that go on for as long as the program runs, and wait in each round: timers, by another name.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::again::is_endless;
use super::event::{Event, What};
use super::value::{Closure, Origins, Shape, Value};
use super::{Engine, Entry, Frame};
use crate::hir::each::{assigns, each_in, each_place};
use crate::hir::{Expr, ExprKind, Loop, Span, Stmt, StmtKind};
use crate::models::Words;

impl Engine<'_> {
    /// The loop has been run, and these events since then are its own: it goes on when a clock says so, if it waits in each
    /// round and ends only when somebody has it end.
    pub(super) fn ticks_with(&mut self, found: &Loop, first: usize) {
        let stops = &self.words().stops;
        let goes_on = is_endless(found) || found.cond.as_ref().is_some_and(|cond| is_flag(cond, &found.body, stops));
        if found.each.is_some() || !found.step.is_empty() || !goes_on || leaves(&found.body, &found.body, stops) {
            return;
        }
        let (depth, id) = (self.frames.len().saturating_sub(1), self.here.loops.last());
        // Where in this function it waits, whoever it calls for that.
        let place = |event: &Event| event.stack.get(depth).copied().unwrap_or(event.site).span;
        let waits = |event: &&Event| {
            matches!(event.what, What::Sleep { .. }) && event.loops.last() == id && {
                let at = place(event);
                found.cond.as_ref().is_some_and(|cond| holds(cond.span, at)) || is_always(&found.body, at)
            }
        };
        if let Some(at) = self.log().iter().skip(first).find(waits).map(place) {
            self.emit(What::Ticks, None, &Origins::default(), at);
        }
    }

    /// `setTimeout(tick, 60_000)` in `tick` itself: a timer, if it does so each time, and not only because something has
    /// failed.
    pub(super) fn comes_again(&mut self, callback: &Value, span: Span) -> bool {
        let Some(again) = self.called_by(callback) else { return false };
        let is_it = |frame: &Frame| (frame.file, frame.function) == (again.file, again.function);
        let Some(at) = self.frames.iter().rposition(is_it) else { return false };
        let place = self.frames.get(at + 1).map_or(span, |inner| inner.site.span);
        let Some(function) = self.module(again.file).functions.get(again.function) else { return false };
        if !is_always(&function.body, place) {
            return false;
        }
        let handler = Value::of(Shape::Func(again), &*function.name);
        self.emit(What::Starts, None, &Origins::default(), span);
        self.register(Entry::Timer, &function.name, &handler, BTreeMap::new(), None, span);
        true
    }

    /// The function that is given, or the only one that it calls: `() => tick()`, `() => void this.tick()`.
    fn called_by(&mut self, callback: &Value) -> Option<Rc<Closure>> {
        let given = Rc::clone(callback.closure()?);
        let function = self.module(given.file).functions.get(given.function)?;
        let [Stmt { kind: StmtKind::Return(Some(value)) | StmtKind::Expr(value), .. }] = &function.body[..] else {
            return Some(given);
        };
        let mut value = value;
        while let ExprKind::Await(of) | ExprKind::Unary { of, .. } = &value.kind {
            value = of;
        }
        let ExprKind::Call(call) = &value.kind else { return Some(given) };
        let found = match &call.callee.kind {
            ExprKind::Name(name) => self.find(&given.scope, name).map(|(found, _)| found.value),
            ExprKind::Member { of, name } if matches!(of.kind, ExprKind::This) => {
                let this = given.this.clone().unwrap_or_else(|| self.this());
                let class = this.object().and_then(|object| object.class);
                class.and_then(|(file, class)| self.method(file, class, name, &this))
            }
            _ => None,
        };
        Some(found.and_then(|found| found.closure().cloned()).unwrap_or(given))
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    (outer.line, outer.column) <= (inner.line, inner.column) && inner.end_line <= outer.end_line
}

/// Whether what stands there is done in each round, as long as nothing fails.
fn is_always(body: &[Stmt], at: Span) -> bool {
    body.iter().filter(|stmt| holds(stmt.span, at)).any(|stmt| match &stmt.kind {
        StmtKind::If { .. } | StmtKind::Switch { .. } | StmtKind::Loop(_) => false,
        StmtKind::Try { body, otherwise, finally, .. } => [body, otherwise, finally].iter().any(|b| is_always(b, at)),
        StmtKind::With { body, .. } | StmtKind::Block(body) => is_always(body, at),
        _ => true,
    })
}

/// Whether it ends by what it does itself: not because it failed, and not because somebody has said so.
fn leaves(body: &[Stmt], all: &[Stmt], stops: &[String]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break => true,
        StmtKind::If { cond, then, other } => {
            !is_flag(cond, all, stops) && leaves(then, all, stops) || leaves(other, all, stops)
        }
        StmtKind::Try { body, otherwise, finally, .. } => {
            [body, otherwise, finally].iter().any(|body| leaves(body, all, stops))
        }
        StmtKind::Switch { arms, .. } => arms.iter().any(|arm| leaves(&arm.body, all, stops)),
        // What breaks off an inner one ends there.
        StmtKind::Loop(inner) => returns(&inner.body),
        StmtKind::With { body, .. } | StmtKind::Block(body) => leaves(body, all, stops),
        _ => false,
    })
}

fn returns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { then, other, .. } => returns(then) || returns(other),
        StmtKind::Try { body, otherwise, finally, .. } => [body, otherwise, finally].iter().any(|body| returns(body)),
        StmtKind::Switch { arms, .. } => arms.iter().any(|arm| returns(&arm.body)),
        StmtKind::Loop(inner) => returns(&inner.body),
        StmtKind::With { body, .. } | StmtKind::Block(body) => returns(body),
        _ => false,
    })
}

/// Whether something is done with it, or with a part of it.
fn is_used(body: &[Stmt], name: &str) -> bool {
    let is_it = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(found) if found == name);
    let mut used = false;
    each_in(body, &mut |expr| {
        used |= match &expr.kind {
            ExprKind::Member { of, .. } | ExprKind::Index { of, .. } => is_it(of),
            ExprKind::Call(call) => call.args.iter().any(|arg| is_it(&arg.value)),
            _ => false,
        }
    });
    used
}

/// A variable, or a field of the object itself, that only others set; or what tells that the end was asked for.
fn is_flag(cond: &Expr, body: &[Stmt], stops: &[String]) -> bool {
    let (of, negated) = cond.negated();
    if negated {
        return is_flag(of, body, stops);
    }
    match &of.kind {
        ExprKind::Name(name) => !assigns(body, name) && !is_used(body, name),
        ExprKind::Member { of, name } if matches!(of.kind, ExprKind::This) => {
            let mut set = false;
            each_place(body, &mut |place| set |= matches!(&place.kind, ExprKind::Member { name: n, .. } if n == name));
            !set
        }
        ExprKind::Call(call) => {
            matches!(&call.callee.kind, ExprKind::Member { name, .. } if Words::is_one(stops, name))
        }
        _ => false,
    }
}
