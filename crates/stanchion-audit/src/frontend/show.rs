//! Prints HIR, for the front-ends' tests: one line per statement.

use std::fmt::Write as _;

use crate::hir::{Arm, Expr, ExprKind, Function, Loop, Module, Param, Pattern, Stmt, StmtKind};

/// The body of the first function of this name.
pub(crate) fn body(module: &Module, name: &str) -> String {
    module.functions.iter().find(|it| it.name == name).map_or_else(|| format!("no {name}"), |it| stmts(&it.body))
}

/// All functions with their bodies.
pub(crate) fn functions(module: &Module) -> String {
    let mut out = String::new();
    for (id, function) in module.functions.iter().enumerate() {
        writeln!(out, "#{id} {}", head(module, function)).unwrap_or_default();
        block(&mut out, &function.body, 1);
    }
    out
}

/// A function's head: `async Class.name(params) -> type`, with its decorators.
pub(crate) fn head(module: &Module, function: &Function) -> String {
    let decorators: String = function.decorators.iter().map(|it| format!("@{} ", expr(it))).collect();
    let class = function.class.and_then(|id| module.classes.get(id)).map(|it| format!("{}.", it.name));
    let words = [(function.is_async, "async "), (function.is_generator, "generator "), (function.is_static, "static ")];
    let words: String = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    let params: Vec<_> = function.params.iter().map(param).collect();
    let returns = function.returns.as_ref().map(|it| format!(" -> {it}")).unwrap_or_default();
    format!("{decorators}{words}{}{}({}){returns}", class.unwrap_or_default(), function.name, params.join(", "))
}

/// Classes, one per line: `Name(bases) {field: type; method#id}`.
pub(crate) fn classes(module: &Module) -> String {
    let mut out = String::new();
    for class in &module.classes {
        let decorators: String = class.decorators.iter().map(|it| format!("@{} ", expr(it))).collect();
        let bases: Vec<_> = class.bases.iter().map(expr).collect();
        let fields = class.fields.iter().map(|field| {
            let value = field.value.as_ref().map(|it| format!(" = {}", expr(it))).unwrap_or_default();
            let kind = field.type_text.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            format!("{}{}{kind}{value}", if field.is_static { "static " } else { "" }, field.name)
        });
        let methods = class.methods.iter().map(|(name, id)| format!("{name}#{id}"));
        let all: Vec<_> = fields.chain(methods).collect();
        writeln!(out, "{decorators}{}({}) {{{}}}", class.name, bases.join(", "), all.join("; ")).unwrap_or_default();
    }
    out
}

/// Imports, one per line: `local = module what`.
pub(crate) fn imports(module: &Module) -> String {
    module.imports.iter().map(|it| format!("{} = {} {:?}\n", it.local, it.module, it.what)).collect()
}

pub(crate) fn stmts(body: &[Stmt]) -> String {
    let mut out = String::new();
    block(&mut out, body, 0);
    out
}

fn param(param: &Param) -> String {
    let kind = param.type_text.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let default = param.default.as_ref().map(|it| format!(" = {}", expr(it))).unwrap_or_default();
    format!("{}{}{kind}{default}", if param.is_rest { "..." } else { "" }, pattern(&param.pattern))
}

fn block(out: &mut String, body: &[Stmt], depth: usize) {
    for stmt in body {
        statement(out, stmt, depth);
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    writeln!(out, "{}{text}", "  ".repeat(depth)).unwrap_or_default();
}

fn statement(out: &mut String, stmt: &Stmt, depth: usize) {
    let value =
        |word: &str, it: &Option<Expr>| it.as_ref().map_or(word.to_owned(), |it| format!("{word} {}", expr(it)));
    let text = match &stmt.kind {
        StmtKind::Expr(it) => expr(it),
        StmtKind::Assign { to, value, op } => {
            let to: Vec<_> = to.iter().map(pattern).collect();
            format!("{} {}= {}", to.join(" = "), op.as_deref().unwrap_or_default(), expr(value))
        }
        StmtKind::Return(it) => value("return", it),
        StmtKind::Throw(it) => value("throw", it),
        StmtKind::Break => "break".to_owned(),
        StmtKind::Continue => "continue".to_owned(),
        StmtKind::Defer(it) => format!("defer {}", expr(it)),
        StmtKind::Go(it) => format!("go {}", expr(it)),
        StmtKind::Function(id) => format!("fn #{id}"),
        StmtKind::Class(id) => format!("class #{id}"),
        StmtKind::Delete(it) => format!("delete {}", expr(it)),
        _ => return nested(out, stmt, depth),
    };
    line(out, depth, &text);
}

fn nested(out: &mut String, stmt: &Stmt, depth: usize) {
    let mut part = |head: &str, body: &[Stmt]| {
        line(out, depth, head);
        block(out, body, depth + 1);
    };
    match &stmt.kind {
        StmtKind::If { cond, then, other } => {
            part(&format!("if {}", expr(cond)), then);
            if !other.is_empty() {
                part("else", other);
            }
        }
        StmtKind::Loop(it) => repeat(&mut part, it),
        StmtKind::Try { body, handlers, otherwise, finally } => {
            part("try", body);
            for handler in handlers {
                let catches: Vec<_> = handler.catches.iter().map(expr).collect();
                let name = handler.name.as_ref().map(|it| format!(" as {}", pattern(it))).unwrap_or_default();
                part(&format!("catch {}{name}", catches.join(", ")), &handler.body);
            }
            part("otherwise", otherwise);
            part("finally", finally);
        }
        StmtKind::With { items, body, is_async } => {
            let items = items.iter().map(|(it, to)| {
                format!("{}{}", expr(it), to.as_ref().map(|to| format!(" as {}", pattern(to))).unwrap_or_default())
            });
            let items: Vec<_> = items.collect();
            part(&format!("{}with {}", if *is_async { "async " } else { "" }, items.join(", ")), body);
        }
        StmtKind::Switch { subject, arms } => {
            part(&format!("switch {}", expr(subject)), &[]);
            arms.iter().for_each(|arm| part(&arm_head(arm), &arm.body));
        }
        StmtKind::Block(body) => part("block", body),
        _ => {}
    }
}

fn arm_head(arm: &Arm) -> String {
    let tests: Vec<_> = arm.tests.iter().map(expr).collect();
    let binds = arm.binds.as_ref().map(|it| format!(" as {}", pattern(it))).unwrap_or_default();
    format!("case {}{binds}{}", tests.join(", "), if arm.falls_through { " falls through" } else { "" })
}

fn repeat(part: &mut dyn FnMut(&str, &[Stmt]), it: &Loop) {
    let mut head = String::from(if it.is_async { "async loop" } else { "loop" });
    if let Some((to, of)) = &it.each {
        write!(head, " {} in {}", pattern(to), expr(of)).unwrap_or_default();
    }
    if let Some(cond) = &it.cond {
        write!(head, " while {}", expr(cond)).unwrap_or_default();
    }
    for (word, body) in [("init", &it.init), ("step", &it.step)] {
        if !body.is_empty() {
            write!(head, " {word} {{{}}}", inline(body)).unwrap_or_default();
        }
    }
    part(&head, &it.body);
    if !it.otherwise.is_empty() {
        part("otherwise", &it.otherwise);
    }
}

/// Statements on one line.
fn inline(body: &[Stmt]) -> String {
    let text = stmts(body);
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

pub(crate) fn pattern(it: &Pattern) -> String {
    let all = |items: &[Pattern]| items.iter().map(pattern).collect::<Vec<_>>().join(", ");
    match it {
        Pattern::Name(name) => name.clone(),
        Pattern::Place(place) => expr(place),
        Pattern::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, it)| format!("{name}: {}", pattern(it))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Pattern::List(items) => format!("[{}]", all(items)),
        Pattern::Rest(inner) => format!("...{}", pattern(inner)),
        Pattern::Nothing => "_".to_owned(),
    }
}

pub(crate) fn expr(it: &Expr) -> String {
    let all = |items: &[Expr]| items.iter().map(expr).collect::<Vec<_>>().join(", ");
    match &it.kind {
        ExprKind::Name(name) | ExprKind::Num(name) => name.clone(),
        ExprKind::This => "this".to_owned(),
        ExprKind::Super => "super".to_owned(),
        ExprKind::Null => "null".to_owned(),
        ExprKind::Bool(it) => it.to_string(),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Template(parts) => {
            let parts = parts.iter().map(|part| match &part.kind {
                ExprKind::Str(text) => text.escape_debug().to_string(),
                _ => format!("${{{}}}", expr(part)),
            });
            format!("`{}`", parts.collect::<String>())
        }
        ExprKind::Member { of, name } => format!("{}.{name}", expr(of)),
        ExprKind::Index { of, index } => format!("{}[{}]", expr(of), expr(index)),
        ExprKind::Call(call) => {
            let args = call.args.iter().map(|arg| match &arg.name {
                Some(name) => format!("{name}={}", expr(&arg.value)),
                None => expr(&arg.value),
            });
            let new = if call.is_new { "new " } else { "" };
            format!("{new}{}({})", expr(&call.callee), args.collect::<Vec<_>>().join(", "))
        }
        ExprKind::Await(of) => format!("await {}", expr(of)),
        ExprKind::Yield(of) => of.as_ref().map_or("yield".to_owned(), |of| format!("yield {}", expr(of))),
        ExprKind::Function(id) => format!("fn#{id}"),
        ExprKind::Class(id) => format!("class#{id}"),
        ExprKind::Object { of, fields } => {
            let fields = fields.iter().map(|(name, it)| match name {
                Some(name) => format!("{name}: {}", expr(it)),
                None => expr(it),
            });
            format!("{}{{{}}}", of.as_deref().unwrap_or_default(), fields.collect::<Vec<_>>().join(", "))
        }
        ExprKind::List(items) => format!("[{}]", all(items)),
        ExprKind::Binary { op, left, right } => format!("({} {op} {})", expr(left), expr(right)),
        ExprKind::Unary { op, of } => format!("{op}{}", expr(of)),
        ExprKind::Cond { test, then, other } => format!("({} ? {} : {})", expr(test), expr(then), expr(other)),
        ExprKind::Assign { to, value, op } => {
            format!("({} {}= {})", pattern(to), op.as_deref().unwrap_or_default(), expr(value))
        }
        ExprKind::Spread(of) => format!("...{}", expr(of)),
        ExprKind::Try(of) => format!("{}?", expr(of)),
        ExprKind::Comprehension { element, each, conds } => {
            let each = each.iter().map(|(to, of)| format!(" for {} in {}", pattern(to), expr(of)));
            let conds = conds.iter().map(|it| format!(" if {}", expr(it)));
            format!("[{}{}]", expr(element), each.chain(conds).collect::<String>())
        }
        ExprKind::Matches { of, binds } => format!("({} is {})", expr(of), pattern(binds)),
        ExprKind::Block(body) => format!("{{{}}}", inline(body)),
        ExprKind::Other(parts) => format!("other({})", all(parts)),
    }
}
