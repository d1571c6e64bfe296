//! Statements.

use std::rc::Rc;

use super::Engine;
use super::absent::if_absent;
use super::again::{compared, is_endless, is_retry};
use super::arms::Assigned;
use super::caught::{drops_promise, ends};
use super::compared::Asked;
use super::eval::is_javascript;
use super::value::{Origins, Scope as Vars, Shape, Value};
use crate::hir::{Arm, DECLARES, Expr, ExprKind, Language, Loop, Pattern, Span, Stmt, StmtKind};

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// `break` and `continue`: the rest of the loop's body is not run.
    Skips,
    /// `return` and `throw`.
    Leaves,
}

/// Whether a statement makes something that is seen in its block only.
fn declares(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Assign { op, .. } => op.as_deref() == Some(DECLARES),
        StmtKind::Function(_) | StmtKind::Class(_) => true,
        _ => false,
    }
}

impl Engine<'_> {
    /// A block's own variables; Python has none.
    pub(super) fn inside(&self, scope: &Rc<Vars>) -> Rc<Vars> {
        match self.language(self.file()) {
            Language::Python => Rc::clone(scope),
            _ => self.new_scope(scope),
        }
    }

    /// What functions that were made before any call from outside share is there for all calls.
    pub(super) fn new_scope(&self, outer: &Rc<Vars>) -> Rc<Vars> {
        if self.here.early { Vars::lasting(outer) } else { Vars::inside(outer) }
    }

    /// A block with variables of its own.
    pub(super) fn block(&mut self, body: &[Stmt], scope: &Rc<Vars>) -> Flow {
        if body.is_empty() {
            return Flow::Next;
        }
        // Most blocks make nothing of their own. Only JavaScript says so.
        let plain = is_javascript(self.language(self.file())) && !body.iter().any(declares);
        let inner = if plain { Rc::clone(scope) } else { self.inside(scope) };
        self.hoist(body, &inner);
        let held = self.here.held.len();
        let flow = self.run_block(body, &inner);
        self.drop_guards(held);
        flow
    }

    pub(super) fn run_block(&mut self, body: &[Stmt], scope: &Rc<Vars>) -> Flow {
        for stmt in body {
            if !self.step() {
                return Flow::Leaves;
            }
            let flow = self.statement(stmt, scope);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    pub(super) fn statement(&mut self, stmt: &Stmt, scope: &Rc<Vars>) -> Flow {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                // A call whose promise is dropped goes on by itself; what a file's own code starts, it starts once.
                let once = self.frames.last().is_some_and(|frame| frame.function == 0) && self.here.loops.is_empty();
                let dropped = u32::from(is_javascript(self.language(self.file())) && !once && drops_promise(expr));
                self.here.detached += dropped;
                let held = self.here.held.len();
                self.eval(expr, scope);
                self.here.detached -= dropped;
                self.drop_temporary(held, None);
                if ends(self.words(), expr) { Flow::Leaves } else { Flow::Next }
            }
            StmtKind::Assign { to, value, op } => {
                let held = self.here.held.len();
                let mut found = self.kept(value, scope);
                self.drop_temporary(held, Some(&found).filter(|_| !matches!(to[..], [Pattern::Nothing])));
                self.at = stmt.span;
                for pattern in to {
                    if op.as_deref() == Some(DECLARES) {
                        self.bind(pattern, &found, scope);
                        continue;
                    }
                    if let Some(op) = op {
                        let old = self.read_pattern(pattern, scope);
                        found = self.binary(op, &old, &found);
                    }
                    // A flag of this call tells what it was set because of.
                    let flag = (op.is_none() && matches!(found.shape, Shape::Bool(_)) && is_own(pattern, scope))
                        .then(|| found.clone().from(&self.answers()));
                    self.assign(pattern, flag.as_ref().unwrap_or(&found), scope, op.is_none());
                }
                // A place that is written through its guard.
                self.drop_temporary(held, Some(&found));
                Flow::Next
            }
            StmtKind::Return(value) => {
                let mut value = value.as_ref().map_or_else(Value::null, |value| self.eval(value, scope));
                if matches!(value.shape, Shape::Bool(_)) {
                    value = value.from(&self.answers());
                }
                value = value.from(&self.created());
                if let Some(frame) = self.frames.last_mut() {
                    frame.returned =
                        Some(frame.returned.as_ref().map_or_else(|| value.clone(), |old| old.join(&value)));
                }
                self.leaves(stmt.span);
                Flow::Leaves
            }
            StmtKind::Throw(value) => {
                if let Some(value) = value {
                    self.eval(value, scope);
                }
                let depth = self.here.depth;
                if let Some(frame) = self.frames.last_mut().filter(|frame| frame.depth == depth) {
                    frame.throws = true;
                }
                self.leaves(stmt.span);
                Flow::Leaves
            }
            StmtKind::If { cond, then, other } => match self.script_steps(cond) {
                Some(0) => Flow::Next,
                Some(most) => self.bounded(most, |engine| engine.branch(cond, then, other, scope)),
                None => self.branch(cond, then, other, scope),
            },
            StmtKind::Loop(found) => self.repeat(found, stmt.span, scope),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                self.attempt(body, handlers, otherwise, finally, scope)
            }
            StmtKind::With { items, body, is_async } => {
                // Whoever enters may have to wait.
                if *is_async {
                    self.suspend(stmt.span);
                }
                self.with(items, body, scope)
            }
            StmtKind::Switch { subject, arms } => self.switch(subject, arms, scope),
            StmtKind::Defer(expr) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.deferred.push((expr.clone(), Rc::clone(scope)));
                }
                Flow::Next
            }
            StmtKind::Go(expr) => {
                // It runs by itself: what it does is not in our order, and holds none of our locks.
                let outer = std::mem::take(&mut self.here.held);
                self.here.detached += 1;
                self.eval(expr, scope);
                self.here.detached -= 1;
                self.here.held = outer;
                Flow::Next
            }
            StmtKind::Break | StmtKind::Continue => Flow::Skips,
            StmtKind::Function(function) => {
                self.decorated(*function, scope);
                Flow::Next
            }
            StmtKind::Class(class) => {
                self.class_made(*class, scope);
                Flow::Next
            }
            StmtKind::Block(body) => self.block(body, scope),
            StmtKind::Delete(expr) => {
                self.eval(expr, scope);
                Flow::Next
            }
        }
    }

    pub(super) fn new_branch(&mut self) -> u32 {
        self.branches += 1;
        self.branches
    }

    fn branch(&mut self, cond: &Expr, then: &[Stmt], other: &[Stmt], scope: &Rc<Vars>) -> Flow {
        // What a condition binds (`let … else`, `:=`) is seen after it as well.
        let held = self.here.held.len();
        let (tested, compared) = self.decided_by(cond, scope);
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
        let (absent, is_field) = (if_absent(cond, self.is_check(&guard)), Asked::is_field(cond));
        let asked = Asked { absent, guard: guard.clone(), compared, is_field };
        let known = self.here.said.len();
        self.knows(&asked, true);
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
        self.here.said.truncate(known);
        let after_first = std::mem::replace(&mut self.here.held, held);
        self.knows(&asked, false);
        let (second, two) = self.either(branch, 1, &guard, fails == Some(1), |engine| arm(engine, other));
        self.either_of([one, two], true);
        self.here.said.truncate(known);
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
                self.knows(&asked, true);
                self.only_this_arm(branch, 0, guard);
                Flow::Next
            }
            (_, Flow::Next) => {
                self.knows(&asked, false);
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

    fn repeat(&mut self, found: &Loop, span: Span, scope: &Rc<Vars>) -> Flow {
        let inner = self.inside(scope);
        self.run_block(&found.init, &inner);
        let id = self.new_branch();
        self.here.loops.push(id);
        let guard = found.cond.as_ref().map(|cond| self.eval(cond, &inner).deep_origins()).unwrap_or_default();
        if let Some((pattern, of)) = &found.each {
            let of = self.eval(of, &inner);
            // Whoever goes through the rows runs the statement.
            let of = self.settled(of, found.body.first().map_or_else(Default::default, |stmt| stmt.span));
            let of = self.gone_through(of, span);
            if found.is_async {
                self.suspend(found.body.first().map_or_else(Default::default, |stmt| stmt.span));
            }
            let item = Value::joined(&[&of.name, "[]"]).from(&of.deep_origins());
            let item = match &of.shape {
                Shape::List(items) if items.len() == 1 => items[0].clone(),
                // Each of the rows that a session watches is such a row.
                Shape::Api(kind) if self.is_tracked(kind) => Value { shape: of.shape.clone(), ..item },
                _ => item,
            };
            self.bind(pattern, &item, &inner);
        }
        let retries = u32::from(is_retry(found));
        let endless = u32::from(is_endless(found));
        self.frames.last_mut().iter_mut().for_each(|frame| frame.endless += endless);
        self.here.retries += retries;
        let flow = self.arm(id, 0, &guard, |engine| {
            let flow = engine.block(&found.body, &inner);
            engine.run_block(&found.step, &inner);
            flow
        });
        self.frames.last_mut().iter_mut().for_each(|frame| frame.endless -= endless);
        self.here.retries -= retries;
        self.here.loops.pop();
        self.block(&found.otherwise, &inner);
        // A loop without a condition ends only by leaving.
        if flow == Flow::Leaves && found.cond.is_none() && found.each.is_none() { Flow::Leaves } else { Flow::Next }
    }

    /// Every arm of a `switch` or `match`, and what its body comes to.
    pub(super) fn each_arm<T>(
        &mut self,
        subject: &Value,
        arms: &[Arm],
        scope: &Rc<Vars>,
        body: fn(&mut Self, &[Stmt], &Rc<Vars>) -> T,
    ) -> Vec<T> {
        let (guard, branch) = (subject.deep_origins(), self.new_branch());
        let (mut all, mut assigned) = (Vec::with_capacity(arms.len()), Vec::with_capacity(arms.len()));
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
                    engine.eval(test, &inner);
                }
                body(engine, &arm.body, &inner)
            });
            all.push(done);
            assigned.push(made);
        }
        let has_default = arms.iter().any(|arm| arm.tests.is_empty());
        self.either_of(assigned, has_default && !arms.iter().any(|arm| arm.falls_through));
        all
    }

    fn switch(&mut self, subject: &Expr, arms: &[Arm], scope: &Rc<Vars>) -> Flow {
        let subject = self.eval(subject, scope);
        let ends = self.each_arm(&subject, arms, scope, Self::block);
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

/// A variable that no other call sees.
fn is_own(pattern: &Pattern, scope: &Rc<Vars>) -> bool {
    matches!(pattern, Pattern::Name(name) if scope.is_shared(name) != Some(true))
}
