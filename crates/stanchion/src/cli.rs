//! What can be typed. Nothing here decides; see the module of each verb.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use stanchion_core::{Key, Wait};

use crate::values::{parse, parse_bytes, parse_silence, parse_time, parse_wait};

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
    /// Guard any MCP server: put this in front of its command
    Wrap(Box<crate::wrap::WrapArgs>),
    /// Guard many MCP servers at one address, over HTTP
    Serve(Box<crate::serve::ServeArgs>),
    /// A memory for agents: the official memory server's tools and file, for many processes at once
    ///
    /// Without a command it serves MCP on standard input and output: put `stanchion memory` where a client has
    /// `npx -y @modelcontextprotocol/server-memory`.
    Memory(Box<crate::memory::MemoryArgs>),
    /// Run a command under a lock
    Run(RunArgs),
    /// List, show and release locks
    #[command(subcommand)]
    Lock(LockVerb),
    /// List, show and settle what keyed calls left behind
    #[command(subcommand)]
    Claims(ClaimsVerb),
    /// Check and explain policy files, and show ready-made ones
    #[command(subcommand)]
    Policy(crate::policy_verb::PolicyVerb),
    /// Show what the gateways of this machine did: the last calls, and sums
    #[command(subcommand)]
    Calls(crate::calls::CallsVerb),
    /// Say who holds a lock, since when, and who waits
    Why(WhyArgs),
    /// Guard any HTTP service: keyed requests happen once, one at a time where a lock says so
    Proxy(Box<ProxyArgs>),
    /// Look at the store: what it is, what weakens its promises, how to fix that, and whether it works
    Doctor(crate::doctor::DoctorArgs),
    /// Find races in source code: what is read and written back while others write, and what else goes wrong together
    Audit(Box<crate::audit_verb::AuditArgs>),
    /// Make calls at the same time, under faults, and see what is left: proves a race in a server
    Race(crate::race_verb::RaceArgs),
    /// Find the servers of MCP clients, and put `stanchion wrap` before them
    Init(crate::init::InitArgs),
    /// Take `stanchion wrap` away again
    Unwrap(crate::init::UnwrapArgs),
    /// Watch a race lose data, and Stanchion stop it
    Demo(crate::demo::DemoArgs),
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
    DemoWorker(crate::demo::WorkerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The lock; repeat it for several (taken in one order, all or nothing)
    #[arg(long = "lock", required_unless_present_any = ["once", "leader"], value_name = "NAME", value_parser = parse::<Key>)]
    pub(crate) locks: Vec<Key>,
    /// Run the command only if no command has succeeded under this key yet; others wait for it
    #[arg(long, value_name = "KEY", value_parser = parse::<Key>)]
    pub(crate) once: Option<Key>,
    /// Run the command while this process leads NAME: waits to be elected, stops the command when it loses, stands again
    #[arg(long, value_name = "NAME", value_parser = parse::<Key>, conflicts_with_all = ["once", "shared", "slots"])]
    pub(crate) leader: Option<Key>,
    /// Hold the locks of --lock together with other shared holders
    #[arg(long, conflicts_with = "slots", requires = "locks")]
    pub(crate) shared: bool,
    /// Let up to N hold the locks of --lock together
    #[arg(long, value_name = "N", requires = "locks")]
    pub(crate) slots: Option<u32>,
    /// How long the lock outlives a stopped holder (stores with leases)
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) ttl: Duration,
    /// How long to wait for a busy lock: 0, 10s, …, forever [default: 30s; with --leader: forever]
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    pub(crate) wait: Option<Wait>,
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
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
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

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// Where callers connect, as in 127.0.0.1:8080
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: std::net::SocketAddr,
    /// The service behind, as in http://127.0.0.1:3000
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,
    /// The name under which requests are remembered: proxies of one service share it, others must not [default: the
    /// upstream's host, port and path]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Who calls: header:NAME, secret:NAME (a header of which only a digest is kept, as authorization), or everyone.
    /// With header:NAME a caller is whoever the header says, so it must be set by something trusted in front
    #[arg(long, value_name = "WHO", value_parser = crate::proxy::principal)]
    pub(crate) principal: crate::proxy::Who,
    /// Guard these paths, as in '/orders/*'; repeat it for several; all others pass unguarded
    #[arg(long = "route", value_name = "PATTERN", default_value = "/**", value_parser = parse::<stanchion_http::proxy::PathPattern>)]
    pub(crate) routes: Vec<stanchion_http::proxy::PathPattern>,
    /// Guard these methods
    #[arg(long, value_delimiter = ',', default_value = "POST,PATCH", value_name = "METHODS")]
    pub(crate) methods: Vec<String>,
    /// Refuse guarded requests without an Idempotency-Key with 400
    #[arg(long)]
    pub(crate) require_key: bool,
    /// How requests may be repeated: idempotent, reconcilable or non_idempotent
    #[arg(long, value_name = "CLASS", default_value = "non_idempotent", value_parser = parse::<stanchion_core::Effect>)]
    pub(crate) effect: stanchion_core::Effect,
    /// What a repetition gets while the first request runs: reject, a time to wait as in 10s, or attach
    #[arg(long, value_name = "reject|TIME|attach", default_value = "reject", value_parser = crate::proxy::in_flight)]
    pub(crate) in_flight: stanchion_core::InFlight,
    /// Take this lock for each guarded request, as in 'order:{path.2}', 'tenant:{header.x-tenant}' or
    /// 'order:{body.order.id}'. Begin it with a word of its own, as here: without one, a caller names any lock of the store
    #[arg(long = "lock", value_name = "TEMPLATE", value_parser = parse::<stanchion_http::KeyTemplate>)]
    pub(crate) locks: Vec<stanchion_http::KeyTemplate>,
    /// How long to wait for a busy lock
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = parse_wait)]
    pub(crate) lock_wait: Wait,
    /// How long a lock outlives a stopped proxy (stores with leases)
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) lock_ttl: Duration,
    /// The largest body of a guarded request, as in 64KiB; a larger one gets 413
    #[arg(long, default_value = "1MiB", value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) body_limit: usize,
    /// The largest answer that is kept; of a larger one a repetition learns only that it ran
    #[arg(long, default_value = "1MiB", value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) response_cap: usize,
    /// After how long without a sign of life a proxy is taken for dead, and its running requests for unknown
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) lease: Duration,
    /// How long answers are kept
    #[arg(long, default_value = "24h", value_name = "TIME", value_parser = parse_time)]
    pub(crate) keep: Duration,
    /// How long keys are known
    #[arg(long, default_value = "72h", value_name = "TIME", value_parser = parse_time)]
    pub(crate) keep_key: Duration,
    /// What an answer 500 to 599 says: unknown (it may have run), final (keep and replay it) or nothing (it did not run)
    #[arg(long, value_name = "unknown|final|nothing", default_value = "unknown", value_parser = crate::proxy::meaning)]
    pub(crate) on_5xx: stanchion_http::layer::Meaning,
    /// How long the service may take to answer
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = parse_time)]
    pub(crate) answer_within: Duration,
    /// Hand the lock's fence to the service in this header
    #[arg(long, value_name = "NAME")]
    pub(crate) fence_header: Option<String>,
    /// What happens while the store is away: refuse, read_only or local
    #[arg(long, value_name = "POLICY", default_value = "refuse", value_parser = parse::<stanchion_core::OnStoreDown>)]
    pub(crate) on_store_down: stanchion_core::OnStoreDown,
    /// Accept a store that can forget, for requests which must not be repeated
    #[arg(long)]
    pub(crate) allow_weak: bool,
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
        /// Why; kept with who you are in audit.jsonl in the state folder, before and after the change
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClaimsVerb {
    /// List claims: those that need somebody, unless --all or --state says otherwise
    Ls {
        /// All of them
        #[arg(long, conflicts_with = "state")]
        all: bool,
        /// Only those in this state: claimed, dispatched, suspended, done, retryable, unknown, tombstone, damaged
        #[arg(long, value_name = "STATE", value_parser = clap::builder::PossibleValuesParser::new(crate::claims::STATES))]
        state: Option<String>,
        /// Only calls of this tool
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 1000)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one claim and what can be done with it
    Show {
        #[command(flatten)]
        which: Which,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print the stored answer, too
        #[arg(long)]
        answer: bool,
    },
    /// Say what became of a call whose outcome is unknown
    #[command(group = clap::ArgGroup::new("verdict").required(true))]
    Settle {
        #[command(flatten)]
        which: Which,
        /// It ran and succeeded; repetitions get the content of this file as the answer
        #[arg(long, value_name = "RESULT.json", group = "verdict")]
        done: Option<PathBuf>,
        /// It ran and failed for good; repetitions get the content of this file as the answer
        #[arg(long, value_name = "RESULT.json", group = "verdict")]
        failed: Option<PathBuf>,
        /// It did not run: the next call with this key runs. Look for its effect after the owner is gone, not before
        #[arg(long, group = "verdict")]
        not_executed: bool,
        /// The status that callers over HTTP get with the answer [default: 200; with --failed: 400]
        #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(200..=599))]
        status: Option<u16>,
        /// Why; kept with who you are in the claim and, before and after the change, in audit.jsonl in the state folder
        #[arg(long)]
        reason: String,
        /// How long an owner on another machine must have been silent to count as gone; 30s or more
        #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_silence)]
        silent_for: Duration,
    },
    /// Drop old answers, and mark calls whose owner is gone as unknown
    Sweep {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// A claim, by its receipt or by what was called.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The receipt, or enough of its beginning
    #[arg(required_unless_present = "key", value_name = "RECEIPT")]
    pub(crate) receipt: Option<String>,
    /// Instead of a receipt: the idempotency key …
    #[arg(long, requires_all = ["principal", "server", "tool"], conflicts_with = "receipt")]
    pub(crate) key: Option<String>,
    /// … who called …
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: Option<String>,
    /// … which server …
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// … and which tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
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
