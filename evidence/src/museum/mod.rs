//! Planted bugs. Each must be found, by the cheapest layer that can see it, and the same finder must find nothing
//! while none is planted: only then does a layer that finds nothing in our code mean something.

mod cases;
pub mod exhibit;
pub mod exhibits;
pub mod explore;
mod list;
pub mod rooms;
mod schedules;
mod simulated;

use std::time::{Duration, Instant};

use self::exhibit::{Exhibit, Finder, Found};
pub use self::list::exhibits;
use crate::budget::Budget;
use crate::command::command;
use crate::document::FOUND;
use crate::report::{Control, Report, Table, Violation};

/// The longest that anybody looks for one bug.
const PATIENCE: Duration = Duration::from_secs(60);

#[must_use]
pub fn run(budget: &Budget) -> Report {
    let mut report = Report::new("museum", budget.seed);
    if !cfg!(stanchion_museum) {
        report.void.push(format!("no bug is planted in this build; {}", command("museum")));
        return report;
    }
    let exhibits = exhibits();
    let share = budget.time / u32::try_from(exhibits.len()).unwrap_or(u32::MAX);
    let columns = [
        "bug",
        "what is wrong",
        "planted in",
        "found by",
        "property",
        "after",
        "time",
        "shortest schedule",
        "without it",
    ];
    let rows = exhibits.iter().map(|exhibit| show(exhibit, share, &mut report)).collect();
    report.count("planted bugs", exhibits.len() as u64);
    report.count(FOUND, report.controls.iter().filter(|control| control.failed).count() as u64);
    let columns = columns.map(str::to_owned).to_vec();
    report.tables.push(Table { heading: "Planted bugs".to_owned(), columns, rows });
    report.tables.push(simulated::seen(&exhibits, budget.seed, 3 * share));
    report
}

/// Looks for the bug while it is planted, and with nothing planted.
fn show(exhibit: &Exhibit, share: Duration, report: &mut Report) -> Vec<String> {
    let control = find(&exhibit.finder, share);
    if let Some(broken) = &control.broken {
        let what = format!("without any bug: {}: {}", broken.what, control.steps.join("; "));
        report.violations.push(Violation { property: broken.property.to_owned(), what, replay: command("museum") });
    }
    if control.tried == 0 {
        report.void.push(format!("{}: {}", exhibit.name, control.steps.join("; ")));
    }
    plant(exhibit.name);
    let start = Instant::now();
    let found = find(&exhibit.finder, PATIENCE);
    let took = start.elapsed();
    plant("");
    let (property, what) = match &found.broken {
        Some(broken) => (broken.property, broken.what.clone()),
        None => ("-", "not found".to_owned()),
    };
    report.controls.push(Control {
        name: exhibit.name.to_owned(),
        failed: found.broken.is_some(),
        detail: what.clone(),
    });
    let mut steps = found.steps.join("; ");
    if !exhibit.masked.is_empty() {
        steps = format!("{steps} ({})", exhibit.masked);
    }
    report.count("schedules", found.tried + control.tried);
    vec![
        exhibit.name.to_owned(),
        exhibit.about.to_owned(),
        exhibit.place.to_owned(),
        exhibit.finder.layer().to_owned(),
        property.to_owned(),
        format!("{} tried", found.tried),
        format!("{:.0} ms", took.as_secs_f64() * 1000.0),
        format!("{steps}: {what}"),
        format!("nothing in {}{}", if control.complete { "all " } else { "" }, control.tried),
    ]
}

/// Looks with this finder, at whatever is planted now.
#[must_use]
pub fn find(finder: &Finder, time: Duration) -> Found {
    match finder {
        Finder::Explore(room, limits) => {
            let explored = explore::explore(*room, limits, time);
            let (broken, steps) = match explored.found {
                Some((broken, told)) => (Some(broken), told),
                None => (None, Vec::new()),
            };
            Found { broken, steps, tried: explored.schedules, complete: explored.complete }
        }
        Finder::Case { store, suite, case, property } => cases::run(*store, *suite, case, property),
        Finder::Schedule(schedule) => {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.expect("a runtime needs no more than memory");
            let ran = quietly(|| runtime.block_on(schedule()));
            runtime.shutdown_background();
            match ran {
                Ok((broken, trail)) => Found { broken, steps: trail.steps(), tried: 1, complete: true },
                Err(why) => {
                    let steps = vec![format!("could not be played: {why}")];
                    Found { broken: None, steps, tried: 0, complete: false }
                }
            }
        }
    }
}

/// A finder that panics says why there, and not in the middle of a report.
fn quietly<T>(look: impl FnOnce() -> T) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
    std::panic::set_hook(hook);
    ran.map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => text.lines().next().unwrap_or_default().chars().take(160).collect(),
        Err(_) => "it failed".to_owned(),
    })
}

#[cfg(stanchion_museum)]
fn plant(name: &'static str) {
    stanchion_core::museum::plant(name);
}

/// There is nothing to plant in this build, and `run` has said so before.
#[cfg(not(stanchion_museum))]
const fn plant(_: &'static str) {}
