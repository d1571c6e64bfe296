//! `help TOPIC`: what a man page would hide.

mod stores;

use clap::CommandFactory as _;
use stanchion_core::{Error, ErrorKind, Result};

use crate::cli::Cli;
use crate::exit::{self, print};

const ENVIRONMENT: &str = "\
STANCHION_STORE    the store's URL; --store wins
STANCHION_HOME     the folder of the embedded store; default .local/state/stanchion in the user's home
STANCHION_CHAOS    faults on demand, as in delay=20ms,error=0.05,lost=0.1,seed=7; off by default
MEMORY_FILE_PATH   the file of `memory`, as the official memory server has it; --file wins; relative to the state folder
NO_COLOR           no colours (there are few)

`run` gives its command:
STANCHION_LOCK     the lock's name; one per line if there are several
STANCHION_FENCE    the fence's number; with several locks, of the first; STANCHION_FENCE_<NAME> for each
STANCHION_LEASE_ID the holder's nonce: guards compare it together with the fence
STANCHION_BACKEND  the store's URL without secrets
STANCHION_HELD     what a nested `run` must not wait for; for stanchion alone";

pub(crate) fn run(topic: Option<&str>) -> Result<u8> {
    let mut command = Cli::command();
    match topic {
        None => print(&command.render_long_help().to_string()),
        Some("exit-codes") => {
            for (code, meaning) in exit::CODES {
                print(&format!("{code:>3}  {meaning}"));
            }
            print("\n`run` passes the command's own code through; a command killed by signal N gives 128+N.");
            print("Because a command may exit with any of these, --status-fd says what really happened.");
        }
        Some("environment") => print(ENVIRONMENT),
        Some("stores") => stores::run(),
        Some(verb) => match command.find_subcommand_mut(verb) {
            Some(found) => print(&found.render_long_help().to_string()),
            None => {
                return Err(Error::new(ErrorKind::Invalid, "there is no such topic")
                    .with("topic", verb)
                    .hint("a verb, or one of exit-codes, environment, stores"));
            }
        },
    }
    Ok(0)
}

pub(crate) fn man() -> Result<u8> {
    let failed = |e| Error::new(ErrorKind::Unexpected, "the manual page cannot be written").because(e);
    clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout()).map_err(failed)?;
    Ok(0)
}

pub(crate) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stanchion", &mut script);
    print(String::from_utf8_lossy(&script).trim_end());
    0
}
