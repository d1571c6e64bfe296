//! The task that writes for all callers of one process: whoever waits at the same time goes into one write.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{Error, ErrorKind, Key, Ran, Record, RecordStore, Result, RetryPolicy, Versioned};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::attempt::{Assumed, Attempt};
use super::group::{Applied, apply};
use super::snapshot::{Cache, Snapshot};
use super::turns::{QUIET, Turns};
use crate::{Changed, Graph, MemoryError, Mutation};

/// How long a mutation waits to be begun, and how long it then tries against others.
pub(super) const WAIT: Duration = Duration::from_secs(20);
/// How many may wait; more than that wait for a place.
pub(super) const QUEUE: usize = 256;
const GROUP: usize = 64;
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

pub(super) type Answer = std::result::Result<Changed, MemoryError>;

/// A mutation whose caller waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) mutation: Mutation,
    pub(super) since: Instant,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// Where the graph is, and what is known of it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) store: Arc<dyn RecordStore>,
    pub(super) key: Key,
    /// The name of the turn.
    pub(super) turn: Key,
    pub(super) turns: Option<Arc<Turns>>,
    pub(super) cache: Cache,
}

/// Runs until nobody can ask any more.
pub(super) async fn run(place: Arc<Place>, mut queue: mpsc::Receiver<Waiting>) {
    let mut group = Vec::with_capacity(GROUP);
    while queue.recv_many(&mut group, GROUP).await > 0 {
        let (mutations, callers) = begin(&mut group);
        if !mutations.is_empty() {
            let answers = Box::pin(place.write(&mutations)).await;
            callers.into_iter().zip(answers).for_each(|(caller, answer)| tell(caller, answer));
        }
    }
}

/// Those of the group that are to be done.
fn begin(group: &mut Vec<Waiting>) -> (Vec<Mutation>, Vec<oneshot::Sender<Answer>>) {
    // A caller that has gone is told nothing; nothing of it has begun.
    let there = group.drain(..).filter(|one| !one.answer.is_closed());
    let (late, there): (Vec<_>, Vec<_>) = there.partition(|one| one.since.elapsed() > WAIT);
    late.into_iter().for_each(|one| tell(one.answer, Err(busy().into())));
    there.into_iter().map(|one| (one.mutation, one.answer)).unzip()
}

fn tell(caller: oneshot::Sender<Answer>, answer: Answer) {
    if let Err(answer) = caller.send(answer) {
        tracing::debug!(kept = answer.is_ok(), "a caller left before its answer");
    }
}

pub(super) fn busy() -> Error {
    Error::new(ErrorKind::Contended, "too many others change the knowledge graph at the same time; nothing was changed")
        .with("waited", format_args!("{WAIT:?}"))
        .hint("try again")
}

impl Place {
    /// Writes what the mutations come to, and answers each of them.
    async fn write(&self, mutations: &[Mutation]) -> Vec<Answer> {
        let before = self.cache.last();
        // A weak store may forget, and then give the same version to another graph: there, nothing is assumed.
        let known = before.as_ref().filter(|_| self.store.capability().weak.is_none());
        let known = known
            .and_then(|known| known.record.clone().map(|record| Assumed { record, quiet: known.is_ours_since(QUIET) }));
        let first = match known {
            Some(known) => self.attempt(mutations, before.as_ref(), Some(known)).await,
            None => Ok(None),
        };
        let answers = match first {
            // Nothing to do with the graph that was assumed, so ask the store.
            Ok(None) => self.attempt(mutations, before.as_ref(), None).await,
            other => other,
        };
        let mut answers = match answers {
            Ok(answers) => answers.unwrap_or_default(),
            Err(error) => spread(error, mutations.len()),
        };
        let notices = self.cache.notices();
        if let Some(told) = answers.iter_mut().find_map(|answer| answer.as_mut().ok()) {
            told.notices = notices;
        } else {
            self.cache.put_back(notices);
        }
        answers
    }

    /// One update. `None` if the graph was assumed and nothing was to be written: that the store did not confirm.
    async fn attempt(
        &self,
        mutations: &[Mutation],
        before: Option<&Arc<Snapshot>>,
        assumed: Option<Assumed>,
    ) -> Result<Option<Vec<Answer>>> {
        let attempt = Attempt::new(Arc::clone(&self.store), self.turns.clone(), assumed);
        let retry = RetryPolicy::default().pauses(PAUSES.0, PAUSES.1)?.budget(u32::MAX).deadline(WAIT);
        let mut answers = Vec::new();
        let mut written: Option<Graph> = None;
        let values = Versioned::shared(attempt.clone()).retry(retry);
        let updated = values.update(&self.key, |value| {
            (answers, written) = (Vec::new(), None);
            let value = value.unwrap_or_default();
            let snapshot = self.cache.snapshot(&self.key, before, attempt.read().0.as_ref(), value)?;
            let Applied { answers: all, changed } = apply(&snapshot.graph, value.len(), mutations);
            answers = all;
            let (graph, bytes) = changed.ok_or_else(|| Error::new(ErrorKind::Invalid, "nothing is to be written"))?;
            written = Some(graph);
            Ok(Bytes::from(bytes))
        });
        let updated = updated.await;
        attempt.end().await;
        match updated {
            Ok(_) => {
                if let (Some(graph), Some((version, value))) = (written, attempt.written()) {
                    let record = Some(Record { value, version, fence: None, times: None });
                    self.cache.keep(Arc::new(Snapshot { record, graph, written: Some(Instant::now()) }));
                }
            }
            // There are answers and nothing to write: only then is the refusal our own.
            Err(error) if !answers.is_empty() && written.is_none() && error.ran() == Ran::No => {
                if !attempt.read().1 {
                    return Ok(None);
                }
            }
            Err(error) if error.kind() == ErrorKind::Conflict => return Err(busy().because(error)),
            Err(error) => return Err(error),
        }
        let changed = |outcome| Changed { outcome, notices: Vec::new() };
        Ok(Some(answers.into_iter().map(|answer| answer.map(changed)).collect()))
    }
}

/// The same error for each.
fn spread(error: Error, count: usize) -> Vec<Answer> {
    let copies: Vec<Error> = std::iter::repeat_with(|| error.repeated()).take(count.saturating_sub(1)).collect();
    copies.into_iter().chain([error]).map(|error| Err(error.into())).collect()
}
