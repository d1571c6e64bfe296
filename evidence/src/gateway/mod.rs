//! The real gateway code in a simulated network: gates, sessions and pumps as they are released, between pipes, servers and ways
//! to a store that a seed makes slow, lossy and mortal, on a clock that stands still while anybody can go on.
//!
//! A seed gives delays, losses and kills; the pauses between tries and the owners of locks are the gateway's own, and drawn anew each time.
//! So a seed shows a world again in kind, not event by event.

mod fate;
mod instance;
mod line;
mod server;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use self::fate::{EVENTS, Event};
use self::instance::Way;
use self::world::play;
use crate::budget::Budget;
use crate::command::command;
use crate::report::{Control, Report, Table, Violation};
use crate::simulation::world_seed;

/// At least so many, whatever the time: fewer do not show everything that has to happen.
const LEAST: u64 = 200;
/// So many chances a control has to fail.
const CHANCES: u64 = 500;
/// Found once is found: a broken gateway breaks in every second world.
const SHOWN: usize = 10;

/// What all worlds came to.
#[derive(Debug, Default)]
struct Tally {
    worlds: u64,
    calls: u64,
    events: BTreeMap<Event, u64>,
    broken: Vec<(u64, &'static str, String)>,
}

/// Plays worlds until the time is up.
#[must_use]
pub fn run(budget: &Budget) -> Report {
    explore(budget, u64::MAX)
}

/// As [`run`], with at most so many worlds.
#[must_use]
pub fn explore(budget: &Budget, most: u64) -> Report {
    let (begun, next) = (Instant::now(), AtomicU64::new(0));
    let work = || {
        let mut tally = Tally::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= most || index >= LEAST && begun.elapsed() >= budget.time {
                return tally;
            }
            let seed = world_seed(budget.seed, index);
            let outcome = play(seed, Way::Guarded);
            tally.worlds += 1;
            tally.calls += outcome.calls;
            for (event, count) in outcome.events {
                *tally.events.entry(event).or_default() += count;
            }
            tally.broken.extend(outcome.broken.into_iter().map(|(promise, what)| (seed, promise, what)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = players.into_iter().map(|player| player.join());
        joined.map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    report(budget, &tallies)
}

fn report(budget: &Budget, tallies: &[Tally]) -> Report {
    let mut report = Report::new("gateway", budget.seed);
    let sum = |count: fn(&Tally) -> u64| tallies.iter().map(count).sum::<u64>();
    let seen = |event: Event| tallies.iter().filter_map(|tally| tally.events.get(&event)).sum::<u64>();
    report.count("worlds", sum(|tally| tally.worlds));
    report.count("calls", sum(|tally| tally.calls));
    report.count("faults", EVENTS.iter().filter(|event| event.is_fault()).map(|event| seen(*event)).sum());
    report.tables.push(Table {
        heading: "What happened".to_owned(),
        columns: ["event", "times"].map(String::from).into(),
        rows: EVENTS.iter().map(|event| vec![format!("{event:?}"), seen(*event).to_string()]).collect(),
    });
    let never = EVENTS.iter().filter(|event| seen(**event) == 0);
    report.void.extend(never.map(|event| format!("never happened: {event:?}")));
    let broken = tallies.iter().flat_map(|tally| &tally.broken).take(SHOWN);
    report.violations.extend(broken.map(|(seed, promise, what)| Violation {
        property: (*promise).to_owned(),
        what: what.clone(),
        replay: format!("{} --seed {seed} --seconds 0", command("gateway")),
    }));
    report.controls = vec![
        control(budget.seed, Way::NoKeys, "clients choose no keys", "S4"),
        control(budget.seed, Way::NoLock, "calls are not kept apart", "S2"),
        control(budget.seed, Way::Bare, "no gateway: a call is repeated", "S4"),
        control(budget.seed, Way::Bare, "no gateway: calls meet", "S2"),
    ];
    report
}

/// Must break this promise.
fn control(seed: u64, way: Way, name: &str, promise: &str) -> Control {
    let worlds = (0..CHANCES).map(|index| world_seed(seed, index));
    let found = worlds.zip(1..).find_map(|(seed, nth): (u64, u64)| {
        let broken = play(seed, way).broken.into_iter().find(|(broken, _)| *broken == promise)?;
        Some(format!("in world {nth}: {}", broken.1))
    });
    let failed = found.is_some();
    Control { name: name.to_owned(), failed, detail: found.unwrap_or_else(|| format!("{CHANCES} worlds held")) }
}
