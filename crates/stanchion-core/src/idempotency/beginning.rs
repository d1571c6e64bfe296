//! The first request of a call. Dropped before its answer, it is seen to its end in the background and taken back: nothing was
//! sent to the tool, so nothing may stay claimed or locked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::claimed::give_up;
use super::grip::Grip;
use crate::claim::Claim;
use crate::locks::{give_back, unseen};
use crate::{Acquire, Begin, Begun, Cond, ErrorKind, Finish, Finished, LockBackend, Result, RetryPolicy};

type Answer = Pin<Box<dyn Future<Output = Result<Begun>> + Send>>;

pub(super) struct Beginning {
    answer: Option<Answer>,
    /// What is needed to take it back.
    undo: Option<Undo>,
}

struct Undo {
    grip: Box<Grip>,
    /// What the request was to find.
    cond: Cond,
    lock: Option<Arc<Acquire>>,
    locks: Arc<dyn LockBackend>,
}

impl Beginning {
    pub(super) fn new(grip: Box<Grip>, begin: Begin, locks: &Arc<dyn LockBackend>) -> Self {
        let (fused, lock, cond) = (Arc::clone(&grip.engine.fused), begin.lock.clone(), begin.cond);
        Self {
            answer: Some(Box::pin(async move { fused.begin(&begin).await })),
            undo: Some(Undo { grip, cond, lock, locks: Arc::clone(locks) }),
        }
    }

    /// The answer, and the grip on the claim; the grip is kept, and everything taken back, if the answer is lost.
    pub(super) async fn answered(mut self) -> Result<(Begun, Option<Box<Grip>>)> {
        let answer = std::future::poll_fn(|cx| self.poll(cx)).await;
        let undo = self.undo.take();
        match answer {
            Ok(begun) => Ok((begun, undo.map(|undo| undo.grip))),
            Err(e) => {
                if let Some(undo) = undo.filter(|_| e.kind() == ErrorKind::OutcomeUnknown) {
                    let background = undo.grip.background.clone();
                    background.spawn(undo.run());
                }
                Err(e)
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Begun>> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let answer = std::task::ready!(answer.as_mut().poll(cx));
        self.answer = None;
        Poll::Ready(answer)
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        let (Some(answer), Some(undo)) = (self.answer.take(), self.undo.take()) else { return };
        let background = undo.grip.background.clone();
        background.spawn(async move {
            // Whatever it says: what is ours is found by its owner.
            drop(answer.await);
            undo.run().await;
        });
    }
}

impl Undo {
    /// Takes the claim back if it is there. If not, the request may still be on its way: then what it was to find is changed, so that it
    /// cannot take effect any more, when nobody would know of it. No, if something came between.
    async fn forestall(&self) -> Result<bool> {
        let grip = &self.grip;
        let found = grip.engine.records.get(&grip.key).await?;
        let claim = found.as_ref().and_then(|record| Claim::decode(&record.value).ok());
        match (found, claim) {
            (Some(record), Some(claim)) if claim.attempt == grip.attempt => {
                grip.see(claim, record.version);
                give_up(grip).await;
            }
            (None, _) if self.cond == Cond::Absent => give_up(grip).await,
            (Some(record), Some(claim)) if self.cond == Cond::Version(record.version) => {
                let (key, cond) = (grip.key.clone(), self.cond);
                let same = Finish { key, cond, value: record.value, ttl: claim.ttl(), grant: None };
                return Ok(matches!(grip.engine.fused.finish(&same).await?, Finished::Written { .. }));
            }
            _ => {}
        }
        Ok(true)
    }

    async fn run(self) {
        let (attempt, id) = (self.grip.attempt, self.grip.id);
        let mut tries = RetryPolicy::default().start();
        loop {
            let failed = match self.forestall().await {
                Ok(true) => break,
                Ok(false) => continue,
                Err(e) => e,
            };
            // While we live we know that nothing was sent, and nobody else does.
            if !tries.again().await {
                tracing::warn!(receipt = %id, error = %failed, "a beginning is not taken back yet; trying on");
                tries = RetryPolicy::default().start();
            }
        }
        if let Some(lock) = self.lock {
            self.locks.withdraw(&lock, attempt.owner).await;
            give_back(self.locks, unseen(&lock, attempt.owner)).await;
        }
    }
}
