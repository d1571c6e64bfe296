//! `race`: makes the calls of a specification at the same time, and says what is left. The work is `stanchion-race`.

mod guard;
mod show;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use stanchion_core::Result;
use stanchion_race::{Comparison, Options, Phase, Progress, Schedule, Spec, Watch, race};
use stanchion_stores::Durability;

use self::guard::Guard;
use self::show::Report;
use crate::exit::{escaped, reported, say, signalled};
use crate::progress::Bar;
use crate::race_auto::{self, AutoArgs};
use crate::values::parse;

/// What the user said cannot be followed.
const WRONG: u8 = 2;
/// How often it is looked how far a run is.
const TICK: Duration = Duration::from_millis(100);
/// Larger files are not read.
const FILE_MAX: u64 = 64 << 20;

const USAGE: &str = "stanchion race [OPTIONS] <SPEC.toml>
       stanchion race --auto [OPTIONS] -- <COMMAND>...
       stanchion race --auto [OPTIONS] --url <URL>";
const EXAMPLES: &str = "\
Examples:
  stanchion race probe.toml                         until a race is found, or the limits of the file are reached
  stanchion race probe.toml --seed 17               the same schedules again
  stanchion race probe.toml --save race.json        keep the smallest schedule that shows the race, and later:
  stanchion race probe.toml --schedule race.json    play it again
  stanchion race probe.toml --html race.html        a page with the timeline of the calls; --junit FILE for build servers
  stanchion race probe.toml --through-guard         the same schedules once more with `stanchion wrap` before the server
  stanchion race probe.toml --json                  for programs
  stanchion race --auto -- npx -y some-mcp-server   no file at all: find tools that create and list, race them, print the file

Exit codes:
    0  nothing was found; that is no proof
    1  a race was found; with --through-guard: through the guard
    2  the command line, the specification or the schedule is wrong
    3  nothing can be said: the target does not start, hangs, or cannot be read back, or the specification does not fit it
  129  the terminal was closed (not under nohup); 130 Ctrl-C; 143 SIGTERM: what was started is gone

docs/race.md begins, docs/race-spec.md says how a specification is written; `stanchion audit --emit-probe DIR` writes one for each finding that it can.
Processes are started only as the file says, and requests go to this machine only unless --allow-remote names another.";

/// What `race` can be told.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct RaceArgs {
    /// The specification
    #[arg(value_name = "SPEC.toml", required_unless_present = "auto")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    auto: AutoArgs,
    /// Make the schedules of this seed
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=i64::MAX.unsigned_abs()))]
    seed: Option<u64>,
    /// Play the schedule in this file
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    schedule: Option<PathBuf>,
    /// Write the smallest schedule that shows the race to this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// A host beside this machine that may be raced; repeat it for several
    #[arg(long, value_name = "HOST")]
    allow_remote: Vec<String>,
    /// Play the schedules twice, bare and with `stanchion wrap` before every instance, and compare
    #[arg(long, conflicts_with = "auto")]
    through_guard: bool,
    /// Rules for the guard: a file, or @NAME for a ready-made one [default: one lock for every tool that is not read-only]
    #[arg(long, value_name = "FILE|@NAME", requires = "through_guard")]
    policy: Option<String>,
    /// Write a page with the verdict and the timeline to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write JUnit XML to this file: a test for each expectation
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
    /// These two are options of all verbs; here they are refused, and not shown
    #[arg(long, hide = true, value_name = "URL", value_parser = no_store)]
    store: Option<String>,
    #[arg(long, hide = true, value_name = "process|power", default_value = "process", value_parser = no_durability)]
    durability: Durability,
}

const NO_STORE: &str = "a race has no store: the target's is named in its command or environment";

fn no_store(_: &str) -> std::result::Result<String, String> {
    Err(NO_STORE.into())
}

/// Its default is accepted: it is there whether or not it was typed.
fn no_durability(text: &str) -> std::result::Result<Durability, String> {
    parse(text)
        .and_then(|durability| if durability == Durability::default() { Ok(durability) } else { Err(NO_STORE.into()) })
}

pub(crate) async fn run(args: &RaceArgs) -> Result<u8> {
    if let Err(wrong) = show::check(args) {
        say(&escaped(&wrong));
        return Ok(WRONG);
    }
    // Whoever is interrupted ends what it has started: the processes are in groups of their own.
    let report = tokio::select! {
        report = raced(args) => report,
        code = signalled() => return Ok(code),
    };
    let report = match report {
        Ok(report) => report,
        Err(wrong) => {
            wrong.lines().for_each(|line| say(&escaped(line)));
            return Ok(WRONG);
        }
    };
    // First the files: who reads the verdict finds them.
    let written = report.write(args);
    report.print(args);
    if let Err(wrong) = written {
        say(&escaped(&wrong));
        return Ok(WRONG);
    }
    Ok(report.outcome().exit_code())
}

/// What was seen, or what is wrong with what the user said.
async fn raced(args: &RaceArgs) -> std::result::Result<Report, String> {
    let options = Options { seed: args.seed, allow_remote: args.allow_remote.clone(), ..Options::default() };
    if args.auto.auto {
        let auto = race_auto::run(&args.auto, &options, args.json).await?;
        return Ok(Report::One(Box::new(auto.verdict)));
    }
    let (spec, schedule) = read(args)?;
    let options = Options { schedule, ..options };
    let guard = args.through_guard.then(|| Guard::new(&spec, args.policy.as_deref()));
    Ok(match guard.transpose().map_err(|wrong| reported(&wrong))? {
        None => {
            Report::One(Box::new(watched("", &options, async |options: &Options| race(&spec, options).await).await))
        }
        Some(guard) => Report::Both(Box::new(both(&spec, options, &guard).await)),
    })
}

/// The same seed twice. Of the guarded run the round is shown that raced without it.
async fn both(spec: &Spec, options: Options, guard: &Guard) -> Comparison {
    let bare = watched("bare: ", &options, async |options: &Options| race(spec, options).await).await;
    let shown = bare.found.as_ref().or(bare.sound.as_ref()).map(|round| round.round);
    let seed = options.schedule.is_none().then_some(bare.seed);
    let options = Options { seed, shown, ..options };
    let behind = guard.before(spec);
    let guarded = watched("guarded: ", &options, async |options: &Options| race(&behind, options).await).await;
    let guard = guard.did(&guarded);
    Comparison { bare, guarded, guard }
}

/// Races, and says on a terminal how far it is.
pub(crate) async fn watched<T>(side: &str, options: &Options, racing: impl AsyncFnOnce(&Options) -> T) -> T {
    let (bar, began, watch) = (Bar::new(), Instant::now(), Arc::new(Watch::default()));
    let options = Options { watch: Some(Arc::clone(&watch)), ..options.clone() };
    let mut racing = Box::pin(racing(&options));
    if !bar.is_shown() {
        return racing.await;
    }
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            ended = &mut racing => return ended,
            _ = ticks.tick() => {
                let (doing, done, total) = told(watch.progress(), began.elapsed());
                bar.tell(&format!("{side}{doing}"), done, total);
            }
        }
    }
}

fn told(progress: Progress, time: Duration) -> (String, usize, usize) {
    let Progress { phase, schedules, most, calls, faults, .. } = progress;
    let time = format!("{} s", time.as_secs());
    let whole = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    match phase {
        Phase::Control => (format!("one call after the other, {time}"), 0, 0),
        Phase::Doubting => (format!("broken; the same calls one after the other, {time}"), 0, 0),
        Phase::Shrinking => (format!("race found, making it smaller: try {schedules}, {time}"), 0, 0),
        _ => (
            format!("schedule {schedules} of {most}, {calls} calls, {faults} faults, {time}"),
            whole(schedules),
            whole(most),
        ),
    }
}

fn read(args: &RaceArgs) -> std::result::Result<(Spec, Option<Schedule>), String> {
    let path = args.spec.as_deref().unwrap_or(Path::new(""));
    let text = file(path)?;
    let spec = Spec::parse(&text, &path.display().to_string()).map_err(|wrong| wrong.to_string())?;
    let schedule = args.schedule.as_deref().map(|path| {
        let text = file(path)?;
        Schedule::from_json(&text, &spec).map_err(|wrong| format!("error: {}: {wrong}", path.display()))
    });
    Ok((spec, schedule.transpose()?))
}

fn file(path: &Path) -> std::result::Result<String, String> {
    let cannot = |why: &dyn std::fmt::Display| format!("error: {} cannot be read: {why}", path.display());
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_string(&mut text));
    match read.map_err(|error| cannot(&error))? {
        read if read as u64 > FILE_MAX => Err(cannot(&"it is larger than 64 MiB")),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_is_done_before_anything_was() {
        let told = told(Watch::default().progress(), Duration::from_millis(1700));
        assert_eq!(told, ("one call after the other, 1 s".to_owned(), 0, 0));
    }
}
