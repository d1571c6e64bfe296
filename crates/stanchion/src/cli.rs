//! What can be typed. Nothing here decides; see the module of each verb.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use stanchion_core::text::parse_duration;
use stanchion_core::{Error, Key, Wait};

/// Keeps tool calls in line: one at a time where it matters, never silently lost.
#[derive(Debug, Parser)]
#[command(
    name = "stanchion",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where locks live, as in redis://host/ or postgres://host/db (see `stanchion help stores`)
    #[arg(long, global = true, env = "STANCHION_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// What an acknowledged write survives: the death of any process, or a power cut as well
    #[arg(long, global = true, value_name = "process|power", default_value = "process", value_parser = parse::<stanchion_stores::Durability>)]
    pub(crate) durability: stanchion_stores::Durability,
    /// Where the embedded store lives
    #[arg(long, global = true, env = "STANCHION_HOME", value_name = "DIR", hide = true)]
    pub(crate) home: Option<PathBuf>,
    /// Faults on demand, as in delay=20ms,error=0.05,lost=0.1,seed=7
    #[arg(long, global = true, env = "STANCHION_CHAOS", hide = true, value_parser = parse::<stanchion_core::Chaos>)]
    pub(crate) chaos: Option<stanchion_core::Chaos>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command under a lock
    Run(RunArgs),
    /// List, show and release locks
    #[command(subcommand)]
    Lock(LockVerb),
    /// Say who holds a lock, since when, and who waits
    Why(WhyArgs),
    /// Watch a race lose data, and Stanchion stop it
    Demo(DemoArgs),
    /// Print shell completions
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Explain a verb or a topic: exit-codes, environment, stores
    Help {
        /// A verb, or one of exit-codes, environment, stores
        topic: Option<String>,
    },
    #[command(name = "__demo-worker", hide = true)]
    DemoWorker(WorkerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The lock; repeat it for several (taken in one order, all or nothing)
    #[arg(long = "lock", required = true, value_name = "NAME", value_parser = parse::<Key>)]
    pub(crate) locks: Vec<Key>,
    /// Hold it together with other shared holders
    #[arg(long, conflicts_with = "slots")]
    pub(crate) shared: bool,
    /// Let up to N hold it together
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u32>,
    /// How long the lock outlives a stopped holder (stores with leases)
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) ttl: Duration,
    /// How long to wait for a busy lock: 0, 10s, …, forever
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_wait)]
    pub(crate) wait: Wait,
    /// What to do when it stays busy
    #[arg(long, value_enum, default_value = "fail")]
    pub(crate) if_busy: IfBusy,
    /// The exit code for a busy lock
    #[arg(short = 'E', long, default_value_t = 75, value_name = "CODE")]
    pub(crate) busy_code: u8,
    /// What to do with the command when the lock is lost
    #[arg(long, value_enum, default_value = "kill")]
    pub(crate) on_lost: OnLost,
    /// How long before the lock's end the command gets SIGTERM; at the end it gets SIGKILL
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) grace: Duration,
    /// Give the lock up, and stop the command, after this long
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) max_hold: Option<Duration>,
    /// Get a fence above this number: what a guard answered when it refused the last one
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) floor: u64,
    /// Write what happens as JSON lines to this file descriptor
    #[arg(long, value_name = "FD")]
    pub(crate) status_fd: Option<u32>,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The command and its arguments; no shell is involved
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfBusy {
    /// Exit with the busy code
    Fail,
    /// Exit 0 quietly, for cron
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// Stop it before anybody else can hold the lock
    Kill,
    /// Say so and let it go on: only for work that the fence protects
    Warn,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LockVerb {
    /// List locks
    Ls {
        /// Only names that begin with this
        #[arg(default_value = "")]
        prefix: String,
        /// At most this many
        #[arg(long, default_value_t = 1000)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one lock
    Show(WhyArgs),
    /// Take a lock away from its holder (leases only); the next holder's fence is higher
    Release {
        /// The lock
        #[arg(value_parser = parse::<Key>)]
        name: Key,
        /// Why; kept in audit.jsonl in the state folder
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The lock
    #[arg(value_parser = parse::<Key>)]
    pub(crate) name: Key,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many processes race
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(crate) processes: u32,
    /// How many calls each makes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) calls: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[arg(long)]
    pub(crate) file: PathBuf,
    #[arg(long)]
    pub(crate) calls: u32,
    #[arg(long)]
    pub(crate) guarded: bool,
}

/// Our own parsers, with the hint kept: clap shows only the text.
fn parse<T: std::str::FromStr<Err = Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e| describe(&e))
}

fn describe(e: &Error) -> String {
    e.next_step().map_or_else(|| e.to_string(), |hint| format!("{e}; {hint}"))
}

fn parse_wait(text: &str) -> Result<Wait, String> {
    match text {
        "forever" => Ok(Wait::Forever),
        "0" | "0s" => Ok(Wait::No),
        _ => parse_duration(text).map(Wait::For).map_err(|e| describe(&e)),
    }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| describe(&e))
}
