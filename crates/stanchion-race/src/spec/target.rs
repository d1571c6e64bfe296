//! `[target]` and `[upstream]`.

use std::time::Duration;

use serde_json::json;

use super::reader::Table;
use super::template::Words;
use super::{Kind, Target, Template, Upstream, UpstreamFault, ValueTemplate};

const KINDS: [(&str, Kind); 3] = [("mcp-stdio", Kind::McpStdio), ("mcp-http", Kind::McpHttp), ("http", Kind::Http)];
const UPSTREAM_FAULTS: [(&str, UpstreamFault); 4] = [
    ("delay", UpstreamFault::Delay),
    ("lost-reply", UpstreamFault::LostReply),
    ("reset", UpstreamFault::Reset),
    ("error", UpstreamFault::Error),
];

pub(super) fn target(table: &Table<'_, '_>) -> Option<Target> {
    if !table.has("kind") {
        table.wrong("kind", "`kind` is needed", "mcp-stdio, mcp-http, http", "");
    }
    let kind = table.choice("kind", &KINDS);
    let command = table.templates("command", Words::Target).unwrap_or_default();
    if table.has("command") && !(1..=100).contains(&command.len()) {
        table.wrong("command", "not a command", "1 to 100 words", "write the program and each argument in quotes");
    }
    let cwd = table.template("cwd", Words::Target).unwrap_or_else(Template::word_dir);
    let env = table.strings("env", Words::Target);
    if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        table.wrong("env", format!("{name:?} cannot be the name of a variable"), "", "");
    }
    let is_inherited = table.yes("inherit");
    let instances = usize::try_from(table.integer("instances", 1..=16, 2)).unwrap_or(2);
    let urls = table.templates("urls", Words::Target).unwrap_or_default();
    let start = Duration::from_secs(table.integer("start_seconds", 1..=120, 10));
    let headers = table.strings("headers", Words::Target);
    let started = table.has("command");
    if kind == Some(Kind::McpStdio) {
        if !started {
            table.wrong("command", "`command` is needed", "", "say how the server is started");
        }
        table.refuse("urls", "mcp-stdio has no addresses");
        table.refuse("headers", "mcp-stdio has no headers");
    } else if kind.is_some() {
        addresses(table, &urls, started);
    }
    table.finish();
    let instances = if started { instances } else { urls.len() };
    Some(Target { kind: kind?, command, cwd, env, is_inherited, instances, urls, headers, start, is_guarded: false })
}

fn addresses(table: &Table<'_, '_>, urls: &[Template], started: bool) {
    if !(1..=16).contains(&urls.len()) {
        table.wrong("urls", "`urls` is needed", "1 to 16 addresses", "say where the target answers");
    }
    if urls.iter().any(|url| !url.starts_with("http://")) {
        let next = "put something that speaks TLS in front of it, and name its address";
        table.wrong("urls", "an address that does not begin with http://", "http://HOST:PORT/PATH", next);
    }
    let with_port = urls.iter().filter(|url| url.uses_port()).count();
    if started && (urls.len() != 1 || with_port != 1) {
        let next = "every instance is given a port of its own";
        table.wrong("urls", "with `command` there is one address, with {port} in it", "", next);
    }
    if !started && with_port > 0 {
        table.wrong("urls", "{port} is used, and nothing is started", "", "add `command`, or write the port");
    }
    if !started {
        for name in ["instances", "cwd", "env", "inherit"] {
            if table.has(name) {
                table.wrong(name, "nothing is started", "", "add `command`, or delete the key");
            }
        }
    }
}

pub(super) fn upstream(table: &Table<'_, '_>) -> Option<Upstream> {
    let status = table.integer("status", 100..=599, 200);
    let headers = table.strings("headers", Words::Target);
    let body = table.value("body", Words::Target).unwrap_or(ValueTemplate::Plain(json!({})));
    let faults = table.choices("faults", &UPSTREAM_FAULTS);
    table.finish();
    Some(Upstream { status: u16::try_from(status).ok()?, headers, body, faults })
}
