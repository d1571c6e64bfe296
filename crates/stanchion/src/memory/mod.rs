//! `stanchion memory`: the official memory server's drop-in, and the care of its file.

mod args;
mod care;
mod place;
mod serve;
mod token;
mod transfer;

use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Locks, Result};
use stanchion_memory::{FileMemory, FileOptions, Memory, MemoryError, SharedMemory};

use self::args::PlaceArgs;
pub(crate) use self::args::{MemoryArgs, MemoryVerb};
use self::place::Place;
use crate::cli::{Cli, StoreArgs};
use crate::store::{self, Store};

pub(crate) async fn run(cli: &Cli, args: &MemoryArgs) -> Result<u8> {
    if args.verb.is_some() && args.http.is_some() {
        return Err(Error::new(ErrorKind::Invalid, "--http is for the server, and this verb does not serve")
            .hint("leave --http out"));
    }
    let place = place::find(&cli.store, &args.place)?;
    match &args.verb {
        None => serve::run(&cli.store, args, place).await,
        Some(MemoryVerb::Check { json }) => care::check(&cli.store, &args.place, place, *json).await,
        Some(MemoryVerb::Repair { json }) => care::repair(&cli.store, &args.place, &place, *json).await,
        Some(MemoryVerb::Export { output, force }) => {
            let opened = Opened::open(&cli.store, &args.place, place).await?;
            transfer::export(&opened, output.as_deref(), *force).await
        }
        Some(MemoryVerb::Import { input }) => {
            let opened = Opened::open(&cli.store, &args.place, place).await?;
            transfer::import(&opened, input).await
        }
    }
}

/// A graph that is open.
struct Opened {
    memory: Arc<dyn Memory>,
    /// For people: the file, or the name and the store without secrets.
    shown: String,
    kind: Kind,
}

enum Kind {
    /// The file itself, where a link led to it.
    File(std::path::PathBuf),
    Store {
        store: Store,
        name: String,
    },
}

impl Opened {
    async fn open(args: &StoreArgs, place_args: &PlaceArgs, place: Place) -> Result<Self> {
        match place {
            Place::File(path) => {
                let memory = FileMemory::open(path, options(args, place_args))?;
                let file = memory.path().to_owned();
                Ok(Self { shown: file.display().to_string(), kind: Kind::File(file), memory: Arc::new(memory) })
            }
            Place::Store(name) => {
                let store = store::open(args).await?;
                let locks = Locks::shared(Arc::clone(&store.locks));
                let memory = SharedMemory::new(Arc::clone(&store.records), &name)?.fair(locks);
                let shown = format!("{name:?} in {}", store.shown);
                Ok(Self { shown, kind: Kind::Store { store, name }, memory: Arc::new(memory) })
            }
        }
    }
}

fn options(args: &StoreArgs, place: &PlaceArgs) -> FileOptions {
    let mut options = FileOptions::default();
    options.durability = args.durability;
    options.compat = place.compat;
    options.wait = place.wait;
    options
}

/// A failure of the graph as one of the command line.
fn failed(error: MemoryError) -> Error {
    match error {
        MemoryError::Kept(error) => error,
        MemoryError::NotFound(error) => {
            Error::new(ErrorKind::Conflict, "an entity was deleted meanwhile").with("reason", error)
        }
    }
}
