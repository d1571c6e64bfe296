//! Is what a race has broken broken without a race as well?

use tokio::time::Instant;

use super::ground::Ground;
use super::history::{Played, Stop};
use super::round::{Mode, play_until};
use super::watch::Phase;
use crate::oracle::{Violation, judge};
use crate::schedule::Schedule;
use crate::spec::{Amount, Expect, Template};

/// So many calls are made one after the other to doubt a race.
const ALONE_MAX: usize = 200;

/// `Err` says why what was broken is not told as a race. As many calls one after the other, without faults, must not break it, each
/// where it was made: a target that is not deterministic passes a short control, and so does one whose processes share nothing.
/// What could not be doubted is no race either.
pub(super) async fn doubt(ground: &Ground<'_>, raced: &Played, broken: &[Violation]) -> Result<(), String> {
    ground.watch.begin(Phase::Doubting, 0);
    // Time of its own: one after the other they take longer than together, and a race that was found late is one as well.
    let until = Instant::now() + ground.spec.limits.run;
    let time = format!("{} s", ground.spec.limits.run.as_secs());
    // A fixed number speaks of all calls.
    let most = if ground.spec.expect.is_fixed() { usize::MAX } else { ALONE_MAX };
    let apart = raced.schedule.one_by_one(most);
    let found = broken.first().map(|it| format!("`{}` was broken ({})", it.expectation, it.what)).unwrap_or_default();
    let doubtful = |why: String| format!("{found}, but whether that needs a race is not known: {why}");
    let Some(alone) = breaks(ground, &apart, until, &time).await.map_err(doubtful)? else { return Ok(()) };
    let (name, what, calls) = (alone.expectation, alone.what, apart.steps.len());
    let on_one = if apart.instances > 1 { Some(apart.on_one()) } else { None };
    if let Some(on_one) = on_one
        && breaks(ground, &on_one, until, &format!("what is left of {time}")).await.map_err(doubtful)?.is_none()
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
async fn breaks(
    ground: &Ground<'_>,
    schedule: &Schedule,
    until: Instant,
    time: &str,
) -> Result<Option<Violation>, String> {
    let calls = schedule.steps.len();
    let played = play_until(ground, schedule, Mode::OneByOne, until).await.map_err(|stop| match stop {
        Stop::OutOfTime => format!(
            "the same {calls} calls one after the other take longer than {time}; raise limits.seconds, or make fewer calls (times)"
        ),
        Stop::Inconclusive(why) => format!("the same {calls} calls one after the other did not end well: {why}"),
    })?;
    let judged = judge(ground.spec, &played);
    // What breaks now may be what the race has left.
    let is_left = |it: &Violation| ground.keeps() && stays_broken(&ground.spec.expect, it.expectation);
    let (left, broken): (Vec<_>, Vec<_>) = judged.violations.into_iter().partition(is_left);
    let broken = broken.into_iter().next();
    let left = left.first().map(|it| {
        format!(
            "`{}` does not hold ({}), but the target keeps what the race left; let [[teardown]] clean up, or let `command` start it on an \
             empty {{dir}}",
            it.expectation, it.what
        )
    });
    let unclear = left.or(judged.undecided).or_else(|| played.void().filter(|_| !ground.keeps()));
    match (broken, unclear) {
        (None, Some(why)) => Err(format!("the same {calls} calls one after the other cannot be judged: {why}")),
        (broken, _) => Ok(broken),
    }
}

/// Once broken, calls that do nothing wrong leave it so, where the store stays.
fn stays_broken(expect: &Expect, name: &str) -> bool {
    match name {
        "once" => !expect.once.as_ref().is_some_and(Template::uses_id),
        "count" => expect.count != Some(Amount::BeforeAndAcknowledged),
        "sum" => matches!(expect.sum, Some((_, Amount::Fixed(_)))),
        "unique" | "answers" | "readable" => true,
        _ => false,
    }
}
