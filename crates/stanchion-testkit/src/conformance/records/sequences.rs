//! Records against a plain map.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use stanchion_core::{Cond, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, Version};

use super::super::sequences::{compare, same};
use super::super::support::{Names, no_records};
use super::super::{Outcome, StoreFactory};
use super::two;

/// In an order that has lower, equal and higher numbers next to each other.
const TOKENS: [(u64, u64); 4] = [(1, 1), (2, 1), (2, 2), (3, 1)];

#[derive(Debug, Clone, Copy)]
enum Given {
    Absent,
    /// The version that stands there, or none.
    Current,
    /// The one before it.
    Stale,
    Token(usize),
}

#[derive(Debug, Clone, Copy)]
enum What {
    Get,
    Touch(usize),
    Put(Given, u8),
    Delete(Given),
    Scan,
}

/// A client, a key, and what it does there.
type Step = (bool, bool, What);

#[derive(Debug, Default)]
struct Entry {
    live: Option<(u8, Version)>,
    before: Option<Version>,
    highest: Option<Version>,
    fence: Option<FencingToken>,
}

impl Entry {
    fn cond(&self, given: Given) -> Cond {
        match given {
            Given::Current => self.live.map_or(Cond::Absent, |(_, version)| Cond::Version(version)),
            Given::Stale => self.before.map_or(Cond::Absent, Cond::Version),
            Given::Absent => Cond::Absent,
            Given::Token(index) => Cond::Fence(token(index)),
        }
    }

    fn refuses(&self, cond: Cond) -> Option<ErrorKind> {
        match (cond, self.live) {
            (Cond::Absent, None) => None,
            (Cond::Version(expected), Some((_, found))) if expected == found => None,
            (Cond::Fence(token), _) if self.fence == Some(token) => None,
            (Cond::Fence(_), _) => Some(ErrorKind::FenceRejected),
            (Cond::Absent | Cond::Version(_), _) => Some(ErrorKind::Conflict),
        }
    }
}

fn token(index: usize) -> FencingToken {
    FencingToken::from_parts(TOKENS[index].0, TOKENS[index].1)
}

fn steps() -> impl Strategy<Value = Step> {
    let given = || {
        prop_oneof![
            Just(Given::Absent),
            Just(Given::Current),
            Just(Given::Current),
            Just(Given::Stale),
            (0..TOKENS.len()).prop_map(Given::Token),
        ]
    };
    let what = prop_oneof![
        Just(What::Get),
        (0..TOKENS.len()).prop_map(What::Touch),
        (given(), any::<u8>()).prop_map(|(given, value)| What::Put(given, value)),
        (given(), any::<u8>()).prop_map(|(given, value)| What::Put(given, value)),
        given().prop_map(What::Delete),
        Just(What::Scan),
    ];
    (any::<bool>(), any::<bool>(), what)
}

/// Whatever two clients do one after the other, each answer is that of a plain map. `STANCHION_SEQUENCES` says how many
/// sequences are tried.
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
/// use stanchion_testkit::conformance::records::any_sequence_is_answered_as_a_map_would;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(any_sequence_is_answered_as_a_map_would(&memory()).await, Outcome::Passed);
/// # }
/// ```
pub async fn any_sequence_is_answered_as_a_map_would(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    compare(steps(), |steps| run(a.clone(), b.clone(), steps)).await;
    Outcome::Passed
}

async fn run(a: Arc<dyn RecordStore>, b: Arc<dyn RecordStore>, steps: Vec<Step>) -> std::result::Result<(), String> {
    let names = Names::fresh();
    let mut map = BTreeMap::from([false, true].map(|second| (key(&names, second), Entry::default())));
    for (number, (client, second, what)) in steps.into_iter().enumerate() {
        let (store, key) = (if client { &a } else { &b }, key(&names, second));
        let differs = step(store, &names, &mut map, &key, what).await;
        differs.map_err(|difference| format!("step {number}, {what:?}: {difference}"))?;
    }
    Ok(())
}

fn key(names: &Names, second: bool) -> Key {
    names.key(if second { "b" } else { "a" })
}

async fn step(
    store: &Arc<dyn RecordStore>,
    names: &Names,
    map: &mut BTreeMap<Key, Entry>,
    key: &Key,
    what: What,
) -> std::result::Result<(), String> {
    if matches!(what, What::Scan) {
        let found = store.scan(names.prefix(), Page::first(9)).await.map_err(|e| e.to_string())?;
        let found: Vec<_> = found.iter().map(|(key, record)| (key.clone(), read(record))).collect();
        let expected: Vec<_> = map.iter().filter_map(|(key, entry)| Some((key.clone(), entry.live?))).collect();
        return same("a scan", &found, &expected);
    }
    let entry = map.entry(key.clone()).or_default();
    match what {
        What::Get | What::Scan => {
            let found = store.get(key).await.map_err(|e| e.to_string())?;
            same("a read", &found.as_ref().map(read), &entry.live)
        }
        What::Touch(index) => {
            let token = token(index);
            let refused = (!token.supersedes(entry.fence.as_ref())).then_some(ErrorKind::FenceRejected);
            let touched = store.touch(key, &token).await;
            same("the refusal of a touch", &kind(&touched), &refused)?;
            let Ok(found) = touched else { return Ok(()) };
            entry.fence = Some(token);
            same("what a touch read", &found.as_ref().map(read), &entry.live)
        }
        What::Put(given, value) => {
            let cond = entry.cond(given);
            let put = store.put(key, vec![value].into(), cond, None).await;
            same("the refusal of a write", &kind(&put), &entry.refuses(cond))?;
            let Ok(version) = put else { return Ok(()) };
            if entry.highest.is_some_and(|highest| version <= highest) {
                return Err(format!("version {version:?} after {:?}", entry.highest));
            }
            entry.before = entry.live.map(|(_, version)| version).or(entry.before);
            (entry.live, entry.highest) = (Some((value, version)), Some(version));
            Ok(())
        }
        What::Delete(given) => {
            let cond = entry.cond(given);
            let nothing = entry.live.is_none().then_some(ErrorKind::Conflict);
            let refused = entry.refuses(cond).or(nothing);
            let deleted = store.delete(key, cond).await;
            same("the refusal of a delete", &kind(&deleted), &refused)?;
            if deleted.is_ok() {
                entry.before = entry.live.take().map(|(_, version)| version);
            }
            Ok(())
        }
    }
}

fn read(record: &Record) -> (u8, Version) {
    (record.value.first().copied().unwrap_or_default(), record.version)
}

fn kind<T>(answer: &Result<T>) -> Option<ErrorKind> {
    answer.as_ref().err().map(stanchion_core::Error::kind)
}
