//! Mutated policy files: a problem has its place, and what is accepted is what the published schema accepts.

use stanchion_testkit::fuzz::Target;

use super::super::{PolicyFile, READY, schema};

/// A little of everything.
const ALL: &str = r#"
[defaults]
wait = "20s"
effect = "non_idempotent"
keep = "1h"
[servers.budget]
command = ["node", "server.js"]
env = { A = "b" }
hang_up = "30s"
[servers.budget.tools."add_*"]
lock = ["budget:{projectId}", "all"]
mode = "shared"
ttl = "30s"
rate = "10/1m"
concurrency = 3
in_flight = "attach"
attempts = 3
response_cap = "1MiB"
allow_weak = true
on_store_down = "refuse"
[servers.web]
url = "http://127.0.0.1:8080/mcp"
headers = { Authorization = "env:TOKEN" }
[servers.web.tools.get]
effect = "read_only"
"#;

#[test]
fn mutated_policies_are_read_or_refused_with_a_place() {
    let validator = jsonschema::draft7::new(&schema()).expect("a schema");
    let seeds = READY.iter().map(|(_, text)| *text).chain([ALL, ALL, ALL]);
    Target::text("policy", seeds).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(()) };
        let lines = text.split('\n').count();
        let file = match PolicyFile::parse(text, "p.toml") {
            Ok(file) => file,
            Err(wrong) => {
                let out = wrong.problems().iter().find(|one| {
                    let place = one.place;
                    let shown = format!("--> p.toml:{place}");
                    place.line == 0 || place.line > lines || place.column == 0 || !one.to_string().contains(&shown)
                });
                return match out {
                    Some(out) => Err(format!("{out:?} of {lines} lines")),
                    None if wrong.problems().is_empty() => Err("refused, and nothing is wrong".to_owned()),
                    None => Ok(()),
                };
            }
        };
        let servers: Vec<String> = file.servers().map(|(name, _)| name.to_owned()).collect();
        for server in servers.iter().map(String::as_str).chain(["other"]) {
            let rules = file.rules(server);
            for tool in ["add_x", "get", "\u{1f9f5}", ""] {
                let again = file.rules(server);
                if rules.of(tool) != again.of(tool) || rules.explain(tool).len() != again.explain(tool).len() {
                    return Err(format!("the rule of {server}/{tool} is another the second time"));
                }
            }
        }
        let value: serde_json::Value = toml::from_str(text).map_err(|e| format!("we read what is no TOML: {e}"))?;
        match validator.iter_errors(&value).next() {
            Some(stricter) => Err(format!("the schema refuses it: {stricter}")),
            None => Ok(()),
        }
    });
}
