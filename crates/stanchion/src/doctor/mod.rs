//! `doctor`: what the store is, what weakens its promises, and whether it works.
//!
//! The engine's own findings come from [`stanchion_stores::examine`]; the trials here are the same for every store.

mod show;
mod trial;

use clap::Args;
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_stores::{Finding, Grade, StoreUrl};

use crate::cli::Cli;
use crate::exit::{self, print};
use crate::store;

const EXAMPLES: &str = "\
Examples:
  stanchion doctor                                       the embedded store of this machine
  stanchion doctor --store redis://cache/                a server
  stanchion doctor --store postgres://app@db/app --json  for programs
  stanchion doctor --strict || exit 1                    in a deployment: weak is not good enough

Exit codes:
    0  every promise holds; some may be weak, unless --strict is given
    1  a promise does not hold here, or a trial failed
    3  with --strict: nothing is broken, and something is weak
   69  the store cannot be reached
   78  the store refuses us, or its URL or version is wrong

JSON:
  {\"store\": URL without secrets, \"backend\": NAME, \"grade\": the worst one,
   \"findings\": [{\"topic\": …, \"grade\": \"ok\"|\"weak\"|\"broken\", \"says\": …, \"fix\": … or null}]}

The store is opened as by every other command, which makes its tables or files where they are missing. \
The trials take a lock and write a record under names of their own, and take both away again; a store that \
remembers the fence of each lock, as file: does, keeps the fence of that one.";

/// What `doctor` can be told.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Exit with 3 if anything is weak
    #[arg(long)]
    strict: bool,
}

/// Something is weak, and --strict was given.
const WEAK: u8 = 3;
const BROKEN: u8 = 1;

pub(crate) async fn run(cli: &Cli, args: &DoctorArgs) -> Result<u8> {
    let url = store::url(&cli.store)?;
    let shown = StoreUrl::parse(&url)?;
    let mut failed = None;
    let mut findings = stanchion_stores::examine(&url, store::options(&cli.store)).await.unwrap_or_else(|error| {
        let finding = broken("open", &error);
        failed = Some(error);
        vec![finding]
    });
    // What could not be looked at cannot be tried.
    if failed.is_none() {
        match store::open_any(&cli.store).await {
            Ok(opened) => findings.extend(trial::all(&opened).await),
            Err(error) => {
                findings.push(broken("open", &error));
                failed = Some(error);
            }
        }
    }
    let worst = findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Fine);
    if args.json {
        print(&show::json(&shown, worst, &findings).to_string());
    } else {
        print(&show::table(&shown, &findings));
    }
    Ok(match (failed, worst) {
        (Some(error), _) => exit::code(error.kind()),
        (None, Grade::Broken) => BROKEN,
        (None, Grade::Weak) if args.strict => WEAK,
        _ => 0,
    })
}

/// A failure as a finding.
fn broken(topic: &'static str, error: &Error) -> Finding {
    let finding = Finding::broken(topic, exit::text(error));
    match (error.next_step(), error.kind()) {
        (Some(step), _) => finding.fix(step),
        (None, ErrorKind::Unavailable) => finding.fix("is the server running, and are its host and port right?"),
        (None, _) => finding,
    }
}
