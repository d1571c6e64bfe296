//! SQLite checks the shape of its pages and the sums of its log, and not the values in its file: that is what a file system with checksums is for.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use stanchion_core::{Cond, Key, Page};
use tokio::runtime::Runtime;

use super::{Effect, Tried, failed, try_all};

const RECORDS: usize = 30;

type Read = Vec<(String, Vec<u8>)>;

async fn open(folder: &Path) -> Result<std::sync::Arc<dyn stanchion_core::RecordStore>, String> {
    let url = format!("sqlite:{}", folder.join("records.db").display());
    let store = stanchion_stores::open(&url).await.map_err(|e| e.to_string())?;
    store.records.ok_or_else(|| "no records".to_owned())
}

async fn read(folder: &Path) -> Result<Read, String> {
    let store = open(folder).await?;
    let found = store.scan("record/", Page::first(10 * RECORDS)).await.map_err(|e| e.to_string())?;
    Ok(found.into_iter().map(|(key, record)| (key.to_string(), record.value.to_vec())).collect())
}

/// The files as they are while the store is open, so that the log is there; without the index in shared memory, which is made anew.
async fn template(folder: &Path) -> io::Result<()> {
    let first = tempfile::tempdir()?;
    let store = open(first.path()).await.map_err(failed)?;
    for nth in 0..RECORDS {
        let key = Key::new(format!("record/{nth:02}")).map_err(failed)?;
        let value = format!("the value of record {nth}, long enough to be met");
        store.put(&key, value.into(), Cond::Absent, None).await.map_err(failed)?;
    }
    for name in ["records.db", "records.db-wal"] {
        fs::copy(first.path().join(name), folder.join(name))?;
    }
    Ok(())
}

/// The log is a part of the file, too, once the store was closed.
fn settled(runtime: &Runtime, folder: &Path) -> io::Result<()> {
    runtime.block_on(async { read(folder).await.map(drop) }).map_err(failed)?;
    rusqlite_checkpoint(folder)
}

fn rusqlite_checkpoint(folder: &Path) -> io::Result<()> {
    let database = rusqlite::Connection::open(folder.join("records.db")).map_err(failed)?;
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)
}

fn judge(expected: &Read, found: Result<Read, String>) -> Effect {
    match found {
        Err(_) => Effect::Refused,
        Ok(found) if found == *expected => Effect::Same,
        Ok(found) if expected.starts_with(&found) => Effect::Prefix,
        Ok(_) => Effect::Unseen,
    }
}

/// Damages `name`: the file after a clean end, or the log after a kill.
pub(super) fn file(name: &str, every: usize, until: Instant) -> io::Result<Tried> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let template_folder = tempfile::tempdir()?;
    runtime.block_on(template(template_folder.path()))?;
    if name == "records.db" {
        settled(&runtime, template_folder.path())?;
    }
    let copied = || -> io::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        for part in ["records.db", "records.db-wal"] {
            if template_folder.path().join(part).exists() {
                fs::copy(template_folder.path().join(part), folder.path().join(part))?;
            }
        }
        Ok(folder)
    };
    let expected = runtime.block_on(async { read(copied()?.path()).await.map_err(failed) })?;
    if expected.len() != RECORDS {
        return Err(failed(format!("{} of {RECORDS} records are in the copy", expected.len())));
    }
    let size = fs::metadata(template_folder.path().join(name))?.len();
    // Most of these files is made of pages that look alike.
    try_all(usize::try_from(size).map_err(failed)?, every * 41, until, |damage| {
        let folder = copied()?;
        damage.apply(&folder.path().join(name))?;
        Ok(Ok(judge(&expected, runtime.block_on(read(folder.path())))))
    })
}
