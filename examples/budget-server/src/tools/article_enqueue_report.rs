//! CONTROL. The article's `INSERT INTO jobs … ON CONFLICT (dedup_key) DO NOTHING`.
//!
//! What breaks it: the name stays taken after the job is done, for ever and silently; and nobody is told whether a job
//! was queued, or which one.

use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Value, json};
use stanchion_core::Result;

use super::Call;
use super::enqueue_report::Arguments;
use crate::app::App;

pub(super) const NAME: &str = "article_enqueue_report";

const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) fn tool() -> Result<Tool> {
    super::writing::<Arguments>(NAME, "CONTROL, blocks a name for ever: enqueue_report as the article has it.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let arguments = Arguments::parse(&call)?;
    let insert = "INSERT INTO article_jobs (dedup_key) VALUES ($1) ON CONFLICT (dedup_key) DO NOTHING";
    app.database.query(insert, &[&arguments.name()]).await?;
    Ok(json!({ "enqueued": true }))
}

/// Makes the article's reports.
pub(crate) async fn work(app: &App) {
    loop {
        let made = "UPDATE article_jobs SET state = 'done', made = made + 1 WHERE state = 'queued'";
        // What failed is tried at the next look.
        app.database.query(made, &[]).await.ok();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
