//! `linearizable`: the calls of a round as a history, given to the checker.

mod operations;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use self::operations::{Seen, operations};
use super::Judged;
use crate::check::History;
use crate::check::linear::{Checked, Limits, Verdict, Violation, check};
use crate::check::model::{Counter, Mutex, Register, Set};
use crate::run::Played;
use crate::spec::{Model, Spec};

/// One search may take so long; it is made several times for a race, and all of it counts for the run.
const TIME: Duration = Duration::from_secs(5);
/// Lines of the story that are shown.
const LINES: usize = 5;

pub(super) fn judge(spec: &Spec, model: Model, played: &Played, judged: &mut Judged) {
    let seen = match operations(spec, model, played) {
        Ok(seen) => seen,
        Err(why) => return judged.undecided(format!("`linearizable` cannot be judged: {why}")),
    };
    match checked(model, &seen.history, spec.limits.run.min(TIME)).verdict {
        Verdict::Linearizable => {}
        Verdict::Unknown(why) => {
            let many = seen.history.operations().len();
            judged.undecided(format!("`linearizable` is not decided for {many} operations: {why}"));
        }
        Verdict::Violation(found) => {
            let of = match seen.history.name(found.key) {
                "" => String::new(),
                key => format!(" with key {key:?}"),
            };
            judged.add(
                "linearizable",
                None,
                format!("no order of the calls{of} explains all answers"),
                story(&seen, &found),
            );
            let core = || found.core.iter().filter_map(|at| seen.whose.get(*at));
            let ids: BTreeSet<&String> = core().filter_map(|whose| whose.id.as_ref()).collect();
            let reads: BTreeSet<usize> = core().filter_map(|whose| whose.read_on).collect();
            if let Some(last) = judged.violations.last_mut() {
                last.conflicting = ids.into_iter().cloned().collect();
                last.conflicting_reads = reads.into_iter().collect();
            }
        }
    }
}

/// Which operations cannot be ordered, in the words of the timeline.
fn story(seen: &Seen, found: &Violation) -> Vec<String> {
    let mut lines: Vec<String> = found.core.iter().map(|at| seen.told(*at, *at == found.failing)).collect();
    let left_out = lines.len().saturating_sub(LINES - 1);
    lines.truncate(LINES - 1);
    if let Some(last) = lines.last_mut().filter(|_| left_out > 0) {
        last.push_str(&format!(" and {left_out} more"));
    }
    let many = if found.prefix == 1 { "operation" } else { "operations" };
    let before = found.before.join(", or ");
    lines.push(format!("before: {before}; {} {many} that returned earlier can be ordered", found.prefix));
    lines
}

fn checked(model: Model, history: &History, time: Duration) -> Checked {
    let limits = Limits { time, ..Limits::default() };
    match model {
        Model::Register => check(&Register::default(), history, limits),
        Model::Counter => check(&Counter::default(), history, limits),
        Model::Set => check(&Set, history, limits),
        Model::Mutex => check(&Mutex, history, limits),
    }
}
