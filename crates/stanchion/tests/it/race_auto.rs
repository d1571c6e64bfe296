//! `race` where nobody wrote a specification: `--auto`, and what `audit --emit-probe` wrote.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::path::Path;

use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;

use crate::support::{Home, Said};

const STANCHION: &str = env!("CARGO_BIN_EXE_stanchion");
const FILE: &str = "MEMORY_FILE_PATH={dir}/memory.jsonl";

fn official(peers: &Peers) -> Vec<String> {
    let words = [peers.node().to_owned(), peers.memory_server()];
    words.iter().map(|word| word.to_str().unwrap().to_owned()).collect()
}

fn auto(home: &Home, options: &[&str], command: &[&str]) -> Said {
    let words = ["race", "--auto", "--seed", "7"].iter().chain(options).chain(&["--"]).chain(command);
    home.output(&words.copied().collect::<Vec<_>>())
}

#[test]
fn the_official_server_is_found_to_race_and_the_saved_specification_finds_it_again() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let command = official(&peers);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let saved = home.path("made.toml");
    let saved = saved.to_str().unwrap();
    auto(&home, &["--env", FILE, "--save-spec", saved], &command)
        .exits(1)
        .says("race found: create_entities, shown by read_graph")
        .says(" lost · minimal: 2 calls, 1 instance");
    home.output(&["race", saved]).exits(1).says("race found");
    auto(&home, &["--env", FILE, "--json"], &command).exits(1).says("\"outcome\": \"race\"");
}

#[test]
fn ours_and_the_guarded_official_one_are_not() {
    let peers = peers_or_skip!();
    let home = Home::new();
    auto(&home, &[], &[STANCHION, "--home", "{dir}", "memory"])
        .exits(0)
        .says("tool = \"create_entities\"")
        .says("nothing found: create_entities, shown by read_graph");
    let guarded = guarded(&peers);
    let guarded: Vec<&str> = guarded.iter().map(String::as_str).collect();
    auto(&home, &["--env", FILE], &guarded).exits(0).says("nothing found: create_entities");
}

/// Pages and outputs are handed on; only the file that is played has everything.
#[test]
fn what_may_be_a_key_is_not_shown_and_the_saved_specification_has_it() {
    let home = Home::new();
    let ours = [STANCHION, "--home", "{dir}", "memory"];
    let (html, saved) = (home.path("race.html"), home.path("made.toml"));
    let env = ["--env", "API_KEY=s3cret", "--env", "FOLDER={dir}/x", "--html", html.to_str().unwrap()];
    let said = auto(&home, &env, &ours).exits(0).says("API_KEY = \"…\", FOLDER = \"{dir}/x\"").says("--save-spec FILE");
    assert!(!said.out.contains("s3cret") && !said.err.contains("s3cret"), "{said:?}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("API_KEY=…") && page.contains("FOLDER={dir}/x") && !page.contains("s3cret"));
    auto(&home, &[&env[..4], &["--save-spec", saved.to_str().unwrap()]].concat(), &ours).exits(0);
    assert!(std::fs::read_to_string(saved).unwrap().contains("API_KEY = \"s3cret\""));
}

fn guarded(peers: &Peers) -> Vec<String> {
    let wrap = [STANCHION, "--home", "{dir}/home", "wrap", "--"].map(str::to_owned);
    wrap.into_iter().chain(official(peers)).collect()
}

#[test]
fn a_wrong_command_line_is_told_as_such() {
    let home = Home::new();
    home.output(&["race"]).exits(2);
    home.output(&["race", "--auto"]).exits(2);
    home.output(&["race", "--auto", "spec.toml"]).exits(2);
    home.output(&["race", "--auto", "--env", "x", "--", "true"]).exits(2).says("NAME=VALUE");
    home.output(&["race", "spec.toml", "--save-spec", "x"]).exits(2);
    auto(&home, &[], &["false"]).exits(3).says("inconclusive: false").says("does not start");
}

/// From source code to a proven race, with nothing filled in.
#[test]
fn a_probe_of_the_official_server_needs_nothing_and_shows_its_race() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let source = peers.memory_server();
    let (folder, code) = (home.path("server"), std::fs::read_to_string(&source).unwrap());
    std::fs::create_dir(&folder).unwrap();
    // Where its own packages are found.
    let modules = source.ancestors().find(|it| it.ends_with("node_modules")).unwrap();
    std::os::unix::fs::symlink(modules, folder.join("node_modules")).unwrap();
    std::fs::write(folder.join("index.js"), code).unwrap();
    std::fs::write(folder.join("package.json"), r#"{"type": "module", "bin": "index.js"}"#).unwrap();
    let run = |args: &[&str]| Said::from(home.command(args).current_dir(&folder).output().unwrap());
    run(&["audit", "--emit-probe", "probes", "."]).exits(1);
    // Several tools lose updates; of what is deleted nothing is there to be lost.
    let is_creation = |path: &String| {
        let text = std::fs::read_to_string(path).unwrap();
        text.contains("code = \"RC101\"") && text.contains("tool = \"create_entities\"")
    };
    let probe = probes(&folder).into_iter().find(is_creation).unwrap();
    run(&["race", &probe, "--seed", "3"]).exits(1).says("race found: RC101").says(" lost");
}

fn probes(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder.join("probes")).unwrap();
    all.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect()
}

/// What `docs/race.md` says of a hundred seeds.
fn hundred_seeds(command: &[String], code: i32) {
    let home = Home::new();
    let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    let text = format!(
        "version = 1\nname = \"seeds\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [{}]\nstart_seconds = 60\n\
         env = {{ HOME = \"{{dir}}\", MEMORY_FILE_PATH = \"{{dir}}/memory.jsonl\" }}\n\
         [limits]\nrounds = 2\nseconds = 120\n[[call]]\ntool = \"create_entities\"\n\
         arguments = {{ entities = [{{ name = \"{{id}}\", entityType = \"t\", observations = [] }}] }}\n\
         faults = [\"delay\", \"lost-reply\"]\n\
         [read]\ntool = \"read_graph\"\nselect = \"/entities/*/name\"\n[expect]\nevery = \"{{id}}\"\nunique = true\n",
        words.join(", ")
    );
    let file = home.path("seeds.toml");
    std::fs::write(&file, text).unwrap();
    for seed in 0..100 {
        home.output(&["race", file.to_str().unwrap(), "--seed", &seed.to_string()]).exits(code);
    }
}

#[test]
#[ignore = "minutes"]
fn a_hundred_seeds_find_the_official_server() {
    hundred_seeds(&official(&peers_or_skip!()), 1);
}

#[test]
#[ignore = "minutes"]
fn a_hundred_seeds_do_not_find_ours() {
    hundred_seeds(&[STANCHION, "--home", "{dir}", "memory"].map(str::to_owned), 0);
}

#[test]
#[ignore = "minutes"]
fn a_hundred_seeds_do_not_find_the_official_one_behind_the_guard() {
    hundred_seeds(&guarded(&peers_or_skip!()), 0);
}

#[test]
fn without_anything_to_race_it_says_what_is_missing() {
    let home = Home::new();
    home.output(&["race"]).exits(2).says("stanchion race --auto [OPTIONS] -- <COMMAND>...");
    home.output(&["race", "--auto"]).exits(2).says("--auto needs the command of a server after `--`, or --url");
}
