//! New sessions, no shorter than the agent allows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use super::api::SESSION_MOST;
use super::http::Shared;

/// Makes sessions and learns from the first refusal how short they may be.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) http: Shared,
    least_ms: AtomicU64,
}

impl Maker {
    pub(super) const fn new(http: Shared) -> Self {
        Self { http, least_ms: AtomicU64::new(0) }
    }

    /// A session that lives for `ttl` at least, and how long it does.
    pub(super) async fn make(&self, ttl: Duration, behavior: &str, delay: Duration) -> Result<(String, Duration)> {
        for _ in 0..2 {
            let least = Duration::from_millis(self.least_ms.load(Ordering::Relaxed).max(1));
            let ttl = ttl.clamp(least, SESSION_MOST.max(least));
            match self.http.session(ttl, behavior, delay).await? {
                Ok(id) => return Ok((id, ttl)),
                Err(text) => match least_of(&text).filter(|least| *least > ttl) {
                    Some(least) => {
                        let ms = u64::try_from(least.as_millis()).unwrap_or(u64::MAX);
                        self.least_ms.store(ms, Ordering::Relaxed);
                    }
                    None => return Err(self.refused(&text)),
                },
            }
        }
        Err(self.refused("the shortest session it allows is refused as well"))
    }

    fn refused(&self, text: &str) -> Error {
        Error::new(ErrorKind::Unsupported, "Consul does not let us make a session")
            .with("answer", text)
            .with("store", &self.http.options.shown)
            .hint("see session_ttl_min of the agent")
    }
}

/// From `Invalid Session TTL '100000000', must be between [10s=24h0m0s]`.
fn least_of(text: &str) -> Option<Duration> {
    let least = text.split_once('[')?.1.split_once('=')?.0;
    let (mut total, mut number) = (Duration::ZERO, String::new());
    let mut rest = least.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_ascii_digit() || c == '.' {
            number.push(c);
            continue;
        }
        let seconds = match (c, rest.peek()) {
            ('m', Some('s')) => {
                rest.next();
                0.001
            }
            ('h', _) => 3600.0,
            ('m', _) => 60.0,
            ('s', _) => 1.0,
            _ => return None,
        };
        let amount: f64 = number.parse().ok()?;
        total += Duration::try_from_secs_f64(amount * seconds).ok()?;
        number.clear();
    }
    (number.is_empty() && !total.is_zero()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_session_is_read_from_the_refusal() {
        let text = |least: &str| format!("Invalid Session TTL '100000000', must be between [{least}=24h0m0s]");
        for (least, ms) in [("10s", 10_000), ("1m30s", 90_000), ("500ms", 500), ("1.5s", 1500), ("1h0m0s", 3_600_000)] {
            assert_eq!(least_of(&text(least)), Some(Duration::from_millis(ms)), "{least}");
        }
        assert_eq!(least_of("something else"), None);
    }
}
