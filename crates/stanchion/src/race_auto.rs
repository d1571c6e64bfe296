//! `race --auto`: no specification; the tools of a server say what can be raced.

use std::path::PathBuf;

use clap::Args;
use stanchion_race::{Auto, AutoTarget, Options, auto, without_secrets, without_value};

use crate::exit::{escaped, print, say};
use crate::race_verb::watched;

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
    #[arg(last = true, value_name = "COMMAND", requires = "auto")]
    command: Vec<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("not NAME=VALUE")?;
    if name.is_empty() { Err("the name is missing".into()) } else { Ok((name.to_owned(), value.to_owned())) }
}

impl AutoArgs {
    /// What was typed of this, without the query of an address and the value of a variable: they may be keys, and pages are handed on.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec!["--auto".to_owned()];
        words.extend(self.url.iter().flat_map(|url| ["--url".to_owned(), without_secrets(url)]));
        let set = |(name, value): &(String, String)| ["--env".to_owned(), format!("{name}={}", without_value(value))];
        words.extend(self.env.iter().flat_map(set));
        words
    }

    /// Nothing is named that could be raced.
    pub(crate) const fn is_empty(&self) -> bool {
        self.auto && self.command.is_empty() && self.url.is_empty()
    }

    /// The command, which comes last.
    pub(crate) fn command(&self) -> Vec<String> {
        let dashes = (!self.command.is_empty()).then(|| "--".to_owned());
        dashes.into_iter().chain(self.command.iter().cloned()).collect()
    }
}

/// Races, and says what was made of the tools; `Err` is what went wrong with a file.
pub(crate) async fn run(args: &AutoArgs, options: &Options, is_quiet: bool) -> Result<Auto, String> {
    let target = AutoTarget { command: args.command.clone(), env: args.env.clone(), urls: args.url.clone() };
    let auto = watched("", options, async |options: &Options| auto(&target, options).await).await;
    auto.notes.iter().for_each(|note| say(&escaped(&format!("note: {note}"))));
    let (Some(spec), Some(shown)) = (&auto.spec, &auto.shown) else { return Ok(auto) };
    if let Some(path) = &args.save_spec {
        std::fs::write(path, spec).map_err(|error| format!("error: {} cannot be written: {error}", path.display()))?;
    } else if !is_quiet {
        shown.lines().for_each(|line| print(&escaped(line)));
        if shown != spec {
            say("note: what may be a key stands there as …; --save-spec FILE writes all, to be played");
        }
        print("");
    }
    Ok(auto)
}
