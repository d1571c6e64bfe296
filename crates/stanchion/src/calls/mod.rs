//! `calls tail|stats`: what the gateways of this machine did, as their call log tells it.

mod follow;
mod read;
mod show;
mod stats;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use stanchion_core::text::parse_duration;
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_mcp::calls::{CallLine, Entry, FILE_NAME, Verdict, parse};

use self::follow::Follow;
use crate::cli::Cli;
use crate::exit::say;
use crate::store;

/// How often a followed log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug, Subcommand)]
pub(crate) enum CallsVerb {
    /// Show the last calls
    Tail(TailArgs),
    /// Count calls, replays and refusals, and say how long calls waited, held their locks and took
    Stats(StatsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// How many
    #[arg(short = 'n', long = "lines", default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Go on with the calls to come
    #[arg(short, long)]
    follow: bool,
    /// Only calls of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only calls that ended so
    #[arg(long, value_name = "VERDICT", value_parser = clap::builder::PossibleValuesParser::new(Verdict::ALL.map(Verdict::as_str)))]
    verdict: Option<String>,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Only calls of this last time, as in 15m or 7d
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = parse_since)]
    since: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_since(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| e.next_step().map_or_else(|| e.to_string(), |hint| format!("{e}; {hint}")))
}

pub(crate) async fn run(cli: &Cli, verb: &CallsVerb) -> Result<u8> {
    let path = store::home(&cli.store)?.join(FILE_NAME);
    match verb {
        CallsVerb::Tail(args) => tail(&path, args).await,
        CallsVerb::Stats(args) => stats::run(&path, args.since, args.json),
    }
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = PathBuf::from(path);
    move |e| Error::new(ErrorKind::Denied, "the call log cannot be read").with("file", path.display()).because(e)
}

fn none_yet(path: &Path) {
    say(&format!(
        "no calls are logged yet in {}\nhint: put `stanchion wrap --` before a server's command, and its calls are",
        path.display()
    ));
}

fn say_damaged(number: u64) {
    match number {
        0 => {}
        1 => say("stanchion: 1 damaged line of the call log was passed over"),
        _ => say(&format!("stanchion: {number} damaged lines of the call log were passed over")),
    }
}

async fn tail(path: &Path, args: &TailArgs) -> Result<u8> {
    let failed = unreadable(path);
    let current = read::open(path).map_err(&failed)?;
    let (mut found, mut damaged) = (Vec::new(), 0);
    for file in read::newest_first(path, current.as_ref()).map_err(&failed)? {
        let mut each = |line: &[u8]| {
            if found.len() < args.lines {
                match args.shown(line) {
                    Some(shown) => found.extend(shown),
                    None => damaged += 1,
                }
            }
            found.len() < args.lines
        };
        if !read::backward(file, &mut each).map_err(&failed)? {
            break;
        }
    }
    for line in found.iter().rev() {
        if !print(line) {
            return Ok(0);
        }
    }
    say_damaged(damaged);
    if !args.follow {
        if current.is_none() {
            none_yet(path);
        } else if found.is_empty() && args.lines > 0 {
            say(&format!("no such call in {}", path.display()));
        }
        return Ok(0);
    }
    let mut follow = Follow::new(path, current);
    loop {
        let (mut open, mut damaged) = (true, 0);
        let mut each = |line: &[u8]| match args.shown(line) {
            Some(shown) => open = open && shown.is_none_or(|line| print(&line)),
            None => damaged += 1,
        };
        follow.look(&mut each).map_err(&failed)?;
        if !open {
            return Ok(0);
        }
        say_damaged(damaged);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl TailArgs {
    /// The line as it is shown, or that it is not; `None` if it is damaged.
    #[expect(clippy::option_option, reason = "damaged and unwanted are two things")]
    fn shown(&self, line: &[u8]) -> Option<Option<String>> {
        let text = std::str::from_utf8(line).ok()?;
        let entry = parse(text)?;
        let wanted = match &entry {
            Entry::Call(call) => self.wants(call),
            Entry::Dropped(_) => true,
        };
        Some(wanted.then(|| if self.json { text.to_owned() } else { show::line(&entry) }))
    }

    fn wants(&self, call: &CallLine) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.server, &call.server) && is(&self.tool, &call.tool) && is(&self.verdict, call.verdict.as_str())
    }
}

/// Whether somebody still reads.
fn print(line: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}
