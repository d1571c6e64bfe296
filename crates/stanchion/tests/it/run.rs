//! The run contract on the embedded store.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::Home;

#[test]
fn the_exit_code_of_the_command_passes_unchanged() {
    let home = Home::new();
    home.output(&["run", "--lock", "a", "--", "true"]).exits(0);
    home.output(&["run", "--lock", "a", "--", "sh", "-c", "exit 7"]).exits(7);
    home.output(&["run", "--lock", "a", "--", "sh", "-c", "exit 76"]).exits(76).never_says("lost");
    home.output(&["run", "--lock", "a", "--", "sh", "-c", "kill -9 $$"]).exits(137);
}

#[test]
fn a_busy_lock_gives_75_and_names_the_holder() {
    let home = Home::new();
    let holding = home.hold("deploy", &[]);
    let pid = holding.pid().to_string();
    home.output(&["run", "--lock", "deploy", "--wait", "0", "--", "true"]).exits(75).says(&pid).says("hint:");
    home.output(&["run", "--lock", "deploy", "--wait", "50ms", "--", "true"]).exits(75).says(&pid);
    home.output(&["run", "--lock", "deploy", "--wait", "0", "-E", "9", "--", "true"]).exits(9);
    holding.finish().exits(0);
    home.output(&["run", "--lock", "deploy", "--wait", "0", "--", "true"]).exits(0);
}

#[test]
fn if_busy_skip_exits_0_without_a_word() {
    let home = Home::new();
    let _holding = home.hold("nightly", &[]);
    let said =
        home.output(&["run", "--lock", "nightly", "--wait", "0", "--if-busy", "skip", "--", "echo", "ran"]).exits(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
}

#[test]
fn the_options_of_the_command_are_never_ours() {
    let home = Home::new();
    let said = home.output(&["run", "--lock", "a", "echo", "--lock", "b", "--json", "-q", "--", "-E"]).exits(0);
    assert_eq!(said.out, "--lock b --json -q -- -E\n");
    let said = home.output(&["run", "--lock", "a", "--", "printf", "%s|", "a b", "$HOME", "*"]).exits(0);
    assert_eq!(said.out, "a b|$HOME|*|", "no shell is involved");
}

#[test]
fn the_command_learns_its_fence_and_fences_grow() {
    let home = Home::new();
    let fence = || {
        let said = home.output(&[
            "run",
            "--lock",
            "budget:atlas",
            "--",
            "sh",
            "-c",
            "echo $STANCHION_FENCE $STANCHION_FENCE_BUDGET_ATLAS $STANCHION_LOCK ${#STANCHION_LEASE_ID}",
        ]);
        let words: Vec<String> = said.exits(0).out.split_whitespace().map(str::to_owned).collect();
        assert_eq!((words[0].clone(), words[2].as_str(), words[3].as_str()), (words[1].clone(), "budget:atlas", "16"));
        words[0].parse::<u64>().expect("a decimal fence")
    };
    let (first, second) = (fence(), fence());
    assert!(first < second, "{first} < {second}");
}

#[test]
fn a_floor_lifts_the_fence_for_good() {
    let home = Home::new();
    let fence = |floor: &str| {
        let said = home.output(&["run", "--lock", "a", "--floor", floor, "--", "sh", "-c", "echo $STANCHION_FENCE"]);
        said.exits(0).out.trim().parse::<u64>().expect("a fence")
    };
    let first = fence("0");
    let lifted = fence(&(first + 1_000_000).to_string());
    assert!(lifted > first + 1_000_000, "{lifted}");
    assert!(fence("0") > lifted);
}

#[test]
fn a_nested_run_on_the_same_lock_fails_instead_of_waiting() {
    let home = Home::new();
    let me = env!("CARGO_BIN_EXE_stanchion");
    home.output(&["run", "--lock", "a", "--", me, "run", "--lock", "a", "--wait", "forever", "--", "true"])
        .exits(75)
        .says("your parent");
    home.output(&["run", "--lock", "a", "--", me, "run", "--lock", "b", "--", "true"]).exits(0);
    let deep = [
        "run", "--lock", "a", "--", me, "run", "--lock", "b", "--", me, "run", "--lock", "a", "--wait", "forever",
        "--", "true",
    ];
    home.output(&deep).exits(75).says("your parent");
}

#[test]
fn an_inherited_environment_of_a_finished_run_does_not_count_as_nested() {
    let home = Home::new();
    let env = home.output(&["run", "--lock", "a", "--", "env"]).exits(0).out;
    let mut command = home.command(&["run", "--lock", "a", "--", "true"]);
    command.envs(env.lines().filter(|line| line.starts_with("STANCHION_")).filter_map(|line| line.split_once('=')));
    assert!(command.status().expect("stanchion starts").success());
}

#[test]
fn a_missing_command_gives_127_and_one_that_cannot_run_126() {
    let home = Home::new();
    home.output(&["run", "--lock", "a", "--", "no-such-command"]).exits(127).says("not found");
    let file = home.path("plain");
    std::fs::write(&file, "text").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    home.output(&["run", "--lock", "a", "--", file.to_str().expect("utf-8")]).exits(126).says("cannot be executed");
}

#[test]
fn several_locks_are_taken_in_one_order_all_or_nothing() {
    let home = Home::new();
    let said = home
        .output(&["run", "--lock", "b", "--lock", "a", "--lock", "b", "--", "sh", "-c", "echo \"$STANCHION_LOCK\""])
        .exits(0);
    assert_eq!(said.out, "a\nb\n");
    let _b = home.hold("b", &[]);
    home.output(&["run", "--lock", "a", "--lock", "b", "--wait", "0", "--", "true"]).exits(75);
    home.output(&["run", "--lock", "a", "--wait", "0", "--", "true"]).exits(0);
}

#[test]
fn shared_holders_are_together_and_slots_admit_n() {
    let home = Home::new();
    let reader = home.hold("page", &["--shared"]);
    home.output(&["run", "--shared", "--lock", "page", "--wait", "0", "--", "true"]).exits(0);
    home.output(&["run", "--lock", "page", "--wait", "0", "--", "true"]).exits(75);
    reader.finish().exits(0);
    let _one = home.hold("gpu", &["--slots", "2"]);
    home.output(&["run", "--slots", "2", "--lock", "gpu", "--wait", "0", "--", "true"]).exits(0);
    let said = home.output(&[
        "run",
        "--slots",
        "2",
        "--lock",
        "gpu",
        "--",
        env!("CARGO_BIN_EXE_stanchion"),
        "run",
        "--slots",
        "2",
        "--lock",
        "gpu",
        "--wait",
        "0",
        "--",
        "true",
    ]);
    said.exits(75);
}

#[test]
fn status_lines_tell_what_really_happened() {
    let home = Home::new();
    let file = home.path("status");
    let script = format!("exec 3>{}; exec \"$0\" run --status-fd 3 --lock a -- sh -c 'exit 75'", file.display());
    let status = home.command(&[]).get_program().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell.env("STANCHION_HOME", home.path("")).arg("-c").arg(script).arg(status);
    assert_eq!(shell.status().expect("a shell").code(), Some(75));
    let lines = std::fs::read_to_string(&file).expect("status lines");
    let events: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["event"]
                .as_str()
                .expect("an event")
                .to_owned()
        })
        .collect();
    assert_eq!(events, ["waiting", "acquired", "child_exit", "released"]);
    assert!(lines.contains("\"code\":75"), "{lines}");
    // A file that is appended to keeps what earlier runs have written.
    let appended = format!("exec 3>>{}; exec \"$0\" run --status-fd 3 --lock a -- true", file.display());
    let mut shell = std::process::Command::new("sh");
    shell.env("STANCHION_HOME", home.path("")).arg("-c").arg(appended).arg(env!("CARGO_BIN_EXE_stanchion"));
    assert!(shell.status().expect("a shell").success());
    let both = std::fs::read_to_string(&file).expect("status lines");
    assert!(both.starts_with(&lines) && both.lines().count() == 8, "{both}");
}
