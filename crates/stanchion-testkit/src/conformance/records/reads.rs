//! Reading, listing, watching.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stanchion_core::{Cond, FencingToken, Key, Page, RecordStore, Version};

use super::super::support::{LONG, Must as _, Names, SHORT, no_records, until};
use super::super::{Outcome, StoreFactory};
use super::two;

/// A read returns the value and version of the last acknowledged write, also another client's.
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
/// use stanchion_testkit::conformance::records::get_sees_the_last_put;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = get_sees_the_last_put(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn get_sees_the_last_put(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let every_byte: Bytes = (0..=255).collect::<Vec<u8>>().into();
    let large: Bytes = vec![7; 200_000].into();
    let values = [every_byte, Bytes::new(), large, "last".into()];
    for name in ["plain", "üñí – 鍵", "a b'c\"d\\e%f_g*h?[i]{j}:k", &"x".repeat(400)] {
        let key = names.key(name);
        assert_eq!(a.get(&key).await.must("get"), None, "nobody has written {key} yet");
        let mut cond = Cond::Absent;
        for (round, value) in values.iter().enumerate() {
            let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
            let version = writer.put(&key, value.clone(), cond, None).await.must("put");
            for client in [reader, writer] {
                let record = client.get(&key).await.must("get").must("the record was written");
                assert_eq!(record.version, version, "the version of the last put of {key}");
                assert!(record.value == value, "the value of the last put of {key}, round {round}");
                assert_eq!(record.fence, None, "nobody has touched {key}");
                assert_eq!(record.times.is_some(), client.capability().clock, "a clock is what `clock` says");
                assert!(record.times.is_none_or(|times| times.written_ms <= times.now_ms), "{:?}", record.times);
            }
            cond = Cond::Version(version);
        }
        a.delete(&key, cond).await.must("delete");
        assert_eq!(b.get(&key).await.must("get"), None, "{key} was deleted");
    }
    Outcome::Passed
}

/// Keys with the prefix, in byte order, after `page.after`, at most `page.limit`.
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
/// use stanchion_testkit::conformance::records::scan_is_sorted_and_paged;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = scan_is_sorted_and_paged(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn scan_is_sorted_and_paged(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    // Byte order is neither the order of a collation nor that of UTF-16; `_`, `%`, `*` and `[` are patterns somewhere.
    let sorted = ["%", "*", "A", "B", "Z", "[x]", "_", "a", "a/b", "a10", "a9", "b", "z", "é", "\u{ffee}", "😀"];
    for i in (0..sorted.len()).map(|i| i * 7 % sorted.len()) {
        let key = names.key(&format!("in_%/{}", sorted[i]));
        a.put(&key, format!("{i}").into(), Cond::Absent, None).await.must("put");
    }
    // Neighbours that a pattern or a careless upper bound would take in, and keys that have no record (any more).
    for name in ["in_%", "in_%.", "in_%0", "inx%/a", "in_y/a", "IN_%/a", "in"] {
        a.put(&names.key(name), "no".into(), Cond::Absent, None).await.must("put");
    }
    a.touch(&names.key("in_%/c-touched"), &FencingToken::from_parts(1, 1)).await.must("touch");
    let deleted = names.key("in_%/c-deleted");
    let version = a.put(&deleted, "no".into(), Cond::Absent, None).await.must("put");
    a.delete(&deleted, Cond::Version(version)).await.must("delete");
    let expired = names.key("in_%/c-expired");
    a.put(&expired, "no".into(), Cond::Absent, Some(SHORT)).await.must("put");
    until(store.patient(), "the record expires", || async {
        b.get(&expired).await.must("get").is_none().then_some(())
    })
    .await;

    let prefix = format!("{}in_%/", names.prefix());
    let expected: Vec<Key> = sorted.iter().map(|name| names.key(&format!("in_%/{name}"))).collect();
    for limit in [1, 3, sorted.len(), 100] {
        let (mut found, mut page) = (Vec::new(), Page::first(limit));
        loop {
            let part = b.scan(&prefix, page).await.must("scan");
            assert!(part.len() <= limit, "{} entries on a page of {limit}", part.len());
            let Some((last, _)) = part.last() else { break };
            page = Page::after(last.clone(), limit);
            found.extend(part);
            assert!(found.len() <= expected.len(), "pages of {limit}: more entries than keys: {found:?}");
        }
        let keys: Vec<Key> = found.iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys, expected, "pages of {limit}");
        for (i, (key, record)) in found.iter().enumerate() {
            assert_eq!(record.value, format!("{i}"), "the value of {key}");
            assert_eq!(record.version, b.get(key).await.must("get").must("listed").version, "of {key}");
        }
    }
    let between = b.scan(&prefix, Page::after(names.key("in_%/a0"), 1)).await.must("scan");
    assert_eq!(between[0].0, names.key("in_%/a10"), "`after` need not be a key that exists");
    assert_eq!(b.scan(&prefix, Page::first(0)).await.must("scan"), [], "a page of 0");
    Outcome::Passed
}

/// `changed` returns soon after a write or delete of another client, at once if it is late, at the latest at `until`.
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
/// use stanchion_testkit::conformance::records::changed_wakes_on_a_write;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = changed_wakes_on_a_write(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn changed_wakes_on_a_write(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let key = Names::fresh().key("watched");
    let mut since = None;
    for round in 0..4 {
        // Until the watcher has been asked it cannot have missed anything; that it still waits is checked, not needed.
        let watch = tokio::spawn(watch(Arc::clone(&a), key.clone(), since, store.patient()));
        let quiet = tokio::time::Instant::now() + Duration::from_millis(50);
        b.changed(&key, since, quiet).await.must("changed ends at `until` without a write");
        let before = since;
        since = if round == 2 {
            b.delete(&key, Cond::Version(since.must("written"))).await.must("delete");
            None
        } else {
            let cond = since.map_or(Cond::Absent, Cond::Version);
            Some(b.put(&key, format!("{round}").into(), cond, Some(LONG)).await.must("put"))
        };
        let written = Instant::now();
        let seen = watch.await.expect("the watcher ends");
        assert_eq!(seen, since, "what the watcher reads after round {round}");
        assert!(written.elapsed() < store.patient() / 2, "woken {:?} after round {round}", written.elapsed());
        let late = Instant::now();
        let until = tokio::time::Instant::now() + store.patient();
        a.changed(&key, before, until).await.must("changed");
        assert!(late.elapsed() < store.patient() / 2, "the version is already another: {:?}", late.elapsed());
    }
    Outcome::Passed
}

/// The version that replaced `since`. A wake-up may be early, so it looks and waits again.
pub(in super::super) async fn watch(
    records: Arc<dyn RecordStore>,
    key: Key,
    since: Option<Version>,
    patience: Duration,
) -> Option<Version> {
    let until = tokio::time::Instant::now() + patience;
    loop {
        records.changed(&key, since, until).await.must("changed");
        let found = records.get(&key).await.must("get").map(|record| record.version);
        if found != since || tokio::time::Instant::now() >= until {
            return found;
        }
        tokio::task::yield_now().await;
    }
}
