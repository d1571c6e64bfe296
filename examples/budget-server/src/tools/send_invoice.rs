//! By key: claim, mark, send, record. A repetition gets the recorded answer; after a crash between mark and record
//! nobody knows, and that is what the caller is told, instead of a second invoice or a made-up answer.

use std::time::Duration;

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use stanchion_core::claim::Response;
use stanchion_core::{
    Answer, Call as Guarded, CallKey, Effect, Error, ErrorKind, Fingerprint, InFlight, Policy, Ran, Reply, Result,
    Scope,
};

use super::{Call, Said, money};
use crate::app::App;

pub(super) const NAME: &str = "send_invoice";

/// This server lets everybody in, so all callers are one. A real one names the user it has authenticated: keys of one
/// are then unknown to the others.
const PRINCIPAL: &str = "everybody";

/// How long a repetition waits for the answer of the first.
const WAIT: Duration = Duration::from_secs(10);

/// Send one invoice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Who pays: an e-mail address.
    pub(super) customer: String,
    /// Whole cents, above zero.
    pub(super) amount: i64,
}

impl Arguments {
    pub(super) fn parse(call: &Call) -> Result<Self> {
        let arguments: Self = call.parse()?;
        money::name(&arguments.customer)?;
        money::amount(arguments.amount)?;
        Ok(arguments)
    }
}

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Arguments>(NAME, "Sends an invoice; with a key in _meta, at most once per key.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Said> {
    let arguments = Arguments::parse(&call)?;
    let policy = Policy::default().effect(Effect::NonIdempotent).in_flight(InFlight::Wait(WAIT)).lease(app.lease())?;
    let mut guarded = Guarded::new(Scope::new(PRINCIPAL, "budget-server", NAME)?, policy);
    if let Some(key) = &call.key {
        let asked = Fingerprint::of_json(&Value::Object(call.arguments.clone()).to_string())?;
        guarded = guarded.key(CallKey::new(text(key)?)?, asked);
    }
    let answer = app.guard.call(&guarded, |_| send(app, &arguments)).await?;
    said(answer)
}

fn text(key: &Value) -> Result<&str> {
    key.as_str().ok_or_else(|| Error::new(ErrorKind::Invalid, "an idempotency key is a string"))
}

/// The work. It says what is certain, and nothing else.
async fn send(app: &App, arguments: &Arguments) -> Reply {
    match app.outbox.create(&arguments.customer, arguments.amount, NAME).await {
        Ok(invoice) => {
            // The invoice exists, whatever becomes of the mail: a failure here would call for a second one.
            let sent = app.outbox.mail(&invoice).is_ok();
            Reply::Done(Response::new("", json!({ "invoiceId": invoice.invoice_id, "sent": sent }).to_string()))
        }
        Err(e) if e.ran() == Ran::No => Reply::NoEffect(Response::new("", e.to_string())),
        Err(e) => Reply::Unknown(e.to_string()),
    }
}

/// What the caller is told.
fn said(answer: Answer) -> Result<Said> {
    let receipt = answer.receipt.map_or_else(|| "none".to_owned(), |receipt| receipt.to_string());
    let because = |response: &Response| String::from_utf8_lossy(response.bytes().map_or(&[], |b| b)).into_owned();
    let error = match &answer.reply {
        Reply::Done(response) => {
            let Some(body) = response.bytes() else {
                return Ok(Said { value: json!({ "sentBefore": true }), replayed: true });
            };
            let damaged = |e| Error::new(ErrorKind::Damaged, "the stored answer is no JSON").because(e);
            let value = serde_json::from_slice(body).map_err(damaged)?;
            return Ok(Said { value, replayed: answer.replayed });
        }
        Reply::NoEffect(why) => Error::new(ErrorKind::Unavailable, because(why)).hint("call again with the same key"),
        Reply::Failed(why) | Reply::Suspended(why) => Error::new(ErrorKind::Unexpected, because(why)),
        Reply::Unknown(why) => Error::new(ErrorKind::OutcomeUnknown, "nobody knows whether this invoice was sent")
            .with("reason", why)
            .hint("do not send it under another key; look with list_invoices, then settle the claim"),
    };
    Err(error.with("receipt", receipt))
}
