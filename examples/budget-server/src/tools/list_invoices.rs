//! Reads the outside world.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use stanchion_core::Result;

use super::Call;
use crate::app::App;

pub(super) const NAME: &str = "list_invoices";

/// The newest are enough to look at.
const SHOWN_MAX: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only this customer's.
    customer: Option<String>,
}

pub(super) fn tool() -> Result<Tool> {
    super::reading::<Arguments>(NAME, "The invoices that were really sent, and how many.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let Arguments { customer } = call.parse()?;
    let mut invoices = app.outbox.list()?;
    invoices.retain(|invoice| customer.as_ref().is_none_or(|customer| *customer == invoice.customer));
    let shown = &invoices[invoices.len().saturating_sub(SHOWN_MAX)..];
    Ok(json!({ "count": invoices.len(), "invoices": shown }))
}
