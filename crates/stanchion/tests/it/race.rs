//! `race`: the official memory server loses what it acknowledged, ours does not, and everything else is told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::path::Path;
use std::process::Stdio;

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

#[test]
fn what_is_wrong_and_what_cannot_be_said_have_codes_of_their_own() {
    let home = Home::new();
    let spec = spec(&home, &["false"], 1);
    home.output(&["race", &spec]).exits(3).says("inconclusive: memory").says("does not start");
    home.output(&["race", "/no/such/file"]).exits(2).says("cannot be read");
    home.output(&["race", &spec, "--schedule", &spec]).exits(2).says("the schedule cannot be used");
    home.output(&["race", &spec, "--seed", "-1"]).exits(2);
    let text = std::fs::read_to_string(&spec).unwrap();
    std::fs::write(&spec, text.replace("every =", "evry =")).unwrap();
    home.output(&["race", &spec]).exits(2).says("did you mean `every`?").says("(expect.evry)");
    home.output(&["help", "race"]).exits(0).says("Exit codes").says("--allow-remote");
}

#[test]
fn an_interrupted_race_leaves_no_process_behind() {
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
    signal(racing.id(), "INT");
    let ended = racing.wait().unwrap();
    assert_eq!(ended.code(), Some(130));
    eventually_sync(PATIENCE, "the target is gone", || !lives());
}
