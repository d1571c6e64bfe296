//! Who holds what, for people.

use stanchion_core::{FencingToken, Grant, Identity, LockInfo, Mode, Page};

use super::super::support::{Must as _, Names};
use super::super::{Outcome, StoreFactory};
use super::{in_mode, request, take, three, unsupported};

/// `list` names key, holder and fence; sorted, paged, and without what is free.
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
/// use stanchion_testkit::conformance::locks::list_shows_holders;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = list_shows_holders(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn list_shows_holders(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let names = Names::fresh();
    let (first, second) = (Identity::new("first-host", 11).labelled("deploy"), Identity::new("second-host", 22));
    let one = take(&a, &request(&names.key("in_%/A")).identity(first.clone()), "it is free").await;
    let two = take(&b, &request(&names.key("in_%/a")).identity(second.clone()), "it is free").await;
    let freed = take(&a, &request(&names.key("in_%/b")), "it is free").await;
    a.release(&freed).await.must("release");
    take(&a, &request(&names.key("inx%/a")), "a neighbour").await;
    take(&a, &request(&names.key("in_%")), "a neighbour").await;

    let prefix = format!("{}in_%/", names.prefix());
    let all = held(c.list(&prefix, Page::first(10)).await.must("list"));
    let expected = [row(&one, &first), row(&two, &second)];
    assert_eq!(all, expected, "key, holder and fence, sorted");
    let page = held(c.list(&prefix, Page::first(1)).await.must("list"));
    assert_eq!(page, expected[..1], "a page of one");
    let rest = held(c.list(&prefix, Page::after(one.key.clone(), 1)).await.must("list"));
    assert_eq!(rest, expected[1..], "the page after it");

    let pool = in_mode(&names.key("pool"), Mode::Slots(3));
    if unsupported(&a, &pool).await.is_none() {
        let mut expected = [
            row(&take(&a, &pool.clone().identity(first.clone()), "a slot").await, &first),
            row(&take(&b, &pool.clone().identity(second.clone()), "a slot").await, &second),
        ];
        let mut found = held(c.list(pool.key.as_str(), Page::first(10)).await.must("list"));
        expected.sort_by_key(|row| row.3.map(|fence| fence.number()));
        found.sort_by_key(|row| row.3.map(|fence| fence.number()));
        assert_eq!(found, expected, "every holder of the pool");
    }
    a.release(&one).await.must("release");
    let left = held(c.list(&prefix, Page::first(10)).await.must("list"));
    assert_eq!(left, [row(&two, &second)], "a released lock has no holder");
    Outcome::Passed
}

type Row = (String, String, u32, Option<FencingToken>);

fn row(grant: &Grant, identity: &Identity) -> Row {
    (grant.key.to_string(), identity.host.clone(), identity.pid, Some(grant.fence))
}

/// One row per holder; a lock that is listed without holders is free.
fn held(infos: Vec<LockInfo>) -> Vec<Row> {
    let mut rows = Vec::new();
    for info in infos {
        for holder in info.holders {
            rows.push((info.key.to_string(), holder.identity.host, holder.identity.pid, holder.fence));
        }
    }
    rows
}
