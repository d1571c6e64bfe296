//! Which file, and what is refused.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{call, command, create, graph, line, names, output, server};
use crate::stdio_client::StdioClient;
use crate::support::{Home, Said};

#[test]
fn the_default_file_is_in_the_state_folder_and_is_named_at_the_start() {
    let home = Home::new();
    let mut client = server(&home, &[]);
    create(&mut client, "Ada");
    assert_eq!(client.code(), Some(0), "the end of the input is the end of the server");
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada"]);
    let said = client.stderr();
    assert!(
        said.contains(&home.path("memory.jsonl").display().to_string()) && said.contains("durability=process"),
        "{said}"
    );
    assert!(!home.path("stanchion.db").exists(), "nobody sent a key, so nothing else was opened");
    let mut quiet = server(&home, &["--quiet", "--durability", "power"]);
    create(&mut quiet, "Brook");
    assert_eq!((quiet.code(), quiet.stderr().as_str()), (Some(0), ""));
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada", "Brook"]);
}

#[test]
fn a_relative_variable_is_meant_from_the_state_folder_and_a_relative_option_from_here() {
    let (home, here) = (Home::new(), tempfile::tempdir().unwrap());
    let start = |options: &[&str], variable: &str| {
        let mut command = command(&home, options);
        command.env("MEMORY_FILE_PATH", variable).current_dir(here.path());
        StdioClient::start(command).initialised()
    };
    create(&mut start(&[], "named.jsonl"), "by variable");
    assert_eq!(names(&home.path("named.jsonl")), ["by variable"]);
    assert!(!here.path().join("named.jsonl").exists());
    create(&mut start(&["--file", "option.jsonl"], "named.jsonl"), "by option");
    assert_eq!(names(&here.path().join("option.jsonl")), ["by option"]);
    create(&mut start(&[], ""), "by default");
    assert_eq!(names(&home.path("memory.jsonl")), ["by default"]);
    let absolute = here.path().join("absolute.jsonl");
    create(&mut start(&[], absolute.to_str().unwrap()), "absolute");
    assert_eq!(names(&absolute), ["absolute"]);
    assert_eq!(names(&home.path("named.jsonl")), ["by variable"]);
}

#[test]
fn an_old_memory_json_takes_the_new_name_once_and_only_by_default() {
    let home = Home::new();
    let (old, new) = (home.path("memory.json"), home.path("memory.jsonl"));
    std::fs::write(&old, line("Old")).unwrap();
    let other = home.path("other.jsonl");
    drop(server(&home, &["--file", other.to_str().unwrap()]));
    assert!(old.exists(), "a file that was named has nothing to do with it");
    let mut client = server(&home, &[]);
    assert_eq!(graph(&mut client)["entities"][0]["name"], "Old");
    assert_eq!(client.code(), Some(0));
    let said = client.stderr();
    assert!(said.contains("found memory.json") && said.contains("renamed to"), "{said}");
    assert!(!old.exists() && names(&new) == ["Old"]);
    std::fs::write(&old, line("Older")).unwrap();
    let mut client = server(&home, &[]);
    assert_eq!(graph(&mut client)["entities"][0]["name"], "Old");
    assert!(old.exists() && names(&new) == ["Old"], "a new file is never replaced");
}

#[test]
fn processes_that_start_together_rename_an_old_memory_json_once_and_all_read_it() {
    for _ in 0..5 {
        let home = Home::new();
        std::fs::write(home.path("memory.json"), line("Old")).unwrap();
        let clients: Vec<_> = (0..8).map(|_| StdioClient::start(command(&home, &[]))).collect();
        for (n, client) in clients.into_iter().enumerate() {
            create(&mut client.initialised(), &format!("new-{n}"));
        }
        let mut found = names(&home.path("memory.jsonl"));
        found.sort();
        let wanted: Vec<_> = (0..8).map(|n| format!("new-{n}")).collect();
        assert_eq!(found, [&["Old".to_owned()], &wanted[..]].concat());
        assert!(!home.path("memory.json").exists());
    }
}

#[test]
fn an_old_memory_json_that_is_a_document_is_read_and_becomes_lines_when_it_is_written() {
    let home = Home::new();
    let document = json!({"entities": [super::entity("Ada", &["x"])], "relations": []});
    std::fs::write(home.path("memory.json"), document.to_string()).unwrap();
    let mut client = server(&home, &[]);
    assert_eq!(graph(&mut client)["entities"][0]["name"], "Ada");
    create(&mut client, "Brook");
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada", "Brook"]);
}

#[test]
fn a_link_stays_a_link_and_the_file_keeps_its_mode() {
    let home = Home::new();
    std::fs::create_dir(home.path("real")).unwrap();
    let (real, link) = (home.path("real/notes.jsonl"), home.path("link.jsonl"));
    std::fs::write(&real, line("Ada")).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut client = server(&home, &["--file", link.to_str().unwrap()]);
    create(&mut client, "Brook");
    let more = json!({"observations": [{"entityName": "Ada", "contents": ["more"]}]});
    call(&mut client, "add_observations", &more);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(&real), ["Ada", "Brook"]);
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn strict_leaves_what_the_official_server_would_have_written_and_no_side_files_but_ours() {
    let home = Home::new();
    let mut client = server(&home, &["--compat", "strict", "--wait", "5s"]);
    create(&mut client, "Ada");
    create(&mut client, "Brook");
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada", "Brook"]);
    let mut files: Vec<_> = std::fs::read_dir(home.path("")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, [".memory.jsonl.stanchion", "memory.jsonl"]);
}

#[test]
fn places_that_cannot_be_are_refused_with_their_reason() {
    let home = Home::new();
    let folder = home.path("");
    output(&home, &["--file", folder.to_str().unwrap()]).exits(78).says("is a folder");
    let missing = home.path("missing/memory.jsonl");
    output(&home, &["--file", missing.to_str().unwrap()]).exits(78).says("does not exist").says("create it");
    output(&home, &["--file", "a.jsonl", "--store", "memory:"]).exits(78).says("--file and --store").says("import");
    output(&home, &["--name", "team"]).exits(78).says("--name").says("--store");
    let locks = format!("file:{}", home.path("locks").display());
    output(&home, &["--store", &locks]).exits(78).says("keeps no records").says("sqlite:");
    output(&home, &["--store", "memory:", "--name", ""]).exits(78).says("1 to 512");
    output(&home, &["check", "--http", "127.0.0.1:0"]).exits(2);
    output(&home, &["--http", "127.0.0.1:0", "check"]).exits(78).says("--http");
}

#[test]
fn values_that_cannot_be_are_refused_with_what_is_allowed() {
    let home = Home::new();
    for (option, value, allowed) in [
        ("--wait", "5", "whole number and a unit"),
        ("--wait", "2h", "0 to 1h"),
        ("--wait", "-5s", "whole number and a unit"),
        ("--compat", "loose", "append, strict"),
        ("--durability", "eternal", "process, power"),
        ("--http", "nowhere", "--http"),
    ] {
        output(&home, &[&format!("{option}={value}")]).exits(2).says(allowed);
    }
    output(&home, &["--token-env", "TOKEN"]).exits(2).says("--http");
    output(&home, &["chekc"]).exits(2).says("check");
    output(&home, &["import"]).exits(2).says("FILE");
    Said::from(home.command(&["help", "exit-codes"]).output().unwrap()).exits(0).says("`memory check`");
    Said::from(home.command(&["help", "environment"]).output().unwrap()).exits(0).says("MEMORY_FILE_PATH");
}

/// Somebody who may read the file and not write it: reads go on, a write says why not.
#[test]
fn a_file_that_may_not_be_written_can_still_be_read() {
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let (home, shared) = (Home::new(), tempfile::tempdir().unwrap());
    let file = shared.path().join("memory.jsonl");
    std::fs::write(&file, line("Ada")).unwrap();
    let program = shared.path().join("stanchion");
    std::fs::copy(env!("CARGO_BIN_EXE_stanchion"), &program).unwrap();
    for (path, mode) in [(shared.path(), 0o755), (&file, 0o644), (&program, 0o755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let state = shared.path().join("state");
    std::fs::create_dir(&state).unwrap();
    // Only the superuser can become somebody else.
    if std::os::unix::fs::chown(&state, Some(NOBODY), None).is_err() {
        eprintln!("SKIPPED: this needs the rights of the superuser");
        return;
    }
    let mut command = std::process::Command::new(&program);
    command.arg("--home").arg(&state).args(["memory", "--file"]).arg(&file).uid(NOBODY).current_dir("/");
    for name in ["STANCHION_STORE", "STANCHION_CHAOS", "MEMORY_FILE_PATH"] {
        command.env_remove(name);
    }
    let mut client = StdioClient::start(command).initialised();
    assert_eq!(graph(&mut client)["entities"][0]["name"], "Ada");
    let create = json!({"entities": [super::entity("Brook", &[])]});
    let answer = client.ask("2", "create_entities", &create, &serde_json::Value::Null);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), line("Ada"));
    drop(home);
}
