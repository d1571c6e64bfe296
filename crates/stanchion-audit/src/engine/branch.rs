//! `if`: two arms, of which one is taken.

use std::rc::Rc;

use super::Engine;
use super::absent::if_absent;
use super::again::compared;
use super::arms::Assigned;
use super::exec::Flow;
use super::value::{Origins, Scope as Vars, Value};
use crate::hir::{Expr, ExprKind, Language, Stmt};

impl Engine<'_> {
    pub(super) fn branch(&mut self, cond: &Expr, then: &[Stmt], other: &[Stmt], scope: &Rc<Vars>) -> Flow {
        // What a condition binds (`let … else`, `:=`) is seen after it as well.
        let held = self.here.held.len();
        self.here.deciding += 1;
        let tested = self.asked(cond, scope);
        self.here.deciding -= 1;
        if !matches!(cond.kind, ExprKind::Matches { .. }) {
            self.drop_temporary(held, None);
        }
        let guard = tested.deep_origins();
        let branch = self.new_branch();
        let held = self.here.held.clone();
        let conditions = self.here.conditions.len();
        self.here.conditions.push(Rc::clone(&tested.name));
        let fails = self.error_arm(cond, scope);
        if let Some(arm) = fails {
            self.failed(&guard, if arm == 0 { then } else { other }, scope);
        }
        let absent = if_absent(cond, self.is_check(&guard)).or_else(|| self.if_no_file(&tested));
        let known = self.here.found.len();
        let found = |engine: &mut Self, arm: u16| {
            let found = absent.map(|absent| absent == (arm == 1));
            engine.here.found.extend(found.map(|found| (found, guard.clone())));
        };
        if let Some(absent) = absent {
            self.fills(&guard, if absent { then } else { other }, scope);
        }
        found(self, 0);
        let (own, mut within) = (self.here.guards.len() + 1, guard.clone());
        // What an inner question asks may come from the caller: it guards nothing, but its arm was left.
        let (mut leaves_within, arms) = (false, self.here.path.len() + 1);
        let mut arm = |engine: &mut Self, body: &[Stmt]| {
            let flow = engine.block(body, scope);
            let inner = engine.here.guards.get(own..).filter(|inner| flow == Flow::Next && !inner.is_empty());
            leaves_within |= inner.is_some() || flow == Flow::Next && engine.here.path.len() > arms;
            within = inner.into_iter().flatten().fold(within.clone(), |all, one| all.with(one));
            flow
        };
        let (first, one) = self.either(branch, 0, &guard, fails == Some(0), |engine| arm(engine, then));
        self.here.found.truncate(known);
        let after_first = std::mem::replace(&mut self.here.held, held);
        found(self, 1);
        let (second, two) = self.either(branch, 1, &guard, fails == Some(1), |engine| arm(engine, other));
        self.behind(vec![(first, one), (second, two)], true);
        self.here.found.truncate(known);
        if (first, second) == (Flow::Next, Flow::Next) {
            self.here.conditions.truncate(conditions);
        }
        match (first, second) {
            (Flow::Next, Flow::Next) => {
                // Held afterwards is what one arm has taken: `if (!await lock()) throw` is the usual form.
                if after_first.len() > self.here.held.len() {
                    self.here.held = after_first;
                }
                // Where an arm can be left, what comes after it depends on both questions.
                if leaves_within {
                    self.here.guards.push(within);
                }
                Flow::Next
            }
            (Flow::Next, _) => {
                self.here.held = after_first;
                found(self, 0);
                self.only_this_arm(branch, 0, guard);
                Flow::Next
            }
            (_, Flow::Next) => {
                found(self, 1);
                self.only_this_arm(branch, 1, guard);
                Flow::Next
            }
            (one, other) if one == other => one,
            _ => Flow::Skips,
        }
    }

    /// The value of a condition.
    pub(super) fn asked(&mut self, cond: &Expr, scope: &Rc<Vars>) -> Value {
        self.here.asking += 1;
        let value = self.eval(cond, scope);
        self.here.asking -= 1;
        value
    }

    /// An arm, which may be one for errors.
    fn either<T>(
        &mut self,
        branch: u32,
        arm: u16,
        guard: &Origins,
        fails: bool,
        body: impl FnOnce(&mut Self) -> T,
    ) -> (T, Assigned) {
        if !fails {
            return self.one_arm(branch, arm, guard, body);
        }
        self.here.handler += 1;
        let from = std::mem::replace(&mut self.here.handler_from, self.here.path.len() + 1);
        let done = self.one_arm(branch, arm, guard, body);
        self.here.handler_from = from;
        self.here.handler -= 1;
        done
    }

    /// Which arm handles an error: Go compares the last of several results with nothing.
    fn error_arm(&mut self, cond: &Expr, scope: &Rc<Vars>) -> Option<u16> {
        let (name, is_set) = compared(cond).filter(|_| self.language(self.file()) == Language::Go)?;
        let (found, _) = self.find(scope, name)?;
        let is_later = found.value.name.rsplit_once('#').is_some_and(|(_, n)| n.parse::<u8>().is_ok());
        is_later.then_some(u16::from(!is_set))
    }

    /// The other arm has left: until the end of the call, only this one counts.
    fn only_this_arm(&mut self, branch: u32, arm: u16, guard: Origins) {
        self.here.path.push((branch, arm));
        if !guard.is_empty() {
            self.here.guards.push(guard);
        }
    }
}
