//! CONTROL. The article's "Redis lock with fencing token" and its `SELECT … FOR UPDATE` through a pool.
//!
//! A table stands in for Redis, with the same rules: `SET NX PX`, compare-and-delete. What breaks it: the lock is
//! never renewed; its random token orders nothing, and nothing compares it; a row lock taken outside a transaction ends
//! with its statement, so the check and the write are not one step.

use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::pause::pause_point;
use stanchion_core::{Error, ErrorKind, Owner, Result};

use super::Call;
use super::money::{Transfer, insufficient, unknown};
use crate::app::App;

pub(super) const NAME: &str = "article_transfer_budget";

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Transfer>(NAME, "CONTROL, loses money: transfer_budget as the article has it.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let transfer = Transfer::parse(&call)?;
    let resource = format!("budget:{}", transfer.from);
    let Some(token) = lock(app, &resource).await? else {
        return Err(Error::new(ErrorKind::Contended, "Resource is locked by another operation; retry after 1s"));
    };
    let moved = move_money(app, &transfer).await;
    let unlock = "DELETE FROM article_locks WHERE resource = $1 AND token = $2";
    app.database.query(unlock, &[&resource, &token]).await?;
    moved?;
    Ok(json!({ "moved": transfer.amount }))
}

async fn lock(app: &App, resource: &str) -> Result<Option<String>> {
    let token = Owner::random().to_hex();
    let life = Duration::from_millis(app.settings.article_lock_ms).as_secs_f64();
    let sql = "INSERT INTO article_locks VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
        ON CONFLICT (resource) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
        WHERE article_locks.expires_at <= clock_timestamp() RETURNING token";
    let rows = app.database.query(sql, &[&resource, &token, &life]).await?;
    Ok((!rows.is_empty()).then_some(token))
}

async fn move_money(app: &App, transfer: &Transfer) -> Result<()> {
    let select = "SELECT balance FROM article_projects WHERE id = $1 FOR UPDATE";
    // stanchion-audit: ignore RC211 -- the article's bug, shown on purpose
    let rows = app.database.query(select, &[&transfer.from]).await?;
    let balance: i64 = rows.first().ok_or_else(|| unknown(&transfer.from))?.get(0);
    app.between_read_and_write().await;
    if balance < transfer.amount {
        return Err(insufficient(&transfer.from, balance, transfer.amount));
    }
    let debit = "UPDATE article_projects SET balance = balance - $1 WHERE id = $2";
    app.database.query(debit, &[&transfer.amount, &transfer.from]).await?;
    pause_point("budget.between-writes").await;
    let credit = "UPDATE article_projects SET balance = balance + $1 WHERE id = $2";
    app.database.query(credit, &[&transfer.amount, &transfer.to]).await?;
    Ok(())
}
