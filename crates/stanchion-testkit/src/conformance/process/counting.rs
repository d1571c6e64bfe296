//! An exact total, and what becomes of it without the lock.

use super::super::support::Names;
use super::super::{Outcome, StoreFactory};
use super::{Taker, alone};

const PROCESSES: u32 = 5;
const TIMES: u32 = 10;

/// Five processes read, increment and write a number in a file ten times each, under the lock: exactly 50.
///
/// The control does the same without the lock and must lose some.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::process::five_processes_times_ten_increments_keep_every_one;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = five_processes_times_ten_increments_keep_every_one(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // processes do not share the memory of one
/// # }
/// ```
pub async fn five_processes_times_ten_increments_keep_every_one(store: &StoreFactory) -> Outcome {
    if let Some(outcome) = alone(store).await {
        return outcome;
    }
    let mut takers = Vec::new();
    for _ in 0..PROCESSES {
        takers.push(Taker::start(store).await);
    }
    let key = Names::fresh().key("lock");
    assert_eq!(total(&mut takers, key.as_str()).await, PROCESSES * TIMES, "the exact total");
    for _ in 0..20 {
        if total(&mut takers, "-").await < PROCESSES * TIMES {
            return Outcome::Passed;
        }
    }
    panic!("void: without the lock nothing was lost either, so the exact total proves nothing");
}

/// Lets all processes count at once; the number at the end.
async fn total(takers: &mut [Taker], key: &str) -> u32 {
    let file = tempfile::NamedTempFile::new().expect("a file to count in");
    // stanchion-audit: ignore RC302 -- written before anybody counts
    std::fs::write(file.path(), format!("{:010}", 0)).expect("the counter begins at 0");
    let path = file.path().to_str().expect("a path without surprises");
    for taker in takers.iter_mut() {
        taker.tell(&format!("COUNT {path} {TIMES} {key}"));
    }
    for taker in takers.iter_mut() {
        let answer = taker.answer().await;
        assert_eq!(answer, format!("COUNTED {TIMES}"), "every process does its part");
    }
    std::fs::read_to_string(file.path()).expect("the counter").parse().expect("a number")
}
