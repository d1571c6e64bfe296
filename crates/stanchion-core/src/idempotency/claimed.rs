//! A key that is ours while nothing was sent.

use std::future::Future;

use super::grip::{Applied, Grip};
use super::running::Running;
use crate::claim::{Event, Refused};
use crate::pause::pause_point;
use crate::{Error, ErrorKind, Result};

/// CLAIMED. Dropped, it is given up in the background: nothing ran.
#[derive(Debug)]
#[must_use = "a claim that is dropped is given up"]
pub(crate) struct Claimed {
    /// `None` once it has become something else.
    grip: Option<Box<Grip>>,
}

impl Claimed {
    pub(super) const fn new(grip: Box<Grip>) -> Self {
        Self { grip: Some(grip) }
    }

    /// Runs `work`, for example the wait for a lock, while the claim is kept alive.
    pub(crate) async fn alive_while<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.grip {
            Some(grip) => tokio::select! {
                biased;
                done = work => done,
                never = grip.keep_alive() => match never {},
            },
            None => work.await,
        }
    }

    /// T3: durable before the first byte leaves.
    ///
    /// # If it fails
    /// Nothing was sent. `InProgress`: the wait took longer than the lease, and another call has the key.
    pub(crate) async fn dispatch(mut self) -> Result<Running> {
        let Some(grip) = &self.grip else {
            return Err(Error::new(ErrorKind::Unexpected, "a claim was used twice"));
        };
        pause_point("claim.before-dispatch").await;
        match grip.apply(&Event::Dispatch { by: grip.attempt }, None).await {
            Ok(Applied::Written { .. }) => {}
            Ok(Applied::Refused(why)) => {
                let error = taken(grip, why);
                self.grip = None;
                return Err(error);
            }
            Err(e) => {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "the call could not be marked as sent, so it was not sent",
                )
                .with("receipt", grip.id)
                .because(e));
            }
        }
        let running = self.grip.take().map(Running::new);
        pause_point("claim.dispatched").await;
        running.ok_or_else(|| Error::new(ErrorKind::Unexpected, "a claim was used twice"))
    }

    /// T4: nothing was sent, and nothing will be.
    pub(crate) async fn give_up(mut self) {
        if let Some(grip) = &self.grip {
            give_up(grip).await;
        }
        self.grip = None;
    }
}

fn taken(grip: &Grip, why: Refused) -> Error {
    Error::new(ErrorKind::InProgress, "the claim was lost while the call waited; nothing was sent")
        .with("receipt", grip.id)
        .with("why", why)
}

pub(super) async fn give_up(grip: &Grip) {
    let event = Event::NoEffect { by: grip.attempt, response: None };
    if let Err(error) = grip.apply(&event, None).await {
        tracing::warn!(receipt = %grip.id, %error, "a claim could not be given up; it ends by its lease");
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if let Some(grip) = self.grip.take() {
            let background = grip.background.clone();
            background.spawn(async move { give_up(&grip).await });
        }
    }
}
