//! Is there a transaction pooler between us and the server?

use stanchion_core::Result;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::error::{Effect, running};
use super::target::Target;

/// Whether two connections of ours can end up in one server process, or one in several.
///
/// While `other` is inside a transaction it occupies a server process. With a transaction pooler that is the one
/// `ours` used last, or `ours` moves when it comes back. Without one, each keeps its own.
pub(crate) async fn is_pooled(target: &Target, ours: &Client) -> Result<bool> {
    let other = target.connect(|_| ()).await?;
    for _ in 0..3 {
        let before = backend(target, ours, "SELECT pg_backend_pid()").await?;
        let theirs = backend(target, &other, "BEGIN; SELECT pg_backend_pid()").await?;
        let after = backend(target, ours, "SELECT pg_backend_pid()").await;
        backend(target, &other, "ROLLBACK").await?;
        // A pool of one server process makes us wait for the other transaction: no answer means "pooled", too.
        if after.is_err() || before == theirs || after.ok() != Some(before) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn backend(target: &Target, client: &Client, sql: &str) -> Result<Option<String>> {
    let answer = tokio::time::timeout(target.timeout, client.simple_query(sql)).await;
    let messages = answer
        .map_err(|_| super::error::lost(&target.shown, Effect::Read))?
        .map_err(|e| running(e, &target.shown, Effect::Read))?;
    Ok(messages.iter().find_map(|m| match m {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}
