//! `calls tail|stats`: the log as a person and as a program reads it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use stanchion_mcp::calls::{CallLine, CallLog, FILE_NAME, Verdict, rotated};

use crate::support::{Home, PATIENCE, Running};

fn line(server: &str, tool: &str, verdict: Verdict, number: u64) -> CallLine {
    let mut line = CallLine::new(server, "alice", tool, verdict);
    line.took_us = number;
    line
}

/// Writes these lines as a gateway would.
fn log(home: &Home, lines: impl IntoIterator<Item = CallLine>) {
    let log = CallLog::open(home.path(FILE_NAME)).expect("the log opens");
    lines.into_iter().for_each(|line| log.log(line));
    log.flush().expect("the lines are written");
}

fn values(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn without_a_log_the_next_step_is_said() {
    let home = Home::new();
    home.output(&["calls", "tail"]).exits(0).says("no calls are logged yet").says("stanchion wrap --");
    home.output(&["calls", "stats"]).exits(0).says("no calls are logged yet");
    let said = home.output(&["calls", "stats", "--json"]).exits(0);
    assert_eq!(values(&said.out)[0]["calls"], 0);
    home.output(&["calls", "tail", "--verdict", "odd"]).exits(2).says("replayed");
    home.output(&["calls", "stats", "--since", "5"]).exits(2).says("unit");
}

#[test]
fn the_last_calls_come_last_and_only_those_that_are_asked_for() {
    let home = Home::new();
    log(&home, (0..30).map(|n| line("memory", "write", Verdict::Done, n)));
    let mut busy = line("memory", "write", Verdict::Refused, 30);
    busy.detail = Some("lock_busy".into());
    busy.locks = vec!["memory".into()];
    busy.waited_us = 20_000_000;
    log(&home, [busy, line("git", "commit", Verdict::Replayed, 31)]);

    let said =
        home.output(&["calls", "tail"]).exits(0).says("refused lock_busy").says("waited 20s").says("lock memory");
    assert_eq!(said.out.lines().count(), 20, "{said:?}");
    assert!(said.out.lines().last().unwrap().contains("git commit"), "{said:?}");
    let took = |args: &[&str]| -> Vec<u64> {
        let said = home.output(&[&["calls", "tail", "--json"], args].concat()).exits(0);
        values(&said.out).iter().map(|line| line["took_us"].as_u64().unwrap()).collect()
    };
    assert_eq!(took(&["-n", "3"]), [29, 30, 31]);
    assert_eq!(took(&["-n", "2", "--tool", "write"]), [29, 30]);
    assert_eq!(took(&["--server", "git"]), [31]);
    assert_eq!(took(&["--verdict", "refused"]), [30]);
    assert_eq!(took(&["-n", "2", "--verdict", "done"]), [28, 29]);
    assert_eq!(took(&["-n", "0"]), [] as [u64; 0]);
    home.output(&["calls", "tail", "--tool", "other"]).exits(0).says("no such call");
}

#[test]
fn the_older_file_belongs_to_the_log() {
    let home = Home::new();
    log(&home, (0..5).map(|n| line("memory", "write", Verdict::Done, n)));
    std::fs::rename(home.path(FILE_NAME), rotated(&home.path(FILE_NAME))).unwrap();
    log(&home, (5..8).map(|n| line("memory", "write", Verdict::Done, n)));
    let said = home.output(&["calls", "tail", "-n", "6", "--json"]).exits(0);
    let took: Vec<_> = values(&said.out).iter().map(|line| line["took_us"].as_u64().unwrap()).collect();
    assert_eq!(took, [2, 3, 4, 5, 6, 7]);
    let said = home.output(&["calls", "stats", "--json"]).exits(0);
    assert_eq!(values(&said.out)[0]["calls"], 8);
}

#[test]
fn damaged_lines_are_counted_and_cost_no_other_line() {
    let home = Home::new();
    log(&home, [line("memory", "write", Verdict::Done, 1)]);
    let mut text = std::fs::read(home.path(FILE_NAME)).unwrap();
    text.extend_from_slice(b"{\"at_ms\":\n\xff\xfe\n\n");
    std::fs::write(home.path(FILE_NAME), text).unwrap();
    log(&home, [line("memory", "write", Verdict::Done, 2)]);
    let said = home.output(&["calls", "tail", "--json"]).exits(0).says("2 damaged lines");
    assert_eq!(values(&said.out).len(), 2);
    home.output(&["calls", "stats"]).exits(0).says("2 damaged lines");
    let said = home.output(&["calls", "stats", "--json"]).exits(0);
    assert_eq!((&values(&said.out)[0]["calls"], &values(&said.out)[0]["damaged"]), (&2.into(), &2.into()));
}

#[test]
fn what_a_stranger_wrote_cannot_steer_the_terminal() {
    let home = Home::new();
    let mut hostile = line("memory", "\u{1b}[2Jfine\ndone", Verdict::Refused, 1);
    hostile.detail = Some("\u{9b}31m".into());
    log(&home, [hostile]);
    for args in [&["calls", "tail"][..], &["calls", "stats"]] {
        let said = home.output(args).exits(0).says("fine");
        assert!(!said.out.contains(['\u{1b}', '\u{9b}']) && !said.out.contains("\ndone"), "{said:?}");
    }
}

#[test]
fn stats_count_by_tool_and_give_times_of_calls_that_had_them() {
    let home = Home::new();
    let writes = (1..=100).map(|n| {
        let mut line = line("memory", "write", Verdict::Done, n * 1000);
        line.locks = vec!["memory".into()];
        (line.waited_us, line.held_us) = (n, n * 10);
        line
    });
    log(&home, writes);
    let mut refused = line("memory", "write", Verdict::Refused, 5);
    refused.detail = Some("lock_busy".into());
    let mut limited = refused.clone();
    limited.detail = Some("rate_limited".into());
    let mut old = line("memory", "write", Verdict::Done, 9);
    old.at_ms -= 2 * 3_600_000;
    let others = [line("memory", "write", Verdict::Replayed, 5), line("memory", "write", Verdict::Unknown, 5)];
    log(&home, [refused.clone(), refused, limited, old].into_iter().chain(others));
    log(&home, [line("memory", "read", Verdict::Passed, 7)]);

    let said = home.output(&["calls", "stats", "--json"]).exits(0);
    let value = &values(&said.out)[0];
    let tool = &value["tools"][0];
    assert_eq!((&tool["server"], &tool["tool"], &tool["calls"]), (&"memory".into(), &"write".into(), &105.into()));
    let count = |verdict: &str| tool["verdicts"][verdict].as_u64().unwrap();
    assert_eq!(["done", "replayed", "refused", "unknown", "failed"].map(count), [100, 1, 3, 1, 0]);
    assert_eq!(tool["refused"], serde_json::json!({ "lock_busy": 2, "rate_limited": 1 }));
    assert_eq!(tool["waited_us"], serde_json::json!({ "p50": 50, "p99": 99 }));
    assert_eq!(tool["held_us"], serde_json::json!({ "p50": 500, "p99": 990 }));
    assert_eq!(value["tools"][1]["waited_us"], serde_json::json!({ "p50": null, "p99": null }));
    assert_eq!(value["tools"][1]["took_us"], serde_json::json!({ "p50": 7, "p99": 7 }));

    home.output(&["calls", "stats"])
        .exits(0)
        .says("2 lock_busy, 1 rate_limited")
        .says("PASSED")
        .never_says("SUSPENDED");
    let said = home.output(&["calls", "stats", "--since", "3h", "--json"]).exits(0);
    assert_eq!(values(&said.out)[0]["calls"], 107);
    std::fs::write(home.path(FILE_NAME), "{\"at_ms\":1,\"server\":\"s\",\"tool\":\"t\",\"verdict\":\"done\"}\n")
        .unwrap();
    home.output(&["calls", "stats"]).exits(0).says("no calls within 1h").says("--since");
}

#[test]
fn following_shows_calls_to_come_over_a_rotation() {
    let home = Home::new();
    log(&home, (0..3).map(|n| line("memory", "write", Verdict::Done, n)));
    let mut follow = home.command(&["calls", "tail", "-f", "-n", "1", "--json"]);
    let mut follow = Running(follow.stdout(Stdio::piped()).spawn().unwrap());
    let (sender, lines) = mpsc::channel();
    let out = BufReader::new(follow.0.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok());
    let next = |within: Duration| lines.recv_timeout(within).map(|line| values(&line)[0]["took_us"].as_u64().unwrap());
    assert_eq!(next(PATIENCE), Ok(2));
    log(&home, [line("memory", "write", Verdict::Done, 3)]);
    assert_eq!(next(PATIENCE), Ok(3));
    log(&home, [line("memory", "write", Verdict::Done, 4)]);
    std::fs::rename(home.path(FILE_NAME), rotated(&home.path(FILE_NAME))).unwrap();
    log(&home, [line("memory", "write", Verdict::Done, 5)]);
    assert_eq!((next(PATIENCE), next(PATIENCE)), (Ok(4), Ok(5)));
    assert_eq!(next(Duration::from_millis(600)), Err(mpsc::RecvTimeoutError::Timeout), "no line comes twice");
}

#[test]
fn following_ends_when_nobody_reads() {
    let home = Home::new();
    log(&home, [line("memory", "write", Verdict::Done, 0)]);
    let mut follow = home.command(&["calls", "tail", "-f"]);
    let mut follow = Running(follow.stdout(Stdio::piped()).spawn().unwrap());
    let mut out = BufReader::new(follow.0.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    stanchion_testkit::eventually_sync(PATIENCE, "the follower ends", || {
        log(&home, [line("memory", "write", Verdict::Done, 1)]);
        follow.0.try_wait().unwrap().is_some_and(|status| status.success())
    });
}
