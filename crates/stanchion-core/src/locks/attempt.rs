//! Requests that outlive an impatient caller: a late grant is released, never leaked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::{Acquire, FencingToken, Grant, LockBackend, Owner, Result};

/// How long clean-up may take. Not the caller's deadline: that one may just have run out.
const CLEAN_UP: Duration = Duration::from_secs(10);

type Attempted = Pin<Box<dyn Future<Output = Result<Grant>> + Send>>;

/// One `try_acquire`. Dropped before its answer, it goes on in the background and gives back what it gets.
pub(super) struct Attempt {
    future: Option<Attempted>,
    backend: Arc<dyn LockBackend>,
    runtime: Handle,
}

impl Attempt {
    pub(super) fn new(backend: &Arc<dyn LockBackend>, req: &Arc<Acquire>, owner: Owner) -> Self {
        let (asked, req) = (Arc::clone(backend), Arc::clone(req));
        let future = Box::pin(async move { asked.try_acquire(&req, owner).await });
        Self { future: Some(future), backend: Arc::clone(backend), runtime: Handle::current() }
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
        let backend = Arc::clone(&self.backend);
        self.runtime.spawn(async move {
            if let Ok(grant) = future.await {
                give_back(backend, grant).await;
            }
        });
    }
}

/// A place in the store's queue. Dropped before the lock came, it is given up.
pub(super) struct Place {
    pub(super) backend: Arc<dyn LockBackend>,
    pub(super) req: Arc<Acquire>,
    pub(super) owner: Owner,
    pub(super) taken: bool,
    pub(super) runtime: Handle,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.taken {
            let (backend, req, owner) = (Arc::clone(&self.backend), Arc::clone(&self.req), self.owner);
            self.runtime.spawn(async move { backend.withdraw(&req, owner).await });
        }
    }
}

/// Releases what may or may not have been granted: the answer to the request is lost.
pub(super) fn give_back_unknown(backend: &Arc<dyn LockBackend>, req: &Acquire, owner: Owner) {
    // Backends release by owner; the fence is not looked at.
    let grant = Grant::new(req.key.clone(), owner, FencingToken::new(0, owner), req.mode, req.ttl);
    Handle::current().spawn(give_back(Arc::clone(backend), grant));
}

/// Releases, once more if the first try goes unanswered; after that the lease ends by itself.
pub(super) async fn give_back(backend: Arc<dyn LockBackend>, grant: Grant) {
    for _ in 0..2 {
        match tokio::time::timeout(CLEAN_UP, backend.release(&grant)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => tracing::warn!(key = %grant.key, %error, "release in the background failed"),
            Err(_) => tracing::warn!(key = %grant.key, "release in the background timed out"),
        }
    }
}
