//! How far a run is, for whoever waits for it.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use super::history::Record;

/// What a run is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// One call after the other, to see that the specification fits.
    Control,
    /// Schedule after schedule.
    Racing,
    /// Something was broken: the same calls one after the other, to see that it needs a race.
    Doubting,
    /// A race was found, and the smallest schedule that shows it is looked for.
    Shrinking,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is at.
    pub phase: Phase,
    /// Schedules that were played; in [`Phase::Shrinking`] those that were tried.
    pub schedules: u64,
    /// So many are played at most.
    pub most: u64,
    /// Raced calls that have ended.
    pub calls: usize,
    /// Faults that they met.
    pub faults: usize,
}

/// Is told by a run, and asked by whoever waits.
///
/// ```
/// use stanchion_race::{Phase, Watch};
/// assert_eq!(Watch::default().progress().phase, Phase::Control);
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    phase: AtomicU8,
    schedules: AtomicU64,
    most: AtomicU64,
    calls: AtomicUsize,
    faults: AtomicUsize,
}

impl Watch {
    /// How far it is now. The parts are read one by one.
    ///
    /// ```
    /// assert_eq!(stanchion_race::Watch::default().progress().calls, 0);
    /// ```
    #[must_use]
    pub fn progress(&self) -> Progress {
        let phase = match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Control,
            1 => Phase::Racing,
            2 => Phase::Doubting,
            _ => Phase::Shrinking,
        };
        Progress {
            phase,
            schedules: self.schedules.load(Ordering::Relaxed),
            most: self.most.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
            faults: self.faults.load(Ordering::Relaxed),
        }
    }

    pub(super) fn begin(&self, phase: Phase, most: u64) {
        let phase = match phase {
            Phase::Control => 0,
            Phase::Racing => 1,
            Phase::Doubting => 2,
            Phase::Shrinking => 3,
        };
        self.schedules.store(0, Ordering::Relaxed);
        self.most.store(most, Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    pub(super) fn played(&self) {
        self.schedules.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, record: &Record) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.faults.fetch_add(usize::from(record.fault.is_some()), Ordering::Relaxed);
    }
}
