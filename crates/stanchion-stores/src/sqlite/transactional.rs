//! The effect class `transactional`: a claim, the caller's own writes and DONE in one transaction.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, Transaction, ffi};
use stanchion_core::claim::{Claim, Outcome, Response};
use stanchion_core::{Call, ClaimId, Cond, Error, ErrorKind, Policy, Result, Version};

use super::database::{damaged, explain, resume, settle, settle_within};
use super::rows::{Fail, Rows};
use crate::in_transaction::{Decided, InTransaction, Wanted, done, not_ours};

/// How often the record may expire between the look at it and the write.
const ROUNDS: u32 = 5;

/// Makes Stanchion's tables in the caller's own database, unless they are there. A store of this file is then
/// `sqlite:PATH`.
///
/// Nothing else in the database is changed. Opened as a store, it is switched to the write-ahead log.
///
/// # If it fails
/// Nothing was changed: `Denied` if the database is read-only, `Unsupported` if another version of Stanchion made the
/// tables, `Unavailable` if another program keeps the database locked.
///
/// ```
/// # let connection = rusqlite::Connection::open_in_memory()?;
/// stanchion_stores::sqlite::install(&connection)?;
/// stanchion_stores::sqlite::install(&connection)?; // changes nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn install(connection: &Connection) -> Result<()> {
    let path = path_of(connection);
    if connection.is_autocommit() { settle(connection, &path) } else { settle_within(connection, &path) }.map(drop)
}

/// Claims the key of `call` inside `transaction`, in a database with Stanchion's tables ([`install`]).
///
/// What the caller writes in the same transaction happens **exactly once** for this key: claim, writes and answer commit
/// together, and a rollback or a crash leaves no trace of any of them. From here on the transaction has the only right to
/// write: another one that claims any key waits for its end (for SQLite's busy timeout), and then gets the answer or runs. So keep
/// transactions short, and claim before anything is read, or begin with `BEGIN IMMEDIATE`: a transaction that has read cannot
/// write any more if another one has written since.
///
/// The record is an ordinary claim: `stanchion claims` shows it, and a call of the same key outside a transaction gets
/// its answer. What a commit survives is up to the connection's `synchronous`. Effects outside this database are not
/// part of it.
///
/// # If it fails
/// Nothing ran under this key now; roll back. `KeyReused` for another payload, `InProgress` if a call outside a
/// transaction runs with this key, `OutcomeUnknown` with the receipt if such a call may have run, `KeyExpired` for a key
/// that is older than what is remembered, `Limited` if its attempts are used up, `Damaged` for a record that is no claim.
/// `Conflict` if another transaction has written since this one first read, and `Unavailable` if the busy timeout is over: the
/// whole transaction may be tried again. `Invalid` without [`install`].
///
/// ```
/// use stanchion_core::claim::{Outcome, Response};
/// use stanchion_core::{Call, CallKey, Fingerprint, Policy, Scope};
/// use stanchion_stores::InTransaction;
/// use stanchion_stores::sqlite::{claim_in_transaction, install};
/// # let mut connection = rusqlite::Connection::open_in_memory()?;
/// # connection.execute_batch("CREATE TABLE invoices (number INTEGER)")?;
/// install(&connection)?;
/// let call = Call::new(Scope::new("alice", "billing", "send_invoice")?, Policy::default())
///     .key(CallKey::new("order-77")?, Fingerprint::of_json(r#"{"order": 77}"#)?);
/// for _ in 0..3 {
///     let transaction = connection.transaction()?;
///     if let InTransaction::Run(claim) = claim_in_transaction(&transaction, &call)? {
///         transaction.execute("INSERT INTO invoices (number) VALUES (77)", [])?;
///         claim.done(&transaction, Outcome::Ok, Response::new("", "invoice 77"))?;
///         transaction.commit()?;
///     }
/// }
/// let invoices: i64 = connection.query_row("SELECT count(*) FROM invoices", [], |row| row.get(0))?;
/// assert_eq!(invoices, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn claim_in_transaction(transaction: &Transaction<'_>, call: &Call) -> Result<InTransaction<TransactionClaim>> {
    Ok(match enter(transaction, call, |claim| Ok((claim.encode(), None)))? {
        InTransaction::Answer(outcome, response) => InTransaction::Answer(outcome, response),
        InTransaction::Run((claim, version)) => {
            InTransaction::Run(TransactionClaim { claim, version, policy: Arc::clone(&call.policy) })
        }
    })
}

/// Claims and finishes a call without an answer in one write, for those whose commit says all.
pub(crate) fn finish_in_transaction(transaction: &Transaction<'_>, call: &Call) -> Result<InTransaction<()>> {
    let write = |claim: &Claim| {
        let finished = done(claim, &call.policy, Outcome::Ok, Response::new("", Bytes::new()));
        finished.map(|(value, ttl)| (value, Some(ttl)))
    };
    Ok(match enter(transaction, call, write)? {
        InTransaction::Answer(outcome, response) => InTransaction::Answer(outcome, response),
        InTransaction::Run(_) => InTransaction::Run(()),
    })
}

/// A key that is ours until the end of the transaction.
///
/// Committed without [`done`](Self::done), it becomes a call whose outcome is unknown: its key is never run again.
///
/// ```
/// # use stanchion_core::{Call, CallKey, Fingerprint, Policy, Scope};
/// # use stanchion_stores::{InTransaction, sqlite::{claim_in_transaction, install}};
/// # let mut connection = rusqlite::Connection::open_in_memory()?;
/// # install(&connection)?;
/// # let call = Call::new(Scope::new("alice", "billing", "send")?, Policy::default())
/// #     .key(CallKey::new("order-77")?, Fingerprint::of_bytes(b""));
/// # let transaction = connection.transaction()?;
/// let InTransaction::Run(claim) = claim_in_transaction(&transaction, &call)? else { panic!("the key is new") };
/// assert_eq!(Some(claim.id()), call.claim_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a claim that is committed without `done` is a call with an unknown outcome"]
pub struct TransactionClaim {
    claim: Claim,
    version: Version,
    policy: Arc<Policy>,
}

impl TransactionClaim {
    /// Its name: the receipt.
    ///
    /// ```no_run
    /// # fn example(claim: stanchion_stores::sqlite::TransactionClaim) {
    /// println!("look at it later: stanchion claims show {}", claim.id());
    /// # }
    /// ```
    #[must_use]
    pub fn id(&self) -> ClaimId {
        self.claim.id()
    }

    /// Writes the answer; it counts when `transaction`, the one of the claim, is committed. A failure that is to be
    /// repeated to every later caller is an answer as well; one after which the next call may try is a rollback.
    ///
    /// # If it fails
    /// Nothing counts: roll back. `Conflict` in another transaction than the claim's.
    ///
    /// ```no_run
    /// use stanchion_core::claim::{Outcome, Response};
    /// # fn example(claim: stanchion_stores::sqlite::TransactionClaim, transaction: rusqlite::Transaction<'_>) -> stanchion_core::Result<()> {
    /// claim.done(&transaction, Outcome::Ok, Response::new("", "invoice 77"))?;
    /// # Ok(()) }
    /// ```
    pub fn done(self, transaction: &Transaction<'_>, outcome: Outcome, response: Response) -> Result<()> {
        let (value, ttl) = done(&self.claim, &self.policy, outcome, response)?;
        let path = path_of(transaction);
        let told = |fail| told(&path, fail);
        let mut clock = resume(transaction, &path)?;
        let mut rows = Rows { db: transaction, clock: &mut clock };
        let key = self.claim.id().record_key();
        // A version that was rolled back is given again, so it alone does not say whose record this is.
        let found = rows.get(&key).map_err(told)?.filter(|record| record.version == self.version);
        let found = found.map(|record| Claim::decode(&record.value)).transpose()?;
        if found.is_none_or(|claim| claim.attempt != self.claim.attempt) {
            return Err(not_ours(&self.claim));
        }
        rows.put(&key, &value, Cond::Version(self.version), Some(ttl)).map_err(told).map(drop)
    }
}

/// Claims the key of `call`; `write` says what is to stand there then, and for how long.
fn enter(
    transaction: &Transaction<'_>,
    call: &Call,
    write: impl Fn(&Claim) -> Result<(Bytes, Option<Duration>)>,
) -> Result<InTransaction<(Claim, Version)>> {
    let (wanted, path) = (Wanted::new(call)?, path_of(transaction));
    // A write first: what is read after it cannot be out of date when we write for good.
    let only_writer = transaction.prepare_cached("UPDATE stanchion_meta SET version = version WHERE id = 1");
    only_writer.and_then(|mut statement| statement.execute([])).map_err(|e| told(&path, Fail::Sql(e)))?;
    let mut clock = resume(transaction, &path)?;
    let mut rows = Rows { db: transaction, clock: &mut clock };
    for _ in 0..ROUNDS {
        let found = rows.get(&wanted.key).map_err(|fail| told(&path, fail))?;
        let claim = match wanted.decide(found.as_ref())? {
            Decided::Run(claim) => *claim,
            Decided::Answer(outcome, response) => return Ok(InTransaction::Answer(outcome, response)),
        };
        let cond = found.map_or(Cond::Absent, |record| Cond::Version(record.version));
        let (value, ttl) = write(&claim)?;
        match rows.put(&wanted.key, &value, cond, ttl) {
            Ok(version) => return Ok(InTransaction::Run((claim, version))),
            Err(Fail::Refused(e)) if e.kind() == ErrorKind::Conflict => {}
            Err(fail) => return Err(told(&path, fail)),
        }
    }
    Err(wanted.error(ErrorKind::Unexpected, "a claim that comes and goes"))
}

/// Only for messages.
fn path_of(connection: &Connection) -> PathBuf {
    connection.path().filter(|path| !path.is_empty()).unwrap_or("the caller's database").into()
}

/// Whatever went wrong: nothing of it counts unless the caller commits, which it must not.
fn told(path: &std::path::Path, fail: Fail) -> Error {
    match fail {
        Fail::Refused(e) if e.kind() == ErrorKind::Damaged => damaged(path).because(e),
        Fail::Refused(e) => e,
        Fail::Sql(e) if e.sqlite_error().is_some_and(|e| e.extended_code == ffi::SQLITE_BUSY_SNAPSHOT) => {
            Error::new(ErrorKind::Conflict, "another transaction has written since this one first read")
                .with("path", path.display())
                .hint("roll back and try again; claim before anything is read, or begin with BEGIN IMMEDIATE")
        }
        Fail::Sql(e) if e.to_string().contains("no such table: stanchion_") => {
            Error::new(ErrorKind::Invalid, "Stanchion's tables are not in this database")
                .with("path", path.display())
                .hint("call stanchion_stores::sqlite::install once")
        }
        Fail::Sql(e) => explain(path, &e),
    }
}
