//! Answers that cannot change any more, kept in this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::claim::{Claim, State};
use crate::{BootTime, ClaimId, Clock, Fingerprint, Reply};

/// Larger answers are fetched from the store each time.
const BODY_MAX: u64 = 64 << 10;

/// DONE only: every other state can change under us.
#[derive(Debug)]
pub(super) struct Cache {
    most: usize,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<ClaimId, (Fingerprint, BootTime, Reply)>,
    /// In the order in which they came, to know which goes first.
    order: VecDeque<ClaimId>,
}

impl Cache {
    pub(super) fn new(most: usize, clock: Arc<dyn Clock>) -> Self {
        Self { most, clock, kept: Mutex::default() }
    }

    /// The answer, if the payload is the same and its time is not over.
    pub(super) fn get(&self, id: &ClaimId, fingerprint: Fingerprint) -> Option<Reply> {
        if self.most == 0 {
            return None;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (same, until, reply) = kept.answers.get(id)?;
        (*same == fingerprint && self.clock.now() < *until).then(|| reply.clone())
    }

    /// Keeps the answer of a finished claim whose record is `age` old.
    pub(super) fn put(&self, id: ClaimId, claim: &Claim, age: Duration) {
        let State::Done { outcome, response, keep } = &claim.state else { return };
        if self.most == 0 || response.body.len() > BODY_MAX {
            return;
        }
        let until = self.clock.now() + keep.saturating_sub(age);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = Reply::from((*outcome, response.clone()));
        if kept.answers.insert(id, (claim.fingerprint, until, reply)).is_none() {
            kept.order.push_back(id);
        }
        while kept.order.len() > self.most {
            if let Some(oldest) = kept.order.pop_front() {
                kept.answers.remove(&oldest);
            }
        }
    }
}
