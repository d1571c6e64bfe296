//! What `stanchion doctor` finds about a database file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use stanchion_core::Result;

use super::database::explain;
use crate::{Durability, Finding, file};

/// Up to this size the whole file is read and checked; a larger one would make the doctor a burden.
const CHECK_MAX_BYTES: u64 = 256 << 20;

/// Looks at the file of an open store; blocks.
pub(super) fn look(path: &Path, durability: Durability) -> Result<Vec<Finding>> {
    let mut findings = vec![Finding::fine("version", format!("SQLite {}", rusqlite::version()))];
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    findings.extend(file::doctor::folder(folder));
    findings.extend(file::doctor::permissions(path, "file"));
    // For writing, too: a log that nobody else has open can only be read by who may write.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|e| explain(path, &e))?;
    let asked = |sql: &str| db.query_row(sql, [], |row| row.get::<_, String>(0)).map_err(|e| explain(path, &e));
    findings.push(journal(&asked("PRAGMA journal_mode")?, durability));
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    findings.push(if size > CHECK_MAX_BYTES {
        Finding::fine("content", format!("{} MiB; too much to be read here, so unchecked", size >> 20))
    } else {
        content(&asked("PRAGMA quick_check(1)")?, size)
    });
    Ok(findings)
}

fn journal(mode: &str, durability: Durability) -> Finding {
    if mode != "wal" {
        return Finding::weak("journal", format!("{mode}: writers and readers wait for each other"))
            .fix("let no other program set PRAGMA journal_mode on this file");
    }
    Finding::fine(
        "journal",
        match durability {
            Durability::Process => "WAL; written to disk by the system: a power cut may lose the newest writes",
            Durability::Power => "WAL; every write is forced to disk",
        },
    )
}

fn content(said: &str, size: u64) -> Finding {
    match said {
        "ok" => Finding::fine("content", format!("{} KiB, all of it sound", size.div_ceil(1024))),
        damage => Finding::broken("content", format!("damaged: {damage}"))
            .fix("stop all programs that use it and restore the file, its -wal and its .locks from a backup"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;

    #[test]
    fn another_journal_and_damage_are_found() {
        assert_eq!(journal("delete", Durability::Process).grade, Grade::Weak);
        assert_eq!(journal("wal", Durability::Power).grade, Grade::Fine);
        assert_eq!(content("row 3 missing from index", 1).grade, Grade::Broken);
        assert_eq!(content("ok", 4096).says, "4 KiB, all of it sound");
    }
}
