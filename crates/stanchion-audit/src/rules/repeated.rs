//! Calls that a handler of an exception makes again, as the code says it.

use super::Case;
use super::parts::{around, flat};
use crate::engine::{Event, Site, path_of};
use crate::hir::each::{each, each_in};
use crate::hir::{Arg, Expr, ExprKind, Function, Handler, Module, Pattern, Span, Stmt, StmtKind};
use crate::models::Words;

/// Whether the `try` has made the very same call, which may have run although it failed; or its function calls itself.
pub(super) fn is_repeated(case: &Case<'_>, event: &Event) -> bool {
    event.handler && event.stack.iter().chain([&event.site]).any(|place| is_again(case, *place))
}

fn is_again(case: &Case<'_>, place: Site) -> bool {
    let Some(function) = around(case, place) else { return false };
    let module = case.program.module(place.file);
    let words = case.models.words(module.language);
    flat(&function.body).into_iter().any(|stmt| {
        let StmtKind::Try { body, handlers, .. } = &stmt.kind else { return false };
        handlers.iter().any(|handler| {
            let call = call_at(&handler.body, place.span);
            call.is_some_and(|call| {
                let may_have_run = |counts| Caught { words, module, handler }.may_have_run(place.span, counts);
                let is_again =
                    has(body, call) && may_have_run(false) || calls_itself(call, function) && may_have_run(true);
                is_again && keeps(handler, call)
            })
        })
    })
}

fn call_at(body: &[Stmt], span: Span) -> Option<&Expr> {
    let mut found = None;
    each_in(body, &mut |expr| {
        if expr.span == span && matches!(expr.kind, ExprKind::Call(_)) {
            found = Some(expr);
        }
    });
    found
}

fn has(body: &[Stmt], call: &Expr) -> bool {
    let mut found = false;
    each_in(body, &mut |expr| found |= matches!(expr.kind, ExprKind::Call(_)) && same(expr, call));
    found
}

/// A function that calls itself with what it was given; numbers and flags count the tries.
fn calls_itself(call: &Expr, function: &Function) -> bool {
    let ExprKind::Call(call) = &call.kind else { return false };
    let is_own = match &call.callee.kind {
        ExprKind::Name(name) => function.class.is_none() && *name == function.name,
        ExprKind::Member { of, name } => {
            function.class.is_some() && matches!(of.kind, ExprKind::This) && *name == function.name
        }
        _ => false,
    };
    let param = |at: usize, arg: &Arg| match &arg.name {
        Some(name) => function.params.iter().find(|p| matches!(&p.pattern, Pattern::Name(param) if param == name)),
        None => function.params.get(at),
    };
    is_own
        && call.args.iter().enumerate().all(|(at, arg)| {
            param(at, arg).is_some_and(|param| match &param.pattern {
                Pattern::Name(param) => is_given(&arg.value, param),
                _ => false,
            })
        })
}

fn is_given(value: &Expr, param: &str) -> bool {
    match &value.kind {
        ExprKind::Name(name) => name == param,
        ExprKind::Binary { left, right, .. } => is_given(left, param) && is_given(right, param),
        ExprKind::Num(_) | ExprKind::Bool(_) => true,
        _ => false,
    }
}

/// Whether the handler leaves everything as it was that the call is made with. What it is made on may be made anew.
fn keeps(handler: &Handler, call: &Expr) -> bool {
    let ExprKind::Call(call) = &call.kind else { return false };
    let mut given = Vec::new();
    let mut on = Vec::new();
    let names = |expr: &Expr, all: &mut Vec<String>| {
        each(expr, &mut |part| {
            if let ExprKind::Name(name) = &part.kind {
                all.push(name.to_string());
            }
        });
    };
    call.args.iter().for_each(|arg| names(&arg.value, &mut given));
    names(&call.callee, &mut on);
    flat(&handler.body).into_iter().all(|stmt| {
        let StmtKind::Assign { to, value, .. } = &stmt.kind else { return true };
        let is_made = matches!(value.kind, ExprKind::Call(_) | ExprKind::Await(_));
        to.iter().all(|to| match to {
            Pattern::Name(name) => {
                !given.iter().any(|given| given == name.as_str())
                    && (is_made || !on.iter().any(|on| on == name.as_str()))
            }
            Pattern::Place(place) => {
                let mut changed = Vec::new();
                names(place, &mut changed);
                !changed.iter().any(|name| given.contains(name))
            }
            _ => true,
        })
    })
}

/// The error that a handler has caught, and what says which one it is.
struct Caught<'a> {
    words: &'a Words,
    module: &'a Module,
    handler: &'a Handler,
}

impl Caught<'_> {
    /// Whether the call is made again after an error that does not say that nothing was done; `counts`: conditions that do not
    /// ask for the error say how often it is tried.
    fn may_have_run(&self, call: Span, counts: bool) -> bool {
        let types: Vec<&Expr> = self.handler.catches.iter().flat_map(parts).collect();
        let is_any = |of: &&Expr| path_of(of).is_some_and(|path| Words::is_last(&self.words.any_error, &path));
        if !types.is_empty() && !types.iter().any(|of| is_any(of) || self.names_unsure(of)) {
            return false;
        }
        let mut asked = Vec::new();
        conditions(&self.handler.body, call, &mut asked);
        asked.retain(|(cond, _)| !(counts && self.is_count(cond)));
        let mut asked = asked.into_iter().map(|(_, holds)| holds).peekable();
        asked.peek().is_none() || asked.flatten().any(|cond| self.says_unsure(cond))
    }

    /// Whether a condition names such an error, or asks a function of the file that does. What a program calls its own
    /// options says nothing: only texts, classes, and what is asked of the error or compared with it.
    fn says_unsure(&self, cond: &Expr) -> bool {
        let mut found = false;
        let mut asks = Vec::new();
        let mut keys = Vec::new();
        each(cond, &mut |part| match &part.kind {
            ExprKind::Str(text) => found |= !keys.contains(&part.span) && self.is_unsure(text),
            ExprKind::Index { index, .. } => keys.push(index.span),
            ExprKind::Call(call) => {
                let asked = path_of(&call.callee);
                if asked.as_deref().is_some_and(|path| Words::is_one(&self.words.is_of, path)) {
                    let classes = call.args.get(1).map(|arg| parts(&arg.value)).unwrap_or_default();
                    found |= classes.into_iter().any(|class| self.names_unsure(class));
                }
                asks.extend(asked);
            }
            ExprKind::Binary { op, right, .. } if op == "instanceof" => found |= self.names_unsure(right),
            ExprKind::Binary { left, right, .. } if self.is_of_it(left) || self.is_of_it(right) => {
                let mut other = [left, right].into_iter().flat_map(|side| parts(side));
                found |= other.any(|other| self.is_imported(other) && self.names_unsure(other));
            }
            ExprKind::Member { of, name } => found |= self.is_of_it(of) && self.is_unsure(name),
            _ => {}
        });
        let is_asked = |function: &&Function| {
            !function.name.is_empty() && asks.iter().any(|path| path.rsplit('.').next() == Some(function.name.as_str()))
        };
        found
            || self.module.functions.iter().filter(is_asked).any(|function| {
                let mut says = false;
                each_in(&function.body, &mut |part| {
                    says |= matches!(&part.kind, ExprKind::Str(text) if self.is_unsure(text));
                });
                says
            })
    }

    /// Whether a condition asks neither for the error nor anybody.
    fn is_count(&self, cond: &Expr) -> bool {
        let mut asks = false;
        each(cond, &mut |part| asks |= matches!(part.kind, ExprKind::Call(_)) || self.is_of_it(part));
        !asks
    }

    fn is_unsure(&self, text: &str) -> bool {
        Words::is_in(&self.words.unsure, text) && !Words::is_in(&self.words.unsent, text)
    }

    fn names_unsure(&self, expr: &Expr) -> bool {
        path_of(expr).is_some_and(|path| self.is_unsure(&path))
    }

    /// The error, or something of it.
    fn is_of_it(&self, expr: &Expr) -> bool {
        let name = root(expr);
        name.is_some() && matches!(&self.handler.name, Some(Pattern::Name(caught)) if Some(caught.as_str()) == name)
    }

    /// A constant of another file: a library's, most likely.
    fn is_imported(&self, expr: &Expr) -> bool {
        root(expr).is_some_and(|name| self.module.imports.iter().any(|import| import.local == name))
    }
}

/// The name that a path of members begins with.
fn root(mut expr: &Expr) -> Option<&str> {
    loop {
        match &expr.kind {
            ExprKind::Name(name) => return Some(name),
            ExprKind::Member { of, .. } | ExprKind::Index { of, .. } => expr = of,
            _ => return None,
        }
    }
}

fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::List(parts) => parts.iter().collect(),
        _ => vec![expr],
    }
}

/// The conditions on the way to a place, each with what holds there; nothing for one that has to be false.
fn conditions<'a>(body: &'a [Stmt], place: Span, all: &mut Vec<(&'a Expr, Option<&'a Expr>)>) -> bool {
    for stmt in body {
        let holds = |body: &[Stmt]| call_at(body, place).is_some();
        match &stmt.kind {
            StmtKind::If { cond, then, other } => {
                if holds(then) {
                    all.push((cond, Some(cond).filter(|cond| negated(cond).is_none())));
                    return conditions(then, place, all);
                }
                if holds(other) {
                    all.push((cond, negated(cond)));
                    return conditions(other, place, all);
                }
                let leaves = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Throw(_) | StmtKind::Return(_));
                if flat(then).into_iter().any(leaves) {
                    all.push((cond, negated(cond)));
                }
            }
            _ if !holds(std::slice::from_ref(stmt)) => {}
            StmtKind::Try { body, handlers, .. } => {
                let inner = handlers.iter().map(|handler| &handler.body).chain([body]);
                return inner.into_iter().any(|body| holds(body) && conditions(body, place, all));
            }
            StmtKind::Block(body) | StmtKind::With { body, .. } => return conditions(body, place, all),
            _ => return true,
        }
    }
    false
}

/// What holds if the condition does not.
fn negated(cond: &Expr) -> Option<&Expr> {
    match &cond.kind {
        ExprKind::Unary { op, of } if op == "!" => Some(of),
        ExprKind::Binary { op, .. } if op == "!=" => Some(cond),
        ExprKind::Binary { op, left, right } if op == "&&" => negated(left).and(negated(right)).map(|_| cond),
        _ => None,
    }
}

/// Whether two expressions are written in the same way. What is not known here is not.
fn same(one: &Expr, other: &Expr) -> bool {
    let all = |one: &[Expr], other: &[Expr]| one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b));
    match (&one.kind, &other.kind) {
        (ExprKind::Name(a), ExprKind::Name(b)) | (ExprKind::Num(a), ExprKind::Num(b)) => a == b,
        (ExprKind::Str(a), ExprKind::Str(b)) => a == b,
        (ExprKind::Bool(a), ExprKind::Bool(b)) => a == b,
        (ExprKind::Null, ExprKind::Null) | (ExprKind::This, ExprKind::This) => true,
        (ExprKind::Member { of: a, name: x }, ExprKind::Member { of: b, name: y }) => x == y && same(a, b),
        (ExprKind::Index { of: a, index: x }, ExprKind::Index { of: b, index: y }) => same(a, b) && same(x, y),
        (ExprKind::Await(a), ExprKind::Await(b)) | (ExprKind::Spread(a), ExprKind::Spread(b)) => same(a, b),
        (ExprKind::Unary { op: x, of: a }, ExprKind::Unary { op: y, of: b }) => x == y && same(a, b),
        (ExprKind::Binary { op: x, left: a, right: c }, ExprKind::Binary { op: y, left: b, right: d }) => {
            x == y && same(a, b) && same(c, d)
        }
        (ExprKind::List(a), ExprKind::List(b)) | (ExprKind::Template(a), ExprKind::Template(b)) => all(a, b),
        (ExprKind::Object { of: x, fields: a }, ExprKind::Object { of: y, fields: b }) => {
            let alike = |((x, a), (y, b)): (&(_, Expr), &(_, Expr))| x == y && same(a, b);
            x == y && a.len() == b.len() && a.iter().zip(b).all(alike)
        }
        (ExprKind::Call(a), ExprKind::Call(b)) => {
            let alike = |(a, b): (&Arg, &Arg)| a.name == b.name && same(&a.value, &b.value);
            a.is_new == b.is_new
                && same(&a.callee, &b.callee)
                && a.args.len() == b.args.len()
                && a.args.iter().zip(&b.args).all(alike)
        }
        _ => false,
    }
}
