//! Requests that outlive an impatient caller: a late grant is released, never leaked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::background::Background;
use crate::{Acquire, ErrorKind, FencingToken, Grant, LockBackend, Owner, Result, planted};

/// How long clean-up may take. Not the caller's deadline: that one may just have run out.
const CLEAN_UP: Duration = Duration::from_secs(10);

type Attempted = Pin<Box<dyn Future<Output = Result<Grant>> + Send>>;

/// One `try_acquire`. Dropped before its answer, it goes on in the background and gives back what it gets.
pub(super) struct Attempt {
    future: Option<Attempted>,
    backend: Arc<dyn LockBackend>,
    req: Arc<Acquire>,
    owner: Owner,
    background: Background,
}

impl Attempt {
    pub(super) fn new(
        backend: &Arc<dyn LockBackend>,
        req: &Arc<Acquire>,
        owner: Owner,
        background: Background,
    ) -> Self {
        let (asked, wanted) = (Arc::clone(backend), Arc::clone(req));
        let future = Box::pin(async move { asked.try_acquire(&wanted, owner).await });
        Self { future: Some(future), backend: Arc::clone(backend), req: Arc::clone(req), owner, background }
    }
}

impl Future for Attempt {
    type Output = Result<Grant>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Pending;
        };
        let answer = std::task::ready!(future.as_mut().poll(cx));
        self.future = None;
        Poll::Ready(answer)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        let (backend, req, owner) = (Arc::clone(&self.backend), Arc::clone(&self.req), self.owner);
        self.background.spawn(async move {
            match future.await {
                Ok(_) if planted!("late-grant-kept") => {}
                Ok(grant) => give_back(backend, grant).await,
                // Nobody will ask again with this owner: it must not stay in a queue, nor hold unseen.
                Err(e) if e.kind() == ErrorKind::Contended => backend.withdraw(&req, owner).await,
                Err(e) if e.kind() == ErrorKind::OutcomeUnknown => {
                    backend.withdraw(&req, owner).await;
                    give_back(backend, unseen(&req, owner)).await;
                }
                Err(_) => {}
            }
        });
    }
}

/// What the store may keep for an owner: a place in its queue, or a grant whose answer was lost. Dropped before
/// the lock came, both are given up.
pub(super) struct Place {
    pub(super) backend: Arc<dyn LockBackend>,
    pub(super) req: Arc<Acquire>,
    pub(super) owner: Owner,
    pub(super) taken: bool,
    /// A request went unanswered: it may have been granted.
    pub(super) unsure: bool,
    pub(super) background: Background,
}

impl Drop for Place {
    fn drop(&mut self) {
        let (taken, unsure) = (self.taken, self.unsure);
        if taken || unsure {
            let (backend, req, owner) = (Arc::clone(&self.backend), Arc::clone(&self.req), self.owner);
            self.background.spawn(async move {
                backend.withdraw(&req, owner).await;
                if unsure {
                    give_back(backend, unseen(&req, owner)).await;
                }
            });
        }
    }
}

/// The grant that `owner` may have got without an answer. Backends release by owner; the fence is not looked at.
pub(crate) fn unseen(req: &Acquire, owner: Owner) -> Grant {
    Grant::new(req.key.clone(), owner, FencingToken::new(0, owner), req.mode, req.ttl)
}

/// Releases, once more if the first try goes unanswered; after that the lease ends by itself.
pub(crate) async fn give_back(backend: Arc<dyn LockBackend>, grant: Grant) {
    for _ in 0..2 {
        match tokio::time::timeout(CLEAN_UP, backend.release(&grant)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => tracing::warn!(key = %grant.key, %error, "release in the background failed"),
            Err(_) => tracing::warn!(key = %grant.key, "release in the background timed out"),
        }
    }
}
