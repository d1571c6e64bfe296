//! HIR as text, for tests of front-ends: one line per statement.

use std::fmt::Write as _;

use crate::hir::{Arm, Call, Class, Expr, ExprKind, Function, Loop, Module, Pattern, Stmt, StmtKind};

/// All functions and classes of a module.
pub(crate) fn module(module: &Module) -> String {
    let mut out = String::new();
    for (id, class) in module.classes.iter().enumerate() {
        out.push_str(&show_class(id, class));
    }
    for (id, one) in module.functions.iter().enumerate() {
        out.push_str(&function(id, one));
    }
    out
}

/// The statements of a module's own code.
pub(crate) fn top(module: &Module) -> String {
    let mut out = String::new();
    stmts(&module.functions[0].body, 0, &mut out);
    out
}

fn show_class(id: usize, class: &Class) -> String {
    let mut out = String::new();
    for decorator in &class.decorators {
        writeln!(out, "@{}", expr(decorator)).unwrap_or_default();
    }
    writeln!(out, "class#{id} {}({})", class.name, exprs(&class.bases)).unwrap_or_default();
    for field in &class.fields {
        let word = if field.is_static { "static" } else { "field" };
        let of = field.type_text.as_ref().map_or(String::new(), |text| format!(": {text}"));
        let value = field.value.as_ref().map_or(String::new(), |value| format!(" = {}", expr(value)));
        writeln!(out, "  {word} {}{of}{value}", field.name).unwrap_or_default();
    }
    for (name, id) in &class.methods {
        writeln!(out, "  {name} = fn#{id}").unwrap_or_default();
    }
    out
}

/// One function with its body.
pub(crate) fn function(id: usize, function: &Function) -> String {
    let mut out = String::new();
    for decorator in &function.decorators {
        writeln!(out, "@{}", expr(decorator)).unwrap_or_default();
    }
    for (is, word) in
        [(function.is_static, "static "), (function.is_async, "async "), (function.is_generator, "generator ")]
    {
        out.push_str(if is { word } else { "" });
    }
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| {
            let rest = if param.is_rest { "..." } else { "" };
            let of = param.type_text.as_ref().map_or(String::new(), |text| format!(": {text}"));
            let default = param.default.as_ref().map_or(String::new(), |value| format!(" = {}", expr(value)));
            format!("{rest}{}{of}{default}", pattern(&param.pattern))
        })
        .collect();
    write!(out, "fn#{id} {}({})", function.name, params.join(", ")).unwrap_or_default();
    if let Some(returns) = &function.returns {
        write!(out, " -> {returns}").unwrap_or_default();
    }
    if let Some(class) = function.class {
        write!(out, " of class#{class}").unwrap_or_default();
    }
    if let Some(parent) = function.parent.filter(|parent| *parent != 0) {
        write!(out, " in fn#{parent}").unwrap_or_default();
    }
    out.push('\n');
    stmts(&function.body, 1, &mut out);
    out
}

fn stmts(body: &[Stmt], depth: usize, out: &mut String) {
    for one in body {
        stmt(&one.kind, depth, out);
    }
}

fn stmt(kind: &StmtKind, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let mut line = |text: String| {
        writeln!(out, "{pad}{text}").unwrap_or_default();
    };
    match kind {
        StmtKind::Expr(one) => line(expr(one)),
        StmtKind::Assign { to, value, op } => {
            let to: Vec<String> = to.iter().map(pattern).collect();
            line(format!("{} {}= {}", to.join(" = "), op.as_deref().unwrap_or(""), expr(value)));
        }
        StmtKind::Return(value) => line(format!("return {}", optional(value.as_ref())).trim_end().to_owned()),
        StmtKind::Throw(value) => line(format!("throw {}", optional(value.as_ref())).trim_end().to_owned()),
        StmtKind::If { cond, then, other } => {
            line(format!("if {}", expr(cond)));
            stmts(then, depth + 1, out);
            section("else", other, depth, out);
        }
        StmtKind::Loop(one) => show_loop(one, depth, out),
        StmtKind::Try { body, handlers, otherwise, finally } => {
            line("try".to_owned());
            stmts(body, depth + 1, out);
            for handler in handlers {
                let name = handler.name.as_ref().map_or(String::new(), |name| format!(" as {}", pattern(name)));
                writeln!(out, "{pad}catch [{}]{name}", exprs(&handler.catches)).unwrap_or_default();
                stmts(&handler.body, depth + 1, out);
            }
            section("else", otherwise, depth, out);
            section("finally", finally, depth, out);
        }
        StmtKind::With { items, body, is_async } => {
            let items: Vec<String> = items
                .iter()
                .map(|(of, name)| {
                    format!(
                        "{}{}",
                        expr(of),
                        name.as_ref().map_or(String::new(), |name| format!(" as {}", pattern(name)))
                    )
                })
                .collect();
            line(format!("{}with {}", if *is_async { "async " } else { "" }, items.join(", ")));
            stmts(body, depth + 1, out);
        }
        StmtKind::Switch { subject, arms } => {
            line(format!("switch {}", expr(subject)));
            arms.iter().for_each(|one| arm(one, depth, out));
        }
        StmtKind::Defer(of) => line(format!("defer {}", expr(of))),
        StmtKind::Go(of) => line(format!("go {}", expr(of))),
        StmtKind::Break => line("break".to_owned()),
        StmtKind::Continue => line("continue".to_owned()),
        StmtKind::Function(id) => line(format!("declare fn#{id}")),
        StmtKind::Class(id) => line(format!("declare class#{id}")),
        StmtKind::Block(body) => section("block", body, depth, out),
        StmtKind::Delete(of) => line(format!("delete {}", expr(of))),
    }
}

fn section(word: &str, body: &[Stmt], depth: usize, out: &mut String) {
    if !body.is_empty() {
        writeln!(out, "{}{word}", "  ".repeat(depth)).unwrap_or_default();
        stmts(body, depth + 1, out);
    }
}

fn show_loop(one: &Loop, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let is_async = if one.is_async { "async " } else { "" };
    let head = match (&one.each, &one.cond) {
        (Some((to, of)), _) => format!("{is_async}for {} in {}", pattern(to), expr(of)),
        (None, Some(cond)) => format!("while {}", expr(cond)),
        (None, None) => "loop".to_owned(),
    };
    section("init", &one.init, depth, out);
    writeln!(out, "{pad}{head}").unwrap_or_default();
    stmts(&one.body, depth + 1, out);
    section("step", &one.step, depth, out);
    section("else", &one.otherwise, depth, out);
}

fn arm(arm: &Arm, depth: usize, out: &mut String) {
    let binds = arm.binds.as_ref().map_or(String::new(), |binds| format!(" binds {}", pattern(binds)));
    let falls = if arm.falls_through { " falls" } else { "" };
    let head = if arm.tests.is_empty() { "default".to_owned() } else { format!("case {}", exprs(&arm.tests)) };
    writeln!(out, "{}{head}{binds}{falls}", "  ".repeat(depth)).unwrap_or_default();
    stmts(&arm.body, depth + 1, out);
}

/// A pattern.
pub(crate) fn pattern(one: &Pattern) -> String {
    match one {
        Pattern::Name(name) => name.clone(),
        Pattern::Place(of) => format!("&{}", expr(of)),
        Pattern::Object(parts) => {
            let parts: Vec<String> = parts.iter().map(|(key, part)| format!("{key}: {}", pattern(part))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Pattern::List(parts) => format!("[{}]", parts.iter().map(pattern).collect::<Vec<_>>().join(", ")),
        Pattern::Rest(part) => format!("...{}", pattern(part)),
        Pattern::Nothing => "_".to_owned(),
    }
}

fn exprs(all: &[Expr]) -> String {
    all.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn optional(one: Option<&Expr>) -> String {
    one.map(expr).unwrap_or_default()
}

/// An expression.
pub(crate) fn expr(one: &Expr) -> String {
    match &one.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::This => "this".to_owned(),
        ExprKind::Super => "super".to_owned(),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Template(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match &part.kind {
                    ExprKind::Str(text) => text.escape_debug().to_string(),
                    _ => format!("${{{}}}", expr(part)),
                })
                .collect();
            format!("`{}`", parts.concat())
        }
        ExprKind::Num(number) => number.clone(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Null => "null".to_owned(),
        ExprKind::Member { of, name } => format!("{}.{name}", primary(of)),
        ExprKind::Index { of, index } => format!("{}[{}]", primary(of), expr(index)),
        ExprKind::Call(call) => show_call(call),
        ExprKind::Await(of) => format!("await {}", expr(of)),
        ExprKind::Yield(of) => format!("yield {}", optional(of.as_deref())).trim_end().to_owned(),
        ExprKind::Function(id) => format!("fn#{id}"),
        ExprKind::Class(id) => format!("class#{id}"),
        ExprKind::Object { of, fields } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| key.as_ref().map_or_else(|| expr(value), |key| format!("{key}: {}", expr(value))))
                .collect();
            format!("{}{{{}}}", of.as_deref().unwrap_or_default(), fields.join(", "))
        }
        ExprKind::List(parts) => format!("[{}]", exprs(parts)),
        ExprKind::Binary { op, left, right } => format!("({} {op} {})", expr(left), expr(right)),
        ExprKind::Unary { op, of } => format!("{op}{}", expr(of)),
        ExprKind::Cond { test, then, other } => format!("({} ? {} : {})", expr(test), expr(then), expr(other)),
        ExprKind::Assign { to, value, op } => {
            format!("({} {}= {})", pattern(to), op.as_deref().unwrap_or_default(), expr(value))
        }
        ExprKind::Spread(of) => format!("...{}", expr(of)),
        ExprKind::Try(of) => format!("{}?", expr(of)),
        ExprKind::Comprehension { element, each, conds } => {
            let mut out = format!("[{}", expr(element));
            for (to, of) in each {
                write!(out, " for {} in {}", pattern(to), expr(of)).unwrap_or_default();
            }
            for cond in conds {
                write!(out, " if {}", expr(cond)).unwrap_or_default();
            }
            out + "]"
        }
        ExprKind::Matches { of, binds } => format!("({} matches {})", expr(of), pattern(binds)),
        ExprKind::Block(body) => {
            let mut out = String::new();
            stmts(body, 0, &mut out);
            format!("{{ {} }}", out.trim_end().replace('\n', "; "))
        }
        ExprKind::Other(parts) => format!("other({})", exprs(parts)),
    }
}

/// An expression that something is taken of: in parentheses if it would be read otherwise.
fn primary(one: &Expr) -> String {
    match one.kind {
        ExprKind::Await(_) | ExprKind::Yield(_) | ExprKind::Unary { .. } => format!("({})", expr(one)),
        _ => expr(one),
    }
}

fn show_call(call: &Call) -> String {
    let args: Vec<String> = call
        .args
        .iter()
        .map(|arg| arg.name.as_ref().map_or_else(|| expr(&arg.value), |name| format!("{name}: {}", expr(&arg.value))))
        .collect();
    format!("{}{}({})", if call.is_new { "new " } else { "" }, primary(&call.callee), args.join(", "))
}
