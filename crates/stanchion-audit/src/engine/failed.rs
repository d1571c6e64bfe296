//! Go: an error that a condition has found, and what the arm for it gives instead.

use std::rc::Rc;

use super::Engine;
use super::caught::gives_empty;
use super::instead::{Instead, RETURNS, Swallowed};
use super::value::{Origins, Scope as Vars};
use crate::hir::{Stmt, StmtKind};

impl Engine<'_> {
    /// What was read has failed, and something empty takes its place.
    pub(super) fn failed(&mut self, of: &Origins, arm: &[Stmt], scope: &Rc<Vars>) {
        let looks = arm.iter().any(|stmt| matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Switch { .. }));
        let from = match arm.last().map(|stmt| &stmt.kind) {
            None => return,
            Some(StmtKind::Return(Some(value))) if !looks && self.is_nothing(value, scope) => RETURNS,
            Some(StmtKind::Return(_) | StmtKind::Throw(_)) => return,
            Some(_) if gives_empty(self.words(), arm, None, &mut |value| self.is_nothing(value, scope)) => {
                self.next_id()
            }
            Some(_) => return,
        };
        self.swallowed(of, Swallowed { from, instead: Instead::Empty, mark: None });
    }
}
