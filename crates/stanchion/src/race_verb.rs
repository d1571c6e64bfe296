//! `race`: makes the calls of a specification at the same time, and says what is left. The work is `stanchion-race`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use stanchion_core::Result;
use stanchion_race::{Options, Schedule, Spec, Verdict, race};

use crate::exit::{escaped, print, say, signalled};
use crate::race_auto::{self, AutoArgs};

/// What the user said cannot be followed.
pub(crate) const WRONG: u8 = 2;
/// Larger files are not read.
const FILE_MAX: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  stanchion race probe.toml                         until a race is found, or the limits of the file are reached
  stanchion race probe.toml --seed 17               the same schedules again
  stanchion race probe.toml --save race.json        keep the smallest schedule that shows the race, and later:
  stanchion race probe.toml --schedule race.json    play it again
  stanchion race probe.toml --json                  for programs
  stanchion race --auto -- npx -y some-mcp-server   no file at all: find tools that create and list, race them, print the file

Exit codes:
    0  nothing was found; that is no proof
    1  a race was found
    2  the command line, the specification or the schedule is wrong
    3  nothing can be said: the target does not start, hangs, or cannot be read back, or the specification does not fit it

docs/race.md begins, docs/race-spec.md says how a specification is written; `stanchion audit --emit-probe DIR` writes one for each finding that it can.
Processes are started only as the file says, and requests go to this machine only unless --allow-remote names another.";

/// What `race` can be told.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
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
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &RaceArgs) -> Result<u8> {
    let options = Options { seed: args.seed, schedule: None, allow_remote: args.allow_remote.clone(), root: None };
    if args.auto.auto {
        return Ok(match race_auto::run(&args.auto, &options, args.json).await {
            Ok(auto) => tell(args, &auto.verdict),
            Err(code) => code,
        });
    }
    let (spec, schedule) = match read(args) {
        Ok(read) => read,
        Err(wrong) => {
            wrong.lines().for_each(|line| say(&escaped(line)));
            return Ok(WRONG);
        }
    };
    let options = Options { schedule, ..options };
    // Whoever is interrupted ends what it has started: the processes are in groups of their own.
    let verdict = tokio::select! {
        verdict = race(&spec, &options) => verdict,
        code = signalled() => return Ok(code),
    };
    Ok(tell(args, &verdict))
}

/// Keeps the schedule, prints the verdict, and gives its code.
fn tell(args: &RaceArgs, verdict: &Verdict) -> u8 {
    if let Some(wrong) = save(args, verdict) {
        say(&escaped(&wrong));
        return WRONG;
    }
    if args.json {
        print(&verdict.to_json());
    } else {
        verdict.to_string().lines().for_each(|line| print(&escaped(line)));
    }
    verdict.outcome.exit_code()
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

/// Why the schedule could not be kept. Without a race there is none.
fn save(args: &RaceArgs, verdict: &Verdict) -> Option<String> {
    let (path, minimal) = args.save.as_deref().zip(verdict.minimal.as_ref())?;
    let written = std::fs::write(path, minimal.schedule.to_json() + "\n");
    written.err().map(|error| format!("error: {} cannot be written: {error}", path.display()))
}
