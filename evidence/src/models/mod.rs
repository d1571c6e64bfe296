//! Exhaustive models: every order of everything that can happen to a few clients, over the real sans-IO cores.
//!
//! Each model has controls: designs that are in use and do not work, or one rule left out. The checker must break each
//! of them, and says how.

pub mod check;
mod claim;
mod lease;
mod redlock;

use std::collections::BTreeSet;

use crate::budget::Budget;
use crate::command::command;
use crate::report::{Control, Report, Table, Violation};

/// As many as the machines of CI have.
const THREADS: usize = 2;

#[must_use]
pub fn cases() -> Vec<check::Case> {
    [lease::cases(), redlock::cases(), claim::cases()].into_iter().flatten().collect()
}

#[must_use]
pub fn controls() -> Vec<check::Control> {
    [lease::controls(), redlock::controls(), claim::controls()].into_iter().flatten().collect()
}

/// Every case, whatever the budget: there is nothing to draw, and a part of a model proves nothing.
#[must_use]
pub fn run(budget: &Budget) -> Report {
    let mut report = Report::new("models", budget.seed);
    let mut checked = Table {
        heading: "Models, checked in every reachable state".to_owned(),
        columns: ["model", "variant", "clients", "unique states", "longest way", "time"].map(String::from).into(),
        rows: Vec::new(),
    };
    let mut properties = BTreeSet::new();
    for case in cases() {
        let held = case.check(THREADS);
        report.count("states", held.states as u64);
        let name = format!("{}: {}, {} clients", case.model, case.name, case.clients);
        report.void.extend(held.void.iter().map(|why| format!("{name}: {why}")));
        report.violations.extend(held.broken.iter().map(|broken| violation(&name, broken)));
        checked.rows.push(vec![
            case.model.to_owned(),
            case.name.to_owned(),
            case.clients.to_string(),
            held.states.to_string(),
            held.depth.to_string(),
            format!("{:.1} s", held.took.as_secs_f64()),
        ]);
        properties.extend(held.properties.iter().map(|property| (case.model, *property)));
    }
    let promised = Table {
        heading: "What holds in every one of them".to_owned(),
        columns: ["model", "property"].map(String::from).into(),
        rows: properties.into_iter().map(|(model, property)| [model, property].map(str::to_owned).into()).collect(),
    };
    let mut broken = Table {
        heading: "What the models find when a rule is left out".to_owned(),
        columns: ["model", "left out", "broken", "steps", "shortest counter-example"].map(String::from).into(),
        rows: Vec::new(),
    };
    for control in controls() {
        let found = control.find();
        let steps = found.as_ref().map_or_else(String::new, |found| found.steps.join(", "));
        let count = found.as_ref().map_or(0, |found| found.steps.len());
        report.controls.push(Control {
            name: format!("{}: {}: {}", control.model, control.name, control.property),
            failed: found.is_some(),
            detail: format!("in {count} steps: {steps}"),
        });
        let row = [control.model, control.name, control.property, &count.to_string(), &steps].map(str::to_owned);
        broken.rows.push(row.into());
    }
    report.tables = vec![checked, promised, broken];
    report
}

fn violation(name: &str, broken: &check::Broken) -> Violation {
    Violation {
        property: property(broken.property).to_owned(),
        what: format!("{name}: {}: {}", broken.property, broken.steps.join(", ")),
        replay: command("models"),
    }
}

/// Which of the promises a property of a model belongs to.
fn property(name: &str) -> &'static str {
    match name {
        lease::ONE_GRANT | redlock::ONE => "S1",
        lease::LOST_UPDATE => "S2",
        lease::TOKENS | redlock::FENCES => "S3",
        lease::BELIEF => "L3",
        redlock::CLEAN => "S7",
        claim::NO_FALSE_SUCCESS => "S6",
        claim::ANSWER => "L1",
        _ => "S4",
    }
}
