//! A kill at every step of every kind of mutation: the old graph or the new one, never a third.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use stanchion_stores::Durability;
use stanchion_testkit::process::Child;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::place::Place;
use super::reader::Reader;
use super::record::{Ledger, Phase, Record, Stamp};
use super::writer::{Job, Writer};
use super::{Compat, FileMemory, FileOptions, Notices};
use crate::samples::{entity, relation};
use crate::{Addition, Deletion, Memory as _, MemoryError, Mutation, Outcome, Query, Selection};

/// One of each kind; those with several lines are the hard ones.
fn mutations() -> Vec<Mutation> {
    vec![
        Mutation::CreateEntities(vec![entity("new", &["one"])]),
        Mutation::CreateEntities(vec![entity("n1", &["one"]), entity("n2", &[]), entity("n3", &["a", "b"])]),
        Mutation::CreateRelations(vec![relation("a", "c"), relation("c", "a")]),
        Mutation::AddObservations(vec![Addition { entity_name: "b".into(), contents: vec!["x".into(), "y".into()] }]),
        Mutation::DeleteEntities(vec!["a".into()]),
        Mutation::DeleteObservations(vec![Deletion { entity_name: "a".into(), observations: vec!["1".into()] }]),
        Mutation::DeleteRelations(vec![relation("a", "b")]),
    ]
}

/// A file that needs no care, one that is not there, one with a half line of a stranger, a damaged one in the middle, a byte order
/// mark, one document, and one that a writer of ours has left in the middle.
fn prepare(path: &Path, which: &str) {
    let lines = [
        r#"{"type":"entity","name":"a","entityType":"t","observations":["1","2"]}"#,
        r#"{"type":"entity","name":"b","entityType":"t","observations":[]}"#,
        r#"{"type":"relation","from":"a","to":"b","relationType":"r"}"#,
    ];
    let text = match which {
        "sound" => lines.join("\n"),
        "half" => format!("{}\n{{\"type\":\"ent", lines.join("\n")),
        "damaged" => format!("{}\noops\n{}\n{}\n", lines[0], lines[1], lines[2]),
        "mark" => format!("\u{feff}{}", lines.join("\n")),
        "document" => format!("[{}]", lines.join(",\n")),
        "left" => format!("{}\n", lines.join("\n")),
        _ => return,
    };
    std::fs::write(path, text).unwrap();
    if which == "left" {
        let added = "{\"type\":\"entity\",\"name\":\"x\",\"entityType\":\"t\",\"observations\":[]}\n".repeat(2);
        leave(path, added.as_bytes(), added.len() * 3 / 4);
    }
}

/// What a writer leaves that is killed when a part of what it adds is in the file.
fn leave(path: &Path, added: &[u8], part: usize) {
    let place = Place::of(path).unwrap();
    let stamp = Stamp::at(path).unwrap();
    std::fs::create_dir(place.state_folder()).unwrap();
    let ledger = Ledger::open(&place.state_folder().join("state")).unwrap();
    let record = Record { phase: Phase::Appending, chain: 7, stamp, added: added.to_vec() };
    ledger.write(&super::disk::Disk::default(), &record).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&added[..part]).unwrap();
}

fn options(durability: Durability, compat: Compat) -> FileOptions {
    FileOptions { durability, compat, ..FileOptions::default() }
}

/// Does the mutation in this thread, and calls `on_step` before each step on disk.
fn change(
    path: &Path,
    options: FileOptions,
    is_silent: bool,
    mutation: Mutation,
    on_step: impl Fn(&'static str) + Send + Sync + 'static,
) -> Result<Outcome, MemoryError> {
    let place = Place::of(path).unwrap();
    let mut writer = Writer::new(place, options, Arc::new(RwLock::default()), Arc::new(Notices::default()));
    writer.disk.on_step = Some(Box::new(on_step));
    writer.disk.is_silent = is_silent;
    let (answer, mut answered) = oneshot::channel();
    let until = Instant::now() + std::time::Duration::from_secs(20);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert!(writer.serve(&runtime, vec![Job { mutation, until, answer }]).is_empty());
    answered.try_recv().unwrap()
}

fn read(path: &Path) -> Selection {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let memory = FileMemory::open(path, FileOptions::default()).unwrap();
    runtime.block_on(memory.read(Query::All)).unwrap().0
}

fn kill_self() {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
}

/// What the child is told through its environment: the case, the step, whether it is silent, and the file.
const CASE: &str = "STANCHION_TEST_CRASH";

/// One way of writing, one file and one mutation.
#[derive(Debug, Clone)]
struct Case {
    options: FileOptions,
    file: &'static str,
    mutation: Mutation,
}

/// Every mutation on a sound file in every way; and on files that need care those two that are written in the two ways.
fn cases() -> Vec<Case> {
    let append = options(Durability::Process, Compat::Append);
    let (power, strict) = (options(Durability::Power, Compat::Append), options(Durability::Process, Compat::Strict));
    let all = mutations();
    let two = [all[1].clone(), all[3].clone()];
    let mut cases = Vec::new();
    let mut add = |options: FileOptions, file: &'static str, mutations: &[Mutation]| {
        cases.extend(mutations.iter().map(|mutation| Case { options, file, mutation: mutation.clone() }));
    };
    for options in [append, power, strict] {
        add(options, "sound", &all);
        add(options, "absent", &two[..1]);
    }
    for file in ["half", "damaged", "mark", "document", "left"] {
        add(append, file, &two);
    }
    add(power, "left", &two);
    add(power, "damaged", &two[..1]);
    cases
}

/// The child: does the mutation of a case, up to a step.
fn die_at_a_step(told: &str) {
    let mut parts = told.splitn(4, ':');
    let mut number = || parts.next().unwrap().parse::<usize>().unwrap();
    let (case, step, is_silent) = (number(), number(), number() == 1);
    let path = parts.next().unwrap();
    let Case { options, mutation, .. } = cases().swap_remove(case);
    let left = AtomicUsize::new(step);
    let on_step = move |_| {
        if left.fetch_sub(1, Ordering::Relaxed) == 1 {
            kill_self();
        }
    };
    change(Path::new(path), options, is_silent, mutation, on_step).unwrap();
}

/// What was left by the kills at all steps of one case.
#[derive(Debug, Default)]
struct Left {
    old: usize,
    new: usize,
    third: Vec<String>,
}

fn kill_at_every_step(nth: usize, case: &Case, is_silent: bool, left: &mut Left) {
    let Case { options, file, mutation } = case;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.jsonl");
        prepare(&path, file);
        (folder, path)
    };
    let (_folder, path) = home();
    let before = read(&path);
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&steps);
    let count = move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    change(&path, *options, is_silent, mutation.clone(), count).unwrap();
    let after = read(&path);
    assert_ne!(before, after, "{mutation:?} changes something");
    for step in 1..=steps.load(Ordering::Relaxed) {
        let (_folder, path) = home();
        let told = format!("{nth}:{step}:{}:{}", u8::from(is_silent), path.display());
        let mut child = Child::rerun_this_test_with(&[(CASE, &told)]);
        let status = runtime.block_on(child.wait(std::time::Duration::from_secs(60)));
        assert!(!status.success(), "void: step {step} of {mutation:?} was not reached");
        let found = read(&path);
        // Whoever comes next finds a file that can be written, reads the same, and leaves nothing lying about.
        change(&path, *options, is_silent, Mutation::CreateEntities(vec![entity("next", &[])]), |_| {}).unwrap();
        let mut then = read(&path);
        assert_eq!(then.entities.pop(), Some(entity("next", &[])));
        assert!(
            !Place::of(&path).unwrap().next().exists() && super::check(&path).unwrap().is_sound(),
            "{case:?} {step}"
        );
        match [&found, &then].map(|one| (*one == before, *one == after)) {
            [(true, _), (true, _)] => left.old += 1,
            [(_, true), (_, true)] => left.new += 1,
            _ => left.third.push(format!("{case:?} killed at step {step}: {found:?}, then {then:?}")),
        }
    }
}

#[test]
fn a_kill_at_every_step_leaves_the_old_graph_or_the_new_one() {
    if let Ok(told) = std::env::var(CASE) {
        return die_at_a_step(&told);
    }
    let mut left = Left::default();
    for (nth, case) in cases().iter().enumerate() {
        kill_at_every_step(nth, case, false, &mut left);
    }
    println!("{} kills left the old graph, {} the new one", left.old, left.new);
    assert!(left.third.is_empty(), "{:#?}", left.third);
    assert!(left.old > 200 && left.new > 20, "void: too few kills ({left:?})");
}

#[test]
fn control_a_writer_that_does_not_say_what_it_does_leaves_a_third_graph() {
    if let Ok(told) = std::env::var(CASE) {
        return die_at_a_step(&told);
    }
    let all = cases();
    let several =
        |one: &Case| one.file == "sound" && matches!(&one.mutation, Mutation::CreateEntities(all) if all.len() > 1);
    let nth = all.iter().position(several).unwrap();
    let mut left = Left::default();
    kill_at_every_step(nth, &all[nth], true, &mut left);
    assert!(!left.third.is_empty(), "void: the harness finds nothing wrong with it ({left:?})");
}

fn names(graph: &Selection) -> Vec<&str> {
    graph.entities.iter().map(|one| &*one.name).collect()
}

#[test]
fn what_has_outlived_a_record_is_not_cut_off() {
    let line =
        |name: &str| format!("{{\"type\":\"entity\",\"name\":\"{name}\",\"entityType\":\"t\",\"observations\":[]}}\n");
    let added = line("added");
    // All of it is there, and more came later, which a power cut has kept; a stranger wrote something else in the same file.
    for (behind, kept) in [
        (added.clone(), vec!["a", "added"]),
        (format!("{added}{}", line("later")), vec!["a", "added", "later"]),
        (line("a stranger's"), vec!["a", "a stranger's"]),
        (added[..20].to_owned(), vec!["a"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.jsonl");
        std::fs::write(&path, line("a")).unwrap();
        leave(&path, added.as_bytes(), 0);
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(behind.as_bytes()).unwrap();
        assert_eq!(names(&read(&path)), kept);
        let next = Mutation::CreateEntities(vec![entity("next", &[])]);
        change(&path, FileOptions::default(), false, next, |_| {}).unwrap();
        assert_eq!(names(&read(&path)), [&kept[..], &["next"]].concat());
    }
}

#[test]
fn a_line_does_not_become_a_part_of_what_a_stranger_writes_at_the_same_moment() {
    for (theirs, kept) in [("{\"type\":\"ent", 2), ("{\"type\":\"note\"}\n", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.jsonl");
        prepare(&path, "sound");
        change(&path, FileOptions::default(), false, Mutation::CreateEntities(vec![entity("first", &[])]), |_| {})
            .unwrap();
        let (stranger, times) = (path.clone(), AtomicUsize::new(0));
        let on_step = move |step| {
            if step == "write" && times.fetch_add(1, Ordering::Relaxed) == 0 {
                std::fs::OpenOptions::new().append(true).open(&stranger).unwrap().write_all(theirs.as_bytes()).unwrap();
            }
        };
        let mutation = Mutation::CreateEntities(vec![entity("ours", &[])]);
        let outcome = change(&path, FileOptions::default(), false, mutation, on_step).unwrap();
        assert_eq!(outcome, Outcome::Entities(vec![entity("ours", &[])]));
        let found = read(&path);
        assert_eq!(names(&found)[kept..], ["first", "ours"], "{theirs}");
    }
}

#[test]
fn a_reader_does_not_wait_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    prepare(&path, "sound");
    let (view, notices) = (Arc::new(RwLock::default()), Arc::new(Notices::default()));
    let reader = Reader { place: Place::of(&path).unwrap(), view: Arc::clone(&view), notices: Arc::clone(&notices) };
    let mut writer = Writer::new(Place::of(&path).unwrap(), options(Durability::Power, Compat::Append), view, notices);
    let reads = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reads);
    writer.disk.on_step = Some(Box::new(move |step| {
        if step.starts_with("sync") {
            // On another thread, as readers are; a lock that is held here would hang it.
            let found = std::thread::scope(|scope| scope.spawn(|| reader.refresh()).join().unwrap());
            found.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for mutation in mutations() {
        let (answer, mut answered) = oneshot::channel();
        let until = Instant::now() + std::time::Duration::from_secs(20);
        assert!(writer.serve(&runtime, vec![Job { mutation, until, answer }]).is_empty());
        answered.try_recv().unwrap().unwrap();
    }
    assert!(reads.load(Ordering::Relaxed) >= 7, "void: nobody read");
}

#[test]
fn what_was_set_aside_before_a_failure_is_not_set_aside_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    prepare(&path, "sound");
    let place = Place::of(&path).unwrap();
    let writer =
        Writer::new(place.clone(), FileOptions::default(), Arc::new(RwLock::default()), Arc::new(Notices::default()));
    let damaged = |line| crate::Damaged { line, reason: "for a test".into(), bytes: b"oops".to_vec() };
    for line in [1, 1, 2, 2, 1] {
        writer.set_aside(&[damaged(line)]).unwrap();
    }
    let aside = std::fs::read_to_string(place.damaged()).unwrap();
    assert_eq!(aside.matches("oops").count(), 3, "{aside}");
}
