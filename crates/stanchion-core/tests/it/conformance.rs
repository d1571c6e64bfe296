//! The published conformance suite over the reference store, with and without a readable clock, and the proof that
//! its cases can fail.

mod broken_fused;
mod broken_locks;
mod broken_records;
mod queue;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{CasLock, Chaos, ChaosLock, ChaosStore, MemoryStore};
use stanchion_testkit::conformance::{Case, Client, StoreFactory, fused, locks, records, run_all};

fn factory(store: MemoryStore) -> StoreFactory {
    StoreFactory::new(move || {
        let store = store.clone();
        async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
    })
}

async fn with_clock() -> StoreFactory {
    factory(MemoryStore::new())
}

async fn without_clock() -> StoreFactory {
    factory(MemoryStore::without_clock())
}

stanchion_testkit::conformance_tests!(memory, with_clock, except: [
    a_lost_reply_is_outcome_unknown, // there is no wire
    waiters_are_served_in_order,     // compare-and-swap has no queue
]);

stanchion_testkit::conformance_tests!(memory_without_clock, without_clock, except: [
    a_lost_reply_is_outcome_unknown,
    waiters_are_served_in_order,
]);

/// Delays only: a store that loses answers on purpose cannot pass cases that want answers. What its losses do is in
/// `chaos.rs`.
async fn behind_chaos() -> StoreFactory {
    let (store, chaos) = (MemoryStore::new(), "delay=3ms,seed=7".parse::<Chaos>().expect("a setting"));
    StoreFactory::new(move || {
        let store = ChaosStore::new(store.clone(), chaos.clone());
        let locks = ChaosLock::new(CasLock::new(store.clone()), chaos.clone());
        async move { Client::new(Arc::new(locks), Some(Arc::new(store))).separate() }
    })
}

stanchion_testkit::conformance_tests!(memory_behind_chaos, behind_chaos, except: [
    a_lost_reply_is_outcome_unknown,
    waiters_are_served_in_order,
]);

stanchion_testkit::conformance_tests!(separate_over_memory, with_clock, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown, // there is no wire
]);

stanchion_testkit::conformance_tests!(separate_over_memory_without_clock, without_clock, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown,
]);

stanchion_testkit::conformance_tests!(separate_behind_chaos, behind_chaos, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown,
]);

/// The names of the bullets under the last `# Behavior` before `pub trait {name}`.
fn bullets(source: &str, name: &str) -> Vec<String> {
    let docs = source.split(&format!("pub trait {name}")).next().unwrap_or_default();
    let behavior = docs.rsplit("/// # Behavior\n").next().unwrap_or_default();
    let named = behavior.lines().filter_map(|line| line.strip_prefix("/// - `"));
    named.filter_map(|line| Some(line.split_once('`')?.0.to_owned())).collect()
}

fn names(cases: &[Case]) -> Vec<String> {
    cases.iter().map(|case| case.name.to_owned()).collect()
}

#[test]
fn every_bullet_of_a_trait_is_a_case_and_every_case_is_a_bullet() {
    let record = bullets(include_str!("../../src/record.rs"), "RecordStore");
    assert!(record.len() > 10, "the bullets were found: {record:?}");
    assert_eq!(names(records::CASES), record);
    let lock = bullets(include_str!("../../src/lock.rs"), "LockBackend");
    assert!(lock.len() > 10, "the bullets were found: {lock:?}");
    assert_eq!(names(locks::CASES), lock);
    let steps = bullets(include_str!("../../src/fused.rs"), "Fused");
    assert!(steps.len() > 5, "the bullets were found: {steps:?}");
    assert_eq!(names(fused::CASES), steps);
}

/// A bug, the case that must find it, and a part of what the case must say.
type Expectation<B> = (B, &'static str, &'static str);

/// Runs each case against its broken store. One that passes, or fails for another reason, is reported at the end.
fn must_fail<B: Debug + Copy>(table: &[Expectation<B>], cases: &'static [Case], broken: fn(B) -> StoreFactory) {
    let mut wrong = Vec::new();
    runtime().block_on(async {
        for (bug, name, says) in table {
            let case = cases.iter().filter(|case| case.name == *name);
            let one: Vec<Case> = case.copied().collect();
            assert_eq!(one.len(), 1, "{name} is a case");
            let factory = broken(*bug).patience(Duration::from_millis(1500));
            let outcome = tokio::spawn(async move { run_all(&factory, &[&one], &[]).await }).await;
            match outcome.map_err(|e| e.into_panic().downcast::<String>().map_or_else(|_| String::new(), |text| *text))
            {
                Err(text) if text.contains(says) && !text.contains("does not apply") => {}
                Err(text) => wrong.push(format!("{bug:?}: {name} failed for another reason than {says:?}: {text}")),
                Ok(()) => wrong.push(format!("{bug:?}: {name} passed")),
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every case has a store that proves that it can fail.
fn all_proven<B>(table: &[Expectation<B>], cases: &[Case]) {
    for case in cases {
        assert!(table.iter().any(|(_, name, _)| *name == case.name), "no broken store proves that {case:?} can fail");
    }
}

/// The wrapper without a bug passes every case, so it is the bug that is found.
fn must_pass(cases: &'static [Case], factory: StoreFactory) {
    runtime().block_on(run_all(&factory, &[cases], &[]));
}

/// One thread: tasks then take turns at every await, whatever else the machine does, so that a planted race shows
/// in each run and not only in most.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
