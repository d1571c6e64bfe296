//! What `memory` can be told.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use stanchion_core::text::parse_duration;
use stanchion_memory::Compat;

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Serve Streamable HTTP here instead of standard input and output, as in 127.0.0.1:8080
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// With --http: the variable that holds the token which callers must send; needed for callers from other machines
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Option<String>,
    /// With --http: the file that holds the token
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "token_env")]
    pub(crate) token_file: Option<PathBuf>,
    /// With --http: a host, NAME or NAME:PORT, that clients may ask for besides our own address; repeat it for several
    #[arg(long = "allowed-host", value_name = "HOST", requires = "http")]
    pub(crate) allowed_hosts: Vec<String>,
    /// With --http: an origin, scheme and host, whose pages may ask; repeat it for several
    #[arg(long = "allowed-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origins: Vec<String>,
    /// Say nothing but warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) verb: Option<MemoryVerb>,
}

/// Which graph, and how it is written: the same for the server and for the verbs below it.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// The file [default: $MEMORY_FILE_PATH, else memory.jsonl in the state folder]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// With --store: the graph's name there [default: memory]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What official readers of the file may meet: `append` can show them an unfinished last line, `strict` always replaces the
    /// file, which takes longer the larger it is
    #[arg(long, global = true, value_name = "append|strict", default_value = "append", value_parser = crate::values::parse::<Compat>)]
    pub(crate) compat: Compat,
    /// How long a write waits for those of other processes
    #[arg(long, global = true, value_name = "TIME", default_value = "20s", value_parser = wait)]
    pub(crate) wait: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryVerb {
    /// Look at the file and change nothing; exits with 1 if it is damaged
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set damaged lines aside into a file beside it, and turn an old document into lines
    Repair {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write the graph as a file of the official server
    Export {
        /// Where to [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file if it is there
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Add what a file of the official server holds and the graph does not; nothing is removed. Exits with 1 if a part of it
    /// could not be understood
    Import {
        /// The file; - is standard input
        #[arg(value_name = "FILE")]
        input: PathBuf,
    },
}

/// Longer than an hour, nobody waits for an answer.
const WAIT_MAX: Duration = Duration::from_secs(3600);

fn wait(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    match parse_duration(text) {
        Ok(wait) if wait <= WAIT_MAX => Ok(wait),
        Ok(_) => Err("allowed: 0 to 1h".to_owned()),
        Err(e) => Err(e.next_step().map_or_else(|| e.to_string(), |hint| format!("{e}; {hint}"))),
    }
}
