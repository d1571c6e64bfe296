//! Crash points where the tracer does not know the registers: nothing is proven, and that is said.

use crate::budget::Budget;
use crate::report::Report;
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] = &[];

pub fn run(budget: &Budget) -> Report {
    let mut report = Report::new("crash", budget.seed);
    report.void.push("crash points are looked at on Linux, x86-64".to_owned());
    report
}
