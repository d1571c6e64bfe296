//! Real processes on real engines behind the fault proxy: locks with fences, keyed calls and optimistic updates, while
//! replies are lost after the commit, requests are doubled and delayed, connections are cut, workers are killed and stopped
//! past their leases, servers are killed and started again, and clocks jump.
//!
//! The kill harness of the testkit hands each call to a worker over a pipe, to kill it at a chosen point; that is too slow for
//! a hundred thousand calls. Here workers choose for themselves, tell nobody, and leave journals.

mod dice;
mod engines;
mod faults;
mod fleet;
mod journal;
mod judge;
mod keyed;
mod locked;
mod optimistic;
mod orders;
mod phase;
mod place;
mod settle;
mod stale;
mod warned;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use engines::{ENGINES, Engine};
pub use worker::{is_worker, work};

use crate::budget::Budget;
use crate::command::command;
use crate::document::{LEAST_CALLS, LEAST_FAULTS};
use crate::report::{Control, Report, Table, Violation};
use phase::{Outcome, Trial};

/// Names the engines to be tried, if not all.
const CHOICE: &str = "STANCHION_EVIDENCE_ENGINES";

/// So many times its share of the time an engine may take that has not seen enough.
const MORE: u32 = 3;

const COLUMNS: [&str; 13] = [
    "engine",
    "version",
    "acknowledged",
    "of these repeated",
    "indeterminate",
    "failed without effect",
    "of these fenced",
    "faults",
    "faults by kind, and short pauses",
    "violations",
    "control: acknowledged",
    "control: lost writes, doubled calls",
    "seconds",
];

/// All engines, or those that `CHOICE` names.
#[must_use]
pub fn run(budget: &Budget) -> Report {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => return voided(budget, format!("this program cannot be run again: {e}")),
    };
    let chosen = std::env::var(CHOICE).unwrap_or_default();
    let names: Vec<&str> = chosen.split(',').filter(|name| !name.is_empty()).collect();
    run_on(budget, &names, &program)
}

/// These engines, all if none is named, with workers of `program`, which calls [`work`] if it [`is_worker`].
#[must_use]
pub fn run_on(budget: &Budget, names: &[&str], program: &Path) -> Report {
    if let Some(unknown) = names.iter().find(|name| !ENGINES.iter().any(|engine| engine.name == **name)) {
        return voided(budget, format!("no engine is called {unknown:?}"));
    }
    let chosen: Vec<_> = ENGINES.iter().filter(|engine| names.is_empty() || names.contains(&engine.name)).collect();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return voided(budget, format!("no runtime: {e}")),
    };
    let mut report = Report::new("real", budget.seed);
    let mut table =
        Table { heading: "Real engines".into(), columns: COLUMNS.map(str::to_owned).into(), rows: Vec::new() };
    let outcomes = runtime.block_on(side_by_side(budget, &chosen, program));
    let (mut least_calls, mut least_faults) = (u64::MAX, u64::MAX);
    for (engine, outcome) in chosen.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => {
                least_calls = least_calls.min(outcome.guarded.acknowledged);
                least_faults = least_faults.min(faults::sum(&outcome.faults));
                add(&mut report, &mut table, engine, budget, outcome);
            }
            Err(reason) => report.void.push(format!("{}: {reason}", engine.name)),
        }
    }
    report.tables.push(table);
    if !report.controls.is_empty() {
        report.count(LEAST_CALLS, least_calls);
        report.count(LEAST_FAULTS, least_faults);
    }
    if names.is_empty() {
        match runtime.block_on(async { tokio::spawn(warned::table()).await }) {
            Ok((table, void)) => {
                report.tables.push(table);
                report.void.extend(void);
            }
            Err(e) => report.void.push(format!("what is not promised could not be tried: {e}")),
        }
    }
    report
}

/// Every engine's trial, two at a time, because most of them wait for their disks: one begins with the slow ones, which are
/// the last, the other with the fast ones.
async fn side_by_side(budget: &Budget, chosen: &[&'static Engine], program: &Path) -> Vec<Result<Outcome, String>> {
    let (waiting, done) = (Mutex::new((0..chosen.len()).collect::<VecDeque<_>>()), Mutex::new(BTreeMap::new()));
    let end = Instant::now() + budget.time;
    let lane = async |next: fn(&mut VecDeque<usize>) -> Option<usize>| {
        while let Some((number, left)) = taken(&waiting, next) {
            let time = end.saturating_duration_since(Instant::now());
            // Most have seen enough long before that.
            let time = time.min(time * 2 * MORE / left).max(Duration::from_secs(1));
            let trial = Trial { seed: budget.seed, time, program: PathBuf::from(program) };
            // A panic of the testkit means that an engine did not do what it should: that proves nothing.
            let outcome = tokio::spawn(trial.run(chosen[number])).await.unwrap_or_else(|e| Err(e.to_string()));
            locked(&done).insert(number, outcome);
        }
    };
    tokio::join!(lane(VecDeque::pop_back), lane(VecDeque::pop_front));
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Who is next, and how many there were with it.
fn taken(waiting: &Mutex<VecDeque<usize>>, next: fn(&mut VecDeque<usize>) -> Option<usize>) -> Option<(usize, u32)> {
    let mut waiting = locked(waiting);
    let left = u32::try_from(waiting.len()).unwrap_or(1);
    next(&mut waiting).map(|number| (number, left))
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn voided(budget: &Budget, reason: String) -> Report {
    Report { void: vec![reason], ..Report::new("real", budget.seed) }
}

fn add(report: &mut Report, table: &mut Table, engine: &Engine, budget: &Budget, outcome: Outcome) {
    let Outcome { version, guarded, faults: kinds, control, caught, seconds, void, logs } = outcome;
    let total = faults::sum(&kinds);
    report.count("calls", guarded.acknowledged);
    report.count("faults", total);
    let kinds: Vec<_> =
        kinds.iter().filter(|(_, count)| **count > 0).map(|(kind, count)| format!("{count} {kind}")).collect();
    table.rows.push(vec![
        engine.name.to_owned(),
        version,
        guarded.acknowledged.to_string(),
        guarded.repeated.to_string(),
        guarded.indeterminate.to_string(),
        guarded.failed.to_string(),
        guarded.fenced.to_string(),
        total.to_string(),
        kinds.join(", "),
        guarded.violations.to_string(),
        control.acknowledged.to_string(),
        format!("{}, {}", control.lost, control.doubled),
        format!("{seconds:.0}"),
    ]);
    let (name, seconds) = (engine.name, budget.time.as_secs());
    let replay = format!("{CHOICE}={name} {} --seed {} --seconds {seconds}", command("real"), budget.seed);
    let logs = logs.map_or_else(String::new, |logs| format!(" (journals: {})", logs.display()));
    report.violations.extend(guarded.broken.into_iter().map(|(property, what)| Violation {
        property: property.to_owned(),
        what: format!("{name}: {what}{logs}"),
        replay: replay.clone(),
    }));
    report.void.extend(void.into_iter().map(|reason| format!("{}: {reason}", engine.name)));
    report.controls.push(Control {
        name: format!("{}, without lock, fence and key, and without faults", engine.name),
        failed: caught,
        detail: format!(
            "{} of {} acknowledged writes and calls lost, {} calls done twice",
            control.lost, control.acknowledged, control.doubled
        ),
    });
}
