//! Tools and routes: what leads to them, what they are given, what they read and write.

use std::collections::{BTreeMap, BTreeSet};

use super::argument::{Argument, At, params, schema, text_of};
use super::visit;
use crate::engine::{Entry, Event, Site, Trace, What, path_of};
use crate::hir::{Call, Expr, ExprKind, Function, Language, Module, Pattern, Stmt, StmtKind};
use crate::program::Program;

/// File and line.
pub(super) type Place = (String, u32);

/// A tool or a route.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) is_tool: bool,
    /// The tool's name, or the route's path; empty if it is not written down.
    pub(super) name: String,
    /// The request's method.
    pub(super) method: String,
    pub(super) place: Place,
    pub(super) arguments: Option<Vec<Argument>>,
    /// Where it does something.
    pub(super) does: BTreeSet<Place>,
    /// Names of what it reads and what it writes.
    pub(super) reads: BTreeSet<String>,
    pub(super) writes: BTreeSet<String>,
}

/// Tools that are listed with name and schema, apart from the code that answers them.
pub(super) type Listed = BTreeMap<String, Option<Vec<Argument>>>;

/// All of them in the program.
pub(super) fn listed(program: &Program) -> Listed {
    let mut found = Listed::new();
    for file in 0..program.len() {
        for function in &program.module(file).functions {
            visit::exprs(&function.body, &mut |expr| {
                let fields: Vec<(&str, &Expr)> = match &expr.kind {
                    ExprKind::Object { fields, .. } => {
                        fields.iter().filter_map(|(name, value)| Some((name.as_deref()?, value))).collect()
                    }
                    ExprKind::Call(call) => {
                        call.args.iter().filter_map(|arg| Some((arg.name.as_deref()?, &arg.value))).collect()
                    }
                    _ => return,
                };
                let get =
                    |names: &[&str]| fields.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
                let Some(name) = get(&["name"]).and_then(text_of) else { return };
                let Some(input) = get(&["inputSchema", "input_schema", "parameters"]) else { return };
                found.entry(name.to_owned()).or_insert_with(|| schema(At::new(program, file), input));
            });
        }
    }
    found
}

/// The handlers that a trace is of: one, or one for each tool that a common entry point tells apart.
pub(super) fn of(program: &Program, trace: &Trace, listed: &Listed) -> Vec<Handler> {
    let root = &trace.root;
    let is_tool = match root.entry {
        Entry::Tool => true,
        Entry::Route => false,
        _ => return Vec::new(),
    };
    let place = |site: Site| (program.path(site.file).to_owned(), site.span.line);
    let call = call_at(program.module(root.site.file), root.site, &root.name);
    let named = call.and_then(|call| call.args.iter().find_map(|arg| text_of(&arg.value)));
    let (file, function) = root.handles();
    let function = program.module(file).functions.get(function);
    let method = method(program.module(root.site.file), root.site, call, function);
    let new = |name: &str, arguments: Option<Vec<Argument>>| Handler {
        is_tool,
        name: name.to_owned(),
        method: method.clone(),
        place: place(root.site),
        arguments,
        does: BTreeSet::new(),
        reads: BTreeSet::new(),
        writes: BTreeSet::new(),
    };
    let is_common = is_tool
        && !listed.contains_key(&*root.name)
        && named.is_none()
        && function.is_none_or(|function| function.decorators.iter().all(|it| !says_tool(it)));
    let mut all: BTreeMap<String, Handler> = BTreeMap::new();
    for event in trace.events() {
        let names =
            if is_common { told_apart(program, event, listed) } else { BTreeSet::from([root.name.to_string()]) };
        let names = if names.is_empty() { BTreeSet::from([String::new()]) } else { names };
        for name in names {
            let arguments = || match listed.get(&name) {
                Some(arguments) => arguments.clone(),
                None if is_common => None,
                None => given(program, root.site.file, call, file, function, is_tool),
            };
            let handler = all.entry(name.clone()).or_insert_with(|| new(&name, arguments()));
            note(handler, event, &place);
        }
    }
    all.into_values().collect()
}

/// `@mcp.tool()`, and not one function for all tools.
fn says_tool(decorator: &Expr) -> bool {
    path_of(decorator).is_some_and(|path| matches!(path.rsplit('.').next(), Some("tool" | "Tool" | "mcp_tool")))
}

fn note(handler: &mut Handler, event: &Event, place: &dyn Fn(Site) -> Place) {
    handler.does.extend(event.stack.iter().chain([&event.site]).map(|site| place(*site)));
    let Some(resource) = &event.resource else { return };
    let name = resource.name.to_string();
    match &event.what {
        What::Read { .. } => drop(handler.reads.insert(name)),
        What::Write(_) => drop(handler.writes.insert(name)),
        // Whoever calls others may change something there.
        What::Effect(effect) if !effect.safe => drop(handler.writes.insert(name)),
        _ => {}
    }
}

/// The call that registers.
fn call_at<'a>(module: &'a Module, site: Site, name: &str) -> Option<&'a Call> {
    let (mut exact, mut near) = (None, None);
    for function in &module.functions {
        visit::exprs(&function.body, &mut |expr| {
            let ExprKind::Call(call) = &expr.kind else { return };
            if expr.span == site.span {
                exact = exact.or(Some(&**call));
            } else if expr.span.line == site.span.line && call.args.iter().any(|arg| text_of(&arg.value) == Some(name))
            {
                near = near.or(Some(&**call));
            }
        });
    }
    exact.or(near)
}

/// `app.post(…)`, `@app.post(…)`.
fn method(module: &Module, site: Site, call: Option<&Call>, function: Option<&Function>) -> String {
    let decorated = module.functions.iter().find(|it| it.span == site.span && !it.decorators.is_empty());
    let decorators = decorated.or(function).into_iter().flat_map(|function| &function.decorators);
    let callees = call.map(|call| &call.callee).into_iter().chain(decorators);
    let mut words = callees.filter_map(path_of).filter_map(|path| path.rsplit('.').next().map(str::to_uppercase));
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    words.find(|word| known.contains(&word.as_str())).unwrap_or_else(|| "POST".to_owned())
}

/// What the registration or the handler itself says of the arguments.
fn given(
    program: &Program,
    from: usize,
    call: Option<&Call>,
    file: usize,
    function: Option<&Function>,
    is_tool: bool,
) -> Option<Vec<Argument>> {
    let function = function?;
    // A tool of Python has the arguments that its function has, and may have none.
    if matches!(program.module(file).language, Language::Python) && (is_tool || !function.params.is_empty()) {
        return Some(params(At::new(program, file), &function.params));
    }
    if !is_tool {
        return body(function);
    }
    let at = At::new(program, from);
    let fields = call?.args.iter().flat_map(|arg| match &arg.value.kind {
        ExprKind::Object { fields, .. } => fields.as_slice(),
        _ => &[],
    });
    let said = |name: &str| ["inputSchema", "parameters", "schema"].contains(&name);
    let input = fields.filter(|(name, _)| name.as_deref().is_some_and(said)).map(|(_, value)| value).next();
    if let Some(input) = input {
        return schema(at, input);
    }
    // `tool(name, description, { text: z.string() }, handler)`
    let mut plain = call?.args.iter().skip(1).filter(|arg| !matches!(arg.value.kind, ExprKind::Function(_)));
    let found = plain.find_map(|arg| schema(at, &arg.value));
    found.or_else(|| function.params.is_empty().then(Vec::new))
}

/// The fields that a route takes out of a request's body.
fn body(function: &Function) -> Option<Vec<Argument>> {
    let Some(Pattern::Name(request)) = function.params.first().map(|param| &param.pattern) else { return None };
    let is_body = |expr: &Expr| path_of(expr).is_some_and(|path| path == format!("{request}.body"));
    let mut names = BTreeSet::new();
    visit::exprs(&function.body, &mut |expr| {
        if let ExprKind::Member { of, name } = &expr.kind
            && is_body(of)
        {
            names.insert(name.to_string());
        }
    });
    taken(&function.body, &is_body, &mut names);
    let shape = super::argument::Shape::Unknown;
    let all = names.into_iter().map(|name| Argument { name, shape: shape.clone(), needed: true });
    Some(all.collect())
}

/// `const { a, b } = req.body`
fn taken(body: &[Stmt], is_body: &dyn Fn(&Expr) -> bool, names: &mut BTreeSet<String>) {
    for stmt in body {
        if let StmtKind::Assign { to, value, .. } = &stmt.kind
            && is_body(value)
        {
            for pattern in to {
                if let Pattern::Object(fields) = pattern {
                    names.extend(fields.iter().map(|(name, _)| name.to_string()));
                }
            }
        }
        visit::blocks(stmt).into_iter().for_each(|block| taken(block, is_body, names));
    }
}

/// The tools in whose arm of a common handler the event happens: `case "add":`, `if name == "add"`.
fn told_apart(program: &Program, event: &Event, listed: &Listed) -> BTreeSet<String> {
    for site in event.stack.iter().chain([&event.site]) {
        let module = program.module(site.file);
        let mut words = BTreeSet::new();
        for function in &module.functions {
            arms(&function.body, site.span.line, &mut words);
        }
        words.retain(|word| listed.contains_key(word));
        if !words.is_empty() {
            return words;
        }
    }
    BTreeSet::new()
}

fn arms(body: &[Stmt], line: u32, words: &mut BTreeSet<String>) {
    let holds = |block: &[Stmt]| block.iter().any(|stmt| stmt.span.line <= line && line <= stmt.span.end_line);
    for stmt in body.iter().filter(|stmt| stmt.span.line <= line && line <= stmt.span.end_line) {
        match &stmt.kind {
            StmtKind::Switch { arms, .. } => {
                let mut through: Vec<&str> = Vec::new();
                for arm in arms {
                    through.extend(arm.tests.iter().filter_map(text_of));
                    if holds(&arm.body) {
                        words.extend(through.iter().map(ToString::to_string));
                    }
                    if !arm.falls_through {
                        through.clear();
                    }
                }
            }
            StmtKind::If { cond, then, .. } if holds(then) => compared(cond, words),
            _ => {}
        }
        visit::blocks(stmt).into_iter().for_each(|block| arms(block, line, words));
    }
}

fn compared(cond: &Expr, words: &mut BTreeSet<String>) {
    if let ExprKind::Binary { op, left, right } = &cond.kind {
        match op.as_str() {
            "==" => words.extend([left, right].into_iter().filter_map(|side| text_of(side)).map(ToOwned::to_owned)),
            "||" | "&&" => [left, right].into_iter().for_each(|side| compared(side, words)),
            _ => {}
        }
    }
}
