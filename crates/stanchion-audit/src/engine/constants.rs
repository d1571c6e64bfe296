//! Conditions that the caller has decided: `place("token")`, and there `kind === "token" ? … : …`.

use std::iter::repeat;
use std::rc::Rc;

use super::Engine;
use super::call::Args;
use super::eval::is_javascript;
use super::value::{Scope as Vars, Shape, Value};
use crate::hir::each::assigns;
use crate::hir::{Arg, Arm, Expr, ExprKind, Function, Param, Pattern, Text};

/// Conditions inside of conditions.
const DEEP: u32 = 8;

/// What is known of the arguments of a call, as they are written.
pub(super) struct Given {
    /// Which of them are constants.
    constants: Vec<bool>,
    /// There are no others.
    pub(super) all: bool,
}

impl Engine<'_> {
    /// Which of these arguments are the same in every run of this call: constants as they are written, and parameters for
    /// which the present function was given such.
    pub(super) fn constants_among(&self, args: &[Arg]) -> Given {
        let known = args.iter().take_while(|arg| !matches!(arg.value.kind, ExprKind::Spread(_)));
        let constants: Vec<bool> =
            known.map(|arg| arg.value.is_literal() || self.is_constant_here(&arg.value)).collect();
        // Only JavaScript can be called with less than it asks for: the rest is `undefined`.
        let all = constants.len() == args.len() && is_javascript(self.language(self.file()));
        Given { constants, all }
    }

    fn is_constant_here(&self, expr: &Expr) -> bool {
        let ExprKind::Name(name) = &expr.kind else { return false };
        self.frames.last().is_some_and(|frame| frame.constants.contains(name))
    }

    /// Takes the chosen way only. Of the present function not all is seen with this call.
    fn chosen<T>(&mut self, which: Option<T>) -> Option<T> {
        if which.is_some()
            && let Some(frame) = self.frames.last_mut()
        {
            frame.decided = true;
        }
        which
    }

    /// Whether a condition holds, if the caller has decided that.
    pub(super) fn known_to_hold(&mut self, cond: &Expr, scope: &Rc<Vars>) -> Option<bool> {
        if self.frames.last().is_none_or(|frame| frame.constants.is_empty()) {
            return None;
        }
        let holds = self.holds(cond, scope, DEEP);
        self.chosen(holds)
    }

    fn holds(&self, cond: &Expr, scope: &Rc<Vars>, deep: u32) -> Option<bool> {
        let deep = deep.checked_sub(1)?;
        match &cond.kind {
            ExprKind::Unary { op, of } if op == "!" => self.holds(of, scope, deep).map(|holds| !holds),
            ExprKind::Binary { op, left, right } => match op.as_str() {
                "&&" => match self.holds(left, scope, deep)? {
                    true => self.holds(right, scope, deep),
                    false => Some(false),
                },
                "||" => match self.holds(left, scope, deep)? {
                    true => Some(true),
                    false => self.holds(right, scope, deep),
                },
                "==" | "!=" if self.is_constant_here(left) || self.is_constant_here(right) => {
                    let same = same(&self.constant_of(left, scope)?, &self.constant_of(right, scope)?)?;
                    Some(same == (op == "=="))
                }
                _ => None,
            },
            ExprKind::Name(_) => match self.constant_of(cond, scope)?.shape {
                Shape::Bool(is) => Some(is),
                Shape::Null => Some(false),
                Shape::Str(text) => Some(!text.is_empty()),
                Shape::Num(number) => Some(number != 0.0),
                _ => None,
            },
            _ => None,
        }
    }

    /// `path ?? DEFAULT`, where the caller has given no path.
    pub(super) fn is_left_out(&mut self, expr: &Expr, value: &Value) -> bool {
        let is = matches!(value.shape, Shape::Null) && self.is_constant_here(expr);
        self.chosen(is.then_some(())).is_some()
    }

    /// The value of a constant as it is written, or of a parameter that is one here.
    fn constant_of(&self, expr: &Expr, scope: &Rc<Vars>) -> Option<Value> {
        Some(match &expr.kind {
            ExprKind::Name(name) if self.is_constant_here(expr) => scope.find(name)?.0.value,
            ExprKind::Str(text) => Value::text(text),
            ExprKind::Num(text) => Value::of(text.parse().map_or(Shape::Unknown, Shape::Num), text),
            ExprKind::Bool(is) => Value::of(Shape::Bool(*is), is),
            ExprKind::Null => Value::null(),
            _ => return None,
        })
    }

    /// The arm of a `switch` that is taken, if the caller has decided that; behind the last one if it is none.
    pub(super) fn decided_arm(&mut self, subject: &Expr, arms: &[Arm], scope: &Rc<Vars>) -> Option<usize> {
        if !self.is_constant_here(subject) || arms.iter().any(|arm| arm.binds.is_some()) {
            return None;
        }
        let value = self.constant_of(subject, scope)?;
        let mut taken = arms.iter().position(|arm| arm.tests.is_empty()).unwrap_or(arms.len());
        for (index, arm) in arms.iter().enumerate().rev() {
            for test in &arm.tests {
                if same(&value, &self.constant_of(test, scope)?)? {
                    taken = index;
                }
            }
        }
        self.chosen(Some(taken))
    }

    /// Parameters that are constants in this call. Those that are not given have the value that is written for them; those
    /// that the function assigns are something else in the next round of a loop.
    pub(super) fn constants_of(function: &Function, args: &Args, given: Option<Given>) -> Vec<Text> {
        let Some(Given { constants: given, all }) = given else { return Vec::new() };
        let given: Vec<_> = args.iter().map(|(name, _)| name).zip(given.into_iter().chain(repeat(false))).collect();
        let mut in_order = given.iter().filter(|(name, _)| name.is_none());
        let mut is_one = |param: &Param| {
            let Pattern::Name(name) = &param.pattern else {
                in_order.next();
                return None;
            };
            let by_name = given.iter().find(|(keyword, _)| keyword.as_deref() == Some(name));
            let constant = match by_name.or_else(|| in_order.next()) {
                Some((_, constant)) => *constant,
                None => param.default.as_ref().map_or(all, Expr::is_literal),
            };
            (constant && !assigns(&function.body, name)).then(|| name.clone())
        };
        function.params.iter().take_while(|param| !param.is_rest).filter_map(&mut is_one).collect()
    }
}

/// Whether two constants are equal; languages differ in what they say of different types.
fn same(one: &Value, other: &Value) -> Option<bool> {
    match (&one.shape, &other.shape) {
        (Shape::Str(one), Shape::Str(other)) => Some(one == other),
        (Shape::Num(one), Shape::Num(other)) => Some(one == other),
        (Shape::Bool(one), Shape::Bool(other)) => Some(one == other),
        (Shape::Null, Shape::Null) => Some(true),
        (Shape::Null, Shape::Str(_) | Shape::Num(_) | Shape::Bool(_)) => Some(false),
        (Shape::Str(_) | Shape::Num(_) | Shape::Bool(_), Shape::Null) => Some(false),
        _ => None,
    }
}
