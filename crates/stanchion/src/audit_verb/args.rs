//! What `audit` can be told.

use std::path::PathBuf;

use clap::Args;
use stanchion_audit::error::Error;
use stanchion_audit::finding::{Confidence, Severity};
use stanchion_audit::format::Format;

const EXAMPLES: &str = "\
Examples:
  stanchion audit                                   this folder
  stanchion audit src worker/main.py                some of it
  stanchion audit --explain RC101                   what a rule finds, why it matters, how to fix it
  stanchion audit --diff origin/main                only what the lines of this branch have to do with
  stanchion audit --baseline races.json --write-baseline    accept what is there, and from then on:
  stanchion audit --baseline races.json             only what is new
  stanchion audit --format sarif --output audit.sarif       for code scanning
  stanchion audit --format agent                    one line per finding, for agents
  stanchion audit --checklist                       deployment checklist, filled in, with a grade

Exit codes:
    0  nothing found (at or above --fail-on)
    1  something was found
    2  the command line, the configuration, the baseline or a model file is wrong
    3  nothing was found, but something that was named, or everything, could not be analysed

It reads TypeScript, JavaScript, Python, Go and Rust below the paths, and the files beside them that say how the program is
deployed. What .gitignore names, hidden folders and node_modules are left out, and so are dist, build, target and vendor unless
they are named. It starts no program of yours and sends nothing anywhere; --diff asks git.

Configuration: stanchion-audit.toml, or the table [audit] of stanchion.toml, in this folder; in PATH, if that is one folder
outside of this one.
A comment suppresses a finding of its line or the next, with a reason: // stanchion-audit: ignore RC101 -- one process by design";

/// What `audit` can be told.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    /// Files and folders [default: this folder]
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// text, agent (one line each), json, sarif, github (annotations) or junit [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(super) format: Option<Format>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
    /// Write the report to this file
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Report only findings of at least this severity: low, medium or high [default: low]
    #[arg(long, value_name = "LEVEL", value_parser = word::<Severity>)]
    pub(super) severity: Option<Severity>,
    /// Report only findings of at least this confidence: low, medium or high [default: low]
    #[arg(long, value_name = "LEVEL", value_parser = word::<Confidence>)]
    pub(super) confidence: Option<Confidence>,
    /// Report what only tests lead to as well; its severity is low
    #[arg(long)]
    pub(super) tests: bool,
    /// Exit with 1 only for findings of at least this severity [default: low]
    #[arg(long, value_name = "LEVEL", value_parser = word::<Severity>)]
    pub(super) fail_on: Option<Severity>,
    /// Only these rules: codes, names, or beginnings of codes as RC2; with commas
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(super) select: Vec<String>,
    /// Not these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(super) ignore: Vec<String>,
    /// How many instances of the program run at once, if its files do not say it: one or many
    #[arg(long, value_name = "one|many", value_parser = instances)]
    pub(super) instances: Option<stanchion_audit::config::Instances>,
    /// Only findings that have to do with lines changed since this git revision
    #[arg(long, value_name = "BASE")]
    pub(super) diff: Option<String>,
    /// Only findings that this file does not have
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write what is found to the file of --baseline
    #[arg(long, requires = "baseline", conflicts_with_all = ["diff", "checklist"])]
    pub(super) write_baseline: bool,
    /// The configuration, instead of the one in the folder
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Write a race specification for each finding that one can be made of into this folder
    #[arg(long, value_name = "DIR")]
    pub(super) emit_probe: Option<PathBuf>,
    /// Fill in the deployment checklist instead, with a grade
    #[arg(long)]
    pub(super) checklist: bool,
    /// Print the page of a rule
    #[arg(long, value_name = "CODE", conflicts_with_all = ["paths", "rules", "checklist"])]
    pub(super) explain: Option<String>,
    /// List the rules
    #[arg(long, conflicts_with_all = ["paths", "checklist"])]
    pub(super) rules: bool,
}

impl AuditArgs {
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or(Format::Text) }
    }

    /// Whether less is looked at than the baseline may speak of.
    pub(super) fn narrows(&self) -> bool {
        !self.paths.is_empty() || !self.select.is_empty() || !self.ignore.is_empty()
    }
}

fn format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

fn word<T: std::str::FromStr<Err = Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: Error| error.hint.unwrap_or(error.message))
}

fn instances(text: &str) -> Result<stanchion_audit::config::Instances, String> {
    match text {
        "one" | "1" => Ok(stanchion_audit::config::Instances::One),
        "many" => Ok(stanchion_audit::config::Instances::Many),
        _ => Err("allowed: one, many".to_owned()),
    }
}
