//! What a condition says of what was read: that it is there, or how it compares with something fixed.

use std::rc::Rc;

use super::event::Kind;
use super::file::{CONTENT, is_owner};
use super::mark::Mark;
use super::name;
use super::value::{Origins, Scope as Vars, Shape, Value};
use super::{Engine, EventId};
use crate::hir::{Arm, Expr, ExprKind};
use crate::models::Words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// It has found something.
    Present,
    /// It has found nothing.
    Absent,
    /// What it has found is as it was to be, and can be something else a moment later.
    Equals,
    /// Or it is anything else.
    Differs,
    /// It is the number of the present process.
    Own,
    /// It may not have been asked at all, or it goes on here whatever the answer was.
    Anything,
    /// It has taken what it was to take.
    Had,
}

/// What the condition that is being looked at has compared with something fixed so far.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// In something that is negated.
    pub(super) negated: bool,
    /// With `==`, and with anything else.
    equal: Origins,
    other: Origins,
    /// What was compared with what the caller expects: it is that if the condition holds, and if it does not.
    expected: [Origins; 2],
    /// The same of what was compared with the number of the present process.
    own: [Origins; 2],
}

/// A condition that was evaluated.
pub(super) struct Asked {
    /// It holds when nothing was found; nothing if it does not say.
    pub(super) absent: Option<bool>,
    /// What it depends on.
    pub(super) guard: Origins,
    pub(super) compared: Compared,
    /// All of it is a field: `job.done`, `job["done"]`.
    pub(super) is_field: bool,
    /// Of its two parts one is enough: `!job || job.done`; or it is only not among those that are there.
    pub(super) is_either: bool,
    /// It holds when what it asks for was had; nothing if it does not say.
    pub(super) had: Option<bool>,
}

impl Asked {
    pub(super) fn is_field(cond: &Expr) -> bool {
        match cond.negated() {
            (of, true) => Self::is_field(of),
            (cond, false) => match &cond.kind {
                ExprKind::Member { .. } => true,
                ExprKind::Index { index, .. } => matches!(index.kind, ExprKind::Str(_)),
                _ => false,
            },
        }
    }

    pub(super) fn is_either(cond: &Expr) -> bool {
        match cond.negated() {
            (of, true) => Self::is_either(of),
            (cond, false) => matches!(&cond.kind, ExprKind::Binary { op, .. } if op == "||"),
        }
    }
}

impl Engine<'_> {
    /// The value of a condition that a branch depends on, and what it compares.
    pub(super) fn decided_by(&mut self, cond: &Expr, scope: &Rc<Vars>) -> (Value, Compared) {
        self.here.deciding += 1;
        let outer = std::mem::take(&mut self.here.compared);
        let tested = self.asked(cond, scope);
        let compared = std::mem::replace(&mut self.here.compared, outer);
        self.here.deciding -= 1;
        (tested, compared)
    }

    /// What is known in an arm, and behind it if the other one leaves.
    pub(super) fn knows(&mut self, asked: &Asked, then: bool) {
        if let Some(absent) = asked.absent {
            match absent == then {
                // For `!row || row.busy`, or where it is another one, there may be one all the same.
                true if asked.is_either => {}
                true => self.here.said.push((Says::Absent, asked.guard.clone())),
                false => self.here.said.push((Says::Present, asked.guard.clone())),
            }
        }
        if asked.had == Some(then) {
            let taken = self.taking(&asked.guard);
            self.here.said.extend((!taken.is_empty()).then_some((Says::Had, taken)));
        }
        // A field that is false is there.
        if asked.is_field && asked.absent == Some(then) {
            self.here.said.push((Says::Differs, asked.guard.clone()));
        }
        let Compared { equal, other, .. } = &asked.compared;
        let (equal, other) = if then { (equal, other) } else { (other, equal) };
        let [holds, fails] = &asked.compared.expected;
        let expected = if then { holds } else { fails };
        let [holds, fails] = &asked.compared.own;
        let own = if then { holds } else { fails };
        for (says, of) in [(Says::Equals, equal), (Says::Equals, expected), (Says::Differs, other), (Says::Own, own)] {
            if !of.is_empty() {
                self.here.said.push((says, of.clone()));
            }
        }
    }

    /// The same for `case "open":`.
    pub(super) fn knows_case(&mut self, arm: &Arm, guard: &Origins) {
        let literal = |test: &Expr| matches!(test.kind, ExprKind::Str(_) | ExprKind::Num(_) | ExprKind::Member { .. });
        if !arm.tests.is_empty() && arm.tests.iter().all(literal) {
            self.here.said.push((Says::Equals, guard.clone()));
        }
    }

    pub(super) fn said(&self, what: Says) -> Origins {
        let all = self.here.said.iter().filter(|(says, _)| *says == what);
        all.fold(Origins::default(), |all, (_, one)| all.with(one))
    }

    /// A part of a condition compares two values.
    pub(super) fn compares(&mut self, op: &str, left: &Value, right: &Value) {
        self.is_own(op, left, right);
        let known = match op {
            "==" | "!=" | "<" | "<=" | ">" | ">=" if self.is_fixed(left) => right,
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" if self.is_fixed(right) => left,
            // Whether it is older than what the caller has, or has less.
            "<" | "<=" | ">" | ">=" if is_given(right) => left,
            "<" | "<=" | ">" | ">=" if is_given(left) => right,
            "==" | "!=" if is_given(right) => return self.expects(op, left),
            "==" | "!=" if is_given(left) => return self.expects(op, right),
            _ => return,
        };
        // What time it is now, an error beside a result, or what kind of thing it is.
        let of_another = |name: &str| {
            let is_error = name.rsplit_once('#').is_some_and(|(_, n)| n.parse::<u8>().is_ok());
            Mark::Unique.is_in(name) || is_error || name.starts_with("typeof")
        };
        let of = known.deep_origins();
        // What was put together from much says little of each.
        let is_one = of.iter().filter(|id| !self.is_of_memory(*id)).count() == 1;
        if self.here.deciding > 0 && is_one && !of_another(&known.name) {
            let is_equal = matches!(op, "==" | "in") != self.here.compared.negated;
            let Compared { equal, other, .. } = &mut self.here.compared;
            let side = if is_equal { equal } else { other };
            *side = side.with(&of);
        }
    }

    /// A number that was read is that of the present process.
    fn is_own(&mut self, op: &str, left: &Value, right: &Value) {
        if self.here.deciding == 0 || !matches!(op, "==" | "!=") {
            return;
        }
        let words = self.words();
        let of = match (is_owner(words, left), is_owner(words, right)) {
            (true, false) => right.deep_origins(),
            (false, true) => left.deep_origins(),
            _ => return,
        };
        let holds = (op == "==") != self.here.compared.negated;
        let [equal, other] = &mut self.here.compared.own;
        let side = if holds { equal } else { other };
        *side = side.with(&of);
    }

    /// All that was read, or a digest of it, and not one of its fields, is to be what the caller has. Where it is anything
    /// else nothing was expected.
    fn expects(&mut self, op: &str, found: &Value) {
        let is_whole = found.is_vague() && (found.name.ends_with(')') || found.name.starts_with(CONTENT));
        let of = found.deep_origins();
        if self.here.deciding > 0 && is_whole && of.iter().count() == 1 {
            let holds = (op == "==") != self.here.compared.negated;
            let [equal, other] = &mut self.here.compared.expected;
            let side = if holds { equal } else { other };
            *side = side.with(&of);
        }
    }

    /// The same in every call, and something. Names of constants and of what an enumeration has are variables of a module.
    fn is_fixed(&self, value: &Value) -> bool {
        let is_nothing = match &value.shape {
            Shape::Null => true,
            Shape::Str(text) => text.is_empty(),
            Shape::Num(number) => *number == 0.0,
            _ => &*value.name == "-1",
        };
        !is_nothing && is_named(value) && value.deep_origins().iter().all(|id| self.is_of_memory(id))
    }

    /// A condition is around all that happens from here on.
    pub(super) fn stands_around(&mut self, cond: &Expr, text: &Rc<str>, of: &Origins, scope: &Rc<Vars>) {
        let by_caller = !of.is_empty() && compares_given(cond, scope);
        self.here.conditions.push(Around { text: Rc::clone(text), of: of.clone(), by_caller });
    }

    /// Whether a condition around looks at one of these columns, not only at whether there is a row.
    pub(super) fn decided(&self, columns: &[Rc<str>]) -> bool {
        self.decided_unless(columns, &[]).0
    }

    /// The same, and the reads of which it is only asked whether this is already in that column.
    pub(super) fn decided_unless(&self, columns: &[Rc<str>], set: &[(Rc<str>, String, bool)]) -> (bool, Origins) {
        // A row as a tuple has no names.
        let cells = &self.words().cells;
        let (mut decided, mut looks, mut skips) = (false, Origins::default(), Origins::default());
        for Around { text, of, by_caller } in self.here.conditions.iter().filter(|around| !around.of.is_empty()) {
            let to = |column: &str| set.iter().find(|(name, ..)| **name == *column).map(|(_, value, _)| &**value);
            // What is to be written has a field of this name itself.
            let is_own = |column: &str, at: usize| to(column).is_some_and(|value| is_inside(text, at, value));
            let is_skip = |column: &str, at: usize| {
                let mut others = set.iter().filter(|(name, ..)| **name != *column);
                *by_caller
                    && to(column).is_some_and(|value| is_compared(text, column, at, value))
                    && others.all(|(_, _, is_same)| *is_same)
            };
            let seen = columns.iter().flat_map(|column| places(text, column).map(move |at| (&**column, at)));
            let mut seen = seen.filter(|(column, at)| !is_own(column, *at)).peekable();
            let indexed = Words::is_in(cells, text);
            if !indexed && seen.peek().is_none() {
                continue;
            }
            if indexed || !seen.all(|(column, at)| is_skip(column, at)) {
                (decided, looks) = (true, looks.with(of));
            } else {
                skips = skips.with(of);
            }
        }
        let only = skips.iter().filter(|id| !looks.contains(*id)).map(Origins::one);
        (decided, only.fold(Origins::default(), |all, one| all.with(&one)))
    }

    /// Fields that conditions around compare with something, and the reads that those ask.
    pub(super) fn looks(&self) -> Rc<[(Rc<str>, Origins)]> {
        let asked = self.here.conditions.iter().filter(|around| !around.of.is_empty());
        let all = asked.flat_map(|around| fields_compared(&around.text).map(|field| (field.into(), around.of.clone())));
        all.take(LOOKS_MOST).collect()
    }

    pub(super) fn is_of_memory(&self, id: EventId) -> bool {
        let of = self.event(id).and_then(|event| event.resource.as_ref());
        of.is_some_and(|resource| resource.kind == Kind::Memory)
    }
}

/// A condition that holds, or does not, for what happens now.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) text: Rc<str>,
    /// The reads that it asks.
    of: Origins,
    /// It compares nothing with anything fixed.
    by_caller: bool,
}

/// Whether all that is compared is of this call: nothing is fixed.
fn compares_given(cond: &Expr, scope: &Vars) -> bool {
    match &cond.kind {
        ExprKind::Binary { op, left, right } if matches!(op.as_str(), "&&" | "||") => {
            compares_given(left, scope) && compares_given(right, scope)
        }
        ExprKind::Binary { left, right, .. } => is_of_call(left, scope) && is_of_call(right, scope),
        _ => true,
    }
}

fn is_of_call(expr: &Expr, scope: &Vars) -> bool {
    match &expr.kind {
        ExprKind::Null => true,
        ExprKind::Name(name) => is_local(name, scope),
        ExprKind::Member { of, .. } | ExprKind::Index { of, .. } => is_of_call(of, scope),
        _ => false,
    }
}

/// Whether a variable is declared in a function.
fn is_local(name: &str, mut scope: &Vars) -> bool {
    while let Some(parent) = scope.parent.as_deref() {
        if scope.vars.borrow().contains_key(name) {
            return true;
        }
        scope = parent;
    }
    false
}

/// Fields that the conditions around one write are taken to compare.
const LOOKS_MOST: usize = 16;
/// Operators, as conditions are named by them.
const COMPARES: [&str; 3] = ["==", "!=", " in "];

/// The fields on the left of the operators, and those on the right that close their brackets: `(row.state==$state)`.
fn fields_compared(condition: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let last = move |text: &str| {
        text.rfind(|c| !is_name(c)).filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with('.')))
    };
    COMPARES.iter().flat_map(move |op| condition.match_indices(op)).flat_map(move |(at, op)| {
        let (left, right) = (condition.get(..at), condition.get(at + op.len()..));
        let right = right.and_then(|right| right.split_once(')')).map(|(right, _)| right);
        [left, right].into_iter().flatten().filter_map(move |side| side.get(last(side)? + 1..))
    })
}

/// Where a condition, as it is named, has this field of something.
fn places(condition: &str, field: &str) -> impl Iterator<Item = usize> {
    condition.match_indices(field).map(|(at, _)| at).filter(move |at| {
        let before = condition.get(..*at).and_then(|text| text.chars().next_back());
        let after = condition.get(at + field.len()..).and_then(|text| text.chars().next());
        before == Some('.') && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether this place is one of the value's name. What has no dot before it there, such as `'done'`, is no field of it.
fn is_inside(condition: &str, at: usize, value: &str) -> bool {
    !value.is_empty() && name::occurrences(condition, value).any(|from| from < at && at < from + value.len())
}

/// Whether the field there is compared with this value: `(row.state==$state)` or `($state!=row.state)`.
fn is_compared(condition: &str, field: &str, at: usize, value: &str) -> bool {
    let (before, after) = condition.split_at(at);
    let after = after.get(field.len()..).unwrap_or_default();
    let behind = |op: &&str| {
        after.strip_prefix(*op).and_then(|rest| rest.strip_prefix(value)).is_some_and(|rest| rest.starts_with(')'))
    };
    let in_front = |op: &&str| {
        let of = before.rfind(&format!("({value}{op}")).and_then(|from| before.get(from + 1..));
        after.starts_with(')') && of.is_some_and(|of| !of.contains("&&") && !of.contains("||"))
    };
    ["==", "!="].iter().any(|op| behind(op) || in_front(op))
}

/// The caller's own: nothing was read for it.
fn is_given(value: &Value) -> bool {
    value.is_vague() && value.name.starts_with('$') && value.origins.is_empty()
}

/// Nothing in its name says that it is another thing in every call.
fn is_named(value: &Value) -> bool {
    !value.name.contains('$') && !Mark::Unique.is_in(&value.name)
}

/// The same in every call.
pub(super) fn is_constant(value: &Value) -> bool {
    is_named(value) && value.deep_origins().is_empty()
}
