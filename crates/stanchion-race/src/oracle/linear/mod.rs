//! `linearizable`: the calls of a round as a history, given to the checker.

mod operations;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::operations::operations;
use super::Judged;
use crate::check::History;
use crate::check::linear::{Checked, Limits, Verdict, check};
use crate::check::model::{Counter, Mutex, Register, Set};
use crate::run::Played;
use crate::spec::{Model, Spec};

/// One search may take so long; it is made several times for a race, and all of it counts for the run.
const TIME: Duration = Duration::from_secs(5);
/// Lines of the story that are shown.
const LINES: usize = 5;

pub(super) fn judge(spec: &Spec, model: Model, played: &Played, judged: &mut Judged) {
    let history = match operations(spec, model, played) {
        Ok(history) => history,
        Err(why) => return judged.undecided(format!("`linearizable` cannot be judged: {why}")),
    };
    match checked(model, &history, spec.limits.run.min(TIME)).verdict {
        Verdict::Linearizable => {}
        Verdict::Unknown(why) => {
            let many = history.operations().len();
            judged.undecided(format!("`linearizable` is not decided for {many} operations: {why}"));
        }
        Verdict::Violation(found) => {
            let story = found.story(&history);
            let mut lines: Vec<String> = story.lines().map(|line| line.trim().to_owned()).collect();
            let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
            let before = lines.pop();
            let left_out = lines.len().saturating_sub(LINES - 1);
            lines.truncate(LINES - 1);
            if let Some(last) = lines.last_mut().filter(|_| left_out > 0) {
                last.push_str(&format!(" and {left_out} more"));
            }
            let what = format!("no order of the calls explains all answers; {}", first.trim_end_matches(':'));
            judged.add("linearizable", None, what, lines.into_iter().chain(before).collect());
        }
    }
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
