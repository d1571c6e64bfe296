//! `policy check|explain|ls|show|schema`: what a policy file says, and what is wrong with it.

mod explain;
pub(crate) mod load;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};
use stanchion_core::{ErrorKind, Result};
use stanchion_mcp::policy::{PolicyFile, Problem, READY, schema};

use crate::exit::{self, print, say};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Say everything that is wrong with a policy file
    Check {
        /// The file, or @NAME for a ready-made policy
        #[arg(value_name = "FILE")]
        file: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say which rule a tool has and which table gave each value; with arguments, which locks a call takes
    Explain(ExplainArgs),
    /// List the ready-made policies
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a ready-made policy, to read or to copy
    Show {
        /// Its name, as `policy ls` has it
        name: String,
    },
    /// Print the JSON Schema of policy files, for editors
    Schema,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The server's name
    pub(crate) server: String,
    /// The tool's name
    pub(crate) tool: String,
    /// A file with the arguments of a call; - is standard input
    #[arg(value_name = "ARGS.json")]
    pub(crate) arguments: Option<PathBuf>,
    /// The policy [default: none, so what is built in]
    #[arg(long, value_name = "FILE|@NAME")]
    pub(crate) policy: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(verb: &PolicyVerb) -> Result<u8> {
    match verb {
        PolicyVerb::Check { file, json } => check(file, *json),
        PolicyVerb::Explain(args) => explain::run(args),
        PolicyVerb::Ls { json } => {
            let about = |text: &str| text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
            if *json {
                let list = READY.iter().map(|(name, text)| json!({"name": name, "about": about(text)}));
                print(&Value::from_iter(list).to_string());
            } else {
                READY.iter().for_each(|(name, text)| print(&format!("@{name:<20} {}", about(text))));
            }
            Ok(0)
        }
        PolicyVerb::Show { name } => {
            print(load::ready(name.trim_start_matches('@'))?.trim_end());
            Ok(0)
        }
        PolicyVerb::Schema => {
            print(&format!("{:#}", schema()));
            Ok(0)
        }
    }
}

fn check(spec: &str, as_json: bool) -> Result<u8> {
    let checked = PolicyFile::parse(&load::text(spec)?, spec);
    let (problems, warnings) = match &checked {
        Ok(file) => (&[][..], file.warnings()),
        Err(wrong) => (wrong.problems(), &[][..]),
    };
    if as_json {
        let list = |problems: &[Problem]| Value::from_iter(problems.iter().map(to_json));
        let ok = checked.is_ok();
        print(&json!({"file": spec, "ok": ok, "problems": list(problems), "warnings": list(warnings)}).to_string());
    } else {
        warn(warnings);
        match &checked {
            Ok(file) => {
                let (servers, principals) = (file.servers().count(), file.principals().len());
                print(&format!(
                    "{spec} is good: servers {servers}, principals {principals}, warnings {}",
                    warnings.len()
                ));
            }
            Err(wrong) => say(&wrong.to_string()),
        }
    }
    Ok(if checked.is_ok() { 0 } else { exit::code(ErrorKind::Invalid) })
}

/// Says what is allowed and may not be meant.
fn warn(warnings: &[Problem]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
}

fn to_json(problem: &Problem) -> Value {
    json!({
        "file": problem.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "key": problem.key,
        "what": problem.what,
        "allowed": problem.allowed,
        "did_you_mean": problem.did_you_mean,
    })
}
