//! Is what a race has broken broken without a race as well?

use tokio::time::Instant;

use super::ground::Ground;
use super::history::{Played, Stop};
use super::round::{Mode, play_until};
use crate::oracle::{Violation, judge};
use crate::schedule::Schedule;

/// So many calls are made one after the other to doubt a race.
const ALONE_MAX: usize = 200;

/// `Err` says why what was broken is not told as a race. As many calls one after the other, without faults, must not break it, each
/// where it was made: a target that is not deterministic passes a short control, and so does one whose processes share nothing.
/// What could not be doubted is no race either.
pub(super) async fn doubt(ground: &Ground<'_>, raced: &Played, broken: &[Violation]) -> Result<(), String> {
    // Time of its own: one after the other they take longer than together, and a race that was found late is one as well.
    let until = Instant::now() + ground.spec.limits.run;
    // A fixed number speaks of all calls.
    let most = if ground.spec.expect.is_fixed() { usize::MAX } else { ALONE_MAX };
    let apart = raced.schedule.one_by_one(most);
    let found = broken.first().map(|it| format!("`{}` was broken ({})", it.expectation, it.what)).unwrap_or_default();
    let doubtful = |why: String| format!("{found}, but whether that needs a race is not known: {why}");
    let Some(breaks) = breaks(ground, &apart, until).await.map_err(doubtful)? else { return Ok(()) };
    let (name, what, calls) = (breaks.expectation, breaks.what, apart.steps.len());
    let on_one = if apart.instances > 1 { Some(apart.on_one()) } else { None };
    if let Some(on_one) = on_one
        && self::breaks(ground, &on_one, until).await.map_err(doubtful)?.is_none()
    {
        let next = if ground.spec.target.command.is_empty() { "one address in `urls`" } else { "`instances = 1`" };
        return Err(format!(
            "the instances do not share what they keep: one call after the other over {} instances breaks `{name}`, too ({what}), and on \
             one instance it does not; let them share it, or race one of them: {next}",
            apart.instances
        ));
    }
    Err(format!(
        "{calls} calls one after the other break `{name}`, too: {what}; the target is not deterministic, or shows not all"
    ))
}

/// What these calls break, one after the other; `Err` if that cannot be said.
async fn breaks(ground: &Ground<'_>, schedule: &Schedule, until: Instant) -> Result<Option<Violation>, String> {
    let calls = schedule.steps.len();
    let played = play_until(ground, schedule, Mode::OneByOne, until).await.map_err(|stop| match stop {
        Stop::OutOfTime => format!(
            "the same {calls} calls one after the other take longer than {} s; raise limits.seconds, or make fewer calls (times)",
            ground.spec.limits.run.as_secs()
        ),
        Stop::Inconclusive(why) => format!("the same {calls} calls one after the other did not end well: {why}"),
    })?;
    // Where the store stays, what the race has doubled is still there.
    let counts = |name: &str| !ground.keeps() || matches!(name, "every" | "sum" | "linearizable");
    let judged = judge(ground.spec, &played);
    let broken = judged.violations.into_iter().find(|it| counts(it.expectation));
    let unclear = judged.undecided.or_else(|| played.void().filter(|_| !ground.keeps()));
    match (broken, unclear) {
        (None, Some(why)) => Err(format!("the same {calls} calls one after the other cannot be judged: {why}")),
        (broken, _) => Ok(broken),
    }
}
