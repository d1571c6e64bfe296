//! What there is: a lock service, some clients, one register that they write, and what an all-knowing observer has seen.

use std::time::Duration;

use stanchion_core::{BootTime, FencingToken, LeaseMachine, Owner};

/// How the protected register checks its writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Check {
    /// Our rule: the read raises the fence, and the write needs to be the last to have touched.
    FirstTouch,
    /// The write compares the version that was read.
    VersionCas,
    /// The textbook: a write is refused if its token is below that of an earlier *write*.
    WriteOnly,
    /// Raised by the first touch, but two tokens with one number are taken for the same.
    NumberOnly,
    Nothing,
}
/// Client and session: one owner per acquisition.
pub(super) type Session = (usize, u8);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Idle,
    Asking,
    Answered(Option<FencingToken>),
    Held,
    Reading,
    Read { value: u8, version: u8 },
    Writing { value: u8, version: u8 },
    Leaving,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Renewal {
    None,
    Sent,
    Answered(bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) phase: Phase,
    pub(super) session: u8,
    pub(super) may_lose: bool,
    pub(super) now: u64,
    pub(super) sent: u64,
    pub(super) token: Option<FencingToken>,
    /// The fence that refused us: the next grant must be above it.
    pub(super) floor: u64,
    pub(super) lease: Option<LeaseMachine>,
    pub(super) renewal: Renewal,
    /// A renewal that was given up for lost and may still reach the service.
    pub(super) stray: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Service {
    pub(super) counter: u64,
    pub(super) holder: Option<(Session, FencingToken, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Register {
    pub(super) value: u8,
    pub(super) version: u8,
    pub(super) fence: Option<FencingToken>,
}

/// What an all-knowing observer has seen; no client or service looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Seen {
    /// Writes that were acknowledged, and writes that were applied while their answer was lost.
    pub(super) applied: u8,
    /// Leases that were granted and neither ended by time nor were released by their owner.
    pub(super) open: Vec<Session>,
    pub(super) highest: u64,
    pub(super) two_grants: bool,
    pub(super) token_fell: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) clients: Vec<Client>,
    pub(super) service: Service,
    pub(super) register: Register,
    pub(super) seen: Seen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Tick(usize),
    Ask(usize),
    AskArrives(usize),
    AnswerArrives(usize),
    AskLost(usize),
    SendRead(usize),
    ReadArrives(usize),
    SendWrite(usize),
    WriteArrives(usize),
    WriteAnswerLost(usize),
    RenewalArrives(usize),
    RenewalAnswered(usize),
    RenewalLost(usize),
    StrayRenewalArrives(usize),
    Release(usize),
    ReleaseLost(usize),
    LeaseEnds,
}

pub(super) fn at(time: u64) -> BootTime {
    BootTime::from_boot(Duration::from_secs(time))
}

/// The number of a fence; 0 without one.
pub(super) fn number(fence: Option<FencingToken>) -> u64 {
    fence.map_or(0, |fence| fence.number())
}

pub(super) fn owner((client, session): Session) -> Owner {
    Owner::from_bits((client as u128 + 1) << 8 | u128::from(session))
}

impl World {
    pub(super) fn session(&self, i: usize) -> Session {
        (i, self.clients[i].session)
    }

    pub(super) fn may_act(&self, i: usize) -> bool {
        let client = &self.clients[i];
        client.lease.as_ref().is_some_and(|lease| lease.is_valid(at(client.now)))
    }

    /// What the register answers to a write: was it applied?
    pub(super) fn write(&mut self, check: Check, token: FencingToken, value: u8, version: u8) -> bool {
        let register = &mut self.register;
        let accepted = match check {
            Check::FirstTouch => register.fence == Some(token),
            Check::VersionCas => register.version == version,
            Check::WriteOnly => token.supersedes(register.fence.as_ref()),
            Check::NumberOnly => self::number(register.fence) <= token.number(),
            Check::Nothing => true,
        };
        if accepted {
            register.value = value + 1;
            register.version += 1;
            register.fence = Some(token);
        }
        accepted
    }
}
