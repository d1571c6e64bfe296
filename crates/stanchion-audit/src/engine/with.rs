//! Context managers: what stands in their block runs inside of them.

use std::rc::Rc;

use super::call::path_of;
use super::event::{Event, What};
use super::exec::Flow;
use super::value::{Scope as Vars, Shape, Value};
use super::{AtYield, Engine};
use crate::hir::each::each_in;
use crate::hir::{Expr, ExprKind, Handler, Pattern, Span, Stmt, StmtKind};
use crate::models::Words;

impl Engine<'_> {
    pub(super) fn with(&mut self, items: &[(Expr, Option<Pattern>)], body: &[Stmt], scope: &Rc<Vars>) -> Flow {
        let Some(((expr, bind), rest)) = items.split_first() else { return self.block(body, scope) };
        let inner = || {
            if rest.is_empty() {
                return body.to_vec();
            }
            let kind = StmtKind::With { items: rest.to_vec(), body: body.to_vec(), is_async: false };
            vec![Stmt { kind, span: expr.span }]
        };
        if let Some(handler) = self.suppressed(expr, scope) {
            return self.attempt(&inner(), &[handler], &[], &[], scope);
        }
        let value = self.eval(expr, scope);
        // A function with `yield`: what stands in the block runs there.
        if let Some(closure) = value.option("generator").and_then(|value| value.closure().cloned()) {
            let args = value.option("arguments").map_or_else(Vec::new, |list| match list.shape {
                Shape::List(items) => items.iter().map(|item| (None, item.clone())).collect(),
                _ => Vec::new(),
            });
            let at_yield = self.at_yield(inner().into(), bind.clone(), scope);
            self.call_generator(&closure, args, self.site(expr.span), at_yield);
            return Flow::Next;
        }
        let inner = self.inside(scope);
        let held = self.here.held.len();
        let transaction = self.here.transaction;
        let entered = self.enter(&value, expr.span);
        if let Some(bind) = bind {
            self.assign(bind, &entered, &inner, true);
        }
        let flow = self.with(rest, body, &inner);
        self.here.always += 1;
        self.leave(&value, expr.span);
        self.here.always -= 1;
        self.here.held.truncate(held);
        self.here.transaction = transaction;
        flow
    }

    pub(super) fn at_yield(&self, body: Rc<[Stmt]>, bind: Option<Pattern>, scope: &Rc<Vars>) -> AtYield {
        let (frame, first, arms) = (self.frames.len(), self.log().len(), self.here.path.len());
        AtYield { body, bind, scope: Rc::clone(scope), frame, first, arms, passed: false }
    }

    /// The block belongs to the one who wrote the `with`: its `return` is not the context manager's.
    pub(super) fn at_its_yield(&mut self, at_yield: &AtYield, value: Value) {
        let inner = self.frames.split_off(at_yield.frame.min(self.frames.len()));
        if let Some(bind) = &at_yield.bind {
            self.assign(bind, &value, &at_yield.scope, true);
        }
        self.block(&at_yield.body, &at_yield.scope);
        self.frames.extend(inner);
    }

    /// Whether this is the way through a context manager that takes no lock, and another one follows: whoever writes
    /// `if fcntl is None: yield; return` means the one with the lock.
    pub(super) fn passes(&mut self, span: Span) -> bool {
        let Some(frame) = self.frames.last().filter(|frame| self.here.depth > frame.depth) else { return false };
        let Some(found) = self.module(frame.file).functions.get(frame.function) else { return false };
        let takes = |event: &Event| matches!(event.what, What::Acquire(_) | What::Begin { .. }) || event.is_made_file();
        // What is taken on all ways says nothing of this one.
        let here = &self.here.path;
        let on_this = |at: &AtYield, event: &Event| event.path.len() > at.arms && here.starts_with(&event.path);
        let takes = |at: &AtYield| self.log().iter().skip(at.first).any(|event| takes(event) && on_this(at, event));
        if frame.at_yield.as_ref().is_none_or(takes) {
            return false;
        }
        let mut follows = false;
        each_in(&found.body, &mut |expr| {
            let is_behind = (expr.span.line, expr.span.column) > (span.line, span.column);
            follows |= matches!(expr.kind, ExprKind::Yield(_)) && is_behind;
        });
        if follows && let Some(at) = self.frames.last_mut().and_then(|frame| frame.at_yield.as_mut()) {
            at.passed = true;
        }
        follows
    }

    /// `with suppress(OSError):` is `try: … except OSError: pass`.
    fn suppressed(&mut self, expr: &Expr, scope: &Rc<Vars>) -> Option<Handler> {
        let ExprKind::Call(call) = &expr.kind else { return None };
        let path = path_of(&call.callee)?;
        // What is called so in the program is something else.
        if call.args.is_empty() || !Words::is_last(&self.words().suppresses, &path) {
            return None;
        }
        let callee = self.eval(&call.callee, scope);
        let catches = call.args.iter().map(|arg| arg.value.clone()).collect();
        matches!(callee.shape, Shape::Package(_)).then(|| Handler { catches, ..Handler::default() })
    }
}
