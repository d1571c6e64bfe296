//! One instance of the naive budget service.

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use stanchion_core::{Acquire, Error, ErrorKind, Key, Locks, Result, Wait};

use super::WorkerArgs;

pub(crate) async fn worker(args: &WorkerArgs) -> Result<u8> {
    let failed = |e: std::io::Error| Error::new(ErrorKind::Unexpected, "a demo worker failed").because(e);
    let guard = if args.guarded { Some(open(&args.file).await?) } else { None };
    let request = Acquire::new(Key::new("budget")?).wait(Wait::Forever);
    let mut out = std::io::stdout();
    // Everybody starts at the same moment: when the parent says so.
    out.write_all(b"R").and_then(|()| out.flush()).map_err(failed)?;
    std::io::stdin().lock().lines().next().transpose().map_err(failed)?;
    for _ in 0..args.calls {
        match &guard {
            Some(locks) => locks.with_lease(&request, async |_| spend(&args.file)).await??,
            None => spend(&args.file)?,
        }
        // The acknowledgement: only now does the caller know of it.
        out.write_all(b"ok\n").and_then(|()| out.flush()).map_err(failed)?;
    }
    Ok(0)
}

async fn open(file: &Path) -> Result<Locks> {
    let store = format!("file:{}", file.with_extension("locks").display());
    Ok(Locks::shared(stanchion_stores::open_locks(&store, stanchion_stores::OpenOptions::default()).await?.locks))
}

/// Adds 1 to the budget. The file is replaced atomically, so it is never damaged; and still calls get lost,
/// because between the read and the write somebody else may have written.
fn spend(file: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::new(ErrorKind::Unexpected, "the budget file cannot be changed").because(e);
    let spent = parse(&std::fs::read_to_string(file).map_err(failed)?)?;
    let next = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&next, render(spent + 1)).map_err(failed)?;
    // stanchion-audit: ignore RC101 -- the race that the demonstration shows
    std::fs::rename(&next, file).map_err(failed)
}

pub(super) fn render(spent: u64) -> String {
    json!({ "project": "atlas", "spent": spent }).to_string()
}

pub(super) fn parse(text: &str) -> Result<u64> {
    let value: Value = serde_json::from_str(text)
        .map_err(|e| Error::new(ErrorKind::Damaged, "the budget file is not JSON").because(e))?;
    value["spent"].as_u64().ok_or_else(|| Error::new(ErrorKind::Damaged, "the budget file has no number"))
}
