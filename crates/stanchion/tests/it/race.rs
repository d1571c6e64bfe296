//! `race`: the official memory server loses what it acknowledged, ours does not, and everything else is told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use stanchion_testkit::{eventually_sync, peers_or_skip};

use crate::support::{Home, PATIENCE, signal};

fn spec(home: &Home, command: &[&str], rounds: usize) -> String {
    let command: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    let text = format!(
        r#"
        version = 1
        name = "memory"
        seed = 17
        [target]
        kind = "mcp-stdio"
        command = [{}]
        env = {{ HOME = "{{dir}}", MEMORY_FILE_PATH = "{{dir}}/memory.jsonl" }}
        start_seconds = 60
        [limits]
        rounds = {rounds}
        seconds = 120
        [[call]]
        tool = "create_entities"
        arguments = {{ entities = [{{ name = "{{id}}", entityType = "t", observations = [] }}] }}
        [read]
        tool = "read_graph"
        select = "/entities/*/name"
        [expect]
        every = "{{id}}"
        "#,
        command.join(", ")
    );
    let file = home.path("spec.toml");
    // stanchion-audit: ignore RC302 -- the folder is this test's own
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn the_official_memory_server_races_and_the_smallest_schedule_shows_it_again() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let (node, server) = (peers.node().to_str().unwrap(), peers.memory_server());
    let spec = spec(&home, &[node, server.to_str().unwrap()], 3);
    let saved = home.path("race.json");
    let saved = saved.to_str().unwrap();
    home.output(&["race", &spec, "--save", saved])
        .exits(1)
        .says("race found: memory")
        .says("lost · minimal: 2 calls, 1 instance · replay: --seed 17");
    home.output(&["race", &spec, "--schedule", saved]).exits(1).says("2 acknowledged, 1 kept, 1 lost");
    home.output(&["race", &spec, "--seed", "4", "--json"]).exits(1).says("\"outcome\": \"race\"").says("\"seed\": 4");
}

#[test]
fn our_memory_server_does_not() {
    let home = Home::new();
    let spec = spec(&home, &[env!("CARGO_BIN_EXE_stanchion"), "--home", "{dir}", "memory"], 5);
    home.output(&["race", &spec]).exits(0).says("100 acknowledged in 5 schedules").says("is not refuted");
}

/// A server in JavaScript that reads a file, changes what it read and writes it back. `lies` says of every tool that it only reads; `private`
/// never reads it again, but keeps all in its own memory.
const CARELESS: &str = r#"
const fs = require("fs"), [, , file, how] = process.argv, mine = [];
const tool = (name) => ({ name, inputSchema: { type: "object" }, annotations: how === "lies" ? { readOnlyHint: true } : {} });
const read = () => (fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : []);
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "tools/list") return say(id, { tools: [tool("add"), tool("list")] });
  if (method !== "tools/call") return say(id, { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "careless", version: "1" } });
  if (params.name === "list") return say(id, { content: [{ type: "text", text: JSON.stringify(read()) }] });
  const all = how === "private" ? mine : read();
  all.push(params.arguments.id);
  setTimeout(() => {
    const staged = file + process.pid;
    fs.writeFileSync(staged, JSON.stringify(all));
    fs.renameSync(staged, file);
    say(id, { content: [] });
  }, 5);
});
"#;

fn careless(home: &Home, node: &str, how: &str) -> String {
    let script = home.path("careless.js");
    std::fs::write(&script, CARELESS).unwrap();
    let file = spec(home, &[node, script.to_str().unwrap(), "{dir}/all.json", how], 2);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("\"create_entities\"", "\"add\"").replace("\"read_graph\"", "\"list\"");
    let text = text
        .replace("{ entities = [{ name = \"{id}\", entityType = \"t\", observations = [] }] }", "{ id = \"{id}\" }");
    // stanchion-audit: ignore RC101, RC302 -- the folder is this test's own
    std::fs::write(&file, text.replace("/entities/*/name", "/*")).unwrap();
    file
}

#[test]
fn through_the_guard_the_official_memory_server_keeps_what_it_loses_without() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let (node, server) = (peers.node().to_str().unwrap(), peers.memory_server());
    let spec = spec(&home, &[node, server.to_str().unwrap()], 4);
    let (html, junit) = (home.path("race.html"), home.path("race.xml"));
    let files = ["--html", html.to_str().unwrap(), "--junit", junit.to_str().unwrap()];
    let args: Vec<&str> = ["race", &spec, "--through-guard", "--json"].into_iter().chain(files).collect();
    let said = home.output(&args).exits(0);
    let json: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&json["bare"]["outcome"], &json["outcome"]), (&"race".into(), &"nothing-found".into()), "{said:?}");
    let (bare, guarded) = (&json["bare"]["found"], &json["guarded"]["sound"]);
    assert_eq!(
        (&bare["round"], &bare["schedule"]),
        (&guarded["round"], &guarded["schedule"]),
        "both show the same schedule"
    );
    assert_eq!(json["guarded"]["calls"]["acknowledged"], 80);
    assert_eq!(guarded["reads"][1]["values"], 20);
    assert!(json["guard"]["locked"].as_u64().is_some_and(|locked| locked > 40), "{}", json["guard"]);
    let html = std::fs::read_to_string(html).unwrap();
    assert!(html.contains("the guard holds") && html.contains("--seed 17 --through-guard</code>"));
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("memory, bare\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("memory, guarded\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\""), "{junit}");
}

#[test]
fn where_the_guard_cannot_help_it_says_so_and_the_guarded_run_decides() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let node = peers.node().to_str().unwrap();
    // A lock does not help against a call that comes twice.
    let spec = careless(&home, node, "twice");
    let text = std::fs::read_to_string(&spec).unwrap();
    let text = text.replace("[read]", "faults = [\"duplicate\"]\n[read]").replace("every =", "once =");
    std::fs::write(&spec, text).unwrap();
    home.output(&["race", &spec, "--through-guard"])
        .exits(1)
        .says("race found through the guard: memory")
        .says("The guard cannot help here")
        .says("delivered twice without a key");
    let spec = careless(&home, node, "lies");
    home.output(&["race", &spec, "--through-guard"]).exits(1).says("The guard took no lock");
    // Nor does it where nothing is shared, and nobody has to race for that.
    let spec = careless(&home, node, "private");
    home.output(&["race", &spec, "--through-guard"])
        .exits(3)
        .says("With the guard nothing can be said: round 0: the instances do not share what they keep");
}

#[test]
fn a_schedule_that_was_saved_before_is_not_taken_for_one_of_a_run_that_found_nothing() {
    let home = Home::new();
    let spec = spec(&home, &[env!("CARGO_BIN_EXE_stanchion"), "--home", "{dir}", "memory"], 1);
    let saved = home.path("race.json");
    let saved = saved.to_str().unwrap();
    let note = format!("note: no race, so no schedule was written to {saved}");
    let said = home.output(&["race", &spec, "--save", saved]).exits(0).says(&note);
    assert!(!said.err.contains("earlier run"), "{said:?}");
    std::fs::write(saved, "old").unwrap();
    home.output(&["race", &spec, "--save", saved])
        .exits(0)
        .says(&format!("{note}; what is there is of an earlier run"));
    assert_eq!(std::fs::read_to_string(saved).unwrap(), "old");
}

#[test]
fn what_cannot_be_guarded_or_written_is_told_before_anything_is_started() {
    let home = Home::new();
    let mark = home.path("started");
    let file = spec(&home, &["sh", "-c", &format!("touch {}", mark.display())], 1);
    home.output(&["race", &file, "--policy", "@memory"]).exits(2).says("--through-guard");
    home.output(&["race", &file, "--through-guard", "--policy", "@memroy"])
        .exits(2)
        .says("there is no such ready-made policy");
    home.output(&["race", &file, "--html", "/no/such/folder/x.html"]).exits(2).says("there is no such folder");
    home.output(&["race", &file, "--junit", "/"]).exits(2).says("it is a folder");
    let http = home.path("http.toml");
    let text = "version = 1\nname = \"x\"\n[target]\nkind = \"http\"\nurls = [\"http://127.0.0.1:9\"]\n[[call]]\npath = \"/\"\n[expect]\nanswers = true\n";
    std::fs::write(&http, text).unwrap();
    home.output(&["race", http.to_str().unwrap(), "--through-guard"]).exits(2).says("stanchion proxy");
    assert!(!mark.exists());
    // What is inconclusive is written down as well.
    let junit = home.path("race.xml");
    home.output(&["race", &file, "--junit", junit.to_str().unwrap()]).exits(3);
    assert!(std::fs::read_to_string(junit).unwrap().contains("<error type=\"inconclusive\""));
}

#[test]
fn what_is_wrong_and_what_cannot_be_said_have_codes_of_their_own() {
    let home = Home::new();
    let spec = spec(&home, &["false"], 1);
    home.output(&["race", &spec]).exits(3).says("inconclusive: memory").says("does not start");
    home.output(&["race", "/no/such/file"]).exits(2).says("cannot be read");
    home.output(&["race", &spec, "--schedule", &spec]).exits(2).says("the schedule cannot be used");
    home.output(&["race", &spec, "--seed", "-1"]).exits(2);
    home.output(&["race", &spec, "--store", "memory:"]).exits(2).says("a race has no store");
    home.output(&["race", &spec, "--durability", "power"]).exits(2).says("a race has no store");
    home.output(&["race", &spec, "--durability", "process"]).exits(3);
    let text = std::fs::read_to_string(&spec).unwrap();
    std::fs::write(&spec, text.replace("every =", "evry =")).unwrap();
    home.output(&["race", &spec]).exits(2).says("did you mean `every`?").says("(expect.evry)");
    home.output(&["help", "race"]).exits(0).says("Exit codes").says("--allow-remote");
}

#[test]
fn an_interrupted_race_leaves_no_process_behind() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        interrupted(name, code);
    }
}

fn interrupted(name: &str, code: i32) {
    let home = Home::new();
    let mark = home.path("started");
    let script = format!("echo $$ > {0}.part; mv {0}.part {0}; exec sleep 600", mark.display());
    let spec = spec(&home, &["sh", "-c", &script], 1);
    let mut racing = home.command(&["race", &spec]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually_sync(PATIENCE, "the target is started", || mark.exists());
    let target = std::fs::read_to_string(&mark).unwrap();
    let stat = Path::new("/proc").join(target.trim()).join("stat");
    // A dead process stays until its new parent looks.
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(lives());
    signal(racing.id(), name);
    let ended = racing.wait().unwrap();
    assert_eq!(ended.code(), Some(code), "{name}");
    eventually_sync(PATIENCE, "the target is gone", || !lives());
}
