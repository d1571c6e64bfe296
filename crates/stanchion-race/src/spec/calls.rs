//! `[[setup]]`, `[[call]]`, `[read]`, `[[teardown]]`.

use std::collections::BTreeMap;

use super::operation::{Ordered, operation};
use super::reader::Table;
use super::template::Words;
use super::{Call, FaultKind, Kind, Read, Request, Template, ValueTemplate};

const METHODS: [(&str, &str); 5] =
    [("GET", "GET"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE")];
const FAULTS: [(&str, FaultKind); 6] = [
    ("delay", FaultKind::Delay),
    ("lost-reply", FaultKind::LostReply),
    ("duplicate", FaultKind::Duplicate),
    ("reset", FaultKind::Reset),
    ("pause", FaultKind::Pause),
    ("kill", FaultKind::Kill),
];

/// What the target allows.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// `None` if it is wrong: then calls are read as leniently as possible.
    pub(super) kind: Option<Kind>,
    pub(super) command: bool,
    pub(super) ordered: Ordered,
}

pub(super) fn calls(top: &Table<'_, '_>, name: &'static str, shape: Shape) -> Vec<Call> {
    top.tables(name).iter().filter_map(|table| call(table, name == "call", shape)).collect()
}

fn call(table: &Table<'_, '_>, is_raced: bool, shape: Shape) -> Option<Call> {
    let request = request(table, shape);
    let times = usize::try_from(table.integer("times", 1..=10_000, if is_raced { 20 } else { 1 })).unwrap_or(1);
    let (mut faults, mut order) = (Vec::new(), None);
    if is_raced {
        order = operation(table, shape.ordered, true);
        faults = table.choices("faults", &FAULTS);
        if faults.contains(&FaultKind::Reset) && shape.kind == Some(Kind::McpStdio) {
            table.wrong("faults", "pipes cannot be reset", "", "use \"lost-reply\" or \"kill\"");
        }
        if !shape.command && faults.iter().any(|it| matches!(it, FaultKind::Pause | FaultKind::Kill)) {
            table.wrong("faults", "only processes that are started here can be paused or killed", "", "add `command`");
        }
    } else {
        table.refuse("faults", "faults happen to [[call]] only");
        table.refuse("operation", "only [[call]] and [read] are operations");
    }
    table.refuse("select", "only [read] selects");
    table.finish();
    Some(Call { request: request?, times, faults, operation: order })
}

pub(super) fn read(table: &Table<'_, '_>, shape: Shape) -> Option<Read> {
    let request = request(table, shape);
    let select = table.text("select").map(str::to_owned);
    if select.as_ref().is_some_and(|it| !is_pointer(it)) {
        table.wrong("select", "not a JSON pointer", "\"\" or /a/*/b", "begin it with a slash");
    }
    let operation = operation(table, shape.ordered, false);
    if operation.as_ref().is_some_and(|it| !it.action.looks()) {
        table.wrong("operation", "[read] changes nothing", "read, get, contains, list", "");
    }
    table.refuse("times", "[read] is made once on every instance");
    table.refuse("faults", "faults happen to [[call]] only");
    table.finish();
    Some(Read { request: request?, select, operation })
}

pub(super) fn is_pointer(text: &str) -> bool {
    text.len() <= 1000 && (text.is_empty() || text.starts_with('/'))
}

fn request(table: &Table<'_, '_>, shape: Shape) -> Option<Request> {
    let Some(kind) = shape.kind else {
        // One problem is enough: what the kind allows is not known.
        for name in ["tool", "arguments", "method", "path", "headers", "body"] {
            table.item(name);
        }
        return None;
    };
    match kind {
        Kind::McpStdio | Kind::McpHttp => {
            for name in ["method", "path", "headers", "body"] {
                table.refuse(name, "that belongs to HTTP, and the target speaks MCP");
            }
            if !table.has("tool") {
                table.wrong("tool", "`tool` is needed", "the name of a tool", "");
            }
            let arguments = table.value("arguments", Words::Call).unwrap_or(ValueTemplate::Table(BTreeMap::new()));
            if !matches!(arguments, ValueTemplate::Table(_)) {
                table.wrong("arguments", "not a table", "{ name = \"value\" }", "");
            }
            Some(Request::Tool { name: table.template("tool", Words::Call)?, arguments })
        }
        Kind::Http => {
            for name in ["tool", "arguments"] {
                table.refuse(name, "that belongs to MCP, and the target speaks HTTP");
            }
            if !table.has("path") {
                table.wrong("path", "`path` is needed", "begins with /", "");
            }
            let chosen = table.choice("method", &METHODS);
            let method = if table.has("method") { chosen } else { Some("GET") };
            let path = table.template("path", Words::Call);
            if path.as_ref().is_some_and(|path| !path.starts_with("/")) {
                table.wrong("path", "the path does not begin with /", "/orders", "");
            }
            let headers = table.strings("headers", Words::Call);
            let body = table.value("body", Words::Call);
            if body.as_ref().is_some_and(|body| !matches!(body, ValueTemplate::Table(_) | ValueTemplate::Text(_))) {
                table.wrong("body", "neither a table nor a text", "{ name = \"value\" } or \"text\"", "");
            }
            Some(Request::Http { method: method?, path: path?, headers, body })
        }
    }
}

impl Request {
    /// What a person calls it.
    pub(crate) fn title(&self) -> String {
        let shown = |template: &Template| template.fill(&super::Vars::default());
        match self {
            Self::Tool { name, .. } => shown(name),
            Self::Http { method, path, .. } => format!("{method} {}", shown(path)),
        }
    }
}
