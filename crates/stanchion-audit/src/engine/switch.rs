//! `switch` and `match`.

use std::rc::Rc;

use super::Engine;
use super::eval::is_javascript;
use super::exec::Flow;
use super::value::{Scope as Vars, Value};
use crate::hir::{Arm, Expr, Stmt};

impl Engine<'_> {
    /// Every arm of a `switch` or `match`, and what its body comes to.
    pub(super) fn each_arm<T>(
        &mut self,
        subject: &Value,
        arms: &[Arm],
        scope: &Rc<Vars>,
        body: fn(&mut Self, &[Stmt], &Rc<Vars>) -> T,
        ends: fn(&T) -> Flow,
    ) -> Vec<T> {
        let (guard, branch) = (subject.deep_origins(), self.new_branch());
        let (mut all, mut assigned) = (Vec::with_capacity(arms.len()), Vec::with_capacity(arms.len()));
        let mut names: Vec<Rc<str>> = Vec::new();
        for (index, arm) in arms.iter().enumerate() {
            let number = u16::try_from(index).unwrap_or(u16::MAX);
            let inner = self.inside(scope);
            let (done, made) = self.one_arm(branch, number, &guard, |engine| {
                engine.knows_case(arm, &guard);
                // Guards use what is bound.
                if let Some(binds) = &arm.binds {
                    engine.assign(binds, subject, &inner, true);
                }
                for test in &arm.tests {
                    names.push(engine.eval(test, &inner).name);
                }
                // The rest is for all others.
                if !arm.tests.is_empty() {
                    engine.names_arm(subject, branch, number, &names);
                }
                body(engine, &arm.body, &inner)
            });
            if !arm.falls_through {
                names.clear();
            }
            assigned.push((ends(&done), made));
            all.push(done);
        }
        let has_default = arms.iter().any(|arm| arm.tests.is_empty());
        self.behind(assigned, has_default && !arms.iter().any(|arm| arm.falls_through));
        all
    }

    pub(super) fn switch(&mut self, subject: &Expr, arms: &[Arm], scope: &Rc<Vars>) -> Flow {
        if let Some(first) = self.decided_arm(subject, arms, scope) {
            for arm in arms.iter().skip(first) {
                let flow = self.block(&arm.body, scope);
                if flow == Flow::Leaves || !arm.falls_through {
                    let ends = flow == Flow::Skips && is_javascript(self.language(self.file()));
                    return if ends { Flow::Next } else { flow };
                }
            }
            return Flow::Next;
        }
        let subject = self.eval(subject, scope);
        let ends = self.each_arm(&subject, arms, scope, Self::block, |flow| *flow);
        let has_default = arms.iter().any(|arm| arm.tests.is_empty());
        if !has_default || ends.is_empty() {
            return Flow::Next;
        }
        // Only in JavaScript `break` ends the arm and not the loop.
        let stays = |end: &Flow| match end {
            Flow::Next => true,
            Flow::Skips => is_javascript(self.language(self.file())),
            Flow::Leaves => false,
        };
        match ends.iter().all(|end| *end == Flow::Leaves) {
            true => Flow::Leaves,
            false if ends.iter().any(stays) => Flow::Next,
            false => Flow::Skips,
        }
    }
}
