//! By lock and fence. The lock keeps callers in line; the fence keeps a caller that lost its lock, and does not know
//! it yet, from writing: the rows themselves refuse it, in the transaction that would move the money.

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::pause::pause_point;
use stanchion_core::{Acquire, Error, ErrorKind, FencingToken, Key, Leases, Ran, Result};
use tokio_postgres::{Client, Transaction};

use super::Call;
use super::money::{Transfer, unknown};
use crate::app::App;
use crate::database::{at_commit, before_commit};

pub(super) const NAME: &str = "transfer_budget";

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Transfer>(NAME, "Moves money between two budgets, under a lock on both and with its fence.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let transfer = Transfer::parse(&call)?;
    let request = |budget: &str| Acquire::new(Key::new(format!("budget:{budget}"))?).ttl(app.lease());
    let leases =
        app.locks.acquire_all(&[request(&transfer.from)?, request(&transfer.to)?]).await.map_err(not_locked)?;
    let mut connection = app.database.take().await?;
    let moved = move_money(app, &mut connection.client, &leases, &transfer).await;
    app.database.put(connection);
    // The transaction has decided; a lock that is given back late changes nothing about the money.
    leases.release().await.ok();
    let (from, to) = moved?;
    Ok(json!({ "from": from, "to": to, "moved": transfer.amount }))
}

/// Whatever became of a lock: without it no money was touched, and the caller asks about the money.
fn not_locked(e: Error) -> Error {
    if e.ran() == Ran::No {
        return e;
    }
    Error::new(ErrorKind::Unavailable, "the locks could not be held; nothing was moved").with("said", &e).because(e)
}

async fn move_money(app: &App, client: &mut Client, leases: &Leases, transfer: &Transfer) -> Result<(i64, i64)> {
    let (from_token, to_token) = (token(leases, &transfer.from)?, token(leases, &transfer.to)?);
    pause_point("budget.locked").await;
    let work = client.transaction().await.map_err(before_commit)?;
    // One order for all: two transactions never wait for each other's rows.
    let (from, to) = if transfer.from < transfer.to {
        let from = touch(&work, &transfer.from, &from_token).await?;
        (from, touch(&work, &transfer.to, &to_token).await?)
    } else {
        let to = touch(&work, &transfer.to, &to_token).await?;
        (touch(&work, &transfer.from, &from_token).await?, to)
    };
    app.between_read_and_write().await;
    let (from, to) = transfer.apply(from, to)?;
    write(&work, &transfer.from, from, &from_token).await?;
    pause_point("budget.between-writes").await;
    write(&work, &transfer.to, to, &to_token).await?;
    work.commit().await.map_err(at_commit)?;
    Ok((from, to))
}

/// The token of this budget's lease, if it is still ours by our own clock.
fn token(leases: &Leases, budget: &str) -> Result<FencingToken> {
    let late = || {
        Error::new(ErrorKind::FenceRejected, "the lock was lost before the transfer; nothing was moved")
            .with("budget", budget)
            .hint("call the tool again")
    };
    let lease = leases.iter().find(|lease| lease.grant().key.as_str().strip_prefix("budget:") == Some(budget));
    Ok(lease.and_then(|lease| lease.fence().ok()).ok_or_else(late)?.token())
}

/// The read: it raises the row's fence in the same step, so that no older holder can write after it.
async fn touch(work: &Transaction<'_>, budget: &str, token: &FencingToken) -> Result<i64> {
    let sql = "UPDATE budgets SET fence = $2, fence_lease = $3 WHERE id = $1 RETURNING balance";
    let row = work.query_opt(sql, &[&budget, &number(token), &token.lease_id()]).await.map_err(before_commit)?;
    row.map(|row| row.get(0)).ok_or_else(|| unknown(budget))
}

async fn write(work: &Transaction<'_>, budget: &str, balance: i64, token: &FencingToken) -> Result<()> {
    let hold = "SELECT stanchion_guard.hold($1, $2)";
    work.execute(hold, &[&number(token), &token.lease_id()]).await.map_err(before_commit)?;
    let sql = "UPDATE budgets SET balance = $2 WHERE id = $1";
    work.execute(sql, &[&budget, &balance]).await.map_err(before_commit)?;
    Ok(())
}

/// PostgreSQL draws fences from a sequence, so they fit.
fn number(token: &FencingToken) -> i64 {
    i64::try_from(token.number()).unwrap_or(i64::MAX)
}
