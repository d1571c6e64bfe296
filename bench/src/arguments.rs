//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Benchmarks of Stanchion beside raw clients and other libraries.
#[derive(Debug, Parser)]
#[command(name = "stanchion-bench")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Locks: uncontended, handed over, on every store, and the command line
    Locks(Options),
    /// Locks on every store beside its raw commands, and all stores side by side; `locks --store NAME` is a part of it
    Stores(Options),
    /// Guarded calls with key and lock, and their replay, on every store
    Guard(Options),
    /// The MCP gateway beside direct calls, a bare relay and other bridges
    Gateway(Options),
    /// The memory server beside the official one and a bare lock + append
    Memory(Options),
    /// The analyser beside semgrep and ast-grep, on other people's code
    Audit(Options),
    /// The race tester: its checkers, and real calls raced and judged
    Race(Options),
    /// A memory server that takes a lock, appends and answers
    #[command(hide = true)]
    AppendServer { file: PathBuf },
    /// A small MCP server on standard input and output
    #[command(hide = true)]
    EchoServer {
        /// Serve Streamable HTTP here instead
        #[arg(long, value_name = "ADDR")]
        http: Option<std::net::SocketAddr>,
    },
    /// Passes each line of an MCP server on after parsing it
    #[command(hide = true)]
    Relay {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
        command: Vec<String>,
    },
    /// One process of a subject
    #[command(hide = true)]
    Worker { job: String },
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long each subject is measured in each round, in seconds
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// How often every subject runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Locks on this store beside its raw commands: mysql, etcd, zookeeper, consul, nats, dynamodb, redlock, every; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Vec<String>,
    /// Only benchmarks whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// List the benchmarks and their subjects, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Replace the section of docs/benchmarks.md
    #[arg(long)]
    pub(crate) write: bool,
    /// Write every round to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Where `cargo xtask bench` has put the packages of other languages
    #[arg(long, value_name = "DIR")]
    pub(crate) peers: Option<PathBuf>,
}

impl Options {
    /// `--store etcd` chooses the benchmarks whose names begin so.
    pub(crate) fn of_its_stores(mut self) -> Self {
        self.only.extend(self.store.iter().map(|store| format!("{store}-")));
        self
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("0.05 to 600 seconds".into()),
    }
}
