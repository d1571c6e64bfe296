//! Many processes write one file, are killed, and run out of disk: every acknowledged write is in it, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(clippy::print_stdout, reason = "a writer speaks to its test")]

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{ErrorKind, Owner};
use stanchion_memory::{FileMemory, FileOptions, Memory, MemoryError, Mutation, Query, check, from_jsonl, to_jsonl};
use stanchion_testkit::process::{Child, is_helper};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::conformance::{addition, all, entity, relation};
use crate::file::Home;

const PATIENCE: Duration = Duration::from_secs(120);

/// The `n`th write of a writer: mostly entities, and now and then something that replaces the file.
fn write(who: &str, n: usize) -> Mutation {
    match n % 100 {
        33 => Mutation::CreateRelations(vec![relation(&format!("{who}-{}", n - 1), who)]),
        66 => addition(&format!("{who}-{}", n - 1), &[&format!("seen by {who}-{n}")]),
        _ => Mutation::CreateEntities(vec![entity(format!("{who}-{n}"), &[who, "of many"])]),
    }
}

/// What a write leaves in the graph, one line for each.
fn traces(mutation: &Mutation) -> Vec<String> {
    match mutation {
        Mutation::CreateEntities(all) => all.iter().map(|one| format!("entity {}", one.name)).collect(),
        Mutation::CreateRelations(all) => all.iter().map(|one| format!("relation {} {}", one.from, one.to)).collect(),
        Mutation::AddObservations(all) => all
            .iter()
            .flat_map(|one| one.contents.iter().map(|text| format!("observation {} {text}", one.entity_name)))
            .collect(),
        other => panic!("{other:?} leaves nothing"),
    }
}

/// All traces in the file; each once.
fn found(path: &Path) -> BTreeSet<String> {
    let (graph, damaged) = from_jsonl(&std::fs::read(path).unwrap());
    assert!(damaged.is_empty(), "{damaged:?}");
    let mut all = Vec::new();
    for one in &graph.entities {
        all.push(format!("entity {}", one.name));
        all.extend(
            one.observations
                .iter()
                .filter(|text| text.starts_with("seen"))
                .map(|text| format!("observation {} {text}", one.name)),
        );
    }
    all.extend(graph.relations.iter().map(|one| format!("relation {} {}", one.from, one.to)));
    let found: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(found.len(), all.len(), "something is there twice");
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_tasks_of_one_process_write_a_thousand_times_each() {
    let home = Home::empty();
    let memory = Arc::new(home.open());
    let mut tasks = JoinSet::new();
    for who in 0..10 {
        let memory = Arc::clone(&memory);
        tasks.spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0..1000 {
                let mutation = write(&format!("t{who}"), n);
                memory.change(mutation.clone()).await.unwrap();
                acknowledged.extend(traces(&mutation));
            }
            acknowledged
        });
    }
    let acknowledged: BTreeSet<String> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(acknowledged.len(), 10_000);
    assert_eq!(found(&home.path), acknowledged);
}

/// Writes as it is told to, and says `TRY` before and `DONE` behind each.
async fn be_a_writer() {
    let told = |name: &str| std::env::var(name).unwrap();
    let (path, who, many) = (PathBuf::from(told("FILE")), told("WHO"), told("MANY").parse::<usize>().unwrap());
    println!("READY");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    if told("ROLE") == "official" {
        return (0..many).for_each(|n| write_as_the_official_server_does(&path, &who, n));
    }
    let memory = FileMemory::open(&path, FileOptions::default()).unwrap();
    for n in 0..many {
        let mutation = write(&who, n);
        let names = traces(&mutation).join("\t");
        println!("TRY {names}");
        memory.change(mutation).await.unwrap();
        println!("DONE {names}");
    }
}

/// The control: reads all, writes all into a file of its own, and gives it the name.
fn write_as_the_official_server_does(path: &Path, who: &str, n: usize) {
    let (mut graph, _) = from_jsonl(&std::fs::read(path).unwrap_or_default());
    graph.entities.push(entity(format!("{who}-{n}"), &[]));
    let temp = path.with_extension(format!("{}.tmp", Owner::random().to_hex()));
    std::fs::write(&temp, to_jsonl(&graph)).unwrap();
    // stanchion-audit: ignore RC303 -- the name is drawn by chance, in a buffer that is filled
    std::fs::rename(&temp, path).unwrap();
    println!("DONE entity {who}-{n}");
}

fn writer(path: &Path, role: &str, who: &str, many: usize) -> Child {
    let (path, many) = (path.to_str().unwrap(), many.to_string());
    Child::rerun_this_test_with(&[("FILE", path), ("ROLE", role), ("WHO", who), ("MANY", &many)])
}

/// What a writer said since it was last listened to, or to its end.
#[derive(Default)]
struct Said {
    tried: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let words = line.rsplit_once(" ... ").map_or(line, |(_, said)| said);
        match words.split_once(' ') {
            Some(("TRY", names)) => self.tried.extend(names.split('\t').map(str::to_owned)),
            Some(("DONE", names)) => self.acknowledged.extend(names.split('\t').map(str::to_owned)),
            _ => {}
        }
    }

    async fn hear_all(&mut self, writer: &mut Child) {
        while let Some(line) = writer.next_line(PATIENCE).await {
            self.hear(&line);
        }
    }
}

async fn race(path: &Path, role: &str, writers: usize, many: usize) -> Said {
    let mut all: Vec<Child> = (0..writers).map(|n| writer(path, role, &format!("p{n}"), many)).collect();
    for writer in &mut all {
        writer.expect_line("READY", PATIENCE).await;
    }
    all.iter_mut().for_each(|writer| writer.write_line("GO"));
    let mut said = Said::default();
    for writer in &mut all {
        said.hear_all(writer).await;
        assert!(writer.wait(PATIENCE).await.success(), "a writer failed");
    }
    said
}

#[tokio::test]
async fn five_processes_write_two_thousand_times_each() {
    if is_helper() {
        return be_a_writer().await;
    }
    let home = Home::empty();
    let said = race(&home.path, "ours", 5, 2000).await;
    assert_eq!(said.acknowledged.len(), 10_000);
    assert_eq!(found(&home.path), said.acknowledged);
}

#[tokio::test]
async fn control_the_official_way_of_writing_loses_most_of_it() {
    if is_helper() {
        return be_a_writer().await;
    }
    let home = Home::empty();
    let said = race(&home.path, "official", 5, 100).await;
    assert_eq!(said.acknowledged.len(), 500);
    let kept = found(&home.path).len();
    println!("control: {kept} of 500 acknowledged writes are in the file");
    assert!(kept < 500, "void: nothing was lost without the lock");
}

/// For so long writers are killed, one every so often.
const STORM: Duration = Duration::from_secs(30);
const BETWEEN: Duration = Duration::from_millis(200);

#[tokio::test]
async fn eight_processes_of_which_one_is_killed_five_times_a_second() {
    if is_helper() {
        return be_a_writer().await;
    }
    let home = Home::empty();
    let reader = home.open();
    let mut said = Said::default();
    let (mut lives, mut kills, mut reads) = (0, 0, 0);
    let mut start = || {
        lives += 1;
        let mut writer = writer(&home.path, "ours", &format!("life{lives}"), usize::MAX);
        writer.write_line("GO");
        writer
    };
    let mut writers: Vec<Child> = (0..8).map(|_| start()).collect();
    let mut seed = Owner::random().nonce() | 1;
    let end = Instant::now() + STORM;
    while Instant::now() < end {
        tokio::time::sleep(BETWEEN).await;
        // What was acknowledged before a read is in it, and the file is whole for whoever reads it through us.
        for writer in &mut writers {
            while let Some(line) = writer.try_line() {
                said.hear(&line);
            }
        }
        let graph = reader.read(Query::All).await.unwrap().0;
        let seen: BTreeSet<&str> = graph.entities.iter().map(|one| &*one.name).collect();
        let missing =
            said.acknowledged.iter().filter_map(|one| one.strip_prefix("entity ")).find(|one| !seen.contains(one));
        assert_eq!(missing, None, "acknowledged, and not seen afterwards");
        reads += 1;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let victim = usize::try_from(seed % 8).unwrap();
        writers[victim].kill();
        said.hear_all(&mut writers[victim]).await;
        writers[victim] = start();
        kills += 1;
    }
    for mut writer in writers {
        writer.kill();
        said.hear_all(&mut writer).await;
    }
    // Whoever writes next sets right what the last ones left.
    let last = reader.change(Mutation::CreateEntities(vec![entity("last", &[])])).await.unwrap();
    said.acknowledged.insert("entity last".into());
    said.tried.insert("entity last".into());
    let kept = found(&home.path);
    let lost: Vec<_> = said.acknowledged.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let strange: Vec<_> = kept.difference(&said.tried).collect();
    assert!(strange.is_empty(), "in the file and never asked for: {strange:?}");
    assert!(check(&home.path).unwrap().is_sound());
    let unanswered = kept.len() - said.acknowledged.len();
    println!(
        "{kills} kills, {reads} reads, {} acknowledged, {unanswered} kept without an answer, {:?}",
        said.acknowledged.len(),
        last.notices
    );
    assert!(kills > 50 && said.acknowledged.len() > 1000, "void: too little happened");
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_that_was_acknowledged_is_lost() {
    const FULL: &str = "a_full_disk_is_said_and_nothing_that_was_acknowledged_is_lost";
    if is_helper() {
        let memory = FileMemory::open(std::env::var("FILE").unwrap(), FileOptions::default()).unwrap();
        let before = all(&memory).await;
        for n in 0.. {
            let many = (0..5).map(|part| entity(format!("e{n}-{part}"), &["some text that takes room"])).collect();
            let mutation = if std::env::var("ROLE").unwrap() == "append" || n == 0 {
                Mutation::CreateEntities(many)
            } else {
                addition("e0-0", &[&format!("seen {n} {}", "x".repeat(200))])
            };
            let names = traces(&mutation).join("\t");
            let kept = all(&memory).await;
            match memory.change(mutation).await {
                Ok(_) => println!("DONE {names}"),
                Err(MemoryError::Kept(error)) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
                    assert!(error.next_step().unwrap().contains("full"), "{error:?}");
                    assert_eq!(all(&memory).await, kept, "a failed mutation is not seen");
                    assert_ne!(kept, before, "void: it was full from the beginning");
                    return println!("FULL");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    for role in ["append", "replace"] {
        let home = Home::empty();
        // A limit on the size of files is what a full disk is: the write comes back short.
        let mut command = Command::new("sh");
        command.args(["-c", r#"trap "" XFSZ; ulimit -f 40; exec "$@""#, "sh"]).arg(std::env::current_exe().unwrap());
        let thread = std::thread::current();
        let test = thread.name().filter(|name| name.ends_with(FULL)).unwrap();
        command.args(["--exact", test, "--nocapture"]).env("STANCHION_TEST_HELPER", "1");
        command.env("FILE", &home.path).env("ROLE", role);
        let mut helper = Child::spawn(&mut command);
        let (mut said, mut full) = (Said::default(), false);
        while let Some(line) = helper.next_line(PATIENCE).await {
            full |= line.ends_with("FULL");
            said.hear(&line);
        }
        assert!(helper.wait(PATIENCE).await.success() && full, "{role}");
        assert_eq!(found(&home.path), said.acknowledged, "{role}");
        // With room again, it goes on.
        let memory = home.open();
        memory.change(Mutation::CreateEntities(vec![entity("later", &[])])).await.unwrap();
        said.acknowledged.insert("entity later".into());
        assert_eq!(found(&home.path), said.acknowledged, "{role}");
        let left: Vec<_> =
            std::fs::read_dir(home.path.parent().unwrap()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("next")), "{left:?}");
    }
}
