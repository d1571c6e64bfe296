//! What `wrap` can be told.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use stanchion_core::Key;
use stanchion_core::text::parse_duration;

#[derive(Debug, Args)]
pub(crate) struct WrapArgs {
    /// The name of the server: its lock and its keys go by it [default: the package in the command line]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Rules for its tools: a file, or @NAME for a ready-made one (see `stanchion policy ls`)
    #[arg(long, value_name = "FILE|@NAME")]
    pub(crate) policy: Option<String>,
    /// Take identical calls within this time for one call, even without a key
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) dedupe: Option<Duration>,
    /// What every tool that is not read-only locks [default: one lock for the server]
    #[arg(long, value_name = "NAME", value_parser = crate::values::parse::<Key>)]
    pub(crate) lock: Option<Key>,
    /// Take no lock unless a rule of the policy says so
    #[arg(long, conflicts_with = "lock")]
    pub(crate) no_lock: bool,
    /// How long a call waits for a busy lock [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// How long a call may hold its lock without an answer [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) max_hold: Option<Duration>,
    /// The longest message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = stanchion_mcp::stdio::FRAME_MAX, value_parser = frame_limit)]
    pub(crate) frame_limit: usize,
    /// Write the arguments of calls to the call log
    #[arg(long)]
    pub(crate) log_arguments: bool,
    /// Say nothing but warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The server's command and its arguments; no shell is involved
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How long a message may be.
pub(crate) fn frame_limit(text: &str) -> Result<usize, String> {
    let allowed = 1024..=(1 << 30);
    text.parse()
        .ok()
        .filter(|bytes| allowed.contains(bytes))
        .ok_or_else(|| "allowed: 1024 to 1073741824 bytes".to_owned())
}
