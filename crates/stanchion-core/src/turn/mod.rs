//! Taking turns: of all who ask for a key, one works, and the others wait for its result.
//!
//! One record per key, changed by compare-and-swap only. A turn is a lease: it is renewed while the work goes on, and
//! when its owner dies another takes it over. Expiry is judged by the store's clock (the record's age), or, where the
//! store shows none, by a version that stood unchanged for a whole lease **on our own clock**.
//!
//! [`Once`](crate::Once) and [`SingleFlight`](crate::SingleFlight) are this, with different results.

mod belief;
mod keep;
mod state;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

pub(crate) use self::belief::Belief;
pub(crate) use self::keep::Turn;
use self::keep::Unseen;
use self::state::State;
use crate::pause::pause_point;
use crate::seen::Seen;
use crate::{
    Clock, Cond, Error, ErrorKind, Holder, Identity, Key, Owner, Record, RecordStore, Result, RetryPolicy, SystemClock,
    TTL_DEFAULT, TTL_RANGE, Tries, Version, Wait, planted,
};

/// How often a turn is looked at that the store cannot tell of.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The turns of one kind in one store.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    store: Arc<dyn RecordStore>,
    space: &'static str,
    /// What a caller is told whose wait is over.
    busy: &'static str,
    lease: Duration,
    /// How long after its lease the store still keeps a turn that nobody ended; `None`: for ever.
    grace: Option<Duration>,
    clock: Arc<dyn Clock>,
    /// Which version of a turn we saw first when; only for stores without a clock.
    seen: Arc<Seen>,
}

/// What a caller gets.
#[derive(Debug)]
pub(crate) enum Next {
    /// The recorded result.
    Value(Bytes),
    /// Nobody has it: do the work.
    Turn(Turn),
}

impl Turns {
    pub(crate) fn new(store: Arc<dyn RecordStore>, space: &'static str, busy: &'static str) -> Self {
        let (clock, seen) = (Arc::new(SystemClock), Arc::default());
        Self { store, space, busy, lease: TTL_DEFAULT, grace: None, clock, seen }
    }

    pub(crate) fn lease(&mut self, lease: Duration) -> Result<()> {
        if lease < TTL_RANGE.0 || lease > TTL_RANGE.1 {
            return Err(Error::new(ErrorKind::Invalid, "the lease is outside 50ms to 24h")
                .with("lease", format_args!("{lease:?}"))
                .hint("choose a few times the longest pause you expect; 30s is a good start"));
        }
        self.lease = lease;
        Ok(())
    }

    pub(crate) fn clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    /// Lets the store clear away turns that nobody ended, this long after they lapsed.
    pub(crate) const fn swept_after(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    fn at(&self, key: &Key) -> Key {
        Key::reserved(self.space, key.as_str())
    }

    /// The recorded result, if there is one.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Bytes>> {
        let Some(record) = self.store.get(&self.at(key)).await? else { return Ok(None) };
        Ok(match State::decode(key, &record)? {
            State::Value { value, .. } => Some(value),
            State::Busy { .. } => None,
        })
    }

    /// Removes whatever there is, a turn and an unreadable record included; says whether there was anything.
    pub(crate) async fn forget(&self, key: &Key) -> Result<bool> {
        let at = self.at(key);
        let mut tries = RetryPolicy::default().start();
        loop {
            let Some(record) = self.store.get(&at).await? else { return Ok(false) };
            match self.store.delete(&at, Cond::Version(record.version)).await {
                Ok(()) => return Ok(true),
                Err(e) if e.kind() == ErrorKind::Conflict && tries.again().await => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// The result, or the turn; waits while it is somebody else's, at the longest until `until`.
    pub(crate) async fn next(&self, key: &Key, until: Option<Instant>) -> Result<Next> {
        // One name for all tries: a turn that was taken by an unanswered request is recognised by it.
        let mut owner = Owner::random();
        let (mut waited, mut unanswered, mut deaf, mut unseen) = (false, None, None, None::<Unseen>);
        loop {
            let found = match self.store.get(&self.at(key)).await {
                Ok(found) => found,
                // Once we wait, or may have the turn already, a restart of the engine is no reason to give up.
                Err(e) if is_away(&e) && (waited || unseen.is_some()) && again(&mut unanswered).await => continue,
                Err(e) => return Err(e),
            };
            let judged = self.judge(key, found, owner)?;
            if !matches!(judged, Judged::Free(_)) {
                // An unanswered claim of ours was for a record that is gone by now.
                Unseen::clear(&mut unseen);
            }
            let cond = match judged {
                Judged::Value(value) => return Ok(Next::Value(value)),
                Judged::Free(cond) => cond,
                Judged::Busy { version, left, identity } => {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        return Err(self.busy(key, identity, Some(left)));
                    }
                    // The store answers: what fails from now on is a new failure.
                    (waited, unanswered) = (true, None);
                    match self.wait(key, version, left, until).await {
                        Ok(()) => deaf = None,
                        Err(error) => {
                            tracing::debug!(%key, %error, "cannot wait for a change, looking again");
                            // Where it never can, it is looked now and then.
                            if !again(&mut deaf).await {
                                let next = Instant::now() + left.min(LOOK_EVERY);
                                tokio::time::sleep_until(until.map_or(next, |until| until.min(next))).await;
                            }
                        }
                    }
                    continue;
                }
            };
            let refused = match Turn::take(self, key, owner, cond).await {
                Ok(turn) if turn.belief().fence().is_ok() => {
                    Unseen::clear(&mut unseen);
                    return Ok(Next::Turn(turn));
                }
                // Given back by its drop, under its name: ours must be another one by then.
                Ok(_) => {
                    owner = Owner::random();
                    too_slow(key, self.lease)
                }
                // Somebody was faster: look what came of it.
                Err(e) if e.kind() == ErrorKind::Conflict => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Err(e) if is_away(&e) => {
                    unseen.get_or_insert_with(|| Unseen::new(self, key, owner));
                    unanswered_claim(key, e)
                }
                Err(e) => return Err(e),
            };
            if until.is_some_and(|until| Instant::now() >= until) || !again(&mut unanswered).await {
                return Err(refused);
            }
        }
    }

    /// Returns when the turn of another may have ended, at the latest when its lease has.
    async fn wait(&self, key: &Key, version: Version, left: Duration, until: Option<Instant>) -> Result<()> {
        pause_point("turn.wait").await;
        let lapses = Instant::now() + left + Duration::from_millis(1);
        let until = until.map_or(lapses, |until| until.min(lapses));
        self.store.changed(&self.at(key), Some(version), until).await
    }

    fn judge(&self, key: &Key, found: Option<Record>, us: Owner) -> Result<Judged> {
        let Some(record) = found else {
            self.seen.forget(key);
            return Ok(Judged::Free(Cond::Absent));
        };
        let (owner, lease, identity) = match State::decode(key, &record)? {
            State::Value { value, .. } => {
                self.seen.forget(key);
                return Ok(Judged::Value(value));
            }
            State::Busy { owner, lease, identity } => (owner, lease, identity),
        };
        let left = self.left(key, &record, lease);
        if owner == us {
            return Ok(Judged::Free(Cond::Version(record.version)));
        }
        if left.is_zero() {
            tracing::warn!(%key, was = %identity, "a turn ended without a result, taking it over");
            return Ok(Judged::Free(Cond::Version(record.version)));
        }
        if planted!("once-does-not-wait") {
            return Ok(Judged::Free(Cond::Version(record.version)));
        }
        Ok(Judged::Busy { version: record.version, left, identity })
    }

    /// What is left of a turn. Every renewal is a new version, so an unchanged version was not renewed.
    fn left(&self, key: &Key, record: &Record, lease: Duration) -> Duration {
        // A record that was damaged into a very long lease must not overflow a deadline.
        lease.min(TTL_RANGE.1).saturating_sub(self.seen.stood(key, record, self.clock.now()))
    }

    /// The refusal of a caller who waited as long as it wanted.
    pub(crate) fn busy(&self, key: &Key, identity: Identity, left: Option<Duration>) -> Error {
        let mut holder = Holder::new(identity);
        holder.expires_in = left;
        Error::new(ErrorKind::Contended, self.busy).with("key", key).held_by(holder)
    }
}

/// When a wait that begins now is over; `None`: never.
pub(crate) fn deadline(wait: Wait) -> Option<Instant> {
    match wait {
        Wait::No => Some(Instant::now()),
        Wait::For(wait) => Instant::now().checked_add(wait),
        Wait::Forever => None,
    }
}

enum Judged {
    Value(Bytes),
    Free(Cond),
    Busy { version: Version, left: Duration, identity: Identity },
}

fn is_away(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown)
}

/// Counts from the first failure.
async fn again(tries: &mut Option<Tries>) -> bool {
    tries.get_or_insert_with(|| RetryPolicy::default().start()).again().await
}

fn too_slow(key: &Key, lease: Duration) -> Error {
    Error::new(ErrorKind::Unavailable, "the store answers slower than the lease lasts; nothing ran")
        .with("key", key)
        .with("lease", format_args!("{lease:?}"))
        .hint("choose a longer lease")
}

/// Nothing ran, whatever became of the claim: so it is no `OutcomeUnknown` for our caller.
fn unanswered_claim(key: &Key, error: Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the store does not answer; nothing ran")
        .with("key", key)
        .hint("ask again when the store is back; a turn that was taken unseen is given back or ends with its lease")
        .because(error)
}
