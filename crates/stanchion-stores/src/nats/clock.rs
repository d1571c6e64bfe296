//! What time it is on the server: the time of a message that was just stored, carried forward on our own monotonic
//! clock for a minute at most. Only the ttl of records is judged by it, and only where a record has one.

use tokio::time::{Duration, Instant};

use super::api::Api;
use super::fault::Fault;

const FRESH: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct ServerClock {
    /// The server's time, and when it was at the latest.
    read: tokio::sync::Mutex<Option<(u64, Instant)>>,
}

impl ServerClock {
    /// Never later than the server's own time, so nothing ends early.
    pub(super) async fn now_ms(&self, api: &Api) -> Result<u64, Fault> {
        let mut read = self.read.lock().await;
        let (ms, at) = match *read {
            Some((ms, at)) if at.elapsed() < FRESH => (ms, at),
            _ => {
                // Nobody reads what this message says, so it may be written without a condition. A full bucket takes
                // none: then the last one tells the earliest time that it can be.
                api.tick().await?;
                let (_, ms) = api.last_on(&api.subjects.clock()).await?;
                let (now, carried) = (Instant::now(), read.map_or(0, |(ms, at)| carry(ms, at)));
                *read.insert((ms.max(carried), now))
            }
        };
        Ok(carry(ms, at))
    }
}

fn carry(ms: u64, at: Instant) -> u64 {
    ms.saturating_add(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))
}
