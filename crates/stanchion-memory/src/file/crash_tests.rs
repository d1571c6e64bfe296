//! A kill at every step of every kind of mutation: the old graph or the new one, never a third.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use stanchion_stores::Durability;
use stanchion_testkit::process::Child;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::place::Place;
use super::writer::{Job, Writer};
use super::{Compat, FileMemory, FileOptions, Notices};
use crate::{Addition, Deletion, Entity, Memory as _, MemoryError, Mutation, Outcome, Query, Relation, Selection};

fn entity(name: &str, observations: &[&str]) -> Entity {
    let observations = observations.iter().map(|&text| text.into()).collect();
    Entity { name: name.into(), entity_type: "t".into(), observations }
}

fn relation(from: &str, to: &str) -> Relation {
    Relation { from: from.into(), to: to.into(), relation_type: "r".into() }
}

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

/// A file that needs no care, one that is not there, one with a half line of a stranger and a damaged one in the middle.
const FILES: [&str; 4] = ["sound", "absent", "half", "damaged"];

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
        _ => return,
    };
    std::fs::write(path, text).unwrap();
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

fn cases() -> Vec<Case> {
    let ways = [
        options(Durability::Process, Compat::Append),
        options(Durability::Power, Compat::Append),
        options(Durability::Process, Compat::Strict),
    ];
    let files = ways.into_iter().flat_map(|options| FILES.into_iter().map(move |file| (options, file)));
    let all =
        files.flat_map(|(options, file)| mutations().into_iter().map(move |mutation| Case { options, file, mutation }));
    all.filter(|one| one.file != "absent" || matches!(one.mutation, Mutation::CreateEntities(_))).collect()
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
            [(_, true), (_, true)] | [(true, _), (_, true)] => left.new += 1,
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
    assert!(left.old > 500 && left.new > 20, "void: too few kills ({left:?})");
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
