//! What there is: one record, some callers, what is on the wire, and what an all-knowing observer has seen.

use std::sync::{Arc, LazyLock};

use stanchion_core::claim::{Asked, Claim, Event, Outcome, Response, Runner, State, Wish, ask};
use stanchion_core::{CallKey, Effect, Fingerprint, Owner, Scope};

/// A call may have so many rounds.
pub(super) const ROUNDS: usize = 4;
/// What the seed's placeholder says.
pub(super) const PENDING: u8 = 200;
/// The answer that an operator has found.
pub(super) const FOUND: u8 = 201;
const FAILED: u8 = 100;

/// What a caller wants to record of its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Closing {
    /// The tool answered.
    Tool(Kind),
    /// Nothing was sent, and nothing will be.
    NotSent,
    /// No answer came.
    Doubt,
}

/// What a tool does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Works,
    Fails,
    /// It says that there was no effect, and there was none.
    Refuses,
    /// It has done a part, and needs input.
    Asks,
}

/// What follows a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Then {
    Claimed,
    Marked,
    Ask,
    Closed(Closing),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// About to read.
    Ask,
    /// A write is on its way. `None`: the record has changed since it was read, so the write will be refused.
    Write {
        next: Option<Arc<Claim>>,
        then: Then,
    },
    /// Before anything was sent, a write was refused or its answer lost: about to read what became of it.
    Recover,
    /// CLAIMED is ours; `fresh`: we know the record's version.
    Held {
        fresh: bool,
    },
    /// DISPATCHED is ours, nothing was sent.
    Marked,
    Sent,
    /// About to read, and to record this.
    Close(Closing),
    /// It has its answer, whatever it is. An answer of the tool may still come.
    Over,
    Dead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wire {
    Nothing,
    Request,
    Answer(Kind),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    pub(super) phase: Phase,
    /// Of its attempt; 0 without one, or if it is not the record's any more. See [`World::renumber`].
    pub(super) epoch: u64,
    pub(super) round: u8,
    pub(super) wire: Wire,
    /// A write that was given up for lost and may still arrive. One that would be refused is as good as none.
    pub(super) stray: Option<Arc<Claim>>,
}

/// How far the reconciler is with the record as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reconciling {
    Idle,
    OwnerIsGone,
    NoEffectSeen,
}

/// What an all-knowing observer has seen; nobody in the model looks at it, except for the tool's own probe.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Seen {
    /// Per round, counted up to 2.
    pub(super) effects: [u8; ROUNDS],
    /// An effect was repeated by a caller that must not.
    pub(super) repeated: bool,
    /// Per caller: its attempt was marked.
    pub(super) marked: Vec<bool>,
    pub(super) unmarked_send: bool,
    pub(super) done: bool,
    pub(super) two_winners: bool,
    pub(super) done_changed: bool,
    pub(super) answer: Option<u8>,
    pub(super) answers_differ: bool,
    pub(super) false_success: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) record: Option<Arc<Claim>>,
    pub(super) callers: Vec<Caller>,
    pub(super) reconciling: Reconciling,
    pub(super) seen: Seen,
}

impl World {
    pub(super) fn new(callers: usize) -> Self {
        let caller = Caller { phase: Phase::Ask, epoch: 0, round: 0, wire: Wire::Nothing, stray: None };
        Self {
            record: None,
            callers: vec![caller; callers],
            reconciling: Reconciling::Idle,
            seen: Seen { marked: vec![false; callers], ..Seen::default() },
        }
    }

    /// Is the record of caller `i`'s present attempt?
    pub(super) fn is_mine(&self, i: usize) -> bool {
        let attempt = self.record.as_ref().map(|claim| claim.attempt);
        attempt.is_some_and(|attempt| attempt.owner == owner(i) && attempt.epoch == self.callers[i].epoch)
    }

    pub(super) fn state(&self) -> Option<&State> {
        self.record.as_ref().map(|claim| &claim.state)
    }

    /// The index of the last attempt's caller.
    pub(super) fn record_owner(&self) -> Option<usize> {
        let owner_of = self.record.as_ref()?.attempt.owner;
        (0..self.callers.len()).find(|i| owner(*i) == owner_of)
    }

    /// The record has a new version: whatever was read before is old. `except` has made it, and knows.
    pub(super) fn invalidate(&mut self, except: Option<usize>) {
        self.reconciling = Reconciling::Idle;
        for (i, caller) in self.callers.iter_mut().enumerate() {
            caller.stray = None;
            match &mut caller.phase {
                Phase::Write { next, .. } if Some(i) != except => *next = None,
                Phase::Held { fresh } if Some(i) != except => *fresh = false,
                _ => {}
            }
        }
    }

    /// Callers may take over from each other for ever, and epochs only tell the present attempt from earlier ones: so the
    /// record's is always 1, that of an attempt which is about to follow it 2, and that of an earlier one 0.
    pub(super) fn renumber(&mut self) {
        let Some(now) = self.record.as_ref().map(|claim| claim.attempt) else {
            self.callers.iter_mut().filter(|caller| !caller.is_claiming()).for_each(|caller| caller.epoch = 0);
            return;
        };
        for (i, caller) in self.callers.iter_mut().enumerate() {
            let mine = owner(i) == now.owner && caller.epoch == now.epoch;
            let follows = caller.epoch > now.epoch && caller.is_claiming();
            caller.epoch = if mine { 1 } else { 2 * u64::from(follows) };
            let writes = if let Phase::Write { next, .. } = &mut caller.phase { next.as_mut() } else { None };
            for claim in writes.into_iter().chain(&mut caller.stray) {
                let epoch = 1 + claim.attempt.epoch - now.epoch;
                Arc::make_mut(claim).attempt.epoch = epoch;
            }
        }
        if let Some(claim) = &mut self.record {
            Arc::make_mut(claim).attempt.epoch = 1;
        }
    }

    /// An effect of the request of caller `i`.
    pub(super) fn effect(&mut self, i: usize, class: Effect) {
        let effects = &mut self.seen.effects[usize::from(self.callers[i].round)];
        self.seen.repeated |= *effects > 0 && class != Effect::Idempotent;
        *effects = (*effects + 1).min(2);
    }

    /// Somebody is told that this is the answer.
    pub(super) fn answered(&mut self, answer: u8) {
        let seen = &mut self.seen;
        seen.false_success |= is_success(answer) && seen.effects.iter().all(|effects| *effects == 0);
        seen.answers_differ |= seen.answer.is_some_and(|before| before != answer);
        seen.answer = seen.answer.or(Some(answer));
    }

    /// The caller stops; equal ends are made equal.
    pub(super) fn over(&mut self, i: usize, dead: bool) {
        let caller = &mut self.callers[i];
        self.seen.marked[i] = false;
        caller.phase = if dead { Phase::Dead } else { Phase::Over };
        if dead && matches!(caller.wire, Wire::Answer(_)) {
            caller.wire = Wire::Nothing;
        }
        if caller.wire == Wire::Nothing {
            (caller.epoch, caller.round) = (0, 0);
        }
    }
}

impl Caller {
    /// May a write of its own still make its attempt the present one?
    fn is_claiming(&self) -> bool {
        matches!(self.phase, Phase::Write { next: Some(_), .. }) || self.stray.is_some()
    }
}

pub(super) fn owner(i: usize) -> Owner {
    Owner::from_bits(i as u128 + 1)
}

/// A wish of caller `i` for `round`. Made once: drawing owners and looking at the process takes longer than the model.
pub(super) fn wish(i: usize, round: u8, effect: Effect) -> Wish {
    static FIRST: LazyLock<Wish> = LazyLock::new(|| {
        let (scope, key) = (Scope::new("a", "b", "c").unwrap(), CallKey::new("k").unwrap());
        let mut wish = Wish::new(scope, key, Fingerprint::of_bytes(b""));
        wish.runner = std::sync::Arc::new(Runner::default());
        wish
    });
    static GIVEN: LazyLock<[Fingerprint; ROUNDS]> =
        LazyLock::new(|| std::array::from_fn(|round| Fingerprint::of_bytes(&[u8::try_from(round).unwrap()])));
    let mut wish = FIRST.clone();
    (wish.owner, wish.effect) = (owner(i), effect);
    wish.round = (round > 0).then(|| GIVEN[usize::from(round)]);
    wish
}

/// The claim without what is for people only.
pub(super) fn plain(mut claim: Claim) -> Arc<Claim> {
    claim.notes.clear();
    if let State::Unknown { reason } = &mut claim.state {
        reason.clear();
    }
    Arc::new(claim)
}

pub(super) fn is_success(answer: u8) -> bool {
    !(FAILED..PENDING).contains(&answer)
}

/// A caller's answer: which caller, which outcome, and for a question which round.
pub(super) fn answer_of(i: usize, round: u8, kind: Kind) -> u8 {
    let i = u8::try_from(i).unwrap();
    match kind {
        Kind::Works | Kind::Refuses => i,
        Kind::Fails => FAILED + i,
        Kind::Asks => round * 16 + i,
    }
}

pub(super) fn response(answer: u8) -> Response {
    Response::new("", vec![answer])
}

/// Which answer was this? Also if its body is no longer kept.
pub(super) fn which(response: &Response) -> u8 {
    static DIGESTS: LazyLock<Vec<Response>> =
        LazyLock::new(|| (0..=FOUND).map(|answer| self::response(answer).without_body()).collect());
    let dropped = || DIGESTS.iter().position(|digest| digest == response).unwrap();
    response.bytes().map_or_else(|| u8::try_from(dropped()).unwrap(), |body| body[0])
}

impl Closing {
    pub(super) fn event(self, world: &World, i: usize) -> Event {
        let Caller { epoch, round, .. } = world.callers[i];
        let by = stanchion_core::claim::Attempt { epoch, owner: owner(i) };
        let keep = std::time::Duration::from_secs(60);
        let answer = |kind| response(answer_of(i, round, kind));
        match self {
            Self::Tool(kind @ Kind::Works) => Event::Finish { by, outcome: Outcome::Ok, response: answer(kind), keep },
            Self::Tool(kind @ Kind::Fails) => {
                Event::Finish { by, outcome: Outcome::Failed, response: answer(kind), keep }
            }
            Self::Tool(kind @ Kind::Asks) => Event::Suspend { by, response: answer(kind), keep },
            Self::Tool(Kind::Refuses) | Self::NotSent => Event::NoEffect { by, response: None },
            Self::Doubt => Event::Doubt { by, reason: String::new() },
        }
    }
}

/// What a caller who comes when all others have stopped is told in the end, once it has done what it is told to do on
/// the way. `late`: every lease and every time to keep is over.
pub(super) fn alone(record: Option<&Arc<Claim>>, late: bool, wish: &Wish) -> Asked {
    let mut record = record.cloned();
    for _ in 0..8 {
        let lapsed = late && record.as_ref().is_some_and(|claim| claim.state.lapses_after().is_some());
        match ask(record.as_deref(), lapsed, wish) {
            Asked::Settle(next) => record = Some(plain(next)),
            end => return end,
        }
    }
    Asked::InFlight
}
