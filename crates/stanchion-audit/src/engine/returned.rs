//! What an entry point gives back: whoever called it from outside has that, and calls it later.

use std::rc::Rc;

use super::bounds::QUIET_STEPS;
use super::object::list;
use super::value::{Origins, Scope as Vars, Shape, Value};
use super::{Engine, Site};
use crate::hir::{Expr, ExprKind, Language};

/// Functions that one call gives back, and those of one object.
const RETURNED_MOST: usize = 24;
/// Functions that give back functions that give back functions; objects inside of objects.
const RETURNED_DEEP: u32 = 3;

impl Engine<'_> {
    /// What a call returns. Of several results in Go a variable is read when the calls beside it have run:
    /// `return all, json.Unmarshal(data, &all)`.
    pub(super) fn returned_value(&mut self, value: &Expr, scope: &Rc<Vars>) -> Value {
        let ExprKind::List(results) = &value.kind else { return self.eval(value, scope) };
        if self.language(self.file()) != Language::Go {
            return self.eval(value, scope);
        }
        let is_variable = |result: &Expr| matches!(result.kind, ExprKind::Name(_));
        let mut all: Vec<Value> = vec![Value::null(); results.len()];
        for later in [false, true] {
            for (result, place) in results.iter().zip(&mut all).filter(|(result, _)| is_variable(result) == later) {
                *place = self.eval(result, scope);
            }
        }
        list(all.into())
    }

    /// Runs every function that a call has given back, each as if it were the only one.
    pub(super) fn call_returned(&mut self, back: &Value, site: Site) {
        let mut left = RETURNED_MOST;
        self.returned_by(back, site, RETURNED_DEEP, &mut left);
    }

    fn returned_by(&mut self, back: &Value, site: Site, depth: u32, left: &mut usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let mut all = Vec::new();
        self.functions_of(back, depth, &mut all);
        let branch = if all.is_empty() { 0 } else { self.new_branch() };
        for (arm, function) in (0_u16..).zip(all) {
            let Some(closure) = function.closure().cloned() else { continue };
            // Somebody in this file calls it.
            if *left == 0 || self.visited.contains(&(closure.file, closure.function)) {
                continue;
            }
            *left -= 1;
            self.steps_most = self.steps_most.max(self.steps_loud.min(self.steps.saturating_add(QUIET_STEPS)));
            let (held, open) = (self.here.held.clone(), self.here.transaction);
            let args = self.unknown_arguments(closure.file, closure.function);
            self.one_arm(branch, arm, &Origins::default(), |engine| {
                let back = engine.call_handler(&function, args, site);
                let back = engine.settled(back, site.span);
                engine.returned_by(&back, site, depth, left);
            });
            (self.here.held, self.here.transaction) = (held, open);
        }
    }

    /// Functions that stand inside of others in the file that is looked at: all others are run for themselves.
    fn functions_of(&self, value: &Value, depth: u32, all: &mut Vec<Value>) {
        if all.len() >= RETURNED_MOST {
            return;
        }
        match &value.shape {
            Shape::Func(_) | Shape::Wrapped(_) => {
                let is_inner = value.closure().is_some_and(|closure| {
                    let found = self.module(closure.file).functions.get(closure.function);
                    let inner = found.is_some_and(|f| f.class.is_none() && f.parent.is_some_and(|parent| parent != 0));
                    closure.file == self.file() && inner
                });
                if is_inner {
                    all.push(value.clone());
                }
            }
            Shape::Object(object) if object.class.is_none() && depth > 0 => {
                let fields: Vec<Value> = object.fields.borrow().values().take(RETURNED_MOST).cloned().collect();
                for field in fields {
                    self.functions_of(&self.as_method(field, value), depth - 1, all);
                }
            }
            Shape::List(items) | Shape::Either(items) if depth > 0 => {
                Rc::clone(items).iter().take(RETURNED_MOST).for_each(|item| self.functions_of(item, depth - 1, all));
            }
            _ => {}
        }
    }
}
