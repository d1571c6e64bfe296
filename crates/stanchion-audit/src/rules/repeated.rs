//! Calls that a handler of an exception makes again, as the code says it.

use super::Case;
use super::parts::{around, flat};
use crate::engine::{Event, Site, path_of};
use crate::hir::each::{each, each_in};
use crate::hir::{Arg, Expr, ExprKind, Function, Handler, Module, Pattern, Span, Stmt, StmtKind};

/// What errors say after which nobody knows whether the call has run: by their names, codes and texts.
const UNSURE: [&str; 18] = [
    "ECONNRESET",
    "ETIMEDOUT",
    "ESOCKETTIMEDOUT",
    "ECONNABORTED",
    "EPIPE",
    "socket hang up",
    "timeout",
    "Timeout",
    "TIMEOUT",
    "timed out",
    "AbortError",
    "BrokenPipe",
    "ConnectionReset",
    "ConnectionError",
    "ReadError",
    "RequestException",
    "RequestError",
    "TransportError",
];
/// A connection that was not made in time.
const SURE: [&str; 2] = ["ConnectTimeout", "ConnectionRefused"];
/// Errors of any kind.
const ANY: [&str; 3] = ["Exception", "BaseException", "Error"];

/// Whether the `try` has made the very same call, which may have run although it failed.
pub(super) fn is_repeated(case: &Case<'_>, event: &Event) -> bool {
    event.handler && event.stack.iter().chain([&event.site]).any(|place| is_again(case, *place))
}

fn is_again(case: &Case<'_>, place: Site) -> bool {
    let Some(function) = around(case, place) else { return false };
    let module = case.program.module(place.file);
    flat(&function.body).into_iter().any(|stmt| {
        let StmtKind::Try { body, handlers, .. } = &stmt.kind else { return false };
        handlers.iter().any(|handler| {
            let call = call_at(&handler.body, place.span);
            call.is_some_and(|call| {
                has(body, call) && may_have_run(module, handler, place.span) && keeps(handler, call)
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

/// Whether the call is made again after an error that does not say that nothing was done.
fn may_have_run(module: &Module, handler: &Handler, call: Span) -> bool {
    let types: Vec<&Expr> = handler.catches.iter().flat_map(parts).collect();
    let named = |expr: &&Expr| path_of(expr).unwrap_or_default();
    let is_any = |name: &str| name.rsplit('.').next().is_some_and(|last| ANY.contains(&last));
    if !types.is_empty() && !types.iter().map(named).any(|name| is_any(&name) || is_unsure(&name)) {
        return false;
    }
    let mut asked = Vec::new();
    conditions(&handler.body, call, &mut asked);
    asked.is_empty() || asked.into_iter().flatten().any(|cond| says_unsure(module, cond))
}

fn parts(caught: &Expr) -> Vec<&Expr> {
    match &caught.kind {
        ExprKind::List(parts) => parts.iter().collect(),
        _ => vec![caught],
    }
}

fn is_unsure(text: &str) -> bool {
    UNSURE.iter().any(|word| text.contains(word)) && !SURE.iter().any(|word| text.contains(word))
}

/// The conditions on the way to a place; nothing for one that has to be false there.
fn conditions<'a>(body: &'a [Stmt], place: Span, all: &mut Vec<Option<&'a Expr>>) -> bool {
    for stmt in body {
        let holds = |body: &[Stmt]| call_at(body, place).is_some();
        match &stmt.kind {
            StmtKind::If { cond, then, other } => {
                if holds(then) {
                    all.push(Some(cond).filter(|cond| negated(cond).is_none()));
                    return conditions(then, place, all);
                }
                if holds(other) {
                    all.push(negated(cond));
                    return conditions(other, place, all);
                }
                let leaves = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Throw(_) | StmtKind::Return(_));
                if flat(then).into_iter().any(leaves) {
                    all.push(negated(cond));
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

/// Whether a condition names such an error, or asks a function of the file that does.
fn says_unsure(module: &Module, cond: &Expr) -> bool {
    let mut found = false;
    let mut asks = Vec::new();
    each(cond, &mut |part| match &part.kind {
        ExprKind::Str(text) => found |= is_unsure(text),
        ExprKind::Call(call) => asks.extend(path_of(&call.callee)),
        // `isinstance(error, Timeout)`
        ExprKind::Name(name) => found |= is_unsure(name),
        ExprKind::Member { name, .. } => found |= is_unsure(name),
        _ => {}
    });
    let is_asked = |function: &&Function| {
        !function.name.is_empty() && asks.iter().any(|path| path.rsplit('.').next() == Some(function.name.as_str()))
    };
    found
        || module.functions.iter().filter(is_asked).any(|function| {
            let mut says = false;
            each_in(&function.body, &mut |part| says |= matches!(&part.kind, ExprKind::Str(text) if is_unsure(text)));
            says
        })
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
