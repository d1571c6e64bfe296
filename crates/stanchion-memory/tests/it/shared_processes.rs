//! Several processes write one graph in a shared store; they are killed, the store is killed, and nothing that was
//! acknowledged may be missing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(clippy::print_stdout, reason = "a writer speaks to its test")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Key, Ran, RecordStore};
use stanchion_memory::{Memory, MemoryError, Mutation, from_jsonl, to_jsonl};
use stanchion_testkit::process::{Child, is_helper};

use crate::conformance::{all, entity};
use crate::shared::{Place, open};

const WRITERS: usize = 4;
const EACH: usize = 100;
/// How long a writer may be silent; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the writers said of each of their mutations.
#[derive(Debug, Default)]
struct Told {
    tried: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
    unknown: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let said = line.rsplit_once(" ... ").map_or(line, |(_, said)| said);
        let Some((word, name)) = said.split_once(' ') else { return };
        let names = match word {
            "TRY" => &mut self.tried,
            "DONE" => &mut self.acknowledged,
            "UNKNOWN" => &mut self.unknown,
            "REFUSED" => &mut self.refused,
            _ => return,
        };
        names.insert(name.to_owned());
    }

    fn join(&mut self, other: Told) {
        self.tried.extend(other.tried);
        self.acknowledged.extend(other.acknowledged);
        self.unknown.extend(other.unknown);
        self.refused.extend(other.refused);
    }

    /// Acknowledged ⊆ kept ⊆ acknowledged ∪ unknown, where unknown is also what a killed writer left without a word.
    fn assert_kept(&self, kept: &BTreeSet<String>) {
        let missing: Vec<_> = self.acknowledged.difference(kept).collect();
        assert!(missing.is_empty(), "acknowledged and not there: {missing:?}");
        let excused: Vec<_> = kept.intersection(&self.refused).collect();
        assert!(excused.is_empty(), "refused and there: {excused:?}");
        let strange: Vec<_> = kept.difference(&self.tried).collect();
        assert!(strange.is_empty(), "never tried and there: {strange:?}");
    }
}

/// Starts a writer of this test.
fn writer(place: &Place, role: &str, name: &str, many: usize) -> Child {
    let many = many.to_string();
    Child::rerun_this_test_with(&[("URL", &place.url), ("ROLE", role), ("NAME", name), ("MANY", &many)])
}

/// Listens to a writer until it ends.
async fn listen(mut child: Child, mut told: Told) -> Told {
    while let Some(line) = child.next_line(PATIENCE).await {
        told.hear(&line);
    }
    assert!(child.wait(PATIENCE).await.success(), "a writer failed");
    told
}

/// The names that are in the graph; each once.
async fn kept(place: &Place) -> BTreeSet<String> {
    let names: Vec<String> = all(&*open(&place.url).await).await.entities.into_iter().map(|one| one.name).collect();
    let kept: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(kept.len(), names.len(), "an entity is there twice");
    kept
}

/// All writers at once, each to its end.
async fn race(place: &Place, role: &str) -> Told {
    let mut writers: Vec<Child> = (0..WRITERS).map(|n| writer(place, role, &format!("w{n}"), EACH)).collect();
    for writer in &mut writers {
        writer.expect_line("READY", PATIENCE).await;
    }
    writers.iter_mut().for_each(|writer| writer.write_line("GO"));
    let mut told = Told::default();
    for writer in writers {
        told.join(listen(writer, Told::default()).await);
    }
    told
}

async fn every_acknowledged_write_is_there_and_nothing_else(place: Place) {
    let told = race(&place, "safe").await;
    assert_eq!((told.acknowledged.len(), told.unknown.len(), told.refused.len()), (WRITERS * EACH, 0, 0));
    assert_eq!(kept(&place).await, told.acknowledged);
}

async fn control_without_the_condition_writes_are_lost(place: Place) {
    let told = race(&place, "blind").await;
    assert_eq!(told.acknowledged.len(), WRITERS * EACH);
    let store = stanchion_stores::open(&place.url).await.unwrap().records.unwrap();
    let record = store.get(&Key::new("blind").unwrap()).await.unwrap().unwrap();
    let kept = from_jsonl(&record.value).0.entities.len();
    eprintln!("control: {} of {} acknowledged writes are lost", WRITERS * EACH - kept, WRITERS * EACH);
    assert!(kept < WRITERS * EACH, "the harness finds nothing wrong with blind writes, so it proves nothing");
}

async fn killed_writers_lose_nothing_that_was_acknowledged(place: Place) {
    const KILLS: usize = 12;
    let mut told = Told::default();
    let mut lives = 0;
    let mut start = || {
        lives += 1;
        writer(&place, "safe", &format!("k{lives}"), usize::MAX)
    };
    let mut writers: Vec<Child> = (0..WRITERS).map(|_| start()).collect();
    for writer in &mut writers {
        writer.expect_line("READY", PATIENCE).await;
        writer.write_line("GO");
    }
    for kill in 0..KILLS {
        // It dies in the middle of its work: some answers in, others under way.
        let mut next = writers.remove(kill % WRITERS);
        for _ in 0..10 + kill * 7 % 5 {
            told.hear(&next.next_line(PATIENCE).await.expect("it writes on and on"));
        }
        next.kill();
        while let Some(line) = next.next_line(PATIENCE).await {
            told.hear(&line);
        }
        let mut fresh = start();
        fresh.expect_line("READY", PATIENCE).await;
        fresh.write_line("GO");
        writers.insert(kill % WRITERS, fresh);
    }
    for mut writer in writers {
        writer.kill();
        while let Some(line) = writer.next_line(PATIENCE).await {
            told.hear(&line);
        }
    }
    let open_ends = told.tried.len() - told.acknowledged.len();
    assert!(open_ends > 0 && told.acknowledged.len() >= KILLS, "nobody was killed at work: {told:?}");
    assert!(told.unknown.is_empty() && told.refused.is_empty(), "the store was there all the time: {told:?}");
    told.assert_kept(&kept(&place).await);
    // The killed hold nobody up: a new one writes at once.
    let after = race(&place, "safe").await;
    assert_eq!(after.acknowledged.len(), WRITERS * EACH);
    told.join(after);
    told.assert_kept(&kept(&place).await);
}

/// Writers, and a store that dies three times under them. What they said, and what is kept.
async fn restarts(place: &Place) -> (Told, BTreeSet<String>) {
    /// How long the store is away each time.
    const AWAY: Duration = Duration::from_millis(300);
    let server = place.server.as_ref().expect("an engine that can be killed");
    let mut writers: Vec<Child> = (0..WRITERS).map(|n| writer(place, "safe", &format!("r{n}"), usize::MAX)).collect();
    for writer in &mut writers {
        writer.expect_line("READY", PATIENCE).await;
        writer.write_line("GO");
    }
    let mut told = Told::default();
    for _ in 0..3 {
        hear_of_all(&mut writers, &mut told).await;
        server.kill();
        tokio::time::sleep(AWAY).await;
        server.restart().await;
        hear_of_all(&mut writers, &mut told).await;
    }
    for writer in &mut writers {
        writer.write_line("STOP");
    }
    for writer in writers {
        told = listen(writer, told).await;
    }
    let (acknowledged, unknown, refused) = (told.acknowledged.len(), told.unknown.len(), told.refused.len());
    eprintln!("{acknowledged} acknowledged, {unknown} unknown, {refused} refused");
    (told, kept(place).await)
}

async fn a_store_that_is_killed_and_comes_back_keeps_what_was_acknowledged(place: Place) {
    let (told, kept) = restarts(&place).await;
    told.assert_kept(&kept);
    let spoken: BTreeSet<String> = told.acknowledged.union(&told.unknown).cloned().collect();
    assert!(kept.is_subset(&spoken), "there, and neither acknowledged nor unknown: {:?}", kept.difference(&spoken));
}

async fn control_a_store_that_forgets_is_found_out(place: Place) {
    let (told, kept) = restarts(&place).await;
    let lost = told.acknowledged.difference(&kept).count();
    eprintln!("control: {lost} of {} acknowledged writes are lost", told.acknowledged.len());
    assert!(lost > 0, "the harness finds nothing wrong with a store that forgets, so it proves nothing");
}

/// Listens until each of the writers has had ten more of its mutations acknowledged.
async fn hear_of_all(writers: &mut [Child], told: &mut Told) {
    for writer in writers {
        let enough = told.acknowledged.len() + 10;
        while told.acknowledged.len() < enough {
            told.hear(&writer.next_line(PATIENCE).await.expect("it writes on and on"));
        }
    }
}

/// This process, if it is one of the writers.
async fn write() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (url, role, name) = (variable("URL"), variable("ROLE"), variable("NAME"));
    let many: usize = variable("MANY").parse().unwrap();
    println!("READY");
    let stop = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    stop.await.unwrap().unwrap();
    if role == "blind" {
        return write_blindly(&url, &name, many).await;
    }
    let memory = open(&url).await;
    let (ended, end) = tokio::sync::watch::channel(false);
    std::thread::spawn(move || {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        ended.send_replace(line.trim() == "STOP");
    });
    // Two at a time, so that groups are written, too.
    let half = async |part: usize| {
        for n in (part..many).step_by(2) {
            if *end.borrow() {
                return;
            }
            let name = format!("{name}-{n}");
            let began = tokio::time::Instant::now();
            println!("TRY {name}");
            match memory.change(Mutation::CreateEntities(vec![entity(name.clone(), &["x"])])).await {
                Ok(_) => println!("DONE {name}"),
                Err(MemoryError::Kept(error)) if error.ran() == Ran::No => {
                    println!("REFUSED {name}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => {
                    eprintln!("{name} after {:?}: {error:?}", began.elapsed());
                    println!("UNKNOWN {name}");
                }
            }
        }
    };
    tokio::join!(half(0), half(1));
}

/// Reads, changes, and writes whatever stands there by then.
async fn write_blindly(url: &str, name: &str, many: usize) {
    let store: Arc<dyn RecordStore> = stanchion_stores::open(url).await.unwrap().records.unwrap();
    let key = Key::new("blind").unwrap();
    for n in 0..many {
        let before = store.get(&key).await.unwrap().map(|record| record.value).unwrap_or_default();
        let mut graph = from_jsonl(&before).0;
        graph.entities.push(entity(format!("{name}-{n}"), &["x"]));
        let bytes = to_jsonl(&graph);
        loop {
            let now = store.get(&key).await.unwrap().map_or(Cond::Absent, |record| Cond::Version(record.version));
            match store.put(&key, bytes.clone().into(), now, None).await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        }
        println!("DONE {name}-{n}");
    }
}

macro_rules! on {
    ($engine:ident: $($case:ident),*) => {
        mod $engine {
            $(
                #[tokio::test]
                async fn $case() {
                    if super::is_helper() {
                        return super::write().await;
                    }
                    let Some(place) = super::Place::$engine().await else { return };
                    super::$case(place).await;
                }
            )*
        }
    };
}

on!(sqlite: every_acknowledged_write_is_there_and_nothing_else, control_without_the_condition_writes_are_lost,
    killed_writers_lose_nothing_that_was_acknowledged);
on!(redis: every_acknowledged_write_is_there_and_nothing_else, control_without_the_condition_writes_are_lost,
    killed_writers_lose_nothing_that_was_acknowledged, a_store_that_is_killed_and_comes_back_keeps_what_was_acknowledged);
on!(postgres: every_acknowledged_write_is_there_and_nothing_else, control_without_the_condition_writes_are_lost,
    killed_writers_lose_nothing_that_was_acknowledged, a_store_that_is_killed_and_comes_back_keeps_what_was_acknowledged);
on!(forgetful: control_a_store_that_forgets_is_found_out);
