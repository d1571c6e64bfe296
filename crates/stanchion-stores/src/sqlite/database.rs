//! Opening the file, and what SQLite's errors mean for the caller.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use stanchion_core::{Error, ErrorKind, Result};

use super::beside;
use super::rows::SCHEMA;
use super::time::{Kept, StoreClock};
use crate::Durability;
use crate::file::{network_file_system, private, trouble, write_at};

/// The layout this build reads and writes.
const SCHEMA_NUMBER: i64 = 1;

/// How long other programs (a backup, the sqlite3 shell) may keep the database to themselves.
const BUSY: Duration = Duration::from_secs(20);

/// The open database of one store in one process.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) db: Connection,
    pub(super) clock: StoreClock,
    pub(super) turn: Turnstile,
    pub(super) path: PathBuf,
    /// Made by this process; for what is done every so often.
    pub(super) transactions: u64,
}

/// The line of writers, in front of SQLite's own lock.
///
/// SQLite lets writers poll: of four busy processes one can get nothing for seconds. The kernel serves a
/// file lock in order. The same file is the bell: it is written after each commit, and others watch it.
#[derive(Debug)]
pub(super) struct Turnstile {
    file: File,
    path: PathBuf,
}

impl Turnstile {
    fn open(database: &Path) -> Result<Self> {
        let path = beside(database, ".queue");
        let file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(&path)
            .map_err(|e| trouble("cannot open the writers' queue", &path, e))?;
        Ok(Self { file, path })
    }

    /// Our turn, if nobody else has it.
    pub(super) fn try_enter(&self) -> Option<Turn<'_>> {
        self.file.try_lock().ok().map(|()| Turn(self))
    }

    /// Waits for our turn in the kernel: only on a thread of our own.
    pub(super) fn enter(&self) -> Result<Turn<'_>> {
        loop {
            match self.file.lock() {
                Ok(()) => return Ok(Turn(self)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(trouble("cannot queue for the database", &self.path, e)),
            }
        }
    }
}

/// Our turn; ends when dropped.
pub(super) struct Turn<'a>(&'a Turnstile);

impl Turn<'_> {
    /// Wakes those who watch. If it fails they look by themselves within a second.
    pub(super) fn ring(&self) {
        write_at(&self.0.file, b"\n", 0).ok();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.file.unlock().ok();
    }
}

impl Database {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|e| trouble("cannot resolve the path", path, e))?;
        create(&path)?;
        if let Some(kind) = network_file_system(&path) {
            return Err(Error::new(ErrorKind::Unsupported, "SQLite cannot be shared on a network file system")
                .with("path", path.display())
                .with("file system", kind)
                .hint("keep the database on a local disk, or use a server: redis:, postgres:"));
        }
        let turn = Turnstile::open(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&path, flags).map_err(|e| unopened(&path, &e))?;
        let clock = {
            // Many processes may create one database at the same moment; here they do it one by one.
            let _turn = turn.enter()?;
            patiently(|| prepare(&mut db, durability)).map_err(|e| explain(&path, &e))?;
            let clock = settle(&db, &path)?;
            force(&db, durability).map_err(|e| explain(&path, &e))?;
            clock
        };
        if durability == Durability::Power {
            sync(&db, &turn, &path)?;
        }
        Ok(Self { db, clock, turn, path, transactions: 0 })
    }
}

/// Frames of the log from which on writers have to wait until it is empty.
const LOG_LONG: i64 = 4000;

/// Moves the log into the database.
pub(super) struct Tidy {
    db: Connection,
    turn: Turnstile,
}

impl Tidy {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(|e| explain(path, &e))?;
        patiently(|| prepare(&mut db, durability)).map_err(|e| explain(path, &e))?;
        Ok(Self { db, turn: Turnstile::open(path)? })
    }

    /// As far as readers allow, while writers go on. But a log to which somebody always adds never becomes
    /// empty, and then never shorter: once it is long, writers wait while the little rest is moved.
    pub(super) fn run(&self) -> Result<()> {
        let fail = |e: rusqlite::Error| Error::new(ErrorKind::Unavailable, "the log was not moved").because(e);
        let frames: i64 = self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).map_err(fail)?;
        if frames > LOG_LONG {
            let _turn = self.turn.enter()?;
            self.db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).map_err(fail)?;
        }
        Ok(())
    }
}

/// Creates an empty file for the user alone, before SQLite would create one for everybody.
///
/// Here and everywhere else: a database that may be open in this process is never opened beside SQLite. POSIX takes all of a
/// process's locks on a file away when it closes any descriptor of it; then another program that closes the database believes
/// that it was the last one, and removes the log.
fn create(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Error::new(ErrorKind::Invalid, "the database is a folder")
            .with("path", path.display())
            .hint("name a file in it, as in sqlite:FOLDER/stanchion.db"));
    }
    // A link to where no file is yet: the file is made there.
    let end = match std::fs::read_link(path) {
        Ok(to) if !path.exists() => path.parent().map_or_else(|| to.clone(), |folder| folder.join(&to)),
        _ => path.to_owned(),
    };
    match create_unopened(&end) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Invalid, "the folder of the database does not exist")
                .with("path", path.display())
                .hint("create the folder first, or correct the path")
                .because(e))
        }
        Err(e) => Err(trouble("cannot open the database", path, e)),
    }
}

/// Those who create a file with a descriptor.
static ONE_BY_ONE: Mutex<()> = Mutex::new(());

/// Creates it without a descriptor where that is possible: another thread may open and lock the file as soon as it is there.
fn create_unopened(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use rustix::io::Errno;
        match mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
            // Not in this sandbox.
            Err(Errno::PERM | Errno::NOSYS) => {}
            made => return Ok(made?),
        }
    }
    // While it is open, no other store of this process gets to the file.
    let _one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    private(OpenOptions::new().write(true).create_new(true)).open(path).map(drop)
}

/// Why the file does not open: SQLite does not tell a file that we may not read from one that is not there.
fn unopened(path: &Path, e: &rusqlite::Error) -> Error {
    #[cfg(unix)]
    if let Err(denied) = rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK) {
        return trouble("cannot open the database", path, denied.into());
    }
    explain(path, e)
}

fn prepare(db: &mut Connection, durability: Durability) -> rusqlite::Result<()> {
    // Whoever may wait does so in `patiently`; nobody else is to be held up inside SQLite.
    db.busy_timeout(Duration::ZERO)?;
    // Read first: a file that is no database must be refused before anything is written to it.
    db.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    let journal: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let mut new = false;
    if journal != "wal" {
        new = db.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))? == 0;
        if new {
            // Of an empty file there is nothing to roll back: a journal on disk would only be made, forced there and removed.
            db.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
        }
        // Nothing in it that a power cut could take; whoever promises more forces it to disk, file and folder, when it opens it.
        let level = if new && durability == Durability::Process { "OFF" } else { "FULL" };
        db.pragma_update(None, "synchronous", level)?;
        // SQLite answers "busy" here at once, whatever the busy timeout; the caller repeats.
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    }
    // What is made in a new file comes before that.
    if !new {
        force(db, durability)?;
    }
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // The `Tidy` thread does it, with a connection of its own, so that no write has to wait for the disk.
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// From now on every write is forced to disk, or every so many, together.
fn force(db: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let level = if durability == Durability::Power { "FULL" } else { "NORMAL" };
    db.pragma_update(None, "synchronous", level)
}

/// Forces what others have made without that: a log outlives a power cut only beside its database.
///
/// SQLite does it, see [`create`]: when the whole log is in the database, the database is on disk. Where there is nothing to
/// move, whoever moved the last of it has forced it.
fn sync(db: &Connection, turn: &Turnstile, path: &Path) -> Result<()> {
    let start = Instant::now();
    // Who still reads what is older is in the way; writers are let through in between.
    while checkpoint_is_busy(db, turn, path)? {
        if start.elapsed() > BUSY {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "another program reads an old state of the database for too long",
            )
            .with("path", path.display())
            .hint("end its transaction: until then nothing can be forced to disk; `fuser PATH` names it"));
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|e| trouble("cannot force the folder of the database to disk", folder, e))?;
    }
    Ok(())
}

fn checkpoint_is_busy(db: &Connection, turn: &Turnstile, path: &Path) -> Result<bool> {
    let _turn = turn.enter()?;
    db.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get(0)).map_err(|e| explain(path, &e))
}

/// Creates or checks the schema, and finds the store's time.
pub(super) fn settle(db: &Connection, path: &Path) -> Result<StoreClock> {
    let fail = |e: rusqlite::Error| explain(path, &e);
    patiently(|| db.execute_batch("BEGIN IMMEDIATE")).map_err(fail)?;
    let settled = settle_within(db, path);
    let end = if settled.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = patiently(|| db.execute_batch(end)).map_err(fail);
    settled.and_then(|clock| ended.map(|()| clock))
}

/// [`settle`] inside a transaction.
pub(super) fn settle_within(db: &Connection, path: &Path) -> Result<StoreClock> {
    let fail = |e: rusqlite::Error| explain(path, &e);
    let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'stanchion_meta'";
    if db.query_row(known, [], |row| row.get::<_, i64>(0)).map_err(fail)? == 0 {
        db.execute_batch(SCHEMA).map_err(fail)?;
        let (clock, kept) = StoreClock::resume(None);
        if let Some(kept) = kept {
            db.execute(
                "INSERT INTO stanchion_meta (id, schema, version, boot, offset_ms, last_ms, last_wall_ms) VALUES (1, ?1, 0, ?2, ?3, ?4, ?5)",
                params![SCHEMA_NUMBER, kept.boot, kept.offset_ms, kept.last_ms, kept.last_wall_ms],
            )
            .map_err(fail)?;
        }
        return Ok(clock);
    }
    resume(db, path)
}

/// Checks the schema, and finds the store's time, inside a transaction that may write.
pub(super) fn resume(db: &Connection, path: &Path) -> Result<StoreClock> {
    let fail = |e: rusqlite::Error| explain(path, &e);
    let found = db
        .query_row(
            "SELECT schema, boot, offset_ms, last_ms, last_wall_ms FROM stanchion_meta WHERE id = 1",
            [],
            |row| {
                let kept =
                    Kept { boot: row.get(1)?, offset_ms: row.get(2)?, last_ms: row.get(3)?, last_wall_ms: row.get(4)? };
                Ok((row.get::<_, i64>(0)?, kept))
            },
        )
        .optional()
        .map_err(fail)?;
    let Some((schema, kept)) = found else {
        return Err(damaged(path).with("missing", "the row of stanchion_meta"));
    };
    if schema != SCHEMA_NUMBER {
        return Err(Error::new(ErrorKind::Unsupported, "the database was written by another version of Stanchion")
            .with("path", path.display())
            .with("schema", schema)
            .with("known", SCHEMA_NUMBER)
            .hint("use the newer version, or another file"));
    }
    let (clock, renewed) = StoreClock::resume(Some(&kept));
    if let Some(kept) = renewed {
        let sql = "UPDATE stanchion_meta SET boot = ?1, offset_ms = ?2, last_ms = ?3, last_wall_ms = ?4";
        // stanchion-audit: ignore RC102 -- in one transaction: SQLite refuses the write if others have written since the read
        db.execute(sql, params![kept.boot, kept.offset_ms, kept.last_ms, kept.last_wall_ms]).map_err(fail)?;
    }
    Ok(clock)
}

/// Repeats while other programs keep the database busy.
pub(super) fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let start = Instant::now();
    loop {
        match work() {
            Err(e) if is_busy(&e) && start.elapsed() < BUSY => std::thread::park_timeout(Duration::from_millis(2)),
            other => return other,
        }
    }
}

pub(super) fn is_busy(e: &rusqlite::Error) -> bool {
    matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What a failed statement means. Nothing was written: the transaction is rolled back.
pub(super) fn explain(path: &Path, e: &rusqlite::Error) -> Error {
    let (kind, what, hint) = match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => return damaged(path).with("reason", e),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Unavailable,
            "another program keeps the database locked",
            "close the other program; `fuser PATH` names it",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => (
            ErrorKind::Denied,
            "the database cannot be written",
            "give this user the right to write the file and its folder",
        ),
        Some(ErrorCode::DiskFull) => (ErrorKind::Unavailable, "the disk is full", "free some space on this disk"),
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => (
            ErrorKind::Unavailable,
            "the database cannot be read",
            "check the disk and the folder; the system's log may say more",
        ),
        Some(ErrorCode::TooBig) => (ErrorKind::Invalid, "the value is too large for SQLite", "store less"),
        _ => (ErrorKind::Unexpected, "SQLite gave an answer that nobody expected", "please report this"),
    };
    Error::new(kind, what).with("path", path.display()).with("reason", e).hint(hint)
}

/// What a failed commit means.
pub(super) fn explain_commit(path: &Path, e: &rusqlite::Error) -> Error {
    match e.sqlite_error_code() {
        // The log may or may not have reached the file.
        Some(ErrorCode::SystemIoFailure) => {
            Error::new(ErrorKind::OutcomeUnknown, "the disk failed while a write was made permanent")
                .with("path", path.display())
                .with("reason", e)
                .hint("read the record before you try again")
        }
        _ => explain(path, e),
    }
}

pub(super) fn damaged(path: &Path) -> Error {
    Error::new(ErrorKind::Damaged, "the database file is damaged").with("path", path.display()).hint(
        "nothing was changed. Copy the file and its -wal to a safe place, then `sqlite3 COPY .recover | sqlite3 NEW`, \
         or move it away and start anew",
    )
}
