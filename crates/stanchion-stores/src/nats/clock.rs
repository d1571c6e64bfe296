//! What time it is on the server: the time of a message that was just stored, carried forward on our own monotonic
//! clock for a minute at most. Only the ttl of records is judged by it, and only where a record has one.

use tokio::time::{Duration, Instant};

use super::api::Api;
use super::fault::Fault;

const FRESH: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct ServerClock(tokio::sync::Mutex<Reading>);

/// Held while the server is asked, so that those who waited share what came of it.
#[derive(Debug, Default)]
struct Reading {
    /// The server's time, and when it was at the latest.
    read: Option<(u64, Instant)>,
    failed: Option<(Instant, Fault)>,
}

impl ServerClock {
    /// Never later than the server's own time, so nothing ends early.
    pub(super) async fn now_ms(&self, api: &Api) -> Result<u64, Fault> {
        let asked = Instant::now();
        let mut reading = self.0.lock().await;
        if let Some((ms, at)) = reading.read
            && at.elapsed() < FRESH
        {
            return Ok(carry(ms, at));
        }
        if let Some((at, fault)) = &reading.failed
            && *at >= asked
        {
            return Err(fault.clone());
        }
        match ask(api).await {
            Ok(ms) => {
                let carried = reading.read.map_or(0, |(ms, at)| carry(ms, at));
                *reading = Reading { read: Some((ms.max(carried), Instant::now())), failed: None };
                Ok(ms.max(carried))
            }
            Err(fault) => {
                reading.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }
}

/// Nobody reads what this message says, so it may be written without a condition. A full bucket takes none: then the
/// last one tells the earliest time that it can be.
async fn ask(api: &Api) -> Result<u64, Fault> {
    api.tick().await?;
    Ok(api.last_on(&api.subjects.clock()).await?.1)
}

fn carry(ms: u64, at: Instant) -> u64 {
    ms.saturating_add(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))
}
