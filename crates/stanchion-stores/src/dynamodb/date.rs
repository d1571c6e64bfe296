//! The engine's time, as far as it shows it: the `Date` of its answers, in whole seconds, carried forward on our own
//! clock.
//!
//! It is only ever known between two bounds. Records are written to end after the upper one and are judged by the lower
//! one, so nothing ends early and everything ends about two seconds late.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use stanchion_core::{BootTime, Clock as _, SystemClock};

tokio::task_local! {
    /// The `Date` of the answer to the request that this task waits for, in milliseconds.
    static HEARD: Cell<Option<u64>>;
}

/// The fraction that the header leaves out, and as much again: servers write it from a value that they refresh once per
/// second, when they find the time.
const BLUR: u64 = 2000;

/// Clocks drift; a bound that was carried this far is asked for again.
const FRESH: Duration = Duration::from_secs(60);

/// What we know of the engine's time.
#[derive(Debug, Default)]
pub(super) struct EngineDate(Mutex<Option<Heard>>);

#[derive(Debug, Clone, Copy)]
struct Heard {
    date_ms: u64,
    /// The answer was written between these two.
    asked: BootTime,
    answered: BootTime,
}

impl EngineDate {
    /// Runs one request and listens to the date of its answer.
    pub(super) async fn during<T>(&self, request: impl Future<Output = T>) -> T {
        let asked = SystemClock.now();
        let (answer, heard) = HEARD.scope(Cell::new(None), async { (request.await, HEARD.with(Cell::get)) }).await;
        if let Some(date_ms) = heard {
            let heard = Heard { date_ms, asked, answered: SystemClock.now() };
            // stanchion-audit: ignore RC104 -- every date is right by itself with its two moments, whichever was heard last
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
        }
        answer
    }

    fn heard(&self) -> Option<Heard> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine's time is at least this; 0 if it has shown none.
    pub(super) fn at_least(&self) -> u64 {
        self.heard().map_or(0, |heard| heard.date_ms + millis(SystemClock.now() - heard.answered))
    }

    /// The engine's time is at most this; `None` if what we know is too old.
    pub(super) fn at_most(&self) -> Option<u64> {
        let (heard, now) = (self.heard()?, SystemClock.now());
        (now - heard.answered < FRESH).then(|| heard.date_ms + BLUR + millis(now - heard.asked))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Reads the header for whoever listens.
#[derive(Debug)]
pub(super) struct DateReader;

impl Intercept for DateReader {
    fn name(&self) -> &'static str {
        "stanchion date"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let text = context.response().headers().get("date");
        let date = text.and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok());
        let heard = date.and_then(|date| u64::try_from(date.to_millis().ok()?).ok());
        // Nobody listens to the requests of the credential chain.
        HEARD.try_with(|cell| cell.set(heard)).ok();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_bounds_hold_what_the_header_leaves_out() {
        let date = EngineDate::default();
        assert_eq!((date.at_least(), date.at_most()), (0, None));
        date.during(async { HEARD.with(|cell| cell.set(Some(5000))) }).await;
        let (least, most) = (date.at_least(), date.at_most().unwrap());
        assert!((5000..6000).contains(&least), "{least}");
        assert!(most >= least + BLUR - 1, "{most} {least}");
        date.during(async {}).await;
        assert!(date.at_least() >= 5000, "an answer without a date tells nothing");
    }
}
