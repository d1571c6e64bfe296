//! `mode=xact`: a lock inside the caller's own transaction.

use stanchion_core::{Error, ErrorKind, FencingToken, Key, Mode, Owner, Result, Wait, contended};
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::error::{Effect, running};
use super::hash;
use super::lease::millis;
use super::pool::column;
use super::schema::Schema;

/// Takes the lock `key` for the rest of `transaction`, in the schema `stanchion`.
///
/// The lock ends with the transaction, whether it commits, rolls back or its connection breaks. Effects **inside this
/// transaction** need no fence: they are undone with it. The token is for effects elsewhere.
/// It excludes other transactions and the holders of `mode=session`, not those of `mode=lease`.
/// The schema must exist: open the store once, or run [`install_sql`](super::install_sql).
///
/// # If it fails
/// `Contended` if it is taken. After [`Wait::No`] the transaction goes on; after a wait that was too short PostgreSQL has
/// **aborted the transaction**, and only a rollback is possible. `Deadlock` and all errors of the connection
/// abort it as well. `Unsupported` for slots.
///
/// ```no_run
/// use std::time::Duration;
/// use stanchion_core::{Key, Mode, Wait};
/// # async fn example(mut client: tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let transaction = client.transaction().await?;
/// let wait = Wait::For(Duration::from_secs(2));
/// let token = stanchion_stores::postgres::lock_in_transaction(&transaction, &Key::new("budget:atlas")?, Mode::Exclusive, wait).await?;
/// transaction.execute("UPDATE budgets SET left = left - 1", &[]).await?;
/// transaction.commit().await?;
/// # Ok(()) }
/// ```
pub async fn lock_in_transaction(
    transaction: &Transaction<'_>,
    key: &Key,
    mode: Mode,
    wait: Wait,
) -> Result<FencingToken> {
    lock_in_transaction_of("stanchion", transaction, key, mode, wait).await
}

/// [`lock_in_transaction`] in another schema.
///
/// # If it fails
/// As [`lock_in_transaction`]; `Invalid` for a name that is not a schema's.
///
/// ```no_run
/// use stanchion_core::{Key, Mode, Wait};
/// # async fn example(transaction: tokio_postgres::Transaction<'_>) -> stanchion_core::Result<()> {
/// let key = Key::new("budget:atlas")?;
/// stanchion_stores::postgres::lock_in_transaction_of("locks", &transaction, &key, Mode::Exclusive, Wait::No).await?;
/// # Ok(()) }
/// ```
pub async fn lock_in_transaction_of(
    schema: &str,
    transaction: &Transaction<'_>,
    key: &Key,
    mode: Mode,
    wait: Wait,
) -> Result<FencingToken> {
    let schema = Schema::new(schema)?;
    let number = hash::number(schema.name(), key.as_str()).cast_signed();
    let suffix = match mode {
        Mode::Exclusive => "",
        Mode::Shared => "_shared",
        Mode::Slots(_) => {
            return Err(
                Error::new(ErrorKind::Unsupported, "PostgreSQL's advisory locks have no slots").hint("use mode=lease")
            );
        }
    };
    let failed = |e: tokio_postgres::Error| match e.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => {
            contended(key, None).hint("the transaction is aborted: roll back, then try again or wait longer")
        }
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => {
            Error::new(ErrorKind::Deadlock, "waiting for this lock would be a dead-lock; the transaction is aborted")
                .with("key", key)
        }
        // Whatever else went wrong: the transaction cannot commit, so nothing of it ran.
        _ => running(e, "the transaction's server", Effect::Read),
    };
    let lock = &[(&number as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8)];
    if wait == Wait::No {
        let sql = format!("SELECT pg_try_advisory_xact_lock{suffix}($1) AS done");
        let row = transaction.query_typed_one(&sql, lock).await.map_err(failed)?;
        if !column::<bool>(&row, "done")? {
            return Err(contended(key, None));
        }
    } else {
        let limit = match wait {
            Wait::For(time) => format!("{}ms", millis(time).clamp(1, i64::from(i32::MAX))),
            _ => "0".to_owned(),
        };
        // The caller's own limit comes back afterwards.
        let row = transaction
            .query_typed_one(
                "SELECT o AS old, set_config('lock_timeout', $1, true) FROM current_setting('lock_timeout') o",
                &[(&limit, Type::TEXT)],
            )
            .await
            .map_err(failed)?;
        let old: String = column(&row, "old")?;
        transaction
            .query_typed(&format!("SELECT pg_advisory_xact_lock{suffix}($1)::text"), lock)
            .await
            .map_err(failed)?;
        transaction
            .query_typed("SELECT set_config('lock_timeout', $1, true)", &[(&old, Type::TEXT)])
            .await
            .map_err(failed)?;
    }
    // Statements of their own, after the lock: numbers follow the order of the holders.
    let draw = schema
        .sql("SELECT CASE WHEN EXISTS (SELECT FROM stanchion.unbroken) THEN nextval('stanchion.fence') END AS fence");
    for _ in 0..2 {
        let row = transaction.query_typed_one(&draw, &[]).await.map_err(failed)?;
        if let Some(fence) = column::<Option<i64>>(&row, "fence")? {
            return Ok(FencingToken::new(fence.cast_unsigned(), Owner::random()));
        }
        // The first after a crash of the server; others who draw a number wait for the end of this transaction.
        transaction.query_typed(&schema.sql("SELECT stanchion.lift(0)"), &[]).await.map_err(failed)?;
    }
    Err(super::pool::unexpected("the counter cannot be lifted"))
}
