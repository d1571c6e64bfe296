use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::value::RawValue;
use stanchion_testkit::process::{self, Child};

use super::file::{Appender, rotated};
use super::writer::{BYTES_MAX, LINES_MAX};
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

fn numbered(number: usize) -> CallLine {
    let mut line = CallLine::new("memory", "local", "write", Verdict::Done);
    line.took_us = number as u64;
    line
}

fn entries(text: &str) -> Vec<Entry> {
    text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("damaged: {line}"))).collect()
}

/// The numbers of all calls, and how many are said to be missing.
fn numbers(text: &str) -> (Vec<u64>, u64) {
    let (mut numbers, mut missing) = (Vec::new(), 0);
    for entry in entries(text) {
        match entry {
            Entry::Call(line) => numbers.push(line.took_us),
            Entry::Dropped(lost) => missing += lost.dropped,
        }
    }
    (numbers, missing)
}

/// A log whose every batch waits until the test lets it through with an answer; the second end gives what was written.
fn gated() -> (CallLog, mpsc::Sender<io::Result<()>>, mpsc::Receiver<String>) {
    let (gate, answers) = mpsc::channel::<io::Result<()>>();
    let (written, texts) = mpsc::channel();
    let append = move |batch: &[u8]| {
        written.send(String::from_utf8(batch[1..].to_vec()).unwrap()).unwrap_or_default();
        answers.recv().unwrap_or(Ok(()))
    };
    let log = CallLog::start(append).unwrap();
    // The writer stands in a first batch: what the test logs now comes in one.
    log.log(numbered(0));
    assert_eq!(numbers(&texts.recv_timeout(PATIENCE).unwrap()), (vec![0], 0));
    (log, gate, texts)
}

#[test]
fn lines_are_written_in_order_and_read_back_for_the_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    std::fs::write(&path, "").unwrap();
    let log = CallLog::open(&path).unwrap();
    let mut full = numbered(0);
    full.receipt = Some("ab12".into());
    full.key = Some(key_digest("a secret key"));
    full.locks = vec!["memory".into()];
    (full.waited_us, full.held_us, full.epoch) = (5, 6, 7);
    full.trace = Some("4bf92f3577b34da6a3ce929d0e0e4736".into());
    full.detail = Some("lock_busy".into());
    log.log(full.clone());
    (1..100).for_each(|n| log.clone().log(numbered(n)));
    log.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(numbers(&text), ((0..100).collect(), 0));
    let Entry::Call(first) = &entries(&text)[0] else { panic!("a call") };
    assert_eq!(serde_json::to_value(first).unwrap(), serde_json::to_value(&full).unwrap());
    assert!(!text.contains("a secret key"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_last_handle_writes_what_is_queued() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let log = CallLog::open(&path).unwrap();
    (0..50).for_each(|n| log.log(numbered(n)));
    drop(log.clone());
    drop(log);
    assert_eq!(numbers(&std::fs::read_to_string(&path).unwrap()).0.len(), 50);
}

#[test]
fn members_of_a_later_version_are_passed_over() {
    let line = r#"{"at_ms":1,"server":"s","tool":"t","verdict":"unknown","colour":{"a":[1]},"pid":3}"#;
    assert!(matches!(parse(line), Some(Entry::Call(line)) if line.verdict == Verdict::Unknown && line.pid == 3));
    for damaged in ["", "{", "[]", r#"{"at_ms":1}"#, r#"{"at_ms":1,"server":"s","tool":"t","verdict":"odd"}"#] {
        assert!(parse(damaged).is_none(), "{damaged}");
    }
}

#[test]
fn arguments_with_line_feeds_stay_one_line_and_long_ones_are_left_out() {
    let (log, gate, texts) = gated();
    let mut line = numbered(1);
    line.arguments = Some(RawValue::from_string("{\r\n  \"a\": \"x\\ny\"\n}".into()).unwrap());
    log.log(line);
    let mut long = numbered(2);
    long.arguments = Some(RawValue::from_string(format!("\"{}\"", "x".repeat(70_000))).unwrap());
    log.log(long);
    gate.send(Ok(())).unwrap();
    gate.send(Ok(())).unwrap();
    let text = texts.recv_timeout(PATIENCE).unwrap();
    let [Entry::Call(first), Entry::Call(second)] = &entries(&text)[..] else { panic!("two calls in {text}") };
    let arguments: serde_json::Value = serde_json::from_str(first.arguments.as_ref().unwrap().get()).unwrap();
    assert_eq!(arguments["a"], "x\ny");
    assert_eq!((second.arguments.is_none(), second.arguments_bytes), (true, Some(70_002)));
}

#[test]
fn a_full_queue_drops_lines_and_says_how_many() {
    let (log, gate, texts) = gated();
    (1..=LINES_MAX + 17).for_each(|n| log.log(numbered(n)));
    gate.send(Ok(())).unwrap();
    let second = texts.recv_timeout(PATIENCE).unwrap();
    gate.send(Ok(())).unwrap();
    log.flush().unwrap();
    assert_eq!(numbers(&second), ((1..=LINES_MAX as u64).collect(), 17));
}

#[test]
fn queued_bytes_are_bounded_as_well_as_lines() {
    let (log, gate, texts) = gated();
    let heavy = format!("\"{}\"", "x".repeat(60_000));
    let sent = BYTES_MAX / 60_000 + 20;
    for number in 0..sent {
        let mut line = numbered(number);
        line.arguments = Some(RawValue::from_string(heavy.clone()).unwrap());
        log.log(line);
    }
    gate.send(Ok(())).unwrap();
    let text = texts.recv_timeout(PATIENCE).unwrap();
    gate.send(Ok(())).unwrap();
    let (kept, missing) = numbers(&text);
    assert!(missing >= 20 && text.len() < BYTES_MAX + BYTES_MAX / 4, "{} bytes, {missing} missing", text.len());
    assert_eq!(kept.len() as u64 + missing, sent as u64);
}

#[test]
fn lines_that_the_disk_refused_are_counted_in_the_next_that_it_takes() {
    let (log, gate, texts) = gated();
    log.log(numbered(1));
    log.log(numbered(2));
    gate.send(Ok(())).unwrap();
    gate.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
    assert_eq!(numbers(&texts.recv_timeout(PATIENCE).unwrap()), (vec![1, 2], 0));
    let error = log.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    log.log(numbered(3));
    gate.send(Ok(())).unwrap();
    assert_eq!(numbers(&texts.recv_timeout(PATIENCE).unwrap()), (vec![3], 2));
    log.flush().unwrap();
}

#[test]
fn a_line_that_a_killed_process_left_unfinished_costs_no_other_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    std::fs::write(&path, "{\"at_ms\":1,\"serv").unwrap();
    let log = CallLog::open(&path).unwrap();
    log.log(numbered(1));
    log.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let read: Vec<_> = text.lines().map(|line| parse(line).is_some()).collect();
    assert_eq!(read, [false, true]);
}

#[test]
fn a_log_that_cannot_be_written_is_refused_when_it_is_opened() {
    let error = CallLog::open("/nowhere/at/all/calls.jsonl").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("/nowhere/at/all/calls.jsonl"), "{error}");
}

const PROCESSES: usize = 4;
const LINES: usize = 1500;

fn text_of(path: &Path) -> String {
    let mut text = std::fs::read_to_string(rotated(path)).unwrap_or_default();
    text += &std::fs::read_to_string(path).unwrap();
    text
}

/// Each line says which process wrote it, and which of its lines it is.
fn line_of(process: usize, number: usize) -> String {
    format!("\n{}\n", serde_json::to_string(&numbered(process * LINES + number)).unwrap())
}

#[tokio::test]
async fn processes_that_write_through_a_rotation_lose_no_line() {
    if process::is_helper() {
        let path = std::env::var("TEST_FILE").unwrap();
        let me: usize = std::env::var("TEST_ME").unwrap().parse().unwrap();
        let limit: u64 = std::env::var("TEST_LIMIT").unwrap().parse().unwrap();
        let file = Appender::new(path.into(), limit).unwrap();
        println!("READY");
        io::stdin().read_line(&mut String::new()).unwrap();
        (0..LINES).for_each(|number| file.append(line_of(me, number).as_bytes()).unwrap());
        return println!("DONE");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    // Full once and only once: a second rotation rightly drops the first file.
    let limit = (PROCESSES * LINES * line_of(0, 0).len() * 2 / 3).to_string();
    let start = |me: usize| {
        Child::rerun_this_test_with(&[
            ("TEST_FILE", path.to_str().unwrap()),
            ("TEST_ME", &me.to_string()),
            ("TEST_LIMIT", &limit),
        ])
    };
    let mut writers: Vec<_> = (0..PROCESSES).map(start).collect();
    for writer in &mut writers {
        writer.expect_line("READY", PATIENCE).await;
    }
    writers.iter_mut().for_each(|writer| writer.write_line("go"));
    for writer in &mut writers {
        writer.expect_line("DONE", PATIENCE).await;
    }
    assert!(rotated(&path).exists(), "the test is void without a rotation");
    let (found, _) = numbers(&text_of(&path));
    assert_eq!(found.len(), PROCESSES * LINES);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), PROCESSES * LINES);
}

/// What a plain logger does: looks at the size, moves the file aside, goes on. `between` is what others do meanwhile.
fn append_naively(path: &Path, limit: u64, line: &str, between: impl FnOnce()) {
    let full = std::fs::metadata(path).is_ok_and(|meta| meta.len() >= limit);
    between();
    if full {
        std::fs::rename(path, rotated(path)).unwrap();
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.trim_start().as_bytes()).unwrap();
}

/// Appends a line to a log with this limit, and lets others do something meanwhile.
type Append<'a> = &'a dyn Fn(&Path, u64, &str, &dyn Fn());

#[test]
fn control_rotation_without_the_lock_loses_the_old_file() {
    let run = |append: Append<'_>| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        let limit = line_of(0, 0).len() as u64 * 10;
        (0..10).for_each(|n| append(&path, u64::MAX, &line_of(0, n), &|| ()));
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&[b' '; 64]).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\n").unwrap();
        // Both find the file full; the second moves aside after the first.
        append(&path, limit, &line_of(1, 1), &|| append(&path, limit, &line_of(1, 0), &|| ()));
        text_of(&path).lines().filter(|line| parse(line).is_some()).count()
    };
    let naive = run(&|path, limit, line, between| append_naively(path, limit, line, between));
    assert_eq!(naive, 2, "the ten lines of the old file are gone: else this shows nothing");
    let ours = run(&|path, limit, line, between| {
        let file = Appender::new(path.to_owned(), limit).unwrap();
        between();
        file.append(line.as_bytes()).unwrap();
    });
    assert_eq!(ours, 12);
}

#[test]
fn a_full_file_is_not_moved_aside_while_another_process_holds_its_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let file = Appender::new(path.clone(), 1).unwrap();
    file.append(line_of(0, 0).as_bytes()).unwrap();
    // Its holder may be about to move this file, or be frozen: lines go on, and nothing is moved twice.
    let lock = std::fs::File::create(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let roomy = Appender::new(path.clone(), line_of(0, 0).len() as u64 - 2).unwrap();
    roomy.append(line_of(0, 1).as_bytes()).unwrap();
    assert!(!rotated(&path).exists());
    // But it does not grow without end.
    assert!(roomy.append(line_of(0, 2).as_bytes()).unwrap_err().to_string().contains("full"));
    drop(lock);
    roomy.append(line_of(0, 3).as_bytes()).unwrap();
    assert_eq!(numbers(&std::fs::read_to_string(rotated(&path)).unwrap()).0, [0, 1]);
    assert_eq!(numbers(&std::fs::read_to_string(&path).unwrap()).0, [3]);
}
