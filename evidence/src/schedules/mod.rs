//! The real async code in every order of its steps, with callers that are dropped at any await.
//!
//! Every operation on the store, every piece of work and every late answer is a stop; between two stops real futures of
//! `stanchion-core` run, background tasks included. Up to `BOUND` of all that can go wrong, every order is tried;
//! beyond it, orders are drawn from the seed.

mod calls;
mod choose;
mod explore;
mod locks;
mod stops;
mod turns;

use std::time::{Duration, Instant};

use self::choose::Chooser;
use self::explore::{Broken, Limits, Ran, Scenario, run as run_once};
use crate::budget::Budget;
use crate::command::command;
use crate::report::{Control, Report, Table, Violation};

/// What goes wrong in a run of which every order is tried.
const BOUND: Limits = Limits { cancels: 1, faults: 1, both: 1 };
/// And in one that is drawn.
const DRAWN: Limits = Limits { cancels: 2, faults: 2, both: 3 };

const SCENARIOS: [Scenario; 6] = [
    Scenario {
        name: "a lock that is given back or dropped",
        clients: 3,
        run: |w| locks::section(w, locks::How::Lease),
    },
    Scenario { name: "calls with one key", clients: 3, run: |w| calls::calls(w, calls::How::Keyed) },
    Scenario {
        name: "calls with one key and a lock",
        clients: 3,
        run: |w| calls::calls(w, calls::How::KeyedAndLocked),
    },
    Scenario { name: "single-flight", clients: 3, run: |w| turns::turns(w, turns::How::SingleFlight) },
    Scenario { name: "init-once", clients: 3, run: |w| turns::turns(w, turns::How::Once) },
    Scenario { name: "two permits of a limiter", clients: 3, run: |w| turns::turns(w, turns::How::Limiter) },
];

const CONTROLS: [Scenario; 5] = [
    Scenario { name: "no lock", clients: 2, run: |w| locks::section(w, locks::How::Nothing) },
    Scenario {
        name: "a guard that releases after the work, and not when it is dropped",
        clients: 2,
        run: |w| locks::section(w, locks::How::ReleaseAfterWork),
    },
    Scenario { name: "check, then act", clients: 2, run: |w| calls::calls(w, calls::How::CheckThenAct) },
    Scenario {
        name: "waiters that only a leader wakes",
        clients: 2,
        run: |w| turns::turns(w, turns::How::WaitToBeTold),
    },
    Scenario { name: "a counter without compare", clients: 3, run: |w| turns::turns(w, turns::How::CountUnfenced) },
];

/// What all runs of a scenario came to.
#[derive(Debug, Default)]
struct Tried {
    runs: u64,
    steps: u64,
    cancels: u64,
    faults: u64,
    complete: bool,
    problem: Option<(Broken, Vec<String>)>,
}

impl Tried {
    fn add(&mut self, ran: Ran) -> bool {
        self.runs += 1;
        self.steps += ran.trace.len() as u64;
        self.cancels += ran.cancels as u64;
        self.faults += ran.faults as u64;
        self.problem = ran.problem.map(|problem| (problem, ran.trace));
        self.problem.is_none()
    }
}

/// Every order of `scenario` with fewer clients, or as many as there is time for.
fn every(scenario: &Scenario, clients: usize, limits: Limits, most: u64, until: Instant) -> Tried {
    let scenario = Scenario { clients, ..*scenario };
    let (mut tried, mut chooser) = (Tried::default(), Chooser::every());
    while tried.runs < most && Instant::now() < until && tried.add(run_once(&scenario, limits, &mut chooser)) {
        if !chooser.next() {
            tried.complete = true;
            break;
        }
    }
    tried
}

fn drawn(scenario: &Scenario, seed: u64, most: u64, until: Instant) -> Tried {
    let mut tried = Tried::default();
    while tried.runs < most && Instant::now() < until {
        let mut chooser = Chooser::drawn(seed, tried.runs);
        if !tried.add(run_once(scenario, DRAWN, &mut chooser)) {
            break;
        }
    }
    tried
}

#[must_use]
pub fn run(budget: &Budget) -> Report {
    explore(budget, u64::MAX)
}

/// As [`run`], with at most so many runs of each kind.
#[must_use]
pub fn explore(budget: &Budget, most: u64) -> Report {
    let mut report = Report::new("schedules", budget.seed);
    let mut table = Table {
        heading: "Real async code, order by order".to_owned(),
        columns: ["what", "clients", "orders", "all of them", "steps", "callers dropped", "operations failed"]
            .map(String::from)
            .into(),
        rows: Vec::new(),
    };
    let share = budget.time / u32::try_from(2 * SCENARIOS.len()).unwrap_or(u32::MAX);
    for scenario in &SCENARIOS {
        let until = |share: Duration| Instant::now() + share;
        for (clients, tried) in [
            (2, every(scenario, 2, BOUND, most, until(share))),
            (scenario.clients, drawn(scenario, budget.seed, most, until(share))),
        ] {
            report.count("operations", tried.steps);
            report.count("faults", tried.cancels + tried.faults);
            let numbers = [tried.runs.to_string(), if tried.complete { "yes" } else { "drawn or cut" }.to_owned()];
            let sums = [tried.steps, tried.cancels, tried.faults].map(|sum| sum.to_string());
            let row = [scenario.name.to_owned(), clients.to_string()];
            table.rows.push(row.into_iter().chain(numbers).chain(sums).collect());
            if tried.cancels == 0 || tried.faults == 0 {
                report.void.push(format!("{}: nobody was dropped, or nothing failed", scenario.name));
            }
            report.violations.extend(tried.problem.map(|((property, what), trace)| Violation {
                property: property.to_owned(),
                what: format!("{}, {clients} clients: {what}: {}", scenario.name, trace.join(", ")),
                replay: format!("{} --seed {} --seconds {}", command("schedules"), budget.seed, budget.time.as_secs()),
            }));
        }
    }
    report.tables.push(table);
    report.controls = CONTROLS.iter().map(|control| find(control, most)).collect();
    report
}

fn find(scenario: &Scenario, most: u64) -> Control {
    let until = Instant::now() + Duration::from_secs(60);
    let tried = every(scenario, scenario.clients, BOUND, most.max(10_000), until);
    let detail = match &tried.problem {
        Some(((property, what), trace)) => {
            format!("in order {}: {property}: {what}: {}", tried.runs, trace.join(", "))
        }
        None => format!("{} orders", tried.runs),
    };
    Control { name: scenario.name.to_owned(), failed: tried.problem.is_some(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_has_the_name_of_its_property() {
        let broken = |control: &Scenario| {
            let until = Instant::now() + Duration::from_secs(60);
            every(control, control.clients, BOUND, 10_000, until).problem.map(|((property, _), _)| property)
        };
        assert_eq!(CONTROLS.each_ref().map(broken), ["S1", "S7", "S4", "L1", "S5"].map(Some));
    }
}
