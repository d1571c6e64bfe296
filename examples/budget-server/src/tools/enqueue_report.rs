//! By dedup: while a report is waiting or being made, another call names that one; afterwards the name is free again.

use std::time::Duration;

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stanchion_core::pause::pause_point;
use stanchion_core::{Enqueue, Error, ErrorKind, JobInfo, Key, Result};

use super::{Call, money};
use crate::app::App;

pub(super) const NAME: &str = "enqueue_report";

/// Nothing wakes an idle worker; it looks this often.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Have a report made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Of which project.
    pub(super) project: String,
    /// Which report, such as `monthly`.
    pub(super) kind: String,
}

impl Arguments {
    pub(super) fn parse(call: &Call) -> Result<Self> {
        let arguments: Self = call.parse()?;
        money::name(&arguments.project)?;
        money::name(&arguments.kind)?;
        Ok(arguments)
    }

    /// What makes two reports the same. JSON, so that no project and kind can be read as another pair.
    pub(super) fn name(&self) -> String {
        json!([self.project, self.kind]).to_string()
    }
}

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Arguments>(NAME, "Queues a report; while one is waiting or being made, the answer names that one.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let arguments = Arguments::parse(&call)?;
    let payload = json!(arguments).to_string();
    let enqueued = app.reports.enqueue(Enqueue::new(Key::new(arguments.name())?, payload)).await?;
    Ok(json!({ "jobId": enqueued.job_id.to_string(), "deduplicated": enqueued.deduplicated }))
}

/// Makes reports, one after the other, as long as the instance lives.
pub(crate) async fn work(app: &App) {
    loop {
        match app.reports.work_one(app.lease(), |job| make(app, job)).await {
            Ok(Some(_)) => {}
            // A job that could not be taken or reported is tried again, by us or by another instance.
            Ok(None) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// A job whose worker died may come twice; its id makes it one report.
async fn make(app: &App, job: JobInfo) -> Result<()> {
    let damaged = |e| Error::new(ErrorKind::Damaged, "this is no job for a report").because(e);
    let Arguments { project, kind } = serde_json::from_slice(&job.payload).map_err(damaged)?;
    pause_point("budget.report").await;
    let sql = "INSERT INTO reports (job_id, project, kind) VALUES ($1, $2, $3) ON CONFLICT (job_id) DO NOTHING";
    app.database.query(sql, &[&job.id.to_string(), &project, &kind]).await?;
    Ok(())
}
