//! One case of the conformance suite as a finder.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{CasLock, MemoryStore};
use stanchion_testkit::conformance::{Case, Client, StoreFactory, leases, locks, records, run_case};
use stanchion_testkit::engines::Redis;

use super::exhibit::{Broken, Found, Store, Suite};

/// A case that waits for what a bug keeps from coming fails after this time.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn run(store: Store, suite: Suite, case: &'static str, property: &'static str) -> Found {
    let cases: &'static [Case] = match suite {
        Suite::Records => records::CASES,
        Suite::Locks => locks::CASES,
        Suite::Leases => leases::CASES,
    };
    let why = super::quietly(|| run_case(cases, case, || factory(store), &[])).err();
    let why = why.map(|why| short(why.trim_start_matches(case).trim_start_matches(": ")));
    let steps = vec![format!("the case {} on {}", case.replace('_', " "), name(store))];
    Found { broken: why.map(|why| Broken::new(property, why)), steps, tried: 1, complete: true }
}

/// Without what stands in brackets: whole stores and grants, for whoever debugs a backend.
fn short(why: &str) -> String {
    why.split_once(['[', '{', '(']).map_or_else(|| why.to_owned(), |(before, _)| format!("{before}…"))
}

const fn name(store: Store) -> &'static str {
    match store {
        Store::Memory => "the reference store",
        Store::Sqlite => "SQLite",
        Store::Redis => "Redis",
        Store::File => "kernel locks",
    }
}

async fn factory(store: Store) -> StoreFactory {
    let factory = match store {
        Store::Memory => {
            let store = MemoryStore::new();
            StoreFactory::new(move || {
                let store = store.clone();
                async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
            })
        }
        Store::Redis => {
            let server = Arc::new(Redis::start().await);
            at(move || server.url())
        }
        Store::Sqlite | Store::File => {
            let folder = Arc::new(tempfile::tempdir().expect("a folder for a store"));
            let scheme = if store == Store::Sqlite { "sqlite" } else { "file" };
            at(move || format!("{scheme}:{}", folder.path().join("store").display()))
        }
    };
    factory.patience(PATIENCE)
}

fn at(url: impl Fn() -> String + Send + Sync + 'static) -> StoreFactory {
    StoreFactory::new(move || {
        let url = url();
        async move {
            let opened = stanchion_stores::open(&url).await.unwrap_or_else(|e| panic!("{url}: {e}"));
            Client::new(opened.locks, opened.records)
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sentence_that_is_cut_says_so() {
        assert_eq!(super::short("three are granted, not [Grant { a: 1 }]"), "three are granted, not …");
        assert_eq!(super::short("by another owner"), "by another owner");
    }
}
