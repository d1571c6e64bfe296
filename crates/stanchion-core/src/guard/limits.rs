//! What stands before a guarded call: a rate, a number, a breaker.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::begin::nothing_sent;
use super::breaker::Admission;
use super::{Breaker, OnStoreDown};
use crate::{Clock, Error, ErrorKind, Limiter, Reply, Result, Scope, Taken};

#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    pub(super) rate: Option<Arc<Limiter>>,
    pub(super) concurrency: Option<Arc<Semaphore>>,
    pub(super) breaker: Option<Arc<Breaker>>,
}

/// An admitted call. Dropped, it makes room for the next.
#[derive(Debug)]
pub(super) struct Admitted<'a> {
    limits: &'a Limits,
    clock: &'a Arc<dyn Clock>,
    admission: Admission,
    answered: Option<bool>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Limits {
    /// # If it fails
    /// `Limited`, with the time after which it is worth another try; nothing ran.
    pub(super) async fn admit<'a>(
        &'a self,
        scope: &Scope,
        clock: &'a Arc<dyn Clock>,
        down: OnStoreDown,
    ) -> Result<Admitted<'a>> {
        let slot = match &self.concurrency {
            None => None,
            Some(slots) => Some(Arc::clone(slots).try_acquire_owned().map_err(|_| {
                Error::new(ErrorKind::Limited, "as many calls as allowed are running")
                    .with("call", scope)
                    .again_in(Duration::from_millis(100))
            })?),
        };
        if let Some(rate) = &self.rate {
            match rate.try_take(&scope.key()?).await {
                Ok(Taken::Allowed { .. }) => {}
                Ok(Taken::Refused { retry_after }) => {
                    return Err(Error::new(ErrorKind::Limited, "this tool is called too often")
                        .with("call", scope)
                        .again_in(retry_after));
                }
                // The call itself is let through or refused by the same policy, and says so loudly.
                Err(e) if e.kind() == ErrorKind::Unavailable && down != OnStoreDown::Refuse => {}
                Err(e) if e.kind() == ErrorKind::Conflict => {
                    return Err(Error::new(ErrorKind::Limited, "too many ask at the same moment")
                        .with("call", scope)
                        .again_in(Duration::from_millis(50))
                        .because(e));
                }
                Err(e) => return Err(nothing_sent(e)),
            }
        }
        let admission = match &self.breaker {
            Some(breaker) => breaker.admit(clock.now())?,
            None => Admission::Ordinary,
        };
        Ok(Admitted { limits: self, clock, admission, answered: None, _slot: slot })
    }
}

impl Admitted<'_> {
    /// The tool is about to be called; a caller that goes away now has not been answered.
    pub(super) const fn called(&mut self) {
        self.answered = Some(false);
    }

    /// The tool was called, and said this.
    pub(super) const fn heard(&mut self, reply: &Reply) {
        self.answered = Some(!matches!(reply, Reply::Unknown(_)));
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(breaker) = &self.limits.breaker {
            breaker.report(self.admission, self.answered, self.clock.now());
        }
    }
}
