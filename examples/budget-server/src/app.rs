//! What the tools share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Guard, Idempotency, Jobs, Locks, Result};

use crate::database::Pool;
use crate::outbox::Outbox;

/// How one instance was started.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Settings {
    /// The file that stands for the outside world: invoices are appended to it.
    #[arg(long, value_name = "FILE", default_value = "invoices.jsonl")]
    pub(crate) outbox: PathBuf,

    /// How long a lock lives without renewal.
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(50..=600_000))]
    pub(crate) lease_ms: u64,

    /// How long the article's lock lives; it is never renewed.
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) article_lock_ms: u64,

    /// Wait between read and write: the way to make races likely that the article proposes.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) delay_ms: u64,
}

/// One instance. It keeps nothing that another instance would need.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) database: Pool,
    pub(crate) locks: Locks,
    pub(crate) guard: Guard,
    pub(crate) reports: Jobs,
    pub(crate) outbox: Outbox,
    pub(crate) settings: Settings,
}

impl App {
    pub(crate) async fn open(database: &str, settings: Settings) -> Result<Self> {
        let store = stanchion_stores::open(database).await?;
        let records = store.records.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "this store keeps no records").with("store", store.shown)
        })?;
        let locks = Locks::shared(Arc::clone(&store.locks));
        let mut claims = Idempotency::new(Arc::clone(&records), store.locks);
        if let Some(fused) = store.fused {
            claims = claims.fused(fused);
        }
        let idle_max = Duration::from_millis(settings.lease_ms.max(settings.delay_ms * 2));
        Ok(Self {
            database: Pool::open(database, idle_max).await?,
            guard: Guard::with(claims, locks.clone()),
            locks,
            reports: Jobs::shared(records, "reports")?,
            outbox: Outbox::new(settings.outbox.clone()),
            settings,
        })
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.settings.lease_ms)
    }

    /// The gap between read and write, where races live.
    pub(crate) async fn between_read_and_write(&self) {
        if self.settings.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.settings.delay_ms)).await;
        }
        stanchion_core::pause::pause_point("budget.read").await;
    }
}
