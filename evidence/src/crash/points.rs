//! All the points at which a program can die, or its disk fail it, one after the other.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::calls::{Call, Kind};
use super::tracer::{Moment, Point};

/// So many points are tried at once.
const AT_ONCE: usize = 64;

/// What one run and the look at what it left have shown.
#[derive(Debug, Default)]
pub struct Tried {
    pub calls: Vec<Call>,
    /// Where it happened; `None` if it could not.
    pub hit: Option<Call>,
    /// Calls that were acknowledged before the end.
    pub acknowledged: u64,
    pub wrong: Vec<Wrong>,
}

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub property: &'static str,
    pub harm: Harm,
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// It cannot be read again.
    Unreadable,
    /// An acknowledged call is not there, or a third state is.
    Lost,
    /// A call that failed, or was made once, has happened, or twice.
    Extra,
    /// Nobody gets on.
    Stuck,
}

/// A program that is tried at a point, and what may be left then.
pub trait Scenario: Sync {
    fn name(&self) -> String;
    fn at(&self, point: Option<Point>) -> io::Result<Tried>;
}

/// What came of all points of a program.
#[derive(Debug, Default)]
pub struct Swept {
    pub name: String,
    /// The calls of one run that nobody disturbs.
    pub kinds: BTreeMap<Kind, usize>,
    pub all_points: usize,
    pub tried: usize,
    /// This time the program did not come to such a call: its threads had another order.
    pub not_reached: usize,
    /// There was no time.
    pub untried: usize,
    pub kills: usize,
    pub torn: usize,
    pub errors: usize,
    pub full: usize,
    pub acknowledged: u64,
    pub harms: BTreeMap<Harm, usize>,
    pub wrong: Vec<(String, Wrong)>,
}

/// Which points a call has.
fn moments(call: &Call, with_errors: bool) -> Vec<Moment> {
    let mut moments = vec![Moment::Before, Moment::After];
    moments.extend(call.tears.then_some(Moment::Torn));
    if with_errors && !call.unlocks {
        moments.extend(call.kind.errors().iter().map(|error| Moment::Error(*error)));
        moments.extend(call.takes_room.then_some(Moment::Full));
    }
    moments
}

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// One point in so many, beginning with this one.
    pub every: usize,
    pub from: usize,
    pub with_errors: bool,
    /// No point is begun after this.
    pub until: Instant,
}

/// Tries the points of a sample. How often and in which order a program calls differs a little from run to run where it has threads; a point that
/// is not reached is not counted as tried.
pub fn sweep(scenario: &dyn Scenario, sample: Sample) -> io::Result<Swept> {
    let quiet = scenario.at(None)?;
    let mut swept = Swept { name: scenario.name(), ..Swept::default() };
    for call in &quiet.calls {
        *swept.kinds.entry(call.kind).or_default() += 1;
    }
    let nothing = |wrong| (format!("{}, nothing done to it", swept.name), wrong);
    swept.wrong = quiet.wrong.into_iter().map(nothing).collect();
    let moment = |(nth, call): (usize, &Call)| moments(call, sample.with_errors).into_iter().map(move |m| (nth + 1, m));
    let points: Vec<_> = quiet.calls.iter().enumerate().flat_map(moment).collect();
    swept.all_points = points.len();
    let sampled: Vec<_> = points.into_iter().skip(sample.from % sample.every).step_by(sample.every).collect();
    let points: Vec<_> = spread(&sampled).map(|(nth, moment)| Point { nth, moment }).collect();
    let all = side_by_side(scenario, &points, sample.until)?;
    swept.untried = points.len() - all.len();
    for (Point { nth, moment }, tried) in all {
        let Some(call) = tried.hit else {
            swept.not_reached += 1;
            continue;
        };
        let place = format!("{} at call {nth}, {call}, {moment:?}", swept.name);
        swept.take(&place, moment, tried.acknowledged, tried.wrong);
    }
    Ok(swept)
}

/// Tries the points in their order, many at once: most of the time goes by while somebody waits for the lease of one who died.
fn side_by_side(scenario: &dyn Scenario, points: &[Point], until: Instant) -> io::Result<Vec<(Point, Tried)>> {
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while Instant::now() <= until {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = points.get(nth) else { break };
            let one = scenario.at(Some(*point))?;
            tried.lock().unwrap_or_else(PoisonError::into_inner).insert(nth, (*point, one));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Err(io::Error::other("a point could not be tried: panicked"));
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(panicked))
    })?;
    Ok(tried.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
}

/// All of them, those that are near each other far apart: a run that ends early has been everywhere.
fn spread<T: Copy>(all: &[T]) -> impl Iterator<Item = T> {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let stride = (1..=all.len()).rev().map(|stride| stride * 5 / 8).find(|stride| common(*stride, all.len()) == 1);
    let stride = stride.unwrap_or(1);
    (0..all.len()).map(move |nth| all[nth * stride % all.len()])
}

impl Swept {
    fn take(&mut self, place: &str, moment: Moment, acknowledged: u64, wrong: Vec<Wrong>) {
        self.tried += 1;
        self.acknowledged += acknowledged;
        match moment {
            Moment::Before | Moment::After => self.kills += 1,
            Moment::Torn => self.torn += 1,
            Moment::Error(_) => self.errors += 1,
            Moment::Full => self.full += 1,
        }
        for one in wrong {
            *self.harms.entry(one.harm).or_default() += 1;
            self.wrong.push((place.to_owned(), one));
        }
    }

    pub fn harm(&self, harm: Harm) -> usize {
        self.harms.get(&harm).copied().unwrap_or_default()
    }
}
