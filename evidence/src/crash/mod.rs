//! Crash points: real programs are killed before, in and after every system call by which they change, lock or tell something, and their disk
//! fails them there; then they are started again, and what is left is compared with what was acknowledged.
//!
//! Shared memory is written without system calls: what SQLite does in its index of the log between two calls is not a point of its own. It is built
//! anew from the log by whoever comes first after a crash.

pub mod calls;
pub mod damage;
pub mod embedded;
pub mod memory;
mod naive;
pub mod points;
pub mod program;
pub mod rpc;
pub mod tracer;

use std::io;
use std::time::Instant;

use self::embedded::Embedded;
use self::memory::MemoryServer;
use self::points::{Harm, Sample, Scenario, Swept, sweep};
use crate::budget::Budget;
use crate::command::command;
use crate::report::{Control, Report, Table, Violation};
use crate::worker::Worker;

/// What this layer starts.
pub(crate) const WORKERS: &[Worker] = &[
    Worker { name: "embedded", run: embedded::worker::run },
    Worker { name: "naive-memory", run: naive::run },
    Worker { name: "naive-store", run: embedded::naive::run },
];

const COLUMNS: &[&str] = &[
    "program",
    "calls that matter in one run",
    "points",
    "tried",
    "not reached",
    "kills",
    "kills inside a write",
    "errors",
    "full disk",
    "acknowledged",
    "unreadable",
    "lost",
    "extra",
    "stuck",
];

pub fn run(budget: &Budget) -> Report {
    let mut report = Report::new("crash", budget.seed);
    if let Err(reason) = try_all(budget, &mut report) {
        report.void.push(reason.to_string());
    }
    report
}

fn try_all(budget: &Budget, report: &mut Report) -> io::Result<()> {
    let end = Instant::now() + budget.time;
    let programs: Vec<Box<dyn Scenario>> = vec![
        Box::new(MemoryServer::ours(&[])?),
        Box::new(MemoryServer::ours(&["--durability", "power"])?),
        Box::new(MemoryServer::ours(&["--compat", "strict"])?),
        Box::new(Embedded::ours("process")),
        Box::new(Embedded::ours("power")),
    ];
    let mut table = Table {
        heading: "Crash points".to_owned(),
        columns: COLUMNS.iter().map(|one| (*one).to_owned()).collect(),
        rows: Vec::new(),
    };
    for (nth, program) in programs.iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        let until = Instant::now() + left / u32::try_from(programs.len() - nth).unwrap_or(u32::MAX);
        let swept = sweep(&**program, Sample { every: 1, from: 0, with_errors: true, until })?;
        table.rows.push(row(&swept));
        judge(&swept, budget, report);
    }
    let controls: [Box<dyn Scenario>; 2] = [Box::new(MemoryServer::naive()?), Box::new(Embedded::naive())];
    for control in controls {
        let until = Instant::now() + budget.time;
        let swept = sweep(&*control, Sample { every: 1, from: 0, with_errors: false, until })?;
        table.rows.push(row(&swept));
        report.controls.push(lost(&swept));
    }
    // For comparison: nobody has promised anything for it.
    if let Some(official) = MemoryServer::official() {
        let until = Instant::now() + budget.time / 4;
        let swept = sweep(&official, Sample { every: 1, from: 0, with_errors: false, until })?;
        table.rows.push(row(&swept));
    }
    report.tables.push(table);
    damage::run(budget, 1, report)
}

/// A program that has to hold, at every point.
fn judge(swept: &Swept, budget: &Budget, report: &mut Report) {
    report.count("faults", swept.tried as u64);
    report.count("calls", swept.acknowledged);
    let moments = [
        ("kill", swept.kills),
        ("kill inside a write", swept.torn),
        ("error", swept.errors),
        ("full disk", swept.full),
    ];
    if swept.untried > 0 {
        report
            .void
            .push(format!("{}: there was no time for {} of {} points", swept.name, swept.untried, swept.all_points));
    }
    for (what, _) in moments.into_iter().filter(|(_, count)| *count == 0) {
        report.void.push(format!("{}: no {what} was tried", swept.name));
    }
    for (place, wrong) in &swept.wrong {
        report.violations.push(Violation {
            property: wrong.property.to_owned(),
            what: format!("{place}: {}", wrong.what),
            replay: again(budget),
        });
    }
}

/// Every point is tried again: with less time only some would be.
fn again(budget: &Budget) -> String {
    format!("{} --seed {} --seconds {}", command("crash"), budget.seed, budget.time.as_secs())
}

/// A program that has to lose.
fn lost(swept: &Swept) -> Control {
    let count = |harm| swept.harm(harm);
    let lost = count(Harm::Lost) + count(Harm::Unreadable);
    let detail = format!(
        "{} points: {lost} times acknowledged calls were lost or nothing could be read, {} times something happened twice, {} times nobody got on",
        swept.tried,
        count(Harm::Extra),
        count(Harm::Stuck)
    );
    Control { name: swept.name.clone(), failed: lost + count(Harm::Extra) + count(Harm::Stuck) > 0, detail }
}

fn row(swept: &Swept) -> Vec<String> {
    let kinds: Vec<_> = swept.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut row = vec![swept.name.clone(), kinds.join(", "), swept.all_points.to_string()];
    let counts = [swept.tried, swept.not_reached, swept.kills, swept.torn, swept.errors, swept.full];
    row.extend(counts.map(|count| count.to_string()));
    row.push(swept.acknowledged.to_string());
    row.extend([Harm::Unreadable, Harm::Lost, Harm::Extra, Harm::Stuck].map(|harm| swept.harm(harm).to_string()));
    row
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::calls::{Call, Kind};
    use super::points::Tried;
    use super::tracer::Point;
    use super::*;

    /// Nine calls, of which the last is made only when nobody disturbs.
    struct Nine;

    impl Scenario for Nine {
        fn name(&self) -> String {
            "nine".to_owned()
        }

        fn at(&self, point: Option<Point>) -> io::Result<Tried> {
            let (kind, name, file) = (Kind::Write, "write", "file".to_owned());
            let calls = vec![Call { kind, name, file, tears: true, takes_room: true, unlocks: false }; 9];
            let hit = point.filter(|point| point.nth < 9).map(|_| calls[0].clone());
            Ok(Tried { calls, hit, ..Tried::default() })
        }
    }

    fn swept(until: Instant) -> (Swept, Report) {
        let swept = sweep(&Nine, Sample { every: 1, from: 0, with_errors: true, until }).unwrap();
        let mut report = Report::new("crash", 1);
        judge(&swept, &Budget::new(1, Duration::ZERO), &mut report);
        (swept, report)
    }

    #[test]
    fn points_for_which_there_was_no_time_make_the_layer_void() {
        let (swept, report) = swept(Instant::now());
        assert_eq!((swept.tried, swept.untried), (0, swept.all_points));
        assert!(report.void.iter().any(|why| why.contains("no time for")), "{:?}", report.void);
    }

    #[test]
    fn a_point_that_is_not_reached_is_neither_tried_nor_left_out_for_want_of_time() {
        let (swept, report) = swept(Instant::now() + Duration::from_secs(60));
        assert_eq!((swept.not_reached, swept.untried), (swept.all_points / 9, 0));
        assert_eq!(swept.tried, swept.all_points - swept.not_reached);
        assert_eq!(report.void, Vec::<String>::new());
    }
}
