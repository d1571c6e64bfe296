//! CONTROL. The article's version column: right for one row, and each row by itself.
//!
//! What breaks it: a transfer has two rows. There is no transaction around them, so a crash, or a second row whose
//! five tries are used up, leaves the money taken and not given, behind an answer that says "failed".

use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::pause::pause_point;
use stanchion_core::{Error, ErrorKind, Result};

use super::Call;
use super::money::{Transfer, insufficient, unknown};
use crate::app::App;

pub(super) const NAME: &str = "article_transfer_budget_versioned";

const MAX_RETRIES: u32 = 5;

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Transfer>(NAME, "CONTROL, loses money: transfer_budget_versioned as the article has it.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let transfer = Transfer::parse(&call)?;
    change(app, &transfer.from, -transfer.amount).await?;
    pause_point("budget.between-writes").await;
    change(app, &transfer.to, transfer.amount).await?;
    Ok(json!({ "moved": transfer.amount }))
}

async fn change(app: &App, budget: &str, by: i64) -> Result<()> {
    for attempt in 0..MAX_RETRIES {
        let select = "SELECT balance, version FROM article_projects WHERE id = $1";
        let rows = app.database.query(select, &[&budget]).await?;
        let row = rows.first().ok_or_else(|| unknown(budget))?;
        let (balance, version): (i64, i64) = (row.get(0), row.get(1));
        if balance < -by {
            return Err(insufficient(budget, balance, -by));
        }
        app.between_read_and_write().await;
        let update = "UPDATE article_projects SET balance = balance + $1, version = version + 1
            WHERE id = $2 AND version = $3 RETURNING id";
        if app.database.query(update, &[&by, &budget, &version]).await?.len() == 1 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis((50 << attempt).min(1000))).await;
    }
    Err(Error::new(ErrorKind::Conflict, "transferBudget: conflict persisted after 5 retries"))
}
