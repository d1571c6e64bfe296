//! From one session to another: out of a session that nobody may trust to stay empty.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{BootTime, ErrorKind, Owner, Result};

use super::api::Op;
use super::place::{Core, Place};
use super::session::Session;

/// A write that ties a name to a session, until its answer has come.
pub(super) struct Doubt<'s> {
    session: &'s Session,
    name: &'s str,
    settled: bool,
}

impl<'s> Doubt<'s> {
    /// To be said before it is sent.
    pub(super) const fn about(name: &'s str, session: &'s Session) -> Self {
        Self { session, name, settled: false }
    }

    /// Settled by an answer, and by the certainty that there was no question.
    pub(super) fn settle<T>(mut self, answer: &Result<T>) {
        let open = |kind| matches!(kind, ErrorKind::OutcomeUnknown | ErrorKind::Unexpected);
        self.settled = answer.as_ref().err().is_none_or(|error| !open(error.kind()));
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        // Also when the caller has gone away meanwhile.
        if !self.settled {
            self.session.taint(self.name);
        }
    }
}

impl Core {
    /// Moves a place that is written to another session, which surely lives for `ttl` from `start`; its order stays. `None` if it is
    /// not ours any more.
    ///
    /// One transaction, and refused once the entry is gone: arriving late it brings nothing back. If its answer is lost, the entry
    /// hangs on the one session or the other, and the next call tells.
    pub(super) async fn shift(
        &self,
        owner: Owner,
        place: &Place,
        start: BootTime,
        ttl: Duration,
    ) -> Result<Option<Place>> {
        let mut to = place.moving.clone().filter(|to| to.ttl >= ttl);
        if let Some(begun) = &to
            && !begun.reach(&self.http, start + ttl).await?
        {
            to = None;
        }
        let to = match to {
            Some(to) => to,
            None => self.sessions.reaching(start, ttl).await?,
        };
        let ours = self.update(owner, &place.name, |place| {
            (place.moving, place.index) = (Some(Arc::clone(&to)), 0);
            place.writes += 1;
        });
        if !ours {
            return Ok(None);
        }
        let (name, card, delay) = (&place.name, place.card.as_bytes(), self.http.delay_ms());
        let ops = [Op::unlock(name, card, delay, &place.session.id), Op::lock(name, card, delay, &to.id)];
        if self.http.write(&ops).await?.is_err() {
            let pairs = self.http.read_all(&[Op::tree(name)]).await?;
            if !pairs.iter().any(|pair| pair.session.as_ref() == Some(&to.id)) {
                return Ok(None);
            }
        }
        place.session.hand_over(name);
        let place = Place { session: to, moving: None, index: 0, ..place.clone() };
        self.update(owner, &place.name, |kept| (kept.session, kept.moving) = (Arc::clone(&place.session), None));
        Ok(Some(place))
    }
}
