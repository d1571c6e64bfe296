//! `memory check` and `memory repair`.

use serde_json::{Value, json};

use super::{create, graph, line, names, output, server};
use crate::support::Home;

const BROKEN: &str = r#"{"type":"entity","name":"Bro"#;

fn damaged(home: &Home) -> std::path::PathBuf {
    let path = home.path("memory.jsonl");
    std::fs::write(&path, format!("{}\n{BROKEN}\n{}\nnot json\n", line("Ada"), line("Cleo")))
        .expect("it can be written");
    path
}

#[test]
fn a_check_changes_nothing_and_a_repair_sets_aside_what_it_found() {
    let home = Home::new();
    let path = damaged(&home);
    let before = std::fs::read(&path).unwrap();
    let said = output(&home, &["check"]).exits(1).says("is damaged").says("line 2").says("line 4").says("repair");
    assert!(said.out.contains("entities 2"), "{said:?}");
    let report: Value = serde_json::from_str(&output(&home, &["check", "--json"]).exits(1).out).unwrap();
    assert_eq!(
        (&report["sound"], &report["entities"], &report["damaged"][0]["line"]),
        (&json!(false), &json!(2), &json!(2))
    );
    assert_eq!(std::fs::read(&path).unwrap(), before, "a check only looks");

    output(&home, &["repair"]).exits(0).says("is good").says("memory.jsonl.damaged");
    assert_eq!(names(&path), ["Ada", "Cleo"]);
    let aside = std::fs::read_to_string(home.path("memory.jsonl.damaged")).unwrap();
    assert!(aside.contains("\"Bro") || aside.contains("\\\"Bro"), "{aside}");
    assert!(aside.contains("not json"), "{aside}");
    output(&home, &["check"]).exits(0).says("is good");
    output(&home, &["repair"]).exits(0).says("nothing to repair");
    assert_eq!(
        std::fs::read_to_string(home.path("memory.jsonl.damaged")).unwrap(),
        aside,
        "nothing is set aside twice"
    );
}

#[test]
fn a_damaged_file_is_served_and_the_caller_is_told() {
    let home = Home::new();
    let path = damaged(&home);
    let mut client = server(&home, &[]);
    assert_eq!(graph(&mut client)["entities"].as_array().unwrap().len(), 2);
    create(&mut client, "Dan");
    assert_eq!(names(&path), ["Ada", "Cleo", "Dan"]);
    let aside = std::fs::read_to_string(home.path("memory.jsonl.damaged")).unwrap();
    assert!(aside.contains("not json"), "{aside}");
    output(&home, &["check"]).exits(0);
}

#[test]
fn a_missing_file_is_an_empty_graph_and_stays_missing() {
    let home = Home::new();
    output(&home, &["check"]).exits(0).says("not there yet");
    output(&home, &["export"]).exits(0);
    assert!(!home.path("memory.jsonl").exists());
    let mut client = server(&home, &[]);
    assert_eq!(graph(&mut client), json!({"entities": [], "relations": []}));
    assert!(!home.path("memory.jsonl").exists(), "reading makes nothing");
}

#[test]
fn a_byte_order_mark_is_found_and_removed() {
    let home = Home::new();
    let path = home.path("memory.jsonl");
    std::fs::write(&path, format!("\u{feff}{}\r\n{}\r\n", line("Ada"), line("Brook"))).unwrap();
    output(&home, &["check"]).exits(1).says("byte order mark");
    output(&home, &["repair"]).exits(0);
    assert_eq!(names(&path), ["Ada", "Brook"]);
    output(&home, &["check"]).exits(0);
}
