//! What `serve` can be told.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use stanchion_core::text::parse_duration;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where clients connect, as in 127.0.0.1:8080
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// The servers, their rules, and who may call: a policy file (see `stanchion policy`)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: String,
    /// Let everybody call from other machines, too, if the policy has no principals
    #[arg(long)]
    pub(crate) allow_anonymous: bool,
    /// A host, NAME or NAME:PORT, that clients may ask for besides our own address; repeat it for several
    #[arg(long = "allowed-host", value_name = "HOST")]
    pub(crate) allowed_hosts: Vec<String>,
    /// An origin, scheme and host, whose pages may ask; repeat it for several
    #[arg(long = "allowed-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<String>,
    /// How long calls may run on after SIGTERM or Ctrl-C
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = time)]
    pub(crate) drain: Duration,
    /// How many sessions there may be: each has a process of its server (protocol versions up to 2025-11-25)
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = sessions)]
    pub(crate) max_sessions: usize,
    /// After how long without a sign of its client a session ends
    #[arg(long, default_value = "30m", value_name = "TIME", value_parser = time)]
    pub(crate) session_idle: Duration,
    /// The longest message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = stanchion_mcp::stdio::FRAME_MAX, value_parser = crate::wrap::frame_limit)]
    pub(crate) frame_limit: usize,
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| e.next_step().map_or_else(|| e.to_string(), |hint| format!("{e}; {hint}")))
}

fn sessions(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|most| (1..=65_536).contains(most)).ok_or_else(|| "allowed: 1 to 65536".to_owned())
}
