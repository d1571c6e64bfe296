//! Go: an error that a condition has found, and what the arm for it gives instead.

use std::rc::Rc;

use super::Engine;
use super::attempt::RETURNS;
use super::caught::{gives_empty, is_empty};
use super::value::{Origins, Scope as Vars, Shape};
use crate::hir::{Expr, ExprKind, Stmt, StmtKind};

impl Engine<'_> {
    /// What was read has failed, and something empty takes its place.
    pub(super) fn failed(&mut self, of: &Origins, arm: &[Stmt], scope: &Rc<Vars>) {
        let looks = arm.iter().any(|stmt| matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Switch { .. }));
        let from = match arm.last().map(|stmt| &stmt.kind) {
            None => return,
            Some(StmtKind::Return(Some(value))) if !looks && self.is_nothing(value, scope) => RETURNS,
            Some(StmtKind::Return(_) | StmtKind::Throw(_)) => return,
            Some(_) if gives_empty(self.words(), arm, is_empty) => self.next_id(),
            Some(_) => return,
        };
        self.swallowed(of, from);
    }

    /// An empty map or list, and no error beside it.
    pub(super) fn is_nothing(&mut self, value: &Expr, scope: &Rc<Vars>) -> bool {
        match &value.kind {
            ExprKind::List(results) if results.len() > 1 => {
                let is_error =
                    results.last().is_some_and(|last| !matches!(last.kind, ExprKind::Null | ExprKind::Bool(_)));
                !is_error && results.first().is_some_and(|first| self.is_nothing(first, scope))
            }
            ExprKind::Unary { of, .. } => self.is_nothing(of, scope),
            ExprKind::Name(name) => self.find(scope, name).is_some_and(|(found, _)| {
                let value = &found.value;
                let is_new = match &value.shape {
                    Shape::Object(object) => object.class.is_none() && object.fields.borrow().is_empty(),
                    Shape::List(items) => items.is_empty(),
                    _ => false,
                };
                is_new && value.origins.is_empty()
            }),
            _ => is_empty(value),
        }
    }
}
