//! Which arm of a condition is for something that was not found.

use std::rc::Rc;

use super::value::{Origins, Scope as Vars, Shape, Value};
use super::{Engine, Event, Kind, What};
use crate::hir::each::each;
use crate::hir::{Expr, ExprKind, Param, Pattern};

/// Conditions inside of conditions.
const DEEP: u32 = 8;

/// Whether a condition holds when nothing was found; nothing if it does not say. A call says so if it is known to ask for it.
pub(super) fn if_absent(cond: &Expr, is_check: bool) -> Option<bool> {
    asks(cond, is_check, DEEP)
}

fn asks(cond: &Expr, is_check: bool, deep: u32) -> Option<bool> {
    let deep = deep.checked_sub(1)?;
    match &cond.kind {
        ExprKind::Unary { op, of } if op == "!" => asks(of, is_check, deep).map(|absent| !absent),
        // Behind `if (!row || row.busy) return` there is a row; behind `if (!name || row) return` there is none.
        ExprKind::Binary { op, left, right } if op == "||" => {
            let one = |part: &Expr| asks(part, is_check, deep) == Some(true);
            let is_one = match (one(left), one(right)) {
                (true, true) => true,
                (true, false) => is_about(right, left),
                (false, true) => is_about(left, right),
                (false, false) => false,
            };
            is_one.then_some(true)
        }
        ExprKind::Binary { op, left, right } => {
            asks(left, is_check, deep)?;
            match (op.as_str(), &right.kind) {
                ("==", _) if is_nothing(right) => Some(true),
                ("!=" | ">", _) if is_nothing(right) => Some(false),
                ("<", ExprKind::Num(one)) if one == "1" => Some(true),
                (">=", ExprKind::Num(one)) if one == "1" => Some(false),
                _ => None,
            }
        }
        // What is there is true.
        ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Index { .. } => Some(false),
        ExprKind::Call(_) | ExprKind::Await(_) if is_check => Some(false),
        _ => None,
    }
}

impl Engine<'_> {
    /// A parameter that is a constant here, and makes this part of a condition false.
    pub(super) fn is_refused_by_caller(&self, part: &Expr, scope: &Rc<Vars>) -> bool {
        let (of, wanted) = part.negated();
        let ExprKind::Name(name) = &of.kind else { return false };
        let is_it = |param: &Param| matches!(&param.pattern, Pattern::Name(param) if param == name);
        let frame = self.frames.last().and_then(|frame| self.module(frame.file).functions.get(frame.function));
        frame.is_some_and(|function| function.params.iter().any(is_it))
            && matches!(scope.find(name), Some((found, _)) if matches!(found.value.shape, Shape::Bool(is) if is == wanted))
    }

    /// The same of a question for a file and nothing else, wherever it was asked: the answer is named by it.
    pub(super) fn if_no_file(&self, tested: &Value) -> Option<bool> {
        let answer = tested.name.trim_start_matches('!');
        let mut asked = tested.origins.iter().filter_map(|id| self.event(id));
        let (check, None) = (asked.next()?, asked.next()) else { return None };
        let file = check.resource.as_ref().filter(|r| r.kind == Kind::File && r.part.is_none())?;
        let inside = answer.split_once('(').and_then(|(_, inside)| inside.strip_suffix(')'));
        let asks = matches!(check.what, What::Check) && inside == Some(&*file.name);
        asks.then_some((tested.name.len() - answer.len()) % 2 == 1)
    }

    /// And of a call that gives what is in a file, and nothing where there is none.
    pub(super) fn if_no_content(&self, cond: &Expr, tested: &Value) -> Option<bool> {
        let (of, negated) = cond.negated();
        let of = if let ExprKind::Await(of) = &of.kind { of } else { of };
        let content = tested.name.strip_prefix(if negated { "!" } else { "" })?;
        let given = matches!(of.kind, ExprKind::Call(_)) && self.or_nothing.as_deref() == Some(content);
        let mut from = tested.origins.iter().filter_map(|id| self.event(id));
        let of_file = |event: &Event| event.resource.as_ref().is_some_and(|r| r.kind == Kind::File);
        (given && !tested.origins.is_empty() && from.all(of_file)).then_some(negated)
    }

    /// And of a place among what was read, or of how many are left of it: where one was found, it had something in it; where
    /// none was, it may have others. With the reads of which this is so.
    pub(super) fn if_not_among(&self, cond: &Expr, guard: &Origins) -> Option<(bool, Origins)> {
        let (of, negated) = cond.negated();
        let ExprKind::Binary { op, left, right } = &of.kind else { return None };
        let (is_place, is_rest) = (is_before_first(right), is_count(left) && is_count(right));
        let absent = match op.as_str() {
            "==" if is_place || is_rest => !negated,
            "!=" if is_place || is_rest => negated,
            ">" if is_place => negated,
            "<" | ">" if is_rest => negated,
            _ => return None,
        };
        let is_whole = |event: &Event| {
            matches!(event.what, What::Read { .. })
                && event.resource.as_ref().is_some_and(|r| matches!(r.kind, Kind::File | Kind::Key))
        };
        let read = guard.iter().filter(|id| self.event(*id).is_some_and(is_whole));
        let read = read.fold(Origins::default(), |all, id| all.with(&Origins::one(id)));
        (!read.is_empty()).then_some((absent, read))
    }

    /// Whether it was only asked for keys.
    pub(super) fn is_check(&self, guard: &Origins) -> bool {
        let asks = |event: &Event| {
            matches!(event.what, What::Check) && event.resource.as_ref().is_some_and(|r| r.kind == Kind::Key)
        };
        !guard.is_empty() && guard.iter().all(|id| self.event(id).is_some_and(asks))
    }
}

/// Whether a part of a condition asks about the variable that the other one asks for.
fn is_about(part: &Expr, asked: &Expr) -> bool {
    let Some(variable) = variable(asked) else { return false };
    let mut found = false;
    each(part, &mut |expr| found |= is_same(expr, variable));
    found
}

/// `row` of `!row` and `row.n === 0`, `this.row` of `!this.row.n`.
fn variable(asked: &Expr) -> Option<&Expr> {
    match &asked.kind {
        ExprKind::Unary { of, .. } | ExprKind::Await(of) | ExprKind::Index { of, .. } => variable(of),
        ExprKind::Binary { left, .. } => variable(left),
        ExprKind::Member { of, .. } if !matches!(of.kind, ExprKind::This) => variable(of),
        ExprKind::Member { .. } | ExprKind::Name(_) => Some(asked),
        _ => None,
    }
}

fn is_same(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Name(one), ExprKind::Name(other)) => one == other,
        (ExprKind::Member { of: one, name }, ExprKind::Member { of: other, name: same }) => {
            name == same && matches!((&one.kind, &other.kind), (ExprKind::This, ExprKind::This))
        }
        _ => false,
    }
}

/// The place of what is nowhere: `-1`.
fn is_before_first(expr: &Expr) -> bool {
    let is_one = |of: &Expr| matches!(&of.kind, ExprKind::Num(number) if number == "1");
    match &expr.kind {
        ExprKind::Unary { op, of } => op == "-" && is_one(of),
        ExprKind::Num(number) => number == "-1",
        _ => false,
    }
}

/// `list.length`, `len(list)`, `list.len()`.
fn is_count(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Member { name, .. } => name == "length",
        ExprKind::Call(call) => match &call.callee.kind {
            ExprKind::Name(name) => name == "len" && call.args.len() == 1,
            ExprKind::Member { name, .. } => name == "len" && call.args.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

fn is_nothing(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null => true,
        ExprKind::Num(number) => number == "0",
        ExprKind::Name(name) => name == "undefined",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{Dialect, lower};
    use crate::hir::StmtKind;

    fn asked(text: &str) -> Option<bool> {
        let module = lower(Dialect::of("a.ts").unwrap(), &format!("if ({text}) f();")).unwrap();
        let StmtKind::If { cond, .. } = &module.functions[0].body[0].kind else { panic!("no condition: {text}") };
        if_absent(cond, text.contains("exists"))
    }

    #[test]
    fn a_condition_tells_whether_something_was_found() {
        for text in [
            "!row",
            "row === null",
            "rows.length === 0",
            "row == undefined",
            "rows.length < 1",
            "!(n > 0)",
            "!exists()",
            "!row || row.busy",
            "!this.row || this.row.of !== user.id",
            "rows.length === 0 || rows[0].busy",
            "!one || !other",
        ] {
            assert_eq!(asked(text), Some(true), "{text}");
        }
        for text in
            ["row", "rows[0]", "row !== undefined", "rows.length > 0", "!!row", "rows.length", "await exists() > 0"]
        {
            assert_eq!(asked(text), Some(false), "{text}");
        }
        for text in [
            "known(row)",
            "a || b",
            "!name || row",
            "row || !name",
            "!this.name || this.row",
            "row.version === 3",
            "a && b",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}
