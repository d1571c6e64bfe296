//! Events from outside: each is handled once, in the transaction of its handler.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Call, CallKey, Effect, Error, ErrorKind, Fingerprint, Policy, Result, Scope, planted};

use crate::in_transaction::InTransaction;

/// The events of one sender, each handled once.
///
/// Senders repeat an event until they are told that it arrived, and sometimes after that. The id of an event is
/// remembered **in the transaction of its handler**: if the handler commits, every repetition is a [`Duplicate`]; if it
/// fails or dies, the id is forgotten with everything else it wrote, and the next delivery is handled. An id that is remembered
/// before its event is handled loses the event in a crash; one that is remembered afterwards handles it twice.
///
/// So: check the signature, `receive`, write, commit, and only then answer 2xx. Answer 5xx for every error, so that the event
/// comes again. Effects outside the database are not part of the transaction: write them down in it, and do them afterwards.
///
/// [`Duplicate`]: Received::Duplicate
///
/// ```
/// use stanchion_core::Fingerprint;
/// use stanchion_stores::{Inbox, Received};
/// # let mut connection = rusqlite::Connection::open_in_memory()?;
/// # connection.execute_batch("CREATE TABLE orders (number INTEGER)")?;
/// stanchion_stores::sqlite::install(&connection)?;
/// let inbox = Inbox::new("shop", Inbox::HORIZON)?;
/// let body = Fingerprint::of_json(r#"{"type": "paid", "order": 77}"#)?;
/// for delivery in 0..3 {
///     let transaction = connection.transaction()?;
///     if inbox.receive_in_sqlite(&transaction, "evt_1", body)? == Received::New {
///         transaction.execute("INSERT INTO orders VALUES (77)", [])?;
///     }
///     transaction.commit()?;
/// }
/// let orders: i64 = connection.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))?;
/// assert_eq!(orders, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inbox {
    scope: Scope,
    policy: Arc<Policy>,
    #[cfg(feature = "postgres")]
    schema: crate::postgres::Schema,
}

/// Whether an event has to be handled.
///
/// ```
/// assert_ne!(stanchion_stores::Received::New, stanchion_stores::Received::Duplicate);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "it says whether to handle the event"]
pub enum Received {
    /// Not seen before: handle it in this transaction, and commit.
    New,
    /// It was handled: do nothing, and tell the sender that it arrived.
    Duplicate,
}

impl Inbox {
    /// How long ids are remembered if nothing else is known of the sender: 7 days.
    ///
    /// It must not be shorter than the time over which the sender repeats an event, or a late repetition is handled again.
    /// The schedule that Standard Webhooks recommends ends 75 h 35 min after the first attempt, Stripe's after three
    /// days, and people send failed events again by hand on the next working day.
    ///
    /// ```
    /// assert_eq!(stanchion_stores::Inbox::HORIZON.as_secs(), 7 * 24 * 3600);
    /// ```
    pub const HORIZON: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// The events of `sender`, whose ids are remembered for `horizon` after they were handled. Events of two senders
    /// never meet: use a name for each account and endpoint that gives ids of its own.
    ///
    /// # If it fails
    /// `Invalid` for a sender that is not 1 to 256 bytes without control characters, or a horizon that is not 1 ms to 366 days.
    ///
    /// ```
    /// use stanchion_stores::Inbox;
    /// assert!(Inbox::new("stripe/acct_1", Inbox::HORIZON).is_ok());
    /// assert!(Inbox::new("", Inbox::HORIZON).is_err());
    /// ```
    pub fn new(sender: impl AsRef<str>, horizon: Duration) -> Result<Self> {
        let policy = Policy::default().effect(Effect::Transactional).keep(horizon, horizon).map_err(|_| {
            Error::new(ErrorKind::Invalid, "an inbox cannot remember for this long")
                .with("horizon", format_args!("{horizon:?}"))
                .hint("allowed: 1ms to 366 days; not shorter than the sender's retries")
        })?;
        Ok(Self {
            scope: Scope::new(sender, "inbox", "receive")?,
            policy: Arc::new(policy),
            #[cfg(feature = "postgres")]
            schema: crate::postgres::Schema::new("stanchion")?,
        })
    }

    /// Sets the PostgreSQL schema of Stanchion's tables; `stanchion` unless set.
    ///
    /// # If it fails
    /// `Invalid` for a name that is not a schema's.
    ///
    /// ```
    /// use stanchion_stores::Inbox;
    /// assert!(Inbox::new("shop", Inbox::HORIZON)?.in_schema("events").is_ok());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[cfg(feature = "postgres")]
    pub fn in_schema(mut self, schema: &str) -> Result<Self> {
        self.schema = crate::postgres::Schema::new(schema)?;
        Ok(self)
    }

    /// Asks, inside the handler's transaction, whether the event is new. A delivery of the same event in another
    /// transaction waits for the end of this one.
    ///
    /// `body` tells two events with one id apart. Leave out of it what changes from delivery to delivery (of
    /// Stripe's events: `pending_webhooks`).
    ///
    /// # If it fails
    /// Roll back, and let the sender try again. `KeyReused` if the id was used for another body, `Invalid` for an id that
    /// is not 1 to 255 bytes without control characters, `KeyExpired` for one that carries a time (UUID of version 7) before the
    /// horizon; else as [`claim_in_transaction`](crate::postgres::claim_in_transaction).
    ///
    /// ```no_run
    /// use stanchion_core::Fingerprint;
    /// use stanchion_stores::{Inbox, Received};
    /// # async fn example(mut client: tokio_postgres::Client, inbox: Inbox, id: &str, body: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let transaction = client.transaction().await?;
    /// if inbox.receive_in_postgres(&transaction, id, Fingerprint::of_json(body)?).await? == Received::New {
    ///     transaction.execute("UPDATE orders SET paid = true WHERE number = 77", &[]).await?;
    /// }
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "postgres")]
    pub async fn receive_in_postgres(
        &self,
        transaction: &tokio_postgres::Transaction<'_>,
        event_id: &str,
        body: Fingerprint,
    ) -> Result<Received> {
        let call = self.call(event_id, body)?;
        Ok(received(&crate::postgres::finish_in_transaction(&self.schema, transaction, &call).await?))
    }

    /// [`receive_in_postgres`](Self::receive_in_postgres) on SQLite, in a database with Stanchion's tables
    /// ([`install`](crate::sqlite::install)).
    ///
    /// # If it fails
    /// As there, and as [`claim_in_transaction`](crate::sqlite::claim_in_transaction).
    ///
    /// ```
    /// # use stanchion_core::Fingerprint;
    /// # use stanchion_stores::{Inbox, Received};
    /// # let mut connection = rusqlite::Connection::open_in_memory()?;
    /// stanchion_stores::sqlite::install(&connection)?;
    /// let inbox = Inbox::new("shop", Inbox::HORIZON)?;
    /// let transaction = connection.transaction()?;
    /// let received = inbox.receive_in_sqlite(&transaction, "evt_1", Fingerprint::of_bytes(b"{}"))?;
    /// assert_eq!(received, Received::New);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "sqlite")]
    pub fn receive_in_sqlite(
        &self,
        transaction: &rusqlite::Transaction<'_>,
        event_id: &str,
        body: Fingerprint,
    ) -> Result<Received> {
        Ok(received(&crate::sqlite::finish_in_transaction(transaction, &self.call(event_id, body)?)?))
    }

    fn call(&self, event_id: &str, body: Fingerprint) -> Result<Call> {
        let key = CallKey::new(event_id).map_err(|e| {
            Error::new(ErrorKind::Invalid, "this is not the id of an event")
                .with("sender", self.scope.principal())
                .because(e)
                .hint("an id is 1 to 255 bytes of UTF-8 without control characters")
        })?;
        Ok(Call::new(self.scope.clone(), Arc::clone(&self.policy)).key(key, body))
    }
}

fn received(found: &InTransaction<()>) -> Received {
    match found {
        InTransaction::Run(()) => Received::New,
        InTransaction::Answer(..) if planted!("webhook-without-dedup") => Received::New,
        InTransaction::Answer(..) => Received::Duplicate,
    }
}
