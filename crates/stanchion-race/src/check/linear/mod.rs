//! Is there one order of the operations on each key that explains every answer, and agrees with real time?
//!
//! The question is hard in general (the time grows with 2^operations under way at once), so every check has [`Limits`]
//! and may end with [`Verdict::Unknown`]. Keys are checked apart. An operation whose outcome is unknown may have happened
//! at any time after its call, or never.
//!
//! ```
//! use stanchion_race::check::{History, Input, Value, linear::{self, Limits}, model::Register};
//! let mut history = History::new();
//! let key = history.key("note")?;
//! history.open(1, key, 0, Input::Write(Value::Int(1)));
//! history.done(2, key, (5, 6), Input::Read, Value::None);
//! history.done(2, key, (7, 8), Input::Read, Value::Int(1));
//! let checked = linear::check(&Register::default(), &history, Limits::default());
//! assert!(checked.is_linearizable(), "the write happened between the reads");
//! # Ok::<(), stanchion_race::check::Full>(())
//! ```

mod budget;
mod explain;
mod layer;
mod mask;
mod search;
mod track;

use std::collections::HashMap;

pub use budget::{Limits, Unknown};
pub use explain::Violation;

use self::budget::Budget;
use self::search::{Search, Wave};
use self::track::Track;
use super::{History, Value, model::Model};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order for every key.
    Linearizable,
    /// There is none for this one.
    Violation(Violation),
    /// The check was given up, and no violation was found elsewhere.
    Unknown(Unknown),
}

/// A verdict, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What was found.
    pub verdict: Verdict,
    /// Operations that were checked.
    pub operations: usize,
    /// Operations that the model does not take, which were not checked.
    pub left_out: usize,
    /// Steps of the model.
    pub steps: u64,
}

impl Checked {
    /// Whether there is an order for every key.
    #[must_use]
    pub fn is_linearizable(&self) -> bool {
        self.verdict == Verdict::Linearizable
    }

    /// What cannot be ordered.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        if let Verdict::Violation(violation) = &self.verdict { Some(violation) } else { None }
    }
}

/// Checks all keys of a history against a model. Small keys first, so that a large one does not hide what they show.
///
/// ```
/// use std::time::Duration;
/// use stanchion_race::check::{History, Input, Value, linear::{self, Limits, Unknown, Verdict}, model::Register};
/// let mut history = History::new();
/// let key = history.key("note")?;
/// history.done(1, key, (0, 5), Input::Read, Value::None);
/// let limits = Limits { time: Duration::ZERO, ..Limits::default() };
/// let checked = linear::check(&Register::default(), &history, limits);
/// assert_eq!(checked.verdict, Verdict::Unknown(Unknown::Time));
/// # Ok::<(), stanchion_race::check::Full>(())
/// ```
pub fn check<M: Model>(model: &M, history: &History, limits: Limits) -> Checked {
    let mut places: HashMap<(u32, Value), usize> = HashMap::new();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let (mut operations, mut left_out) = (0, 0);
    for (at, operation) in history.operations().iter().enumerate() {
        if !model.takes(&operation.input) {
            left_out += 1;
            continue;
        }
        operations += 1;
        let place = *places.entry((operation.key, model.part(operation))).or_insert(parts.len());
        match parts.get_mut(place) {
            Some(part) => part.push(at),
            None => parts.push(vec![at]),
        }
    }
    parts.sort_by_key(Vec::len);
    let mut budget = Budget::new(limits);
    let mut verdict = Verdict::Linearizable;
    for part in &parts {
        match budget.look().and_then(|()| check_part(model, history, part, &mut budget)) {
            Ok(None) => {}
            Ok(Some(violation)) => {
                verdict = Verdict::Violation(violation);
                break;
            }
            // The first reason stays; small parts may still be decided when a larger one was not.
            Err(unknown) if verdict == Verdict::Linearizable => verdict = Verdict::Unknown(unknown),
            Err(_) => {}
        }
    }
    Checked { verdict, operations, left_out, steps: budget.spent() }
}

fn check_part<M: Model>(
    model: &M,
    history: &History,
    part: &[usize],
    budget: &mut Budget,
) -> Result<Option<Violation>, Unknown> {
    let all = history.operations();
    let operations = part.iter().filter_map(|at| Some((*at, *all.get(*at)?)));
    let track = Track::new(model, operations).map_err(|_| Unknown::Width)?;
    match track.slots {
        0..=64 => search::<M, 1>(model, history, &track, budget),
        65..=256 => search::<M, 4>(model, history, &track, budget),
        _ => search::<M, 16>(model, history, &track, budget),
    }
}

fn search<M: Model, const N: usize>(
    model: &M,
    history: &History,
    track: &Track,
    budget: &mut Budget,
) -> Result<Option<Violation>, Unknown> {
    if Search::<M, N>::new(model, track, budget).depth_first()? {
        return Ok(None);
    }
    let mut search = Search::<M, N>::new(model, track, budget);
    let seeds = vec![search.start()];
    match search.breadth_first(seeds)? {
        Wave::Ordered => Ok(None),
        Wave::Stuck { .. } if track.left_out > 0 => Err(Unknown::OpenOperations),
        Wave::Stuck { place, layers } => Ok(Some(explain::explain(model, history, track, search, place, layers))),
    }
}
