//! `if`: two arms, of which one is taken.

use std::rc::Rc;

use super::Engine;
use super::absent::if_absent;
use super::again::compared;
use super::arms::Assigned;
use super::call::path_of;
use super::compared::{Asked, Says};
use super::exec::Flow;
use super::frame::Flag;
use super::had::if_had;
use super::value::{Origins, Scope as Vars, Shape, Value};
use crate::hir::{Expr, ExprKind, Language, Stmt, StmtKind};
use crate::models::Words;

/// Variables of one call that conditions ask for.
const FLAGS_MOST: usize = 32;

/// `if (!taken) console.warn("…")`.
fn only_tells(cond: &Expr, then: &[Stmt], other: &[Stmt]) -> bool {
    let refused = match &cond.kind {
        ExprKind::Binary { op, right, .. } => match &right.kind {
            ExprKind::Null => op == "==",
            ExprKind::Str(_) => op == "!=",
            _ => false,
        },
        _ => cond.negated().1,
    };
    refused && other.is_empty() && then.iter().all(|stmt| matches!(stmt.kind, StmtKind::Expr(_)))
}

impl Engine<'_> {
    /// `os.name == "nt"`, and whatever else is asked then.
    fn is_elsewhere(&mut self, cond: &Expr, scope: &Rc<Vars>) -> bool {
        match &cond.kind {
            ExprKind::Binary { op, left, .. } if op == "&&" => self.is_elsewhere(left, scope),
            ExprKind::Binary { left, right, .. }
                if matches!((&left.kind, &right.kind), (ExprKind::Member { .. }, ExprKind::Str(_))) =>
            {
                // What is asked of anything else is asked once.
                let Some(path) = path_of(left) else { return false };
                let root = path.split('.').next().unwrap_or_default();
                let found = self.find(scope, root).map(|(found, _)| found.value.shape);
                if root == "this" || found.is_some_and(|shape| !matches!(shape, Shape::Package(_))) {
                    return false;
                }
                let asked = self.eval(cond, scope);
                Words::is_one(&self.words().elsewhere, &asked.name)
            }
            _ => false,
        }
    }

    pub(super) fn branch(&mut self, cond: &Expr, then: &[Stmt], other: &[Stmt], scope: &Rc<Vars>) -> Flow {
        if let Some(holds) = self.known_to_hold(cond, scope) {
            return self.block(if holds { then } else { other }, scope);
        }
        // Two systems have two ways to do something; a server runs on one of them.
        if self.is_elsewhere(cond, scope) {
            return self.block(other, scope);
        }
        // What a condition binds (`let … else`, `:=`) is seen after it as well.
        let held = self.here.held.len();
        let (tested, compared) = self.decided_by(cond, scope);
        if !matches!(cond.kind, ExprKind::Matches { .. }) {
            self.drop_temporary(held, None);
        }
        let guard = tested.deep_origins();
        let (branch, first_arm) = self.branch_of(cond, &tested, scope);
        self.names_arms(&tested.name, branch, first_arm);
        let second_arm = 1 - first_arm;
        let (held, open) = (self.here.held.clone(), self.here.transaction);
        let conditions = self.here.conditions.len();
        self.stands_around(cond, &tested.name, &guard, scope);
        let fails = self.error_arm(cond, scope);
        if let Some(arm) = fails {
            self.failed(&guard, if arm == 0 { then } else { other }, scope);
        }
        let absent = if_absent(cond, self.is_check(&guard)).or_else(|| self.if_no_file(&tested));
        let absent = absent.or_else(|| self.if_no_content(cond, &tested));
        let among = self.if_not_among(cond, &guard).filter(|_| absent.is_none());
        let (is_field, is_either) = (Asked::is_field(cond), Asked::is_either(cond) || among.is_some());
        let (said, found) = among.map_or_else(|| (absent, guard.clone()), |(absent, read)| (Some(absent), read));
        let asked = Asked { absent: said, guard: found, compared, is_field, is_either, had: if_had(cond) };
        let known = self.here.said.len();
        if let Some(absent) = absent {
            self.filled_in_arm(&guard, if absent { then } else { other }, scope);
        }
        self.knows(&asked, true);
        let first_event = self.next_id();
        let (own, mut within) = (self.here.guards.len() + 1, guard.clone());
        // What an inner question asks may come from the caller: it guards nothing, but its arm was left.
        let (mut leaves_within, arms) = (false, self.here.path.len() + 1);
        let mut around = Vec::new();
        let mut arm = |engine: &mut Self, body: &[Stmt]| {
            let flow = engine.block(body, scope);
            let inner = engine.here.guards.get(own..).filter(|inner| flow == Flow::Next && !inner.is_empty());
            leaves_within |= inner.is_some() || flow == Flow::Next && engine.here.path.len() > arms;
            within = inner.into_iter().flatten().fold(within.clone(), |all, one| all.with(one));
            let inner = engine.here.conditions.split_off((conditions + 1).min(engine.here.conditions.len()));
            around.extend(inner.into_iter().filter(|_| flow == Flow::Next));
            flow
        };
        let (first, mut one) = self.either(branch, first_arm, &guard, fails == Some(0), |engine| arm(engine, then));
        self.here.said.truncate(known);
        let after_first = std::mem::replace(&mut self.here.held, held);
        let open_first = std::mem::replace(&mut self.here.transaction, open);
        self.knows(&asked, false);
        let (second, two) = self.either(branch, second_arm, &guard, fails == Some(1), |engine| arm(engine, other));
        self.gives_way(&mut one, cond, &guard);
        self.behind(vec![(first, one), (second, two)], true);
        self.here.said.truncate(known);
        if (first, second) == (Flow::Next, Flow::Next) {
            self.here.conditions.truncate(conditions);
        }
        match (first, second) {
            (Flow::Next, Flow::Next) => {
                if !self.here.held.is_empty() && self.next_id() == first_event && only_tells(cond, then, other) {
                    self.goes_on(&guard);
                }
                // Held afterwards is what one arm has taken: `if (!await lock()) throw` is the usual form.
                if after_first.len() > self.here.held.len() {
                    self.here.held = after_first;
                }
                self.here.transaction = if open_first == open { self.here.transaction } else { open_first };
                // Where an arm can be left, what comes after it depends on both questions.
                if leaves_within {
                    self.here.conditions.append(&mut around);
                    self.here.said.push((Says::Anything, within.clone()));
                    self.here.guards.push(within);
                }
                Flow::Next
            }
            (Flow::Next, _) => {
                (self.here.held, self.here.transaction) = (after_first, open_first);
                self.knows(&asked, true);
                self.only_this_arm(branch, first_arm, guard);
                Flow::Next
            }
            (_, Flow::Next) => {
                self.knows(&asked, false);
                self.only_this_arm(branch, second_arm, guard);
                Flow::Next
            }
            (one, other) if one == other => one,
            _ => Flow::Skips,
        }
    }

    /// The branch of a condition, and its first arm. What was asked for before by the same variable has the same answer.
    fn branch_of(&mut self, cond: &Expr, tested: &Value, scope: &Rc<Vars>) -> (u32, u16) {
        let (of, negated) = cond.negated();
        let ExprKind::Name(name) = &of.kind else { return (self.new_branch(), 0) };
        if tested.origins.is_empty() || scope.is_shared(name) != Some(false) {
            return (self.new_branch(), 0);
        }
        let value = tested.name.strip_prefix(if negated { "!" } else { "" }).unwrap_or(&tested.name);
        let known = self.frames.last().and_then(|frame| {
            let same = |flag: &&Flag| {
                flag.variable == *name && *flag.value.name == *value && flag.value.origins == tested.origins
            };
            frame.asked.iter().find(same).map(|flag| (flag.branch, u16::from(flag.negated != negated)))
        });
        if let Some(known) = known {
            return known;
        }
        let branch = self.new_branch();
        let value = Value::unknown(value).from(&tested.origins);
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.asked.len() < FLAGS_MOST) {
            frame.asked.push(Flag { variable: name.clone(), value, branch, negated });
        }
        (branch, 0)
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
