//! The graph as this process saw it last.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Key, Record, Result, Version};
use tokio::time::Instant;

use crate::{Graph, Notice, from_jsonl};

/// A record, and the graph that it holds. Never changed once it is made.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// `None`: there was no record.
    pub(super) record: Option<Record>,
    pub(super) graph: Graph,
    /// When we wrote it; `None`: somebody else did, as far as we know.
    pub(super) written: Option<Instant>,
}

impl Snapshot {
    pub(super) fn version(&self) -> Option<Version> {
        self.record.as_ref().map(|record| record.version)
    }

    /// We wrote it ourselves, and that long ago.
    pub(super) fn is_ours_since(&self, long: Duration) -> bool {
        self.written.is_some_and(|written| written.elapsed() >= long)
    }

    /// What nobody may miss: the store has forgotten what it had acknowledged. `now` must have been read after `self` was kept.
    fn lost(&self, now: Option<&Record>) -> Option<Notice> {
        let seen = self.version()?;
        let text = match now {
            None => format!(
                "The knowledge graph that was in the store is gone (it had version {seen}). An empty one takes its place."
            ),
            Some(now) if now.version < seen => format!(
                "The store holds an older knowledge graph (version {}) than was seen before (version {seen}): later writes are lost.",
                now.version
            ),
            Some(_) => return None,
        };
        Some(Notice { kind: if now.is_none() { "graph_deleted" } else { "graph_reverted" }, text })
    }
}

/// The last snapshot, and what is still to be told.
#[derive(Debug, Default)]
pub(super) struct Cache {
    last: Mutex<Option<Arc<Snapshot>>>,
    notices: Mutex<Vec<Notice>>,
}

impl Cache {
    pub(super) fn last(&self) -> Option<Arc<Snapshot>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A slow reader may put back an older one. That costs a reading, nothing else: a snapshot is only used for a record that is
    /// equal to its own, or for a write on the condition that it is the last.
    pub(super) fn keep(&self, snapshot: Arc<Snapshot>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
    }

    /// What is to be told, once.
    pub(super) fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Nobody was there to be told.
    pub(super) fn put_back(&self, notices: Vec<Notice>) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// The graph of a `record` that was read after `before` was the last. `value` is what is in it.
    pub(super) fn snapshot(
        &self,
        key: &Key,
        before: Option<&Arc<Snapshot>>,
        record: Option<&Record>,
        value: &[u8],
    ) -> Result<Arc<Snapshot>> {
        if let Some(last) = before.into_iter().cloned().chain(self.last()).find(|one| is_of(one, record)) {
            return Ok(last);
        }
        if let Some(notice) = before.and_then(|before| before.lost(record)) {
            tracing::warn!(kind = notice.kind, "{notice}");
            let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
            if !notices.contains(&notice) {
                notices.push(notice);
            }
        }
        let snapshot = Arc::new(Snapshot { record: record.cloned(), graph: parse(key, value)?, written: None });
        self.keep(Arc::clone(&snapshot));
        Ok(snapshot)
    }
}

/// A store that forgot may give a version twice, so the bytes are compared, too: far quicker than reading them.
fn is_of(snapshot: &Snapshot, record: Option<&Record>) -> bool {
    match (&snapshot.record, record) {
        (None, None) => true,
        (Some(one), Some(other)) => one.version == other.version && one.value == other.value,
        _ => false,
    }
}

/// Only we write the record, so whatever we do not understand is damage; to write over it would make it worse.
fn parse(key: &Key, value: &[u8]) -> Result<Graph> {
    let damaged = |reason: String| {
        Error::new(ErrorKind::Damaged, "the knowledge graph in the store is damaged")
            .with("key", format_args!("{:?}", key.as_str()))
            .with("reason", reason)
            .hint("restore the record from a backup, or import an export under another name")
    };
    std::str::from_utf8(value).map_err(|error| damaged(error.to_string()))?;
    match from_jsonl(value) {
        (graph, wrong) if wrong.is_empty() => Ok(Graph::new(graph.entities, graph.relations)),
        (_, wrong) => {
            Err(damaged(wrong.first().map_or_else(String::new, |one| format!("line {}: {}", one.line, one.reason))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(version: u64) -> Snapshot {
        let record = Record { value: "".into(), version: Version::new(version), fence: None, times: None };
        Snapshot { record: Some(record), graph: Graph::default(), written: None }
    }

    #[test]
    fn a_graph_that_went_back_or_away_is_noticed_and_one_that_went_on_is_not() {
        let kind = |now: &Snapshot| at(5).lost(now.record.as_ref()).map(|notice| notice.kind);
        assert_eq!(kind(&at(4)), Some("graph_reverted"));
        assert_eq!(kind(&Snapshot::default()), Some("graph_deleted"));
        assert_eq!((kind(&at(5)), kind(&at(6))), (None, None));
        assert_eq!(Snapshot::default().lost(at(1).record.as_ref()), None);
    }
}
