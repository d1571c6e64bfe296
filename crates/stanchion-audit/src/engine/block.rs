//! Blocks that are values.

use std::rc::Rc;

use super::Engine;
use super::exec::Flow;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::{Stmt, StmtKind};

impl Engine<'_> {
    /// A block as a value: that of its last expression, in whichever branch that stands.
    pub(super) fn block_value(&mut self, body: &[Stmt], scope: &Rc<Vars>) -> Value {
        let inner = self.inside(scope);
        self.hoist(body, &inner);
        let held = self.here.held.len();
        let Some((last, before)) = body.split_last() else { return Value::null() };
        if self.run_block(before, &inner) != Flow::Next {
            return Value::null();
        }
        let value = self.last_value(last, &inner);
        if !matches!(value.shape, Shape::Lock(_)) {
            self.drop_guards(held);
        }
        value
    }

    fn last_value(&mut self, last: &Stmt, inner: &Rc<Vars>) -> Value {
        match &last.kind {
            StmtKind::Expr(expr) => self.eval(expr, inner),
            StmtKind::Block(body) => self.block_value(body, inner),
            StmtKind::If { cond, then, other } => {
                let tested = self.eval(cond, inner);
                let guard = tested.deep_origins();
                let branch = self.new_branch();
                let conditions = self.here.conditions.len();
                self.stands_around(cond, &tested.name, &guard, inner);
                let first = self.arm(branch, 0, &guard, |engine| engine.block_value(then, inner));
                let second = self.arm(branch, 1, &guard, |engine| engine.block_value(other, inner));
                self.here.conditions.truncate(conditions);
                second.join(&first).from(&guard)
            }
            StmtKind::Switch { subject, arms } => {
                let subject = self.eval(subject, inner);
                let values = self.each_arm(&subject, arms, inner, Self::block_value, |_| Flow::Next);
                let value = values.iter().fold(Value::null(), |all, one| all.join(one));
                value.from(&subject.deep_origins())
            }
            _ => {
                let flow = self.statement(last, inner);
                if flow == Flow::Next { Value::unknown("$block") } else { Value::null() }
            }
        }
    }
}
