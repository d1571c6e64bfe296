//! One file per tool. A file that begins with `article_` holds the same tool as the article has it, as a control.

mod article_enqueue_report;
mod article_send_invoice;
mod article_transfer_budget;
mod article_transfer_budget_versioned;
mod enqueue_report;
mod get_budget;
mod list_invoices;
mod list_reports;
mod money;
mod send_invoice;
mod transfer_budget;
mod transfer_budget_versioned;

use std::sync::Arc;

use rmcp::handler::server::common::schema_for_input;
use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stanchion_core::{Error, ErrorKind, Result};

use crate::app::App;

/// One call, as it arrived.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) arguments: Map<String, Value>,
    /// `_meta["dev.stanchion/idempotencyKey"]`, as it was sent.
    pub(crate) key: Option<Value>,
}

/// What a tool said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) value: Value,
    /// To an earlier call with the same key; this one ran nothing.
    pub(crate) replayed: bool,
}

impl From<Value> for Said {
    fn from(value: Value) -> Self {
        Self { value, replayed: false }
    }
}

/// All tools, for `tools/list`.
pub(crate) fn list() -> Result<Vec<Tool>> {
    Ok(vec![
        transfer_budget::tool()?,
        article_transfer_budget::tool()?,
        transfer_budget_versioned::tool()?,
        article_transfer_budget_versioned::tool()?,
        send_invoice::tool()?,
        article_send_invoice::tool()?,
        enqueue_report::tool()?,
        article_enqueue_report::tool()?,
        get_budget::tool()?,
        list_invoices::tool()?,
        list_reports::tool()?,
    ])
}

/// Runs the tool of this name; `None` if there is none.
pub(crate) async fn call(app: &App, name: &str, call: Call) -> Option<Result<Said>> {
    let value = match name {
        send_invoice::NAME => return Some(send_invoice::call(app, call).await),
        transfer_budget::NAME => transfer_budget::call(app, call).await,
        article_transfer_budget::NAME => article_transfer_budget::call(app, call).await,
        transfer_budget_versioned::NAME => transfer_budget_versioned::call(app, call).await,
        article_transfer_budget_versioned::NAME => article_transfer_budget_versioned::call(app, call).await,
        article_send_invoice::NAME => article_send_invoice::call(app, call).await,
        enqueue_report::NAME => enqueue_report::call(app, call).await,
        article_enqueue_report::NAME => article_enqueue_report::call(app, call).await,
        get_budget::NAME => get_budget::call(app, call).await,
        list_invoices::NAME => list_invoices::call(app, call).await,
        list_reports::NAME => list_reports::call(app, call).await,
        _ => return None,
    };
    Some(value.map(Said::from))
}

/// What an instance does besides answering: it makes the reports.
pub(crate) async fn work(app: Arc<App>) {
    tokio::join!(enqueue_report::work(&app), article_enqueue_report::work(&app));
}

impl Call {
    /// The arguments as the tool's own type.
    fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(Value::Object(self.arguments.clone())).map_err(|e| {
            Error::new(ErrorKind::Invalid, "the arguments do not fit this tool")
                .with("reason", e)
                .hint("tools/list has the schema")
        })
    }
}

fn writing<T: JsonSchema + 'static>(name: &'static str, description: &'static str) -> Result<Tool> {
    build::<T>(name, description, ToolAnnotations::new().read_only(false).destructive(true).idempotent(false))
}

fn reading<T: JsonSchema + 'static>(name: &'static str, description: &'static str) -> Result<Tool> {
    build::<T>(name, description, ToolAnnotations::new().read_only(true))
}

fn build<T: JsonSchema + 'static>(name: &'static str, text: &'static str, hints: ToolAnnotations) -> Result<Tool> {
    let schema = schema_for_input::<T>()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "a tool has no schema").with("tool", name).with("reason", e))?;
    Ok(Tool::new(name, text, schema).with_annotations(hints))
}
