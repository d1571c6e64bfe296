//! What the demo can be told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many processes race
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(crate) processes: u32,
    /// How many calls each makes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) calls: u32,
    /// Race the official MCP memory server as well, where npx is there
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) mcp: Mcp,
    /// What starts the memory server, instead of npx
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) mcp_server: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mcp {
    /// If it can be started
    Auto,
    /// Not at all
    Never,
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
