//! Replies that never come.

use std::sync::Arc;

use stanchion_core::{Cond, ErrorKind, FencingToken, RecordStore};

use super::super::support::{Must as _, Names, no_records, not_applicable, refusal, until};
use super::super::{Outcome, StoreFactory};

/// If the connection breaks between request and reply of a write, the error is `OutcomeUnknown`, never a success and
/// never a blind second write.
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
/// use stanchion_testkit::conformance::records::a_lost_reply_is_outcome_unknown;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_lost_reply_is_outcome_unknown(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // there is no wire
/// # }
/// ```
pub async fn a_lost_reply_is_outcome_unknown(store: &StoreFactory) -> Outcome {
    let Some(observer) = store.records().await else {
        return no_records();
    };
    let Some(faults) = store.hook() else {
        return not_applicable("the factory has no `Faults`");
    };
    let names = Names::fresh();
    let token = FencingToken::from_parts(3, 33);
    for write in ["put absent", "put version", "put fence", "delete"] {
        let (key, warm) = (names.key(write), names.key(&format!("warm-up for {}", write.replace(' ', "-"))));
        let mut before = None;
        if write != "put absent" {
            before = Some(observer.put(&key, "old".into(), Cond::Absent, None).await.must("put"));
            observer.touch(&key, &token).await.must("touch");
        }
        let writer = store.records().await.must("records");
        // Connections, scripts and statements are ready after this, so the next reply is the write's own.
        let version = writer.put(&warm, "warm".into(), Cond::Absent, None).await.must("put");
        writer.touch(&warm, &token).await.must("touch");
        writer.put(&warm, "warm".into(), Cond::Fence(token), None).await.must("put");
        writer.delete(&warm, Cond::Fence(token)).await.must("delete");

        faults.lose_next_reply(&key);
        let cond = match write {
            "put absent" => Cond::Absent,
            "put fence" => Cond::Fence(token),
            _ => Cond::Version(before.unwrap_or(version)),
        };
        let result = match write {
            "delete" => writer.delete(&key, cond).await,
            _ => writer.put(&key, "new".into(), cond, None).await.map(drop),
        };
        let e = refusal(result, ErrorKind::OutcomeUnknown, &format!("{write} whose reply is lost"));
        assert_eq!(e.ran(), stanchion_core::Ran::Maybe);

        // The engine ran the request, so reading tells what happened: exactly this write, once.
        let found = until(store.patient(), "the store can be read again", || readable(&observer, &key)).await;
        match (write, found) {
            ("delete", None) => {}
            ("put absent" | "put version" | "put fence", Some(record)) => {
                assert_eq!(record.value, "new", "{write}")
            }
            (_, found) => panic!("{write}: the engine received it, but now there is {found:?}"),
        }
        until(store.patient(), "the writer works again", || readable(&writer, &warm)).await;
    }
    Outcome::Passed
}

/// `Some` once the store answers at all.
async fn readable(records: &Arc<dyn RecordStore>, key: &stanchion_core::Key) -> Option<Option<stanchion_core::Record>> {
    records.get(key).await.ok()
}
