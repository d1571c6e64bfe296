//! CONTROL. The article's idempotency keys, step by step.
//!
//! What breaks it: the first look returns any row, so a duplicate in flight gets `{"pending":true}` as its answer; a
//! process that dies after the reservation leaves that answer for ever; a failure after the invoice deletes the key, so
//! the retry sends a second one; keys have no owner and no fingerprint.

use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Result};

use super::Call;
use super::send_invoice::Arguments;
use crate::app::App;

pub(super) const NAME: &str = "article_send_invoice";

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Arguments>(NAME, "CONTROL, sends twice: send_invoice as the article has it.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let arguments = Arguments::parse(&call)?;
    let Some(Value::String(key)) = &call.key else {
        return Err(Error::new(ErrorKind::Invalid, "the article's version needs a key"));
    };
    loop {
        let select = "SELECT response_body FROM article_idempotency_keys WHERE key = $1";
        if let Some(row) = app.database.query(select, &[key]).await?.first() {
            let stored: String = row.get(0);
            return serde_json::from_str(&stored)
                .map_err(|e| Error::new(ErrorKind::Damaged, "the stored answer is no JSON").because(e));
        }
        let reserve = "INSERT INTO article_idempotency_keys (key, response_body) VALUES ($1, $2)
            ON CONFLICT (key) DO NOTHING RETURNING key";
        let pending = json!({ "pending": true }).to_string();
        if !app.database.query(reserve, &[key, &pending]).await?.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let response = match send(app, &arguments).await {
        Ok(response) => response,
        Err(e) => {
            app.database.query("DELETE FROM article_idempotency_keys WHERE key = $1", &[key]).await?;
            return Err(e);
        }
    };
    let update = "UPDATE article_idempotency_keys SET response_body = $1 WHERE key = $2";
    app.database.query(update, &[&response.to_string(), key]).await?;
    Ok(response)
}

async fn send(app: &App, arguments: &Arguments) -> Result<Value> {
    let invoice = app.outbox.create(&arguments.customer, arguments.amount, NAME).await?;
    app.outbox.mail(&invoice)?;
    Ok(json!({ "invoiceId": invoice.invoice_id, "sent": true }))
}
