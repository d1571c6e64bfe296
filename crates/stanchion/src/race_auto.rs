//! `race --auto`: no specification; the tools of a server say what can be raced.

use std::path::PathBuf;

use clap::Args;
use stanchion_race::{Auto, AutoTarget, Options, auto};

use crate::exit::{escaped, print, say, signalled};

/// What `race --auto` can be told.
#[derive(Debug, Args)]
pub(crate) struct AutoArgs {
    /// Without a specification: find tools that create and list, and race them. The calls are real: use a store for tests
    #[arg(long, conflicts_with_all = ["spec", "schedule"])]
    pub(crate) auto: bool,
    /// With --auto: race an MCP server that runs at this address already, instead of a command; repeat it for several instances
    #[arg(long, value_name = "URL", requires = "auto", conflicts_with = "command")]
    url: Vec<String>,
    /// With --auto: a variable of the server's environment; {dir} in the value is a new folder for every round
    #[arg(long, value_name = "NAME=VALUE", requires = "auto", conflicts_with = "url", value_parser = variable)]
    env: Vec<(String, String)>,
    /// With --auto: write the specification that was made to this file
    #[arg(long, value_name = "FILE", requires = "auto")]
    save_spec: Option<PathBuf>,
    /// With --auto: the command that starts an MCP server on standard input and output, after --
    #[arg(last = true, value_name = "COMMAND", requires = "auto", required_unless_present_any = ["spec", "url"])]
    command: Vec<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("not NAME=VALUE")?;
    if name.is_empty() { Err("the name is missing".into()) } else { Ok((name.to_owned(), value.to_owned())) }
}

/// Races, and says what was made of the tools; `Err` is an exit code that follows from a signal or a file.
pub(crate) async fn run(args: &AutoArgs, options: &Options, is_quiet: bool) -> Result<Auto, u8> {
    let target = AutoTarget { command: args.command.clone(), env: args.env.clone(), urls: args.url.clone() };
    // Whoever is interrupted ends what it has started: the processes are in groups of their own.
    let auto = tokio::select! {
        auto = auto(&target, options) => auto,
        code = signalled() => return Err(code),
    };
    auto.notes.iter().for_each(|note| say(&escaped(&format!("note: {note}"))));
    let Some(spec) = &auto.spec else { return Ok(auto) };
    if let Some(path) = &args.save_spec {
        if let Err(error) = std::fs::write(path, spec) {
            say(&escaped(&format!("error: {} cannot be written: {error}", path.display())));
            return Err(crate::race_verb::WRONG);
        }
    } else if !is_quiet {
        spec.lines().for_each(|line| print(&escaped(line)));
        print("");
    }
    Ok(auto)
}
