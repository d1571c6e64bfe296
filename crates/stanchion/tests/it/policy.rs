//! `policy check|explain|ls|show|schema`: a wrong file says where, a right one says why.

use serde_json::Value;

use crate::support::{Home, Said};

const GOOD: &str = r#"
[defaults]
wait = "5s"
[servers.budgets]
url = "http://127.0.0.1:9/mcp"
[servers.budgets.tools.set_budget]
lock = ["budget:{projectId}", "org:{org.id}"]
[servers.budgets.tools."get_*"]
lock = "none"
"#;

struct Files(Home);

impl Files {
    fn new() -> Self {
        Self(Home::new())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.path(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }

    fn policy(&self, args: &[&str]) -> Said {
        self.0.output(&[&["policy"], args].concat())
    }
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

#[test]
fn a_wrong_file_is_refused_with_every_place() {
    let files = Files::new();
    let file = files.write("wrong.toml", "[servers.a.tools.x]\nwiat = \"1s\"\nmode = \"both\"\n");
    let said = files.policy(&["check", &file]).exits(78);
    assert_eq!(said.out, "");
    let said = said.says(&format!("--> {file}:2:1 (servers.a.tools.x.wiat)")).says("did you mean `wait`?");
    said.says(&format!("--> {file}:3:8 (servers.a.tools.x.mode)")).says("allowed: \"exclusive\", \"shared\"");

    let said = files.policy(&["check", &file, "--json"]).exits(78);
    let told = json(&said);
    assert_eq!(told["ok"], false);
    let problems = told["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), 2);
    assert_eq!((&problems[0]["line"], &problems[0]["did_you_mean"]), (&2.into(), &"wait".into()));
    assert_eq!((&problems[1]["key"], &problems[1]["column"]), (&"servers.a.tools.x.mode".into(), &8.into()));
}

#[test]
fn a_good_file_is_good_and_warnings_do_not_make_it_wrong() {
    let files = Files::new();
    let file = files.write("good.toml", GOOD);
    files.policy(&["check", &file]).exits(0).says("is good: servers 1, principals 0, warnings 0");
    let file = files.write("odd.toml", "[servers.a.tools.\"*\"]\nlock = \"x\"\n[servers.a.tools.t]\nwait = \"1s\"\n");
    files
        .policy(&["check", &file])
        .exits(0)
        .says("warning: `t` does not get lock from `*` (line 1)")
        .says("warnings 1");
    let told = json(&files.policy(&["check", &file, "--json"]).exits(0));
    assert_eq!((&told["ok"], &told["warnings"][0]["line"]), (&true.into(), &3.into()));
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let files = Files::new();
    files.policy(&["check", "/no/such/file.toml"]).exits(78).says("cannot be read").says("policy ls");
    files.policy(&["check", "@nothing"]).exits(78).says("no such ready-made policy").says("memory");
    let file = files.write("latin.toml", b"[servers.a] # \xe9\n");
    files.policy(&["check", &file]).exits(78).says("not UTF-8");
    let file = files.write("large.toml", "é".repeat(600_000));
    files.policy(&["check", &file]).exits(78).says("larger than 1 MiB");
    let folder = files.0.path("");
    files.policy(&["check", folder.to_str().expect("UTF-8")]).exits(78).says("cannot be read");
}

#[test]
fn explain_says_which_table_gave_each_value() {
    let files = Files::new();
    let file = files.write("p.toml", GOOD);
    let said = files.policy(&["explain", "budgets", "set_budget", "--policy", &file]).exits(0);
    let row = |key: &str| {
        let line = said.out.lines().find(|line| line.trim_start().starts_with(&format!("{key} "))).expect(key);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("wait"), "wait \"5s\" defaults 3");
    assert_eq!(row("lock"), "lock [\"budget:{projectId}\", \"org:{org.id}\"] tool set_budget 7");
    assert_eq!(row("ttl"), "ttl \"30s\" built in -");
    said.says("lock: budget:{projectId} (filled from the arguments of each call)");

    let told = json(&files.policy(&["explain", "budgets", "get_x", "--policy", &file, "--json"]).exits(0));
    assert_eq!(told["locks"], serde_json::json!([]));
    let rule = told["rule"].as_array().expect("a list");
    let lock = rule.iter().find(|entry| entry["key"] == "lock").expect("a lock");
    assert_eq!(*lock, serde_json::json!({"key": "lock", "value": "\"none\"", "from": "tool get_*", "line": 9}));
}

#[test]
fn explain_fills_the_locks_from_arguments_or_names_what_is_missing() {
    let files = Files::new();
    let file = files.write("p.toml", GOOD);
    let explain = |arguments: &str, more: &[&str]| {
        let arguments = files.write("args.json", arguments);
        files.policy(&[&["explain", "budgets", "set_budget", &arguments, "--policy", &file], more].concat())
    };
    let said = explain(r#"{"projectId": "atlas", "org": {"id": 7.0}}"#, &[]).exits(0);
    said.says("lock: budget:atlas\n").says("lock: org:7\n");
    explain(r#"{"projectId": "atlas"}"#, &[]).exits(78).says("lock: budget:atlas\n").says("{org.id}");
    let told = json(&explain(r#"{"projectId": ""}"#, &["--json"]).exits(78));
    assert!(told["locks"][0]["error"].as_str().expect("an error").contains("{projectId}"), "{told}");
    explain("[1]", &[]).exits(78).says("JSON object");
    explain(r#"{"projectId": "a", "projectId": "b"}"#, &[]).exits(78).says("no arguments of a call");
    explain("{", &[]).exits(78).says("no arguments of a call");
}

#[test]
fn explain_without_a_file_says_what_is_built_in() {
    let files = Files::new();
    files
        .policy(&["explain", "any", "tool"])
        .exits(0)
        .says("no policy file")
        .says("under wrap one lock for the server");
    let file = files.write("p.toml", GOOD);
    let said = files.policy(&["explain", "budget", "t", "--policy", &file]).exits(0);
    said.says("does not name this server").says("it names: budgets");
    let wrong = files.write("wrong.toml", "x = 1\n");
    files
        .policy(&["explain", "a", "t", "--policy", &wrong])
        .exits(78)
        .says("the policy file cannot be used: 1 problem");
}

#[test]
fn ready_made_policies_are_listed_shown_and_used() {
    let files = Files::new();
    let listed = files.policy(&["ls"]).exits(0).says("@memory").says("server-memory");
    let names: Vec<_> =
        listed.out.lines().filter_map(|line| line.strip_prefix('@')?.split_whitespace().next()).collect();
    assert!(names.len() >= 10, "{names:?}");
    assert_eq!(json(&files.policy(&["ls", "--json"]).exits(0)).as_array().map(Vec::len), Some(names.len()));
    for name in names {
        files.policy(&["check", &format!("@{name}")]).exits(0).says("is good: servers 1");
        let shown = files.policy(&["show", name]).exits(0);
        let copy = files.write("copy.toml", &shown.out);
        files.policy(&["check", &copy]).exits(0);
    }
    files.policy(&["show", "nothing"]).exits(78).says("no such ready-made policy");
    let said = files.policy(&["explain", "memory", "create_entities", "--policy", "@memory"]).exits(0);
    said.says("lock: mcp:@modelcontextprotocol/server-memory\n");
}

#[test]
fn the_schema_that_is_printed_is_the_published_one() {
    let printed = json(&Files::new().policy(&["schema"]).exits(0));
    let published: Value =
        serde_json::from_str(include_str!("../../../../policies/stanchion.schema.json")).expect("JSON");
    assert_eq!(printed, published, "write it anew: stanchion policy schema > policies/stanchion.schema.json");
}
