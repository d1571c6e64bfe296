//! Reads what was made, and what is waiting.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use stanchion_core::{JobState, Result};

use super::Call;
use crate::app::App;

pub(super) const NAME: &str = "list_reports";

/// The newest are enough to look at.
const SHOWN_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

pub(super) fn tool() -> Result<Tool> {
    super::reading::<Arguments>(NAME, "The reports that were made, those that are waiting, and the article's.")
}

pub(super) async fn call(app: &App, call: Call) -> Result<Value> {
    let Arguments {} = call.parse()?;
    let sql = "SELECT job_id, project, kind FROM reports ORDER BY made_at DESC LIMIT $1";
    let limit = i64::try_from(SHOWN_MAX).unwrap_or(i64::MAX);
    let made = app.database.query(sql, &[&limit]).await?;
    let made = made.iter().map(|row| {
        let (job, project, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        json!({ "jobId": job, "project": project, "kind": kind })
    });
    let open = app.reports.list(None, SHOWN_MAX).await?;
    let open = open.iter().filter(|job| matches!(job.state, JobState::Queued | JobState::Running)).map(|job| {
        json!({ "jobId": job.id.to_string(), "name": job.key.as_str(), "state": job.state.as_str(), "attempts": job.attempts })
    });
    let sql = "SELECT dedup_key, state, made FROM article_jobs ORDER BY id DESC LIMIT $1";
    let article = app.database.query(sql, &[&limit]).await?;
    let article = article.iter().map(|row| {
        let (name, state, made): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
        json!({ "name": name, "state": state, "made": made })
    });
    let (made, open, article): (Vec<_>, Vec<_>, Vec<_>) = (made.collect(), open.collect(), article.collect());
    Ok(json!({ "made": made, "open": open, "article": article }))
}
