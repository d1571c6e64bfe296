//! One task per turn. All writes of a turn to its record happen here, one after the other: so the version we expect
//! is a plain variable, and a caller that goes away at any point still leaves a turn that is given back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::Turns;
use super::belief::{Belief, lost_turn};
use super::state::{State, VALUE_MOST};
use crate::pause::pause_point;
use crate::{
    Cond, Error, ErrorKind, FencingToken, Identity, Key, LeaseAction, LeaseEvent, Owner, Result, RetryPolicy, Version,
    planted, random,
};

/// The right to do the work of a key and to record its result. Dropped, it is given back in the background.
#[derive(Debug)]
pub(crate) struct Turn {
    key: Key,
    belief: Arc<Belief>,
    end: Option<oneshot::Sender<End>>,
    lease: Duration,
}

/// How a turn ends; a closed channel means that it is given back.
#[derive(Debug)]
enum End {
    Record(Bytes, Option<Duration>, oneshot::Sender<Result<()>>),
    GiveBack(oneshot::Sender<()>),
}

impl Turn {
    /// Writes our name if `cond` holds.
    pub(super) async fn take(turns: &Turns, key: &Key, owner: Owner, cond: Cond) -> Result<Self> {
        let keeper = Keeper::new(turns, key, owner);
        let (told, answer) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        tokio::spawn(keeper.keep(cond, told, ended));
        // Only a runtime that shuts down drops the task.
        let dropped = |_| Error::new(ErrorKind::Unavailable, "the runtime is shutting down").with("key", key);
        let belief = answer.await.map_err(dropped)??;
        Ok(Self { key: key.clone(), belief, end: Some(end), lease: turns.lease })
    }

    pub(crate) const fn belief(&self) -> &Arc<Belief> {
        &self.belief
    }

    /// Records the result, by compare-and-swap.
    ///
    /// `LeaseLost` if the turn went to somebody else, `OutcomeUnknown` if the store does not say whether it is
    /// recorded, `Unexpected` if it is too large. The work has run in each case.
    pub(crate) async fn record(mut self, value: Bytes, ttl: Option<Duration>) -> Result<()> {
        if value.len() > VALUE_MOST {
            return Err(Error::new(ErrorKind::Unexpected, "the result is too large to be recorded")
                .with("key", &self.key)
                .with("bytes", value.len())
                .hint("the work has run and nothing is recorded; store a reference to a large result"));
        }
        let (told, answer) = oneshot::channel();
        self.end(End::Record(value, ttl, told));
        answer.await.unwrap_or_else(|_| Err(unrecorded(&self.key)))
    }

    /// Lets the next one try. Returns when the store has confirmed it, or when waiting for that is pointless.
    pub(crate) async fn give_back(mut self) {
        let (told, answer) = oneshot::channel();
        self.end(End::GiveBack(told));
        // After that long the turn has ended by itself.
        tokio::time::timeout(self.lease, answer).await.ok();
    }

    fn end(&mut self, end: End) {
        if let Some(sender) = self.end.take() {
            // Without a receiver the runtime is shutting down; the caller sees that at its own answer.
            sender.send(end).ok();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.belief.end();
    }
}

/// A claim that went unanswered: it may be ours without our knowing. Dropped before that is clear, it is given back.
#[derive(Debug)]
pub(super) struct Unseen {
    keeper: Option<Keeper>,
    runtime: tokio::runtime::Handle,
}

impl Unseen {
    pub(super) fn new(turns: &Turns, key: &Key, owner: Owner) -> Self {
        Self { keeper: Some(Keeper::new(turns, key, owner)), runtime: tokio::runtime::Handle::current() }
    }

    /// It is ours and we know it, or it cannot become ours any more.
    pub(super) fn clear(unseen: &mut Option<Self>) {
        if let Some(mut unseen) = unseen.take() {
            unseen.keeper = None;
        }
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            self.runtime.spawn(async move { keeper.give_back().await });
        }
    }
}

fn unrecorded(key: &Key) -> Error {
    Error::new(ErrorKind::OutcomeUnknown, "the work has run, and the store does not say whether its result is recorded")
        .with("key", key)
        .hint("ask again: a recorded result is returned, otherwise the work runs once more")
}

/// What the record says about us.
enum Found {
    Ours(Version),
    Recorded,
    NotOurs,
}

#[derive(Debug)]
struct Keeper {
    turns: Turns,
    key: Key,
    at: Key,
    owner: Owner,
    /// The version of our last write. No record has version 0: it stands for a write that we know nothing of.
    version: Version,
}

impl Keeper {
    fn new(turns: &Turns, key: &Key, owner: Owner) -> Self {
        Self { turns: turns.clone(), key: key.clone(), at: turns.at(key), owner, version: Version::new(0) }
    }

    async fn keep(mut self, cond: Cond, told: oneshot::Sender<Result<Arc<Belief>>>, mut ended: oneshot::Receiver<End>) {
        let sent = self.turns.clock.now();
        match self.claim(cond).await {
            Ok(version) => self.version = version,
            Err(error) => {
                // A caller that has gone needs no answer.
                told.send(Err(error)).ok();
                return;
            }
        }
        // Versions of a key grow for ever, so each turn's token is above those of all turns before it.
        let token = FencingToken::new(self.version.get(), self.owner);
        let belief = Belief::new(self.key.clone(), token, Arc::clone(&self.turns.clock), sent, self.turns.lease);
        told.send(Ok(Arc::clone(&belief))).ok();
        match self.until_ended(&belief, &mut ended).await {
            Some(End::Record(value, ttl, told)) => {
                pause_point("turn.before-record").await;
                told.send(self.record(value, ttl).await).ok();
            }
            Some(End::GiveBack(told)) => {
                self.give_back().await;
                told.send(()).ok();
            }
            None => self.give_back().await,
        }
    }

    async fn claim(&self, cond: Cond) -> Result<Version> {
        let (owner, lease, identity) = (self.owner, self.turns.lease, Identity::current());
        let busy = State::Busy { owner, lease, identity };
        let kept = self.turns.grace.map(|grace| lease + grace);
        self.turns.store.put(&self.at, busy.encode(), cond, kept).await
    }

    /// Renews until the work has ended, or the turn is lost and nothing can be renewed.
    async fn until_ended(&mut self, belief: &Belief, ended: &mut oneshot::Receiver<End>) -> Option<End> {
        let mut event = LeaseEvent::Tick;
        loop {
            match belief.step(std::mem::replace(&mut event, LeaseEvent::Tick)) {
                LeaseAction::WaitUntil(at) => {
                    let nap = at - self.turns.clock.now();
                    tokio::select! {
                        biased;
                        end = &mut *ended => return end.ok(),
                        () = tokio::time::sleep(nap.min(Duration::from_secs(1))) => {}
                    }
                }
                LeaseAction::Renew => event = self.renew().await,
                LeaseAction::SignalLost(_) | LeaseAction::Nothing => return ended.await.ok(),
            }
        }
    }

    async fn renew(&mut self) -> LeaseEvent {
        let lease = self.turns.lease;
        // An answer after the deadline is worthless, and a hung one would block all further tries.
        match tokio::time::timeout(lease / 3, self.prolong()).await {
            Ok(Ok(event)) => return event,
            Ok(Err(error)) => tracing::warn!(key = %self.key, %error, "renewal unanswered, trying again"),
            Err(_) => tracing::warn!(key = %self.key, "renewal timed out, trying again"),
        }
        let most = u64::try_from((lease / 10).as_millis()).unwrap_or(u64::MAX).max(2);
        LeaseEvent::RenewalUnknown { retry_in: Duration::from_millis(1 + random::below(most)) }
    }

    /// Renewed or lost; an error if it is not known which.
    async fn prolong(&mut self) -> Result<LeaseEvent> {
        let refused = match self.claim(Cond::Version(self.version)).await {
            Ok(version) => {
                self.version = version;
                return Ok(LeaseEvent::Renewed);
            }
            Err(error) if error.kind() == ErrorKind::Conflict => error,
            Err(error) => return Err(error),
        };
        match self.look().await? {
            // An earlier renewal whose answer was lost; nobody knows when it arrived, so renew again.
            Found::Ours(version) => {
                self.version = version;
                Err(refused)
            }
            Found::Recorded | Found::NotOurs => Ok(LeaseEvent::RenewalLost),
        }
    }

    async fn look(&self) -> Result<Found> {
        let Some(record) = self.turns.store.get(&self.at).await? else { return Ok(Found::NotOurs) };
        Ok(match State::decode(&self.key, &record)? {
            State::Busy { owner, .. } if owner == self.owner => Found::Ours(record.version),
            State::Value { owner, .. } if owner == self.owner => Found::Recorded,
            State::Busy { .. } | State::Value { .. } => Found::NotOurs,
        })
    }

    /// Writes the result over our own turn, and over nothing else. A lost answer is settled by reading.
    async fn record(&mut self, value: Bytes, ttl: Option<Duration>) -> Result<()> {
        let state = State::Value { owner: self.owner, value }.encode();
        let mut tries = RetryPolicy::default().start();
        loop {
            let put = self.turns.store.put(&self.at, state.clone(), Cond::Version(self.version), ttl).await;
            let Err(error) = put else { return Ok(()) };
            if !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::OutcomeUnknown | ErrorKind::Unavailable) {
                return Err(unrecorded(&self.key).because(error));
            }
            match self.look().await {
                Ok(Found::Recorded) if planted!("own-commit-is-a-conflict") => return Err(lost_turn(&self.key)),
                Ok(Found::Recorded) => return Ok(()),
                Ok(Found::NotOurs) => return Err(lost_turn(&self.key).with("reason", "taken")),
                Ok(Found::Ours(version)) => self.version = version,
                Err(error) => tracing::debug!(key = %self.key, %error, "cannot see yet whether the result is recorded"),
            }
            if !tries.again().await {
                return Err(unrecorded(&self.key).because(error));
            }
        }
    }

    async fn give_back(&mut self) {
        let mut tries = RetryPolicy::default().start();
        loop {
            let Err(error) = self.turns.store.delete(&self.at, Cond::Version(self.version)).await else { return };
            match self.look().await {
                Ok(Found::Recorded | Found::NotOurs) => return,
                Ok(Found::Ours(version)) => self.version = version,
                Err(error) => tracing::debug!(key = %self.key, %error, "cannot see yet whether the turn is given back"),
            }
            if !tries.again().await {
                tracing::warn!(key = %self.key, %error, "the turn was not given back; it ends with its lease");
                return;
            }
        }
    }
}
