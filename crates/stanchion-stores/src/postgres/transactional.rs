//! The effect class `transactional`: a claim, the caller's own writes and DONE in one transaction.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::claim::{Claim, Outcome, Response};
use stanchion_core::{Call, ClaimId, Cond, Error, ErrorKind, Key, Policy, Record, Result, Version};
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::error::{Effect, running};
use super::pool::{column, unexpected};
use super::records::{Put, READ, check_size, record};
use super::schema::Schema;
use crate::in_transaction::{Decided, InTransaction, Wanted, done, not_ours};

/// How often the record may change between a refused write and the look at it, or between the look and the next write.
const ROUNDS: u32 = 10;

/// Claims the key of `call` inside `transaction`, in the schema `stanchion`.
///
/// What the caller writes in the same transaction happens **exactly once** for this key: claim, writes and answer commit
/// together, and a rollback, a crash or a lost connection leaves no trace of any of them. Nobody else sees the claim before the
/// commit. Another transaction that claims the same key waits for the end of this one, and then gets its answer or runs;
/// set `lock_timeout` to bound that wait, and keep transactions short. If the answer to the commit is lost, call again
/// with the same key: it is answered from the record, or runs.
///
/// The record is an ordinary claim: `stanchion claims` shows it, and a call of the same key outside a transaction gets
/// its answer. The transaction is committed to disk whatever `synchronous_commit` says. Effects outside this database
/// are not part of it. The schema must exist: open the store once, or run [`install_sql`](super::install_sql).
///
/// # If it fails
/// Nothing ran under this key now; roll back. `KeyReused` for another payload, `InProgress` if a call outside a
/// transaction runs with this key (or `lock_timeout` was too short), `OutcomeUnknown` with the receipt if such a call may
/// have run, `KeyExpired` for a key that is older than what is remembered, `Limited` if its attempts are used up, `Damaged` for a
/// record that is no claim. `Conflict` (a serialization failure) and `Deadlock`: the whole transaction may be tried again.
///
/// ```no_run
/// use stanchion_core::claim::{Outcome, Response};
/// use stanchion_core::{Call, CallKey, Fingerprint, Policy, Scope};
/// use stanchion_stores::InTransaction;
/// use stanchion_stores::postgres::claim_in_transaction;
/// # async fn example(mut client: tokio_postgres::Client) -> Result<Response, Box<dyn std::error::Error>> {
/// let call = Call::new(Scope::new("alice", "billing", "send_invoice")?, Policy::default())
///     .key(CallKey::new("order-77")?, Fingerprint::of_json(r#"{"order": 77}"#)?);
/// let transaction = client.transaction().await?;
/// let claim = match claim_in_transaction(&transaction, &call).await? {
///     InTransaction::Run(claim) => claim,
///     InTransaction::Answer(_, response) => return Ok(response),
/// };
/// transaction.execute("INSERT INTO invoices (number) VALUES (77)", &[]).await?;
/// let response = Response::new("", "invoice 77");
/// claim.done(&transaction, Outcome::Ok, response.clone()).await?;
/// transaction.commit().await?;
/// Ok(response)
/// # }
/// ```
pub async fn claim_in_transaction(
    transaction: &Transaction<'_>,
    call: &Call,
) -> Result<InTransaction<TransactionClaim>> {
    claim_in_transaction_of("stanchion", transaction, call).await
}

/// [`claim_in_transaction`] in another schema.
///
/// # If it fails
/// As [`claim_in_transaction`]; `Invalid` for a name that is not a schema's.
///
/// ```no_run
/// # async fn example(transaction: tokio_postgres::Transaction<'_>, call: stanchion_core::Call) -> stanchion_core::Result<()> {
/// use stanchion_stores::{InTransaction, postgres::claim_in_transaction_of};
/// if let InTransaction::Answer(_, response) = claim_in_transaction_of("claims", &transaction, &call).await? {
///     println!("{:?}", response.bytes());
/// }
/// # Ok(()) }
/// ```
pub async fn claim_in_transaction_of(
    schema: &str,
    transaction: &Transaction<'_>,
    call: &Call,
) -> Result<InTransaction<TransactionClaim>> {
    let table = Table(Schema::new(schema)?);
    Ok(match table.enter(transaction, call, |claim| Ok((claim.encode(), None))).await? {
        InTransaction::Answer(outcome, response) => InTransaction::Answer(outcome, response),
        InTransaction::Run(Entered { claim, version, number }) => {
            InTransaction::Run(TransactionClaim { table, claim, version, number, policy: Arc::clone(&call.policy) })
        }
    })
}

/// Claims and finishes a call without an answer in one write, for those whose commit says all.
pub(crate) async fn finish_in_transaction(
    schema: &Schema,
    transaction: &Transaction<'_>,
    call: &Call,
) -> Result<InTransaction<()>> {
    let nothing = || Response::new("", Bytes::new());
    let write =
        |claim: &Claim| done(claim, &call.policy, Outcome::Ok, nothing()).map(|(value, ttl)| (value, Some(ttl)));
    Ok(match Table(schema.clone()).enter(transaction, call, write).await? {
        InTransaction::Answer(outcome, response) => InTransaction::Answer(outcome, response),
        InTransaction::Run(_) => InTransaction::Run(()),
    })
}

/// A key that is ours until the end of the transaction.
///
/// Committed without [`done`](Self::done), it becomes a call whose outcome is unknown: its key is never run again.
///
/// ```no_run
/// # async fn example(claim: stanchion_stores::postgres::TransactionClaim) {
/// println!("receipt {}", claim.id());
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a claim that is committed without `done` is a call with an unknown outcome"]
pub struct TransactionClaim {
    table: Table,
    claim: Claim,
    version: Version,
    /// Of the transaction.
    number: i64,
    policy: Arc<Policy>,
}

impl TransactionClaim {
    /// Its name: the receipt.
    ///
    /// ```no_run
    /// # async fn example(claim: stanchion_stores::postgres::TransactionClaim) {
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
    /// # async fn example(claim: stanchion_stores::postgres::TransactionClaim, transaction: tokio_postgres::Transaction<'_>) -> stanchion_core::Result<()> {
    /// claim.done(&transaction, Outcome::Ok, Response::new("", "invoice 77")).await?;
    /// # Ok(()) }
    /// ```
    pub async fn done(self, transaction: &Transaction<'_>, outcome: Outcome, response: Response) -> Result<()> {
        let (value, ttl) = done(&self.claim, &self.policy, outcome, response)?;
        let key = self.claim.id().record_key();
        check_size(&key, &value)?;
        // In another transaction the write would wait for ours, which waits for it: so the number is looked at first.
        let sql = self.table.0.sql(
            "SELECT CASE WHEN txid_current() = $9 THEN stanchion.record_put($1, $2, $3, $4, $5, $6, $7, $8)::text END AS answer",
        );
        let put = Put::new(self.table.0.name(), &key, &value, Cond::Version(self.version), Some(ttl));
        let params: Vec<_> = put.params().into_iter().chain([(&self.number as _, Type::INT8)]).collect();
        let row = transaction.query_typed_one(&sql, &params).await.map_err(failed)?;
        match column::<Option<&str>>(&row, "answer")? {
            // The first field of the row is the status.
            Some(answer) if answer.starts_with("(0,") => Ok(()),
            _ => Err(not_ours(&self.claim)),
        }
    }
}

/// The records of a schema, inside a transaction.
#[derive(Debug)]
struct Table(Schema);

/// A claim that was written.
struct Entered {
    claim: Claim,
    version: Version,
    /// Of the transaction.
    number: i64,
}

impl Table {
    /// Claims the key of `call`; `write` says what is to stand there then, and for how long.
    async fn enter(
        &self,
        transaction: &Transaction<'_>,
        call: &Call,
        write: impl Fn(&Claim) -> Result<(Bytes, Option<Duration>)>,
    ) -> Result<InTransaction<Entered>> {
        let wanted = Wanted::new(call)?;
        // A key that is not old is tried at once: the usual case is one trip.
        let mut found = if wanted.old { self.get(transaction, &wanted.key).await? } else { None };
        for _ in 0..ROUNDS {
            let claim = match wanted.decide(found.as_ref())? {
                Decided::Run(claim) => *claim,
                Decided::Answer(outcome, response) => return Ok(InTransaction::Answer(outcome, response)),
            };
            let cond = found.map_or(Cond::Absent, |record| Cond::Version(record.version));
            let (value, ttl) = write(&claim)?;
            if let Some((version, number)) = self.put(transaction, &wanted.key, &value, cond, ttl).await? {
                return Ok(InTransaction::Run(Entered { claim, version, number }));
            }
            found = self.get(transaction, &wanted.key).await?;
        }
        Err(unexpected("a claim that comes and goes").with("receipt", wanted.id))
    }

    /// The record under `key`. Not locked: what it allows is written on the condition that it has not changed, and that
    /// write waits for whoever changes it.
    async fn get(&self, transaction: &Transaction<'_>, key: &Key) -> Result<Option<Record>> {
        let sql = self.0.sql(&format!("{READ} AND key = $1"));
        let row = transaction.query_typed(&sql, &[(&key.as_str(), Type::TEXT)]).await.map_err(failed)?.pop();
        row.as_ref().map(record).transpose()
    }

    /// The version and the transaction's number; `None` if the condition does not hold.
    async fn put(
        &self,
        transaction: &Transaction<'_>,
        key: &Key,
        value: &[u8],
        cond: Cond,
        ttl: Option<Duration>,
    ) -> Result<Option<(Version, i64)>> {
        let sql = self.0.sql(
            "SELECT p.status, p.version, txid_current() AS number FROM stanchion.record_put($1, $2, $3, $4, $5, $6, $7, $8) p",
        );
        let put = Put::new(self.0.name(), key, value, cond, ttl);
        let row = transaction.query_typed_one(&sql, &put.params()).await.map_err(failed)?;
        if column::<i32>(&row, "status")? != 0 {
            return Ok(None);
        }
        Ok(Some((Version::new(column::<i64>(&row, "version")?.cast_unsigned()), column(&row, "number")?)))
    }
}

/// Whatever went wrong: the transaction cannot commit any more, so nothing of it ran.
fn failed(e: tokio_postgres::Error) -> Error {
    let aborted = "the transaction is aborted: roll back, then try again with the same key";
    match e.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => {
            Error::new(ErrorKind::InProgress, "another transaction has this key, and lock_timeout is over")
                .hint(aborted)
        }
        Some(code) if *code == SqlState::QUERY_CANCELED => Error::new(
            ErrorKind::Unavailable,
            "the statement was cancelled, perhaps while another transaction has this key",
        )
        .hint(aborted),
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => {
            Error::new(ErrorKind::Deadlock, "two transactions claimed keys in a different order").hint(aborted)
        }
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => {
            Error::new(ErrorKind::Conflict, "another transaction has changed this key since this one began")
                .hint(aborted)
        }
        Some(code)
            if [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME]
                .contains(code) =>
        {
            Error::new(ErrorKind::Invalid, "Stanchion's tables are not in this database")
                .with("said", super::error::said(&e))
                .hint("open the store once, or run stanchion_stores::postgres::install_sql")
        }
        _ => running(e, "the transaction's server", Effect::Read),
    }
}
