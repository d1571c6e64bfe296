//! The outside world: a file of invoices that can only grow. It knows no keys and no tokens.

use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stanchion_core::pause::pause_point;
use stanchion_core::{Error, ErrorKind, Owner, Result};

/// One line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Invoice {
    /// Made anew at each sending, so that a second one cannot hide.
    pub(crate) invoice_id: String,
    pub(crate) customer: String,
    pub(crate) amount: i64,
    /// Which tool sent it.
    pub(crate) by: String,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    path: PathBuf,
}

impl Outbox {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Creates and sends an invoice. Each call is one more effect in the world.
    pub(crate) async fn create(&self, customer: &str, amount: i64, by: &str) -> Result<Invoice> {
        pause_point("budget.before-effect").await;
        let invoice_id = format!("inv-{}", Owner::random().to_hex());
        let invoice = Invoice { invoice_id, customer: customer.to_owned(), amount, by: by.to_owned() };
        let mut line = serde_json::to_vec(&invoice)
            .map_err(|e| Error::new(ErrorKind::Unexpected, "an invoice cannot be written").because(e))?;
        line.push(b'\n');
        // One write of a whole line at the end of the file: instances that share it do not mix.
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path).map_err(|e| {
            Error::new(ErrorKind::Unavailable, "the outbox cannot be opened")
                .with("file", self.path.display())
                .because(e)
        })?;
        file.write_all(&line)
            .map_err(|e| Error::new(ErrorKind::OutcomeUnknown, "the outbox did not take the invoice").because(e))?;
        pause_point("budget.after-effect").await;
        Ok(invoice)
    }

    /// The mail to the customer. Addresses that end in `.invalid` cannot be reached.
    pub(crate) fn mail(&self, invoice: &Invoice) -> Result<()> {
        if invoice.customer.ends_with(".invalid") {
            return Err(Error::new(ErrorKind::Unavailable, "the mail server does not know this domain")
                .with("customer", format_args!("{:?}", invoice.customer)));
        }
        Ok(())
    }

    /// Everything sent so far.
    pub(crate) fn list(&self) -> Result<Vec<Invoice>> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::new(ErrorKind::Unavailable, "the outbox cannot be read").because(e)),
        };
        let damaged = |e| Error::new(ErrorKind::Damaged, "a line of the outbox is no invoice").because(e);
        text.lines().map(|line| serde_json::from_str(line).map_err(damaged)).collect()
    }
}
