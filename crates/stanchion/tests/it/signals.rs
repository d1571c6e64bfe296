//! Signals, kills, and who survives whom.

use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE};

#[test]
fn sigterm_reaches_the_command_and_its_code_comes_back() {
    let home = Home::new();
    let mark = home.path("ready");
    let script = format!("trap 'exit 42' TERM; : > {}; while :; do sleep 0.02; done", mark.display());
    let mut process =
        home.command(&["run", "--lock", "a", "--", "sh", "-c", &script]).spawn().expect("stanchion starts");
    eventually_sync(PATIENCE, "the command runs", || mark.exists());
    crate::support::signal(process.id(), "TERM");
    assert_eq!(process.wait().expect("it ends").code(), Some(42));
}

#[test]
fn a_second_interrupt_kills_a_command_that_ignores_the_first() {
    let home = Home::new();
    let mark = home.path("ready");
    let script = format!("trap '' INT; : > {}; while :; do sleep 0.02; done", mark.display());
    let mut process =
        home.command(&["run", "--lock", "a", "--", "sh", "-c", &script]).spawn().expect("stanchion starts");
    eventually_sync(PATIENCE, "the command runs", || mark.exists());
    // Two signals that arrive together are one; so again until it has ended.
    eventually_sync(PATIENCE, "the command is killed", || {
        if process.try_wait().expect("it can be asked").is_some() {
            return true;
        }
        crate::support::signal(process.id(), "INT");
        false
    });
    assert_eq!(process.wait().expect("it ends").code(), Some(137));
}

#[test]
fn killing_stanchion_kills_the_command_and_frees_the_lock() {
    let home = Home::new();
    let holding = home.hold("a", &[]);
    holding.signal("KILL");
    eventually_sync(PATIENCE, "the command dies with stanchion", || !holding.child_lives());
    home.output(&["run", "--lock", "a", "--wait", "10s", "--", "true"]).exits(0);
}

#[test]
fn an_orphaned_grandchild_still_excludes_others() {
    let home = Home::new();
    let (mark, pid_file) = (home.path("ready"), home.path("pid"));
    let script =
        format!("setsid sh -c 'echo $$ > {}; : > {}; exec sleep 60' & wait", pid_file.display(), mark.display());
    let mut process =
        home.command(&["run", "--lock", "a", "--", "sh", "-c", &script]).spawn().expect("stanchion starts");
    eventually_sync(PATIENCE, "the grandchild runs", || mark.exists());
    process.kill().expect("stanchion can be killed");
    process.wait().expect("it ends");
    home.output(&["run", "--lock", "a", "--wait", "100ms", "--", "true"]).exits(75);
    let pid: u32 = std::fs::read_to_string(&pid_file).expect("a pid").trim().parse().expect("a number");
    crate::support::signal(pid, "KILL");
    home.output(&["run", "--lock", "a", "--wait", "10s", "--", "true"]).exits(0);
}

#[test]
fn a_waiter_leaves_the_queue_at_once_when_told_to() {
    let home = Home::new();
    let holding = home.hold("a", &[]);
    let err = std::process::Stdio::piped();
    let mut waiter = home
        .command(&["run", "--lock", "a", "--wait", "forever", "--", "true"])
        .stderr(err)
        .spawn()
        .expect("stanchion starts");
    eventually_sync(PATIENCE, "the waiter listens to signals", || caught(waiter.id(), 15));
    crate::support::signal(waiter.id(), "TERM");
    assert_eq!(waiter.wait().expect("it ends").code(), Some(143));
    holding.finish().exits(0);
    home.output(&["run", "--lock", "a", "--wait", "0", "--", "true"]).exits(0);
}

#[test]
fn nohup_keeps_its_meaning() {
    let home = Home::new();
    let said = home.command(&["run", "--lock", "a", "--", "sh", "-c", "grep SigIgn /proc/self/status"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .env("STANCHION_HOME", home.path(""))
        .arg("-c")
        .arg("trap '' HUP; exec \"$@\"")
        .arg("sh")
        .arg(said.get_program())
        .args(said.get_args());
    let out = String::from_utf8(shell.output().expect("a shell").stdout).expect("utf-8");
    let mask = u64::from_str_radix(out.trim_start_matches("SigIgn:").trim(), 16).expect("a mask");
    assert_eq!(mask & 1, 1, "SIGHUP is still ignored: {out}");
}

/// Does the process have a handler for this signal?
fn caught(pid: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim).unwrap_or("0");
    u64::from_str_radix(mask, 16).unwrap_or(0) & (1 << (signal - 1)) != 0
}
