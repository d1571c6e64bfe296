//! What is done to workers, where, and what it must lead to.

use super::profile::Dice;
use super::{Design, Setup};

/// A place where a worker is killed or stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    Claimed,
    BeforeDispatch,
    MidBegin,
    MidDispatch,
    Dispatched,
    BeforeEffect,
    Ran,
    BeforeRecord,
    MidRecord,
    Recorded,
    /// By a caller that finds a dead owner.
    Lapse,
    /// By a sweep.
    Reap,
    MidLapse,
    MidBeat,
    SeedPlaced,
    SeedRan,
    /// Anywhere.
    Random,
}

impl Point {
    const GUARD: [Self; 14] = [
        Self::Claimed,
        Self::BeforeDispatch,
        Self::MidBegin,
        Self::MidDispatch,
        Self::Dispatched,
        Self::BeforeEffect,
        Self::Ran,
        Self::BeforeRecord,
        Self::MidRecord,
        Self::Recorded,
        Self::Lapse,
        Self::Reap,
        Self::MidLapse,
        Self::MidBeat,
    ];

    /// Where a pause past the lease lets somebody else judge us dead.
    const STOPS: [Self; 7] = [
        Self::Claimed,
        Self::BeforeDispatch,
        Self::Dispatched,
        Self::BeforeEffect,
        Self::Ran,
        Self::BeforeRecord,
        Self::Lapse,
    ];

    /// The pause point; `None` for a random moment.
    pub(super) const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Claimed => "claim.claimed",
            Self::BeforeDispatch => "claim.before-dispatch",
            Self::MidBegin => "kill.mid-begin",
            Self::MidDispatch => "kill.mid-dispatch",
            Self::Dispatched => "claim.dispatched",
            Self::BeforeEffect => "kill.before-effect",
            Self::Ran => "guard.ran",
            Self::BeforeRecord => "claim.before-record",
            Self::MidRecord => "kill.mid-record",
            Self::Recorded => "claim.recorded",
            Self::Lapse | Self::Reap => "claim.lapse",
            Self::MidLapse => "kill.mid-lapse",
            Self::MidBeat => "kill.mid-beat",
            Self::SeedPlaced => "seed.placed",
            Self::SeedRan => "seed.ran",
            Self::Random => return None,
        })
    }

    /// What must become of the call that was killed here.
    pub(super) const fn outcome(self) -> Outcome {
        match self {
            Self::Dispatched | Self::BeforeEffect | Self::Ran | Self::BeforeRecord => Outcome::Unknown,
            // A sign of life does not hold the call up: it may have ended meanwhile.
            Self::MidBegin | Self::MidDispatch | Self::MidRecord | Self::MidBeat | Self::Random => Outcome::Either,
            // Nothing was marked yet, or its end is written, or the dead only looked at the call of another.
            _ => Outcome::Known,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It stays unknown for ever.
    Unknown,
    Either,
    /// The kill alone is no reason for an unknown outcome.
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill(Point),
    /// SIGSTOP for longer than the lease, then SIGCONT.
    Stop(Point),
    Store,
}

/// All faults of a run, in an order of their own.
pub(super) fn plan(setup: &Setup, dice: &mut Dice) -> Vec<Fault> {
    let (points, stops): (&[Point], &[Point]) = match setup.design {
        Design::Guard => (&Point::GUARD, &Point::STOPS),
        Design::Seed => (&[Point::SeedPlaced, Point::SeedRan], &[]),
        // Points that are met whatever the bug does.
        Design::Planted(_) => {
            (&[Point::Dispatched, Point::Ran, Point::BeforeRecord], &[Point::BeforeDispatch, Point::BeforeRecord])
        }
    };
    let mut faults = vec![Fault::Kill(Point::Random); setup.random_kills];
    for (points, times, fault) in [
        (points, setup.kills_per_point, Fault::Kill as fn(Point) -> Fault),
        (stops, setup.pauses_per_point, Fault::Stop as fn(Point) -> Fault),
    ] {
        faults.extend(points.iter().flat_map(|point| std::iter::repeat_n(fault(*point), times)));
    }
    for last in (1..faults.len()).rev() {
        faults.swap(last, dice.roll(last + 1));
    }
    // It needs new keys of two kinds at once: not left for the end, when few are new.
    let is_needy = |fault: &Fault| matches!(fault, Fault::Kill(Point::Claimed) | Fault::Stop(Point::Claimed));
    let half = faults.len() / 2;
    for late in half..faults.len() {
        let early = dice.roll(half);
        if is_needy(&faults[late]) && !is_needy(&faults[early]) {
            faults.swap(late, early);
        }
    }
    // Spread over the run, not left to chance.
    for number in 0..setup.store_faults {
        let at = (number + 1) * faults.len() / (setup.store_faults + 1);
        faults.insert(at.min(faults.len()), Fault::Store);
    }
    faults
}

/// A call that was under way in a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) principal: &'static str,
    pub(super) index: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Killed {
    pub(super) point: Point,
    pub(super) open: Option<Open>,
}

/// What was done to the workers.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub(super) kills: Vec<Killed>,
    pub(super) pauses: Vec<Killed>,
    pub(super) store_faults: usize,
    /// Calls that were under way while the store was disturbed.
    pub(super) disturbed: Vec<Open>,
}
