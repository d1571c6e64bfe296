//! Jobs with several processes, which are killed and stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stanchion_core::{Cond, Enqueue, Error, Job, JobInfo, JobState, Jobs, Key, MemoryStore, Owner, Page, RecordStore};
use stanchion_testkit::eventually;

use super::engine::{PATIENCE, Place, helpers_store, key};
use super::talk::{Helper, obey, say};

const LEASE: Duration = Duration::from_millis(1000);
/// Long enough that nobody loses it by standing still.
const LONG: Duration = Duration::from_secs(600);
const TIMES: usize = 100;

on_every_engine!(
    a_job_is_added_once_and_its_key_is_free_when_it_is_done,
    a_killed_worker_s_job_runs_once_more_and_is_done_once,
    a_stopped_worker_s_report_is_refused,
);

async fn a_job_is_added_once_and_its_key_is_free_when_it_is_done(place: Place) {
    judge_adding(&place.records().await, &mut Helper::start_many(&place, 2).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_added_once_and_its_key_is_free_when_it_is_done_in_memory() {
    let store: Arc<dyn RecordStore> = Arc::new(MemoryStore::new());
    judge_adding(&store, &mut []).await;
}

fn jobs(store: Arc<dyn RecordStore>) -> Jobs {
    Jobs::shared(store, "reports").unwrap()
}

async fn helper() {
    let store = helpers_store().await.records.unwrap();
    let jobs = jobs(store.clone());
    let mut held: Option<Job> = None;
    obey(async |words| match words {
        ["ADD", way, name, window_ms] => add(&store, way, name, window_ms.parse().unwrap()).await,
        ["WORK-FOR-EVER"] => {
            let work = |job: JobInfo| async move {
                say(&format!("STARTED {}", job.attempts));
                std::future::pending::<Result<(), Error>>().await
            };
            format!("{:?}", jobs.work_one(LEASE, work).await)
        }
        ["WORK", ms] => work(&jobs, Duration::from_millis(ms.parse().unwrap())).await,
        ["MARK", name] => mark(&*store, &key(name)).await,
        ["CLAIM"] => {
            held = jobs.claim(LEASE).await.unwrap();
            held.as_ref().map_or("NONE".to_owned(), |job| format!("CLAIMED {}", job.info().attempts))
        }
        ["DONE"] => answer(held.take().unwrap().done().await),
        ["DONE-BLIND"] => {
            blindly_done(&*store).await;
            "DONE".to_owned()
        }
        other => panic!("{other:?}"),
    })
    .await;
}

fn answer(outcome: Result<(), Error>) -> String {
    outcome.map_or_else(|e| format!("REFUSED {}", e.kind().code()), |()| "DONE".to_owned())
}

/// Adds the same job many times at once: how many were new, and how often which job was found.
async fn add(store: &Arc<dyn RecordStore>, way: &str, name: &str, window_ms: u64) -> String {
    let job = Enqueue::new(key(name), "").unique_for(Duration::from_millis(window_ms)).unwrap();
    let tasks: Vec<_> = (0..TIMES)
        .map(|_| {
            let (store, job, name) = (store.clone(), job.clone(), name.to_owned());
            let look_first = way == "LOOK-FIRST";
            tokio::spawn(async move {
                if look_first {
                    return look_then_add(&*store, &name).await;
                }
                let enqueued = jobs(store).enqueue(job).await.unwrap();
                (!enqueued.deduplicated, enqueued.job_id.to_string())
            })
        })
        .collect();
    let (mut new, mut found) = (vec![], BTreeMap::<String, usize>::new());
    for task in tasks {
        match task.await.unwrap() {
            (true, id) => new.push(id),
            (false, id) => *found.entry(id).or_default() += 1,
        }
    }
    let found: Vec<_> = found.iter().map(|(id, times)| format!("{id}={times}")).collect();
    format!("{};{}", new.join(","), found.join(","))
}

/// The control: is there such a job? If not, add one.
async fn look_then_add(store: &dyn RecordStore, name: &str) -> (bool, String) {
    let prefix = format!("naive/{name}/");
    if let Some((at, _)) = store.scan(&prefix, Page::first(1)).await.unwrap().pop() {
        return (false, at.as_str()[prefix.len()..].to_owned());
    }
    // Memory answers at once; everything else lets others in here.
    tokio::task::yield_now().await;
    let id = Owner::random().to_hex();
    store.put(&key(&format!("{prefix}{id}")), "".into(), Cond::Absent, None).await.unwrap();
    (true, id)
}

#[derive(Debug, Default)]
struct Added {
    new: Vec<String>,
    found: BTreeMap<String, usize>,
}

/// Two processes add the same job, each a hundred times, all at once.
async fn added_by_two(
    store: &Arc<dyn RecordStore>,
    helpers: &mut [Helper],
    way: &str,
    name: &str,
    window_ms: u64,
) -> Added {
    let mut answers = vec![];
    if helpers.is_empty() {
        let both = tokio::join!(add(store, way, name, window_ms), add(store, way, name, window_ms));
        answers.extend([both.0, both.1]);
    }
    for helper in helpers.iter_mut() {
        helper.tell(&format!("ADD {way} {name} {window_ms}"));
    }
    for helper in helpers.iter_mut() {
        answers.push(helper.answer().await);
    }
    let mut added = Added::default();
    for answer in answers {
        let (new, found) = answer.split_once(';').unwrap();
        added.new.extend(new.split(',').filter(|id| !id.is_empty()).map(str::to_owned));
        for pair in found.split(',').filter(|pair| !pair.is_empty()) {
            let (id, times) = pair.split_once('=').unwrap();
            *added.found.entry(id.to_owned()).or_default() += times.parse::<usize>().unwrap();
        }
    }
    added
}

/// What time it is in the store.
async fn store_ms(store: &Arc<dyn RecordStore>) -> u64 {
    let at = key(&format!("clock-{}", stanchion_core::Owner::random().to_hex()));
    store.put(&at, "".into(), stanchion_core::Cond::Absent, None).await.unwrap();
    store.get(&at).await.unwrap().unwrap().times.unwrap().now_ms
}

async fn judge_adding(store: &Arc<dyn RecordStore>, helpers: &mut [Helper]) {
    let jobs = jobs(store.clone());
    let mut earlier: Vec<String> = vec![];
    for _ in 0..3 {
        let added = added_by_two(store, helpers, "ENQUEUE", "october", 0).await;
        let [id] = &added.new[..] else { panic!("one is new: {added:?}") };
        assert_eq!(added.found, BTreeMap::from([(id.clone(), 2 * TIMES - 1)]), "all others are told of it");
        assert!(!earlier.contains(id), "after the last one was done, the key was free");
        let listed = jobs.list(None, 9).await.unwrap();
        assert_eq!((listed.len(), listed[0].state, listed[0].id.to_string()), (1, JobState::Queued, id.clone()));
        jobs.claim(LONG).await.unwrap().unwrap().done().await.unwrap();
        earlier.push(id.clone());
    }

    // A window: done, and still taken until it is over.
    let began_ms = store_ms(store).await;
    let added = added_by_two(store, helpers, "ENQUEUE", "november", 2000).await;
    assert_eq!(added.new.len(), 1, "{added:?}");
    jobs.claim(LONG).await.unwrap().unwrap().done().await.unwrap();
    let november = || Enqueue::new(key("november"), "");
    let mut taken = 0;
    eventually(PATIENCE, "the window ends", || {
        let (jobs, id) = (&jobs, &added.new[0]);
        let again = async move {
            let enqueued = jobs.enqueue(november()).await.unwrap();
            assert!(!enqueued.deduplicated || enqueued.job_id.to_string() == *id);
            !enqueued.deduplicated
        };
        taken += 1;
        again
    })
    .await;
    // By the store's own clock, which decides: ours may be a part of a millisecond behind it.
    let stood_ms = store_ms(store).await - began_ms;
    assert!(stood_ms >= 2000 && taken > 1, "free after {stood_ms} ms, at try {taken}");

    for round in 0.. {
        let name = format!("december-{round}");
        if added_by_two(store, helpers, "LOOK-FIRST", &name, 0).await.new.len() > 1 {
            break;
        }
        assert!(round < 1000, "void: looking first never added two, so one alone proves nothing");
    }
}

/// The article's table: the key of a job that was done long ago blocks for ever, and says nothing.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn on_conflict_do_nothing_blocks_for_ever_and_we_do_not() {
    let place = super::engine::postgres().await;
    let client = crate::postgres::plain(&place.url).await;
    client
        .batch_execute("CREATE TABLE jobs (id serial PRIMARY KEY, dedup_key text UNIQUE, state text DEFAULT 'queued')")
        .await
        .unwrap();
    let naive = || async {
        let insert = "INSERT INTO jobs (dedup_key) VALUES ('october') ON CONFLICT (dedup_key) DO NOTHING";
        client.execute(insert, &[]).await.unwrap()
    };
    assert_eq!((naive().await, naive().await), (1, 0));
    client.execute("UPDATE jobs SET state = 'done'", &[]).await.unwrap();
    assert_eq!(naive().await, 0, "void: the control is not blocked");

    let jobs = jobs(place.records().await);
    let october = || jobs.enqueue(Enqueue::new(key("october"), ""));
    let first = october().await.unwrap();
    let second = october().await.unwrap();
    assert_eq!((first.deduplicated, second.deduplicated, first.job_id), (false, true, second.job_id));
    jobs.claim(LONG).await.unwrap().unwrap().done().await.unwrap();
    let third = october().await.unwrap();
    assert!(!third.deduplicated && third.job_id != first.job_id);
}

/// Works for a while: how many runs began, how many reports were accepted, and the highest attempt.
async fn work(jobs: &Jobs, time: Duration) -> String {
    let (began, mut runs, mut done, mut attempt) = (Instant::now(), 0, 0, 0);
    while began.elapsed() < time {
        let mut ran = 0;
        let work = |job: JobInfo| {
            ran = job.attempts;
            async { Ok::<(), Error>(()) }
        };
        let worked = jobs.work_one(LEASE, work).await.unwrap();
        match worked {
            Some(worked) => {
                assert_eq!(worked.state, JobState::Done);
                (runs, done, attempt) = (runs + 1, done + 1, ran.max(attempt));
            }
            // An idle worker's pause between two looks.
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    format!("{runs} {done} {attempt}")
}

async fn both_work(workers: &mut [Helper], time: Duration, meanwhile: impl FnOnce()) -> (u32, u32, u32) {
    for worker in workers.iter_mut() {
        worker.tell(&format!("WORK {}", time.as_millis()));
    }
    meanwhile();
    let mut sum = (0, 0, 0);
    for worker in workers.iter_mut() {
        let answer = worker.answer().await;
        let numbers: Vec<u32> = answer.split(' ').map(|number| number.parse().unwrap()).collect();
        sum = (sum.0 + numbers[0], sum.1 + numbers[1], sum.2.max(numbers[2]));
    }
    sum
}

/// The control: a job is marked as taken, by compare-and-swap but without an end.
async fn mark(store: &dyn RecordStore, at: &Key) -> String {
    let record = store.get(at).await.unwrap().unwrap();
    if record.value != "queued" {
        return "TAKEN".to_owned();
    }
    store.put(at, "running".into(), Cond::Version(record.version), None).await.unwrap();
    "MARKED".to_owned()
}

async fn a_killed_worker_s_job_runs_once_more_and_is_done_once(place: Place) {
    let store = place.records().await;
    let jobs = jobs(store.clone());
    jobs.enqueue(Enqueue::new(key("october"), "")).await.unwrap();
    let marked = key("naive");
    store.put(&marked, "queued".into(), Cond::Absent, None).await.unwrap();
    let (mut owner, mut workers) = (Helper::start(&place).await, Helper::start_many(&place, 2).await);

    assert_eq!(owner.ask("MARK naive").await, "MARKED");
    assert_eq!(owner.ask("WORK-FOR-EVER").await, "STARTED 1");
    let alive = both_work(&mut workers, LEASE * 5 / 2, || {}).await;
    assert_eq!(alive, (0, 0, 0), "a living worker keeps its job for longer than its lease");

    let after = both_work(&mut workers, LEASE * 4, || owner.0.kill()).await;
    assert_eq!(after, (1, 1, 2), "one more run, one report, and it is the second attempt");
    let again = both_work(&mut workers, LEASE * 2, || {}).await;
    assert_eq!(again, (0, 0, 0), "and that was all");
    let counts = jobs.counts().await.unwrap();
    assert_eq!((counts.queued, counts.running, counts.dead), (0, 0, 0));
    assert!(!jobs.enqueue(Enqueue::new(key("october"), "")).await.unwrap().deduplicated);

    assert_eq!(mark(&*store, &marked).await, "TAKEN", "void: the control's job is free, so no lease was needed");
}

/// The control: writes "done" over whatever is there.
async fn blindly_done(store: &dyn RecordStore) {
    let (at, record) = store.scan("\u{1}job/reports/", Page::first(1)).await.unwrap().remove(0);
    store.put(&at, record.value, Cond::Version(record.version), None).await.unwrap();
}

/// A worker is stopped with its report in hand, past its lease; another takes the job; the first wakes up.
async fn a_stopped_worker_s_report_is_refused(place: Place) {
    let store = place.records().await;
    let jobs = jobs(store.clone());
    for way in ["DONE", "DONE-BLIND"] {
        jobs.enqueue(Enqueue::new(key("october"), "")).await.unwrap();
        let mut stopped = Helper::start(&place).await;
        assert_eq!(stopped.ask("CLAIM").await, "CLAIMED 1");
        stopped.0.pause();
        // It lies in the pipe when the worker wakes up: the report that was about to be sent.
        stopped.tell(way);
        let taken = Mutex::new(None);
        eventually(PATIENCE, "the lease ends", || async {
            let found = jobs.claim(LONG).await.unwrap();
            let ended = found.is_some();
            *taken.lock().unwrap() = found;
            ended
        })
        .await;
        let job = taken.into_inner().unwrap().unwrap();
        assert_eq!(job.info().attempts, 2);
        stopped.0.resume();
        let late = stopped.answer().await;
        let reported = match way {
            "DONE" => answer(job.done().await),
            _ => {
                blindly_done(&*store).await;
                "DONE".to_owned()
            }
        };
        let accepted = [&late, &reported].iter().filter(|answer| **answer == "DONE").count();
        if way == "DONE" {
            assert_eq!((late.as_str(), reported.as_str()), ("REFUSED LEASE_LOST", "DONE"));
            assert_eq!(accepted, 1);
        } else {
            assert_eq!(accepted, 2, "void: without the comparison only one report is accepted as well");
        }
    }
}
