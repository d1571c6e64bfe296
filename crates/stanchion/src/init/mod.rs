//! `init` and `unwrap`: put `stanchion wrap` before the servers of MCP clients, and take it away again.

mod ask;
mod binary;
mod clients;
mod diff;
mod find;
mod json;
mod lock;
mod plan;
mod read;
mod secrets;
mod server;
mod show;
mod splice;
mod toml;
mod tree;
mod write;
mod yaml;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Result};

use crate::cli::Cli;
use crate::exit::{self, print, say};
use clients::Format;
use read::Loaded;

/// Which servers, and how careful.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("choice").args(["client", "server", "file", "all"]).multiple(true))]
pub(crate) struct Choice {
    /// Only the configuration of this client; repeat it for several
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(clients::names()), conflicts_with = "file")]
    client: Vec<String>,
    /// Only this server; repeat it for several
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Look at this file instead of those of the clients
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// The format of --file [default: by its name]
    #[arg(long, requires = "file")]
    format: Option<Format>,
    /// The member of --file that holds the servers, as in mcpServers or projects/*/mcpServers
    #[arg(long, value_name = "MEMBER", requires = "file")]
    key: Option<String>,
    /// All servers of all clients
    #[arg(long)]
    all: bool,
    /// Do not ask; needs --all, --client, --server or --file
    #[arg(long, requires = "choice")]
    yes: bool,
    /// Only show what would be changed
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print JSON, and do not ask
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    choice: Choice,
    /// Give each server its name in the configuration as --name [default: wrap takes the package of its command, which
    /// is the same for all clients; servers with one name share one lock]
    #[arg(long)]
    name_from_config: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnwrapArgs {
    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Wrap,
    Unwrap,
}

impl Way {
    const fn verb(self) -> &'static str {
        match self {
            Self::Wrap => "wrap",
            Self::Unwrap => "unwrap",
        }
    }
}

/// What is asked for.
#[derive(Debug)]
struct Wish {
    way: Way,
    servers: Vec<String>,
    binary: String,
    name_from_config: bool,
}

impl Wish {
    fn wants(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|name| name == server)
    }
}

/// Whether changes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Show,
    Ask,
    Yes,
}

pub(crate) async fn wrap(cli: &Cli, args: &InitArgs) -> Result<u8> {
    let binary = binary::own()?;
    if let Some(folder) = binary::passing(&binary) {
        say(&format!("stanchion: warning: {binary} is in {folder}; when it is gone, wrapped servers do not start"));
    }
    if cli.store.store.is_some() {
        say("stanchion: warning: --store and STANCHION_STORE are not written into configurations: wrapped servers use");
        say("  what the client's environment says; set STANCHION_STORE in the `env` of each server");
    }
    let servers = args.choice.server.clone();
    run(&args.choice, &Wish { way: Way::Wrap, servers, binary, name_from_config: args.name_from_config }).await
}

pub(crate) async fn unwrap(args: &UnwrapArgs) -> Result<u8> {
    let servers = args.choice.server.clone();
    run(&args.choice, &Wish { way: Way::Unwrap, servers, binary: String::new(), name_from_config: false }).await
}

async fn run(choice: &Choice, wish: &Wish) -> Result<u8> {
    let targets = match &choice.file {
        Some(file) => vec![find::named(file, choice.format, choice.key.as_deref())?],
        None => find::targets(&choice.client)?,
    };
    let mut report = Report { json: choice.json, code: 0, files: Vec::new() };
    let mut found = Vec::new();
    for target in targets {
        match read::load(&target) {
            Ok(loaded) => found.push(loaded),
            Err(e) => report.failed(target.client, &target.path.display().to_string(), &e),
        }
    }
    known(&found, &wish.servers)?;
    if !choice.json {
        overview(&found, wish);
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mode = match (choice.yes, choice.dry_run || choice.json || !terminal) {
        (true, _) => Mode::Yes,
        (false, true) => Mode::Show,
        (false, false) => Mode::Ask,
    };
    let (mut waiting, mut any) = (false, false);
    for loaded in found {
        let (client, path) = (loaded.target.client, loaded.target.path.display().to_string());
        match one(loaded, wish, mode, choice.json).await {
            Ok(done) => {
                any |= done["changes"] == json!(true);
                waiting |= done["changes"] == json!(true) && done["written"] == json!(false);
                report.files.push(done);
            }
            Err(e) => report.failed(client, &path, &e),
        }
    }
    if choice.json {
        let binary = (wish.way == Way::Wrap).then_some(&wish.binary);
        print(&json!({ "binary": binary, "files": report.files }).to_string());
    } else if !any && report.code == 0 {
        say(&format!("there is nothing to {}", wish.way.verb()));
    } else if waiting && mode == Mode::Show && !choice.dry_run {
        say(&format!(
            "nothing was changed; to {} them, add --yes and --all, --client NAME or --server NAME",
            wish.way.verb()
        ));
    }
    Ok(report.code)
}

/// What happened to each file; the first failure gives the exit code.
struct Report {
    json: bool,
    code: u8,
    files: Vec<Value>,
}

impl Report {
    fn failed(&mut self, client: &str, file: &str, error: &Error) {
        if self.json {
            let text = json!({ "kind": error.kind().code(), "message": error.to_string(), "hint": error.next_step() });
            self.files.push(json!({ "client": client, "file": file, "error": text, "written": false }));
        }
        exit::report(error);
        if self.code == 0 {
            self.code = exit::code(error.kind());
        }
    }
}

/// A name that is nowhere is a mistake, and nothing is done before it is cleared up.
fn known(found: &[Loaded], wanted: &[String]) -> Result<()> {
    let mut names: Vec<&str> = found.iter().flat_map(|l| &l.servers).map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match wanted.iter().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::new(ErrorKind::Invalid, "there is no such server; nothing was changed")
            .with("server", show::plain(name))
            .hint(format!("there are: {}", show::plain(&names.join(", "))))),
    }
}

fn overview(found: &[Loaded], wish: &Wish) {
    if found.iter().any(|loaded| !loaded.servers.is_empty()) {
        print(&show::table(found));
    } else {
        say("no server of an MCP client was found; --file PATH looks at a file of your choice");
    }
    for loaded in found.iter().filter(|loaded| loaded.target.format == Format::Yaml) {
        let path = show::plain(&loaded.target.path.display().to_string());
        let advice = by_hand(loaded, wish);
        if !advice.is_empty() {
            print(&format!("\n{path} is YAML, which stanchion does not write. By hand:"));
            advice.iter().for_each(|line| print(&format!("  {}", show::plain(line))));
        }
    }
}

fn by_hand(loaded: &Loaded, wish: &Wish) -> Vec<String> {
    match (loaded.target.format, wish.way) {
        (Format::Yaml, Way::Wrap) => yaml::advice(&loaded.text, &loaded.target.keys, &wish.binary),
        _ => Vec::new(),
    }
}

/// One file, from the diff to the backup.
async fn one(mut loaded: Loaded, wish: &Wish, mode: Mode, json: bool) -> Result<Value> {
    let mut plan = plan::plan(&loaded, wish)?;
    let mut held = None;
    if mode == Mode::Yes && !plan.edits.is_empty() {
        // Nobody looks at the diff first, so what counts is the file as it is once it is ours.
        held = Some(lock::lock(&loaded.real).await?);
        loaded = read::load(&loaded.target)?;
        plan = plan::plan(&loaded, wish)?;
    }
    let path = show::plain(&loaded.target.path.display().to_string());
    let verb = wish.way.verb();
    for (server, why) in &plan.refused {
        say(&format!("stanchion: warning: {path}: {}: not {verb}ped: {why}", show::plain(server)));
    }
    let mut done = json!({ "changes": false, "written": false });
    if !by_hand(&loaded, wish).is_empty() {
        done["by_hand"] = json!(by_hand(&loaded, wish));
    }
    if plan.edits.is_empty() {
        return Ok(show::file(&loaded, &[], done));
    }
    let diff = plan.diff(&loaded);
    if !json {
        print(&format!("\n{}", diff.trim_end()));
    }
    if loaded.target.project && wish.way == Way::Wrap {
        say(&format!("note: {path} belongs to this folder; who shares it needs stanchion at the same path"));
    }
    done["changes"] = json!(true);
    done["diff"] = json!(diff);
    let count = plan.chosen.len();
    let many = if count == 1 { "this server" } else { "these servers" };
    if mode == Mode::Show || mode == Mode::Ask && !ask::yes(&format!("{verb} {many} in {path}? [y/N] "))? {
        return Ok(show::file(&loaded, &plan.chosen, done));
    }
    let held = match held {
        Some(held) => held,
        None => lock::lock(&loaded.real).await?,
    };
    let (old, new) = (loaded.text.as_bytes(), plan.text.as_bytes());
    let backup = write::replace(&loaded.real, old, new, write::Swap::best()).await?;
    drop(held);
    let servers = if count == 1 { "1 server".to_owned() } else { format!("{count} servers") };
    say(&format!("{path}: {verb}ped {servers}; the file as it was: {}", show::plain(&backup.display().to_string())));
    say("  a client that runs has to be started again");
    done["written"] = json!(true);
    done["backup"] = json!(backup.display().to_string());
    Ok(show::file(&loaded, &plan.chosen, done))
}
