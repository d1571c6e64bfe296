//! MCP servers over stdio. Each client starts its own process, so two open windows are two processes on the same files.

use serde_json::Value;

use super::{Facts, Instances, Kind, line_of, name_of, yaml::Document};
use crate::resolve::json;

/// Packages that servers are made with; those of the models are among them (a test says so).
const NPM: [&str; 9] = [
    "@modelcontextprotocol/sdk",
    "@modelcontextprotocol/server",
    "fastmcp",
    "mcp-framework",
    "@mcp-kit/server",
    "litemcp",
    "tmcp",
    "mcp-lite",
    "mcp-use",
];
/// Servers of one file: for each, its line is searched.
const SERVERS_MOST: usize = 100;
const PYTHON: [&str; 2] = ["mcp", "fastmcp"];

pub(super) fn add(facts: &mut Facts<'_>, line: u32, what: &str) {
    let text = format!("{what}: each client starts its own process");
    facts.add(Kind::StdioMcp, Instances::Many(None), line, text);
}

/// The names under which packages of this repository are started.
pub(super) fn names(files: &[(&str, &str)]) -> Vec<String> {
    let mut names = Vec::new();
    for (path, text) in files {
        match name_of(path) {
            "package.json" => {
                names.extend(json::parse(text).get("name").and_then(Value::as_str).map(ToOwned::to_owned))
            }
            "pyproject.toml" => {
                let table: toml::Table = toml::from_str(text).unwrap_or_default();
                let project = table.get("project");
                names.extend(project.and_then(|it| it.get("name")?.as_str()).map(ToOwned::to_owned));
                names.extend(
                    project.and_then(|it| it.get("scripts")?.as_table()).into_iter().flat_map(|it| it.keys().cloned()),
                );
            }
            _ => {}
        }
    }
    names
}

pub(super) fn package_json(facts: &mut Facts<'_>, text: &str) {
    let value = json::parse(text);
    let depends = ["dependencies", "peerDependencies"].iter().filter_map(|key| value.get(*key)?.as_object());
    let mut depends = depends.flat_map(serde_json::Map::keys);
    if value.get("bin").is_some() && depends.any(|name| NPM.contains(&name.as_str())) {
        add(facts, line_of(text, "\"bin\""), "an MCP server that is started as a command");
    }
}

pub(super) fn pyproject(facts: &mut Facts<'_>, text: &str) {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let project = table.get("project");
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let has_scripts = [project, poetry].iter().flatten().any(|section| section.get("scripts").is_some());
    let listed = project.and_then(|project| project.get("dependencies")?.as_array()).into_iter().flatten();
    let listed = listed.filter_map(|item| item.as_str()).map(|item| {
        item.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')).next().unwrap_or_default()
    });
    let keyed = poetry.and_then(|poetry| poetry.get("dependencies")?.as_table()).into_iter().flat_map(|it| it.keys());
    let mut depends = listed.chain(keyed.map(String::as_str));
    if has_scripts && depends.any(|name| PYTHON.contains(&name)) {
        add(facts, line_of(text, "scripts]"), "an MCP server that is started as a command");
    }
}

/// `rmcp` with the transport over standard input and output.
pub(super) fn cargo(facts: &mut Facts<'_>, text: &str) {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let features = table.get("dependencies").and_then(|it| it.get("rmcp")?.get("features")?.as_array());
    if features.into_iter().flatten().any(|feature| feature.as_str() == Some("transport-io")) {
        add(facts, line_of(text, "rmcp"), "an MCP server over stdio");
    }
}

/// Clients' settings, the registry's `server.json`, and bundles' `manifest.json`.
pub(super) fn settings(facts: &mut Facts<'_>, text: &str) {
    let value = json::parse(text);
    let packages = value.get("packages").and_then(Value::as_array).into_iter().flatten();
    for package in packages.take(SERVERS_MOST) {
        if package.get("transport").and_then(|it| it.get("type")?.as_str()) == Some("stdio") {
            add(facts, line_of(text, "\"stdio\""), "an MCP server over stdio");
        }
    }
    if value.get("server").is_some_and(|server| server.get("mcp_config").is_some()) {
        add(facts, line_of(text, "\"mcp_config\""), "an MCP server in a bundle");
    }
    let servers = ["mcpServers", "servers"].iter().filter_map(|key| value.get(*key)?.as_object()).flatten();
    for (name, server) in servers.take(SERVERS_MOST) {
        if server.get("command").is_some_and(Value::is_string) && is_own(facts, server) {
            add(facts, line_of(text, &format!("\"{name}\"")), &format!("MCP server {name} over stdio"));
        }
    }
}

/// Repositories also list servers of others for their developers: only what starts a file or a package from here counts.
fn is_own(facts: &Facts<'_>, server: &Value) -> bool {
    let command =
        server.get("command").into_iter().chain(server.get("args").and_then(Value::as_array).into_iter().flatten());
    command.filter_map(Value::as_str).any(|word| {
        let ends = [".js", ".mjs", ".cjs", ".ts", ".py"];
        let package = word.rsplit_once('@').map_or(word, |(name, _)| if name.is_empty() { word } else { name });
        word.starts_with("./")
            || ends.iter().any(|end| word.ends_with(end))
            || facts.own_names.iter().any(|own| own == package)
    })
}

/// `smithery.yaml`
pub(super) fn document(facts: &mut Facts<'_>, name: &str, document: &Document) {
    if let Some(entry) = document.get("startCommand/type").filter(|_| name.starts_with("smithery."))
        && entry.value == "stdio"
    {
        add(facts, entry.line, "an MCP server over stdio");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hir::Language;
    use crate::models::Models;

    /// `@scope/name/path.Name` is made by `@scope/name`, `name/path.Name` by `name`.
    #[test]
    fn every_package_that_the_models_make_servers_with_is_known_here() {
        let models = Models::new(&[]).unwrap();
        let package = |language, made: &str| match language {
            Language::Python => made.split('.').next().unwrap_or_default().to_owned(),
            _ if made.starts_with('@') => made
                .splitn(3, '/')
                .take(2)
                .collect::<Vec<_>>()
                .join("/")
                .split('.')
                .next()
                .unwrap_or_default()
                .to_owned(),
            _ => made.split(['/', '.']).next().unwrap_or_default().to_owned(),
        };
        for (language, known) in [(Language::JavaScript, &NPM[..]), (Language::Python, &PYTHON[..])] {
            let server = models.of_type(language, "mcp server").unwrap();
            assert!(!server.made.is_empty());
            for made in &server.made {
                assert!(known.contains(&package(language, made).as_str()), "{made}");
            }
        }
    }
}
