//! Running cases, one or all.

use std::time::Instant;

use super::{Case, Outcome, StoreFactory};

/// Runs every case of `suites`; prints one line each to standard error.
///
/// `except` names exactly the cases that do not apply to the store.
///
/// ```
/// use stanchion_testkit::conformance::{locks, records, run_all};
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, StoreFactory};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let store = MemoryStore::new();
/// # let factory = StoreFactory::new(move || {
/// #     let store = store.clone();
/// #     async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// # });
/// let except = ["a_lost_reply_is_outcome_unknown", "waiters_are_served_in_order"];
/// run_all(&factory, &[records::CASES, locks::CASES], &except).await;
/// # }
/// ```
///
/// # Panics
/// At the end, naming all cases that failed, and those where `except` is wrong.
pub async fn run_all(factory: &StoreFactory, suites: &[&[Case]], except: &[&str]) {
    let known: Vec<&str> = suites.iter().flat_map(|cases| cases.iter()).map(|case| case.name).collect();
    let mut failures: Vec<String> = except
        .iter()
        .filter(|name| !known.contains(name))
        .map(|name| format!("{name}: listed under `except`, but there is no such case"))
        .collect();
    for case in suites.iter().flat_map(|cases| cases.iter()) {
        let start = Instant::now();
        let verdict = match guarded(*case, factory).await {
            Ok(outcome) => expected(case.name, &outcome, except).map(|()| outcome),
            Err(panic) => Err(message(&*panic)),
        };
        let ms = start.elapsed().as_millis();
        match verdict {
            Ok(Outcome::Passed) => eprintln!("ok              {} ({ms} ms)", case.name),
            Ok(Outcome::NotApplicable(why)) => eprintln!("not applicable  {}: {why} ({ms} ms)", case.name),
            Err(why) => {
                eprintln!("FAILED          {}: {why} ({ms} ms)", case.name);
                failures.push(format!("{}: {why}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} cases failed:\n{}", failures.len(), known.len(), failures.join("\n"));
}

/// Runs one case in a runtime of its own; what [`conformance_tests!`](crate::conformance_tests) expands to.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory, locks, run_case};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// run_case(locks::CASES, "one_exclusive_holder", || async { memory() }, &[]);
/// ```
///
/// # Panics
/// When the case fails, or when `except` is wrong about it.
pub fn run_case<Fut>(cases: &[Case], name: &str, factory: impl FnOnce() -> Fut, except: &[&str])
where
    Fut: Future<Output = StoreFactory>,
{
    let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let outcome = runtime.block_on(async { guarded(*case, &factory().await).await });
    // A case that spins cannot be ended, and must not keep its failure from being reported.
    runtime.shutdown_background();
    let outcome = outcome.unwrap_or_else(|panic| panic!("{name}: {}", message(&*panic)));
    if let Outcome::NotApplicable(why) = &outcome {
        eprintln!("not applicable: {why}");
    }
    expected(name, &outcome, except).unwrap_or_else(|why| panic!("{name}: {why}"));
}

/// A case that hangs must fail by name, not by the test runner's limit.
async fn guarded(case: Case, factory: &StoreFactory) -> Result<Outcome, Box<dyn std::any::Any + Send>> {
    let (own, limit) = (factory.clone(), factory.patient() * 6);
    let mut task = tokio::spawn(async move { (case.run)(&own).await });
    match tokio::time::timeout(limit, &mut task).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(error)) => Err(error.try_into_panic().unwrap_or_else(|_| Box::new("cancelled"))),
        Err(_) => {
            task.abort();
            Err(Box::new(format!("still running after {limit:?}")))
        }
    }
}

fn expected(name: &str, outcome: &Outcome, except: &[&str]) -> Result<(), String> {
    match (outcome, except.contains(&name)) {
        (Outcome::Passed, false) | (Outcome::NotApplicable(_), true) => Ok(()),
        (Outcome::Passed, true) => Err("applies and passes, but is listed under `except`".into()),
        (Outcome::NotApplicable(why), false) => {
            Err(format!("does not apply, because {why}; if that is right, list it under `except`"))
        }
    }
}

pub(crate) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked").to_owned()
}
