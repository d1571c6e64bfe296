//! A run: the control, round after round until a race is found, and the smallest schedule that shows it.

mod call;
mod doubt;
mod ground;
mod history;
mod round;
#[cfg(test)]
mod tests;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

pub(crate) use self::call::ask;
use self::doubt::doubt;
use self::ground::Ground;
pub(crate) use self::ground::random;
pub(crate) use self::history::Played;
use self::history::Stop;
pub use self::history::{End, ReadBack, Record};
use self::round::{Mode, play};
pub use self::watch::{Phase, Progress, Watch};
use crate::oracle::{Judged, judge};
use crate::schedule::{Schedule, Shrink, candidates};
use crate::spec::{Call, Spec};
use crate::verdict::{Found, Minimal, Outcome, Verdict};

/// More schedules are not tried to find a smaller one.
const SHRINKS_MAX: u32 = 60;
/// How often a smaller schedule is tried before it counts as too small.
const TRIES: u32 = 3;

/// How a specification is run.
///
/// ```
/// let options = stanchion_race::Options { seed: Some(17), ..Default::default() };
/// assert!(options.allow_remote.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Instead of the specification's.
    pub seed: Option<u64>,
    /// Plays this schedule again and again instead of one for each round.
    pub schedule: Option<Schedule>,
    /// Hosts beside this machine that may be raced.
    pub allow_remote: Vec<String>,
    /// What `{root}` is; the current folder unless set.
    pub root: Option<PathBuf>,
    /// Is told how far the run is.
    pub watch: Option<Arc<Watch>>,
    /// Where nothing is found, this round is shown; the last one else.
    pub shown: Option<u64>,
}

/// Runs a specification. It never fails: what hinders it makes the verdict inconclusive.
///
/// Needs a runtime of tokio with time and input and output; with several threads calls come closer together.
///
/// # Cancel safety
/// Dropping it ends every process that it started.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use stanchion_race::{Options, Outcome, Spec, race};
/// let spec = Spec::parse(r#"
/// version = 1
/// name = "a program that is no server"
/// seed = 17
/// [target]
/// kind = "mcp-stdio"
/// command = ["true"]
/// [[call]]
/// tool = "add"
/// [read]
/// tool = "list"
/// [expect]
/// readable = true
/// "#, "probe.toml")?;
/// let verdict = race(&spec, &Options::default()).await;
/// assert_eq!(verdict.outcome, Outcome::Inconclusive);
/// assert!(verdict.reason.unwrap().contains("does not start"));
/// # Ok::<(), stanchion_race::SpecError>(()) }).unwrap();
/// ```
pub async fn race(spec: &Spec, options: &Options) -> Verdict {
    let began = Instant::now();
    let replayed = options.schedule.as_ref().map(|schedule| schedule.seed);
    let seed = match options.seed.or(replayed).or(spec.seed) {
        Some(seed) => Ok(seed),
        None => random().map(|random| random % 1_000_000),
    };
    let mut verdict = Verdict::new(spec, *seed.as_ref().unwrap_or(&0));
    verdict.is_replayed = options.schedule.is_some();
    let root = options.root.clone().map_or_else(std::env::current_dir, Ok).map_err(|error| error.to_string());
    let ground = match (seed, root) {
        (Ok(seed), Ok(root)) => Ground::new(spec, seed, &root, &options.allow_remote).await,
        (Err(why), _) | (_, Err(why)) => Err(why),
    };
    match ground {
        Ok(ground) => {
            let ground = ground.watched(options.watch.as_ref());
            Box::pin(rounds(&ground, options, &mut verdict)).await;
            verdict.cut_short = ground.cut_short.load(Ordering::Relaxed);
        }
        Err(why) => verdict.inconclusive(why),
    }
    verdict.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    verdict
}

async fn rounds(ground: &Ground<'_>, options: &Options, verdict: &mut Verdict) {
    let spec = ground.spec;
    ground.watch.begin(Phase::Control, 0);
    if let Err(why) = control(ground, verdict.seed).await {
        return verdict.inconclusive(why);
    }
    let (mut void, mut sound) = (None, None);
    ground.watch.begin(Phase::Racing, spec.limits.rounds);
    for round in 0..spec.limits.rounds {
        let schedule = options.schedule.clone().unwrap_or_else(|| Schedule::generate(spec, verdict.seed, round));
        let left = spec.limits.calls.saturating_sub(ground.sent.load(Ordering::Relaxed));
        if left < schedule.steps.len() && round > 0 {
            verdict.stopped = Some(format!("after {} calls", ground.sent.load(Ordering::Relaxed)));
            break;
        }
        let played = match play(ground, &schedule, Mode::Race).await {
            Ok(played) => played,
            Err(Stop::OutOfTime) => {
                verdict.stopped = Some(format!("after {} s", spec.limits.run.as_secs()));
                break;
            }
            Err(Stop::Inconclusive(why)) => return verdict.inconclusive(format!("round {round}: {why}")),
        };
        let judged = judge(spec, &played);
        if !judged.violations.is_empty() {
            if let Err(why) = doubt(ground, &played, &judged.violations).await {
                return verdict.inconclusive(format!("round {round}: {why}"));
            }
            verdict.count(&played);
            let minimal = shrink(ground, &played, &judged).await;
            return verdict.found(Found::new(spec, round, &played, judged.violations), minimal);
        }
        if let Some(why) = judged.undecided.or(played.unclean.clone()) {
            return verdict.inconclusive(format!("round {round}: {why}"));
        }
        match played.void() {
            Some(why) => {
                verdict.void += 1;
                void = Some(why);
            }
            None => {
                verdict.rounds += 1;
                verdict.count(&played);
                if sound.is_none() || options.shown.is_none_or(|shown| round <= shown) {
                    sound = Some((round, played));
                }
            }
        }
        ground.watch.played();
    }
    if verdict.rounds == 0 {
        let why = void.unwrap_or_else(|| format!("no round ended in {} s", spec.limits.run.as_secs()));
        return verdict.inconclusive(why);
    }
    verdict.outcome = Outcome::NothingFound;
    verdict.sound = sound.map(|(round, played)| Found::new(spec, round, &played, Vec::new()));
}

/// One after the other on one instance: if that does not hold, the specification is wrong.
async fn control(ground: &Ground<'_>, seed: u64) -> Result<(), String> {
    let schedule = Schedule::control(ground.spec, seed, 0);
    let played = match play(ground, &schedule, Mode::OneByOne).await {
        Ok(played) => played,
        Err(Stop::OutOfTime) => {
            return Err(format!("the control took longer than {} s", ground.spec.limits.run.as_secs()));
        }
        Err(Stop::Inconclusive(why)) => return Err(why),
    };
    let control = "the control, one call after the other on one instance,";
    let is_no =
        |record: &Record| record.is(End::Failed) && ground.spec.calls.get(record.call).is_some_and(Call::may_be_no);
    let failed = played.records.iter().find(|record| !record.is(End::Acknowledged) && !is_no(record));
    if let Some(failed) = failed.filter(|_| !ground.spec.expect.is_fixed()) {
        let call = ground.spec.calls.get(failed.call).map(|call| call.request.title()).unwrap_or_default();
        let why = failed.why.as_deref().unwrap_or_default();
        return Err(format!("{control} was not acknowledged at {call}: {why}"));
    }
    if let Some(why) = played.void() {
        return Err(format!("{control} failed: {why}"));
    }
    let judged = judge(ground.spec, &played);
    if let Some(violation) = judged.violations.first() {
        let (name, what, read) = (violation.expectation, &violation.what, played.told_read(ground.spec));
        let also = if ground.spec.expect.answers && ground.spec.expect.fixed() == Some(name) {
            " (the calls that `answers` makes afterwards count, too: with it a fixed number must be one that they do not change)"
        } else {
            ""
        };
        return Err(format!(
            "{control} already breaks `{name}`: {what}{also}; the specification expects what the target does not do{read}"
        ));
    }
    let read = || played.told_read(ground.spec);
    judged.undecided.map_or(Ok(()), |why| Err(format!("{control} cannot be judged: {why}{}", read())))
}

/// The smallest schedule that still shows it, as far as time and calls allow.
async fn shrink(ground: &Ground<'_>, played: &Played, judged: &Judged) -> Minimal {
    ground.watch.begin(Phase::Shrinking, SHRINKS_MAX.into());
    let mut best = Minimal::new(ground.spec, played, &judged.violations);
    let most = ground.spec.limits.calls.saturating_add(ground.sent.load(Ordering::Relaxed));
    let mut plays = 0;
    // A fixed number speaks of all calls: with fewer of them it would be broken on any server.
    let may = |pass: &Shrink| *pass != Shrink::Calls || !ground.spec.expect.is_fixed();
    for pass in Shrink::ALL.into_iter().filter(may) {
        'smaller: loop {
            // All of them once before any a second time: which of them shows it soon is not known.
            for candidate in (0..TRIES).flat_map(|_| candidates(&best.schedule, pass)) {
                let spent = ground.sent.load(Ordering::Relaxed) + candidate.steps.len() > most;
                if plays >= SHRINKS_MAX || spent || ground.time_left().is_zero() {
                    return best;
                }
                plays += 1;
                ground.watch.played();
                match play(ground, &candidate, Mode::Race).await {
                    Ok(played) => {
                        let judged = judge(ground.spec, &played);
                        if !judged.violations.is_empty() {
                            best = Minimal::new(ground.spec, &played, &judged.violations);
                            continue 'smaller;
                        }
                    }
                    Err(Stop::OutOfTime) => return best,
                    Err(Stop::Inconclusive(why)) => tracing::debug!(why, "a smaller schedule shows nothing"),
                }
            }
            break;
        }
    }
    best.is_complete = true;
    best
}
