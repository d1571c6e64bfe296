//! The textbook's design, as its article gives it: a placeholder row, the effect, the response into the row; the row is deleted
//! if the call fails. It lives here and nowhere else.

use std::time::Duration;

use bytes::Bytes;
use stanchion_core::pause::pause_point;
use stanchion_core::{Cond, Error, ErrorKind, Key, Record, RecordStore, Result};

use super::tool::Tool;

const PENDING: &[u8] = b"pending";

/// What its caller is handed: the row, whatever stands in it.
pub(super) async fn call(records: &dyn RecordStore, name: &str, index: usize, tool: &Tool) -> Result<String> {
    let key = Key::new(format!("seed:{name}:{index}"))?;
    if let Some(row) = records.get(&key).await? {
        return Ok(text(&row));
    }
    match records.put(&key, Bytes::from_static(PENDING), Cond::Absent, None).await {
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::Conflict => {
            // "Another request is at work: wait a little, then return its result."
            tokio::time::sleep(Duration::from_millis(50)).await;
            let row = records.get(&key).await?;
            return row.map(|row| text(&row)).ok_or_else(failed);
        }
        Err(e) => return Err(e),
    }
    pause_point("seed.placed").await;
    let answer = tool.run_bare(index).await;
    pause_point("seed.ran").await;
    // By key alone: whoever owns the row now.
    let Some(row) = records.get(&key).await? else { return Err(failed()) };
    match answer {
        Some(body) => {
            records.put(&key, body.clone().into(), Cond::Version(row.version), None).await?;
            Ok(body)
        }
        None => {
            records.delete(&key, Cond::Version(row.version)).await?;
            Err(failed())
        }
    }
}

fn text(row: &Record) -> String {
    String::from_utf8_lossy(&row.value).into_owned()
}

fn failed() -> Error {
    Error::new(ErrorKind::Unavailable, "the call failed")
}
