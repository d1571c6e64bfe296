//! By version column: nobody waits, both rows are written in one transaction, and a writer that was overtaken reads again.

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::pause::pause_point;
use stanchion_core::sql::{Dialect, VersionColumn};
use stanchion_core::{ErrorKind, Result, RetryPolicy};
use tokio_postgres::{Client, Transaction};

use super::Call;
use super::money::{Transfer, unknown};
use crate::app::App;
use crate::database::{at_commit, before_commit};

pub(super) const NAME: &str = "transfer_budget_versioned";

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Transfer>(NAME, "Moves money between two budgets without a lock, by the version of both rows.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let transfer = Transfer::parse(&call)?;
    let table = VersionColumn::new("budgets_versioned", "id", "version")?;
    let mut tries = RetryPolicy::default().start();
    loop {
        let mut connection = app.database.take().await?;
        let moved = attempt(app, &mut connection.client, &table, &transfer).await;
        app.database.put(connection);
        match moved {
            // Rolled back for certain. A commit without an answer is another kind, and never tried again.
            Err(e) if e.kind() == ErrorKind::Conflict && tries.again().await => {}
            Err(e) => return Err(e),
            Ok((from, to)) => {
                return Ok(json!({ "from": from, "to": to, "moved": transfer.amount, "retries": tries.used() }));
            }
        }
    }
}

async fn attempt(app: &App, client: &mut Client, table: &VersionColumn, transfer: &Transfer) -> Result<(i64, i64)> {
    let work = client.transaction().await.map_err(before_commit)?;
    let from = read(&work, table, &transfer.from).await?;
    let to = read(&work, table, &transfer.to).await?;
    app.between_read_and_write().await;
    let (from_new, to_new) = transfer.apply(from.0, to.0)?;
    let mut writes = [(&transfer.from, from_new, from.1), (&transfer.to, to_new, to.1)];
    // One order for all: two transactions never wait for each other's rows.
    writes.sort_by_key(|(budget, ..)| *budget);
    let update = table.update_sql(Dialect::Postgres, &["balance"])?;
    for (budget, balance, version) in writes {
        let rows = work.execute(&update, &[&balance, budget, &version]).await.map_err(before_commit)?;
        table.check(rows)?;
        pause_point("budget.between-writes").await;
    }
    work.commit().await.map_err(at_commit)?;
    Ok((from_new, to_new))
}

async fn read(work: &Transaction<'_>, table: &VersionColumn, budget: &str) -> Result<(i64, i64)> {
    let select = table.select_sql(Dialect::Postgres, &["balance"])?;
    let row = work.query_opt(&select, &[&budget]).await.map_err(before_commit)?.ok_or_else(|| unknown(budget))?;
    Ok((row.get(0), row.get(1)))
}
