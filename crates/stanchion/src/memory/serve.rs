//! The server itself.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use stanchion_core::{Error, ErrorKind, Guard, Locks, Result};
use stanchion_memory::{MemoryServer, serve_http, serve_stdio};
use stanchion_stores::Durability;

use super::args::MemoryArgs;
use super::place::Place;
use super::{Kind, Opened, token};
use crate::cli::StoreArgs;
use crate::exit::say;
use crate::store::{self, Store};

pub(super) async fn run(args: &StoreArgs, memory_args: &MemoryArgs, place: Place) -> Result<u8> {
    let front = token::front(memory_args)?;
    let opened = Opened::open(args, &memory_args.place, place).await?;
    if !memory_args.quiet {
        let durability = match args.durability {
            Durability::Process => "process",
            Durability::Power => "power",
        };
        say(&format!("stanchion: memory is {}, durability={durability}", opened.shown));
    }
    let server = keyed(MemoryServer::new(opened.memory), args, opened.kind);
    let Some(address) = memory_args.http else {
        if std::io::stdin().is_terminal() {
            say(
                "hint: this speaks MCP on standard input; put `stanchion memory` into a client's configuration as the command",
            );
        }
        return serve_stdio(server).await.map(|()| 0);
    };
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .map_err(|e| Error::new(ErrorKind::Invalid, "cannot listen there").with("address", address).because(e))?;
    let address = listener.local_addr().unwrap_or(address);
    // Before anybody can know that we are there.
    let stopped = crate::proxy::stop();
    say(&format!("stanchion: serving at http://{address}/mcp"));
    if !address.ip().is_loopback() {
        say("stanchion: warning: reachable from other machines; there is no TLS of our own");
    }
    serve_http(server, listener, front, stopped).await.map(|()| 0)
}

/// Where keyed calls are remembered: with the graph if that is in a store, else in the embedded store, which is opened when
/// the first key comes.
fn keyed(server: MemoryServer, args: &StoreArgs, kind: Kind) -> MemoryServer {
    match kind {
        Kind::Store { store, name } => {
            let store = Arc::new(store);
            server.keys(&format!("memory:{name}"), move || {
                let store = Arc::clone(&store);
                async move { Ok(guard(&store)) }
            })
        }
        Kind::File(path) => {
            // Not the store that STANCHION_STORE names: another machine may have another file under the same path.
            let (durability, home, chaos) = (args.durability, args.home.clone(), args.chaos.clone());
            let embedded = Arc::new(StoreArgs { store: None, durability, home, chaos });
            server.keys(&file_name(&path), move || {
                let embedded = Arc::clone(&embedded);
                async move { Ok(guard(&store::open(&embedded).await?)) }
            })
        }
    }
}

fn guard(store: &Store) -> Guard {
    Guard::with(store.claims(), Locks::shared(Arc::clone(&store.locks)))
}

/// A name that `claims ls` can show, and that differs for every file.
fn file_name(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("memory-file:{digest}")
}
