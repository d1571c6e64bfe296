//! Reads one balance.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use stanchion_core::Result;

use super::Call;
use super::money::{name, unknown};
use crate::app::App;

pub(super) const NAME: &str = "get_budget";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Which budget.
    budget: String,
    /// Whose table: each way of moving money has its own.
    #[serde(default)]
    table: Table,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Table {
    /// Of `transfer_budget`.
    #[default]
    Fenced,
    /// Of `transfer_budget_versioned`.
    Versioned,
    /// Of the two controls.
    Article,
}

pub(super) fn tool() -> Result<Tool> {
    super::reading::<Arguments>(NAME, "The balance of a budget, in cents.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let Arguments { budget, table } = call.parse()?;
    name(&budget)?;
    let sql = match table {
        Table::Fenced => "SELECT balance FROM budgets WHERE id = $1",
        Table::Versioned => "SELECT balance FROM budgets_versioned WHERE id = $1",
        Table::Article => "SELECT balance FROM article_projects WHERE id = $1",
    };
    let rows = app.database.query(sql, &[&budget]).await?;
    let balance: i64 = rows.first().ok_or_else(|| unknown(&budget))?.get(0);
    Ok(json!({ "budget": budget, "balance": balance }))
}
