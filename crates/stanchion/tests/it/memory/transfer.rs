//! `memory export` and `memory import`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::{call, command, create, line, names, output, server};
use crate::support::{Home, Said};

/// A home whose memory has two entities and a relation.
fn filled() -> Home {
    let home = Home::new();
    let mut client = server(&home, &[]);
    create(&mut client, "Ada");
    create(&mut client, "Brook");
    let relation = json!({"from": "Ada", "to": "Brook", "relationType": "knows"});
    call(&mut client, "create_relations", &json!({"relations": [relation]}));
    home
}

#[test]
fn an_export_imported_elsewhere_is_the_same_graph() {
    let (from, to) = (filled(), Home::new());
    let copy = to.path("copy.jsonl");
    let copy = copy.to_str().unwrap();
    output(&from, &["export", "-o", copy]).exits(0);
    let said = output(&to, &["import", copy]).exits(0).says("entities 2 new").says("relations 1 new");
    assert!(said.err.is_empty(), "{said:?}");
    let exported = output(&from, &["export"]).exits(0).out;
    assert_eq!(output(&to, &["export"]).exits(0).out, exported);
    assert_eq!(exported.lines().count(), 3);
    output(&to, &["import", copy]).exits(0).says("entities 0 new").says("2 known").says("relations 0 new, 1 known");
    assert_eq!(output(&to, &["export"]).exits(0).out, exported, "a second import changes nothing");
}

#[test]
fn an_export_replaces_nothing_unless_it_is_told_to_and_never_the_memory_itself() {
    let home = filled();
    let file = home.path("there.txt");
    std::fs::write(&file, "precious").unwrap();
    let there = file.to_str().unwrap();
    output(&home, &["export", "-o", there]).exits(78).says("--force");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    output(&home, &["export", "-o", there, "--force"]).exits(0);
    assert_eq!(names(&file), ["Ada", "Brook"]);
    let own = home.path("memory.jsonl");
    let before = std::fs::read(&own).unwrap();
    output(&home, &["export", "--force", "-o", own.to_str().unwrap()]).exits(78).says("itself");
    assert_eq!(std::fs::read(&own).unwrap(), before);
    output(&home, &["export", "-o", home.path("no/such/folder").to_str().unwrap()]).exits(78).says("cannot be written");
    output(&home, &["export", "--force"]).exits(2).says("--output");
}

#[test]
fn an_import_adds_to_what_is_there_and_says_what_it_could_not_understand() {
    let home = filled();
    let text = format!(
        "{}\n{}\nhalf a li",
        json!({"type": "entity", "name": "Ada", "entityType": "person", "observations": ["first", "second"]}),
        line("Cleo")
    );
    let mut command = command(&home, &["import", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut import = command.spawn().unwrap();
    import.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = Said::from(import.wait_with_output().unwrap()).exits(1);
    said.says("entities 1 new, 1 with more observations, 0 known").says("line 3");
    let mut client = server(&home, &[]);
    let ada = call(&mut client, "open_nodes", &json!({"names": ["Ada"]}));
    assert_eq!(ada["entities"][0]["observations"], json!(["first", "second"]));
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada", "Brook", "Cleo"]);
}

#[test]
fn an_import_of_nothing_that_is_there_is_refused() {
    let home = Home::new();
    output(&home, &["import", "/no/such/file"]).exits(78).says("cannot be read").says("/no/such/file");
    output(&home, &["import", home.path("").to_str().unwrap()]).exits(78).says("cannot be read");
    assert!(!home.path("memory.jsonl").exists());
}

#[test]
fn a_reader_that_goes_away_ends_an_export_quietly() {
    let home = filled();
    let mut import = command(&home, &["import", "-"]);
    let mut import = import.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // More than a pipe holds.
    let many: Vec<_> = (0..5_000).map(|n| line(&format!("entity-{n}"))).collect();
    import.stdin.take().unwrap().write_all(many.join("\n").as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    let mut export = command(&home, &["export"]);
    let mut export = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(export.stdout.take());
    let said = Said::from(export.wait_with_output().unwrap()).exits(0);
    assert_eq!(said.err, "");
}
