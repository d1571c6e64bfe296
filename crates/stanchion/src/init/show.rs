//! What was found and what was done, for people and for programs.

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::read::Loaded;
use super::secrets;
use super::server::{Kind, Launch, Server};

/// How much of a command a table shows.
const COMMAND: usize = 60;

/// Nothing in a file of somebody's may steer the terminal.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

pub(super) fn table(found: &[Loaded]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["CLIENT", "FILE", "SERVER", "COMMAND", "STATE"]);
    for loaded in found {
        for server in &loaded.servers {
            let place = server.within.as_ref().map_or_else(String::new, |within| format!(" in {within}"));
            let command = command(server).unwrap_or_else(|| "-".to_owned());
            let short: String = command.chars().take(COMMAND).collect();
            table.add_row([
                loaded.target.client.to_owned(),
                plain(&loaded.target.path.display().to_string()),
                plain(&format!("{}{place}", server.name)),
                plain(&if short.len() < command.len() { format!("{short}…") } else { short }),
                state(server),
            ]);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn command(server: &Server) -> Option<String> {
    let words = |launch: &Launch, from: usize| secrets::masked(&launch.words)[from..].join(" ");
    match &server.kind {
        Kind::Plain(launch) => Some(words(launch, 0)),
        Kind::Wrapped { launch, inner } => Some(words(launch, *inner)),
        Kind::Remote | Kind::Left(_) => None,
    }
}

const fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Plain(_) => "plain",
        Kind::Wrapped { .. } => "wrapped",
        Kind::Remote => "remote",
        Kind::Left(_) => "left",
    }
}

fn reason(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Plain(_) | Kind::Wrapped { .. } => None,
        Kind::Remote => Some("it is reached by URL; `stanchion serve` can stand before it"),
        Kind::Left(why) => Some(why),
    }
}

fn state(server: &Server) -> String {
    match (&server.kind, reason(&server.kind)) {
        (Kind::Plain(_), _) => "not wrapped".to_owned(),
        (Kind::Wrapped { launch, .. }, _) if is_gone(&launch.words[0].value) => {
            format!("wrapped, but {} is not there: unwrap it, then init", plain(&launch.words[0].value))
        }
        (kind, Some(why)) => format!("{}: {why}", if matches!(kind, Kind::Remote) { "remote" } else { "left alone" }),
        (kind, None) => name(kind).to_owned(),
    }
}

fn is_gone(binary: &str) -> bool {
    let binary = std::path::Path::new(binary);
    binary.is_absolute() && !binary.exists()
}

/// What was found in a file, and what became of it.
pub(super) fn file(loaded: &Loaded, chosen: &[usize], done: Value) -> Value {
    let server = |(at, server): (usize, &Server)| {
        json!({
            "server": server.name, "within": server.within, "state": name(&server.kind), "reason": reason(&server.kind),
            "command": command(server), "chosen": chosen.contains(&at),
        })
    };
    let mut file = json!({
        "client": loaded.target.client, "file": loaded.target.path.display().to_string(),
        "servers": loaded.servers.iter().enumerate().map(server).collect::<Vec<_>>(),
    });
    if let (Some(file), Value::Object(done)) = (file.as_object_mut(), done) {
        file.extend(done);
    }
    file
}
