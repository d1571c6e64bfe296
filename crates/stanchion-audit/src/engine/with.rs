//! Context managers: what stands in their block runs inside of them.

use std::rc::Rc;

use super::call::path_of;
use super::exec::Flow;
use super::value::{Scope as Vars, Shape};
use super::{AtYield, Engine};
use crate::hir::{Expr, ExprKind, Handler, Pattern, Stmt, StmtKind};
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
            let at_yield =
                AtYield { body: inner().into(), bind: bind.clone(), scope: Rc::clone(scope), frame: self.frames.len() };
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
