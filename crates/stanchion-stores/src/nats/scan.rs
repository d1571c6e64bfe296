//! Listings: the names come from the stream's own list of subjects, the records one by one.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use stanchion_core::{Key, Page, Record};

use super::fault::Fault;
use super::records::NatsStore;

/// Names that are kept from one pass over the subjects, so that memory does not grow with the bucket.
const NAMES: usize = 4096;
/// Records that are asked for at once.
const AT_ONCE: usize = 32;

pub(super) async fn scan(store: &NatsStore, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>, Fault> {
    let mut found = Vec::new();
    let mut after = page.after;
    while found.len() < page.limit {
        let names = names(store, prefix, after.as_ref()).await?;
        let last = names.len() < NAMES;
        after = names.last().cloned().or(after);
        let mut names = stream::iter(names)
            .map(|key| async move {
                let entry = store.look(&key).await?;
                store.met(&key, entry.head);
                Ok::<_, Fault>(entry.record().map(|record| (key, record)))
            })
            .buffered(AT_ONCE);
        while found.len() < page.limit
            && let Some(entry) = names.try_next().await?
        {
            found.extend(entry);
        }
        if last {
            break;
        }
    }
    Ok(found)
}

/// The first names after `after`, sorted.
async fn names(store: &NatsStore, prefix: &str, after: Option<&Key>) -> Result<BTreeSet<Key>, Fault> {
    let subjects = &store.api.subjects;
    let filter = subjects.filter(prefix);
    let mut names = BTreeSet::new();
    let mut seen = 0;
    loop {
        let piece = store.api.names(&filter, seen).await?;
        let listed = piece.state.subjects.unwrap_or_default();
        let got = listed.len();
        for key in listed.keys().filter_map(|subject| subjects.key(subject)) {
            if key.is_listed_under(prefix) && after.is_none_or(|after| key > *after) {
                names.insert(key);
                if names.len() > NAMES {
                    names.pop_last();
                }
            }
        }
        seen += got;
        if got == 0 || seen >= piece.total {
            return Ok(names);
        }
    }
}
