//! How a server is probably started: what its manifests say.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::resolve::json;

/// A command, and the file that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) command: Vec<String>,
    pub(super) from: String,
}

/// The command of the manifest that is nearest to a file; without one, the file itself, if its language can be run.
pub(super) fn start(settings: &BTreeMap<String, Arc<str>>, near: &str) -> Option<Start> {
    manifest(settings, near).or_else(|| {
        let program: &[&str] = match near.rsplit('.').next()? {
            "js" | "mjs" | "cjs" => &["node"],
            "ts" | "mts" | "cts" => &["npx", "tsx"],
            "py" => &["python3"],
            _ => return None,
        };
        let mut command = words(program);
        command.push(below("", near));
        Some(Start { command, from: near.to_owned() })
    })
}

fn manifest(settings: &BTreeMap<String, Arc<str>>, near: &str) -> Option<Start> {
    let mut folder = near;
    loop {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        let at = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let found = [
            ("package.json", node as fn(&str, &str) -> Option<Vec<String>>),
            ("pyproject.toml", python),
            ("Cargo.toml", cargo),
            ("go.mod", go),
        ]
        .into_iter()
        .find_map(|(name, read)| {
            let from = at(name);
            let command = read(settings.get(&from)?, folder)?;
            Some(Start { command, from })
        });
        if found.is_some() || folder.is_empty() {
            return found;
        }
    }
}

fn below(folder: &str, file: &str) -> String {
    let file = file.trim_start_matches("./");
    if folder.is_empty() { format!("{{root}}/{file}") } else { format!("{{root}}/{folder}/{file}") }
}

fn words(parts: &[&str]) -> Vec<String> {
    parts.iter().map(ToString::to_string).collect()
}

fn node(text: &str, folder: &str) -> Option<Vec<String>> {
    let value = json::parse(text);
    let bin = match value.get("bin") {
        Some(Value::String(file)) => Some(file.as_str()),
        Some(Value::Object(all)) => all.values().find_map(Value::as_str),
        _ => None,
    };
    let script = value.get("scripts").and_then(|all| all.get("start")?.as_str());
    // `node dist/index.js`: the process itself, so that signals reach it.
    let direct = script.and_then(|script| script.strip_prefix("node ")).filter(|file| !file.contains([' ', '&', ';']));
    if let Some(file) = bin.or(direct).or_else(|| value.get("main").and_then(Value::as_str)) {
        return Some(vec!["node".to_owned(), below(folder, file)]);
    }
    script.map(|_| words(&["npm", "--prefix", below(folder, "").trim_end_matches('/'), "start"]))
}

fn python(text: &str, _folder: &str) -> Option<Vec<String>> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let project = table.get("project");
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let name = [project, poetry].into_iter().flatten().find_map(|it| it.get("scripts")?.as_table()?.keys().next());
    name.map(|name| vec![name.clone()])
}

fn cargo(text: &str, folder: &str) -> Option<Vec<String>> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let bin = table.get("bin").and_then(|it| it.as_array()?.first()?.get("name")?.as_str());
    let name = bin.or_else(|| table.get("package")?.get("name")?.as_str())?;
    Some(vec![below(folder, &format!("target/release/{name}"))])
}

fn go(_text: &str, folder: &str) -> Option<Vec<String>> {
    Some(words(&["go", "run", below(folder, "").trim_end_matches('/')]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(files: &[(&str, &str)], near: &str) -> Option<String> {
        let settings = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).into())).collect();
        start(&settings, near).map(|start| start.command.join(" "))
    }

    #[test]
    fn the_nearest_manifest_says_how_a_server_is_started() {
        let files = [
            ("package.json", r#"{"scripts": {"start": "concurrently a b"}}"#),
            ("servers/memory/package.json", r#"{"bin": {"memory": "./dist/index.js"}, "main": "x.js"}"#),
            ("servers/web/package.json", r#"{"scripts": {"start": "node server.js"}}"#),
            ("py/pyproject.toml", "[project]\nname = 'n'\n[project.scripts]\nnotes-mcp = 'notes:main'\n"),
            ("rs/Cargo.toml", "[package]\nname = 'counter'\n"),
            ("go/go.mod", "module example.com/x\n"),
        ];
        let at = |near: &str| started(&files, near).unwrap_or_default();
        assert_eq!(at("servers/memory/src/index.ts"), "node {root}/servers/memory/dist/index.js");
        assert_eq!(at("servers/web/a.js"), "node {root}/servers/web/server.js");
        assert_eq!(at("lib/a.ts"), "npm --prefix {root} start");
        assert_eq!(at("py/src/notes/app.py"), "notes-mcp");
        assert_eq!(at("rs/src/main.rs"), "{root}/rs/target/release/counter");
        assert_eq!(at("go/main.go"), "go run {root}/go");
        assert_eq!(started(&[("package.json", "{broken")], "src/a.ts").as_deref(), Some("npx tsx {root}/src/a.ts"));
        assert_eq!(started(&[], "a.py").as_deref(), Some("python3 {root}/a.py"));
        assert_eq!(started(&[], "a.rs"), None);
    }
}
