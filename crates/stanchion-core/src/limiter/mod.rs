//! At most so many in any window of time, exact at the edge, for all processes that share a store.

mod log;
mod sightings;
mod window;

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use self::log::Log;
use self::sightings::Sightings;
pub use self::window::{PERMITS_MAX, Taken, WINDOW_RANGE, Window};
use crate::pause::pause_point;
use crate::{
    Clock, Cond, Error, ErrorKind, Key, Record, RecordStore, Result, RetryPolicy, SystemClock, planted, random,
};

/// A rate limit over any [`RecordStore`]: in **any** window of the given length, wherever it begins, at most `limit`
/// permits per key. A counter that is reset at round times lets twice as many pass around the reset; this one does not.
///
/// Each key has one record, a log of the permits that still count; it disappears one window after the last permit.
/// Time is the store's clock, in whole milliseconds; the callers' clocks play no part.
///
/// # Why it is exact
/// - A permit counts from the time at which the store **wrote** it, not from when its caller read the log: the record
///   marks the permits of its own write as such, and the reader takes the record's `written` time for them. So a caller
///   that was slow between reading and writing does not get a permit that ends too early.
/// - The decision uses the time of the **read**. It is not later than that of the write, and permits only end as time
///   goes on; so what the window holds at the write is at most what was counted.
/// - Nobody has written in between, because the write compares the version that was read.
/// - The first permit of a key needs no time at all: there is nothing to count, and the write's own time is its time.
///
/// # Limits
/// - A permit says "now, by the store"; a caller that waits before it acts can still meet others.
/// - Limiters with the same window share a key's log, and each counts everybody's permits against its own limit.
///   Limiters with different windows count apart: use two for "10 per second and 100 per hour".
/// - If the engine's clock is set **back**, permits last up to one window longer. If it is set forward, they end early.
/// - All callers of a key write one record: some hundreds of permits per second and key, depending on the engine.
/// - Where the store shows no clock (`capability().clock == false`), a permit ends for us once **we** have seen it for a
///   whole window of our own clock. That never gives too many, but a newcomer waits up to one window longer.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Key, Limiter, MemoryStore, Taken};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let mails = Limiter::new(MemoryStore::new(), 2, Duration::from_secs(60))?;
/// let key = Key::new("mail/alice")?;
/// assert!(mails.try_take(&key).await?.is_allowed());
/// assert!(mails.try_take(&key).await?.is_allowed());
/// match mails.try_take(&key).await? {
///     Taken::Allowed { .. } => unreachable!("the third within a minute"),
///     Taken::Refused { retry_after } => assert!(retry_after <= Duration::from_secs(60)),
/// }
/// assert!(mails.try_take(&Key::new("mail/bob")?).await?.is_allowed());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Limiter {
    store: Arc<dyn RecordStore>,
    empty: Window,
    limit: u32,
    window: Duration,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
    sightings: Arc<Sightings>,
}

impl Limiter {
    /// At most `limit` permits per key in any `window`.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] outside of 1 to [`PERMITS_MAX`] and of [`WINDOW_RANGE`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use stanchion_core::{Limiter, MemoryStore};
    /// assert!(Limiter::new(MemoryStore::new(), 100, Duration::from_secs(60)).is_ok());
    /// assert!(Limiter::new(MemoryStore::new(), 0, Duration::from_secs(60)).is_err());
    /// ```
    pub fn new(store: impl RecordStore, limit: u32, window: Duration) -> Result<Self> {
        Self::shared(Arc::new(store), limit, window)
    }

    /// The same in a store that others use, too.
    ///
    /// # If it fails
    /// As [`new`](Self::new).
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use stanchion_core::{Limiter, MemoryStore};
    /// assert!(Limiter::shared(Arc::new(MemoryStore::new()), 5, Duration::from_secs(1)).is_ok());
    /// ```
    pub fn shared(store: Arc<dyn RecordStore>, limit: u32, window: Duration) -> Result<Self> {
        let empty = Window::new(limit, window)?;
        let (retry, clock) = (RetryPolicy::default(), Arc::new(SystemClock));
        Ok(Self { store, empty, limit, window, retry, clock, sightings: Arc::default() })
    }

    /// Sets how often to try again when other callers of the same key were faster, or an answer was lost.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Limiter, MemoryStore, RetryPolicy};
    /// let limiter = Limiter::new(MemoryStore::new(), 5, Duration::from_secs(1))?;
    /// let _impatient = limiter.retry(RetryPolicy::default().deadline(Duration::from_millis(100)));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets our own clock, which counts only where the store shows none.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use stanchion_core::{Limiter, ManualClock, MemoryStore};
    /// let limiter = Limiter::new(MemoryStore::without_clock(), 5, Duration::from_secs(1))?;
    /// let _simulated = limiter.clock(Arc::new(ManualClock::default()));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Takes one permit, or says when to come back. See [`try_take_many`](Self::try_take_many).
    ///
    /// # If it fails
    /// As [`try_take_many`](Self::try_take_many): after every error, do not go on.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Key, Limiter, MemoryStore, Taken};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let limiter = Limiter::new(MemoryStore::new(), 3, Duration::from_secs(1))?;
    /// assert_eq!(limiter.try_take(&Key::new("api")?).await?, Taken::Allowed { left: 2 });
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn try_take(&self, key: &Key) -> Result<Taken> {
        self.try_take_many(key, 1).await
    }

    /// Takes `n` permits at once, or none and says when to come back.
    ///
    /// # If it fails
    /// After every error, do not go on. [`ErrorKind::Invalid`] if `n` is 0 or above the limit;
    /// [`ErrorKind::Conflict`] when others were faster until the retries were used up: nothing was taken;
    /// [`ErrorKind::OutcomeUnknown`]: the permits may be used up. A lost answer whose write is found in the record is a
    /// success; one that cannot be resolved counts as taken, and other permits are asked for: never too many.
    ///
    /// # Cancel safety
    /// Dropping the future may use up the permits.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Key, Limiter, MemoryStore, Taken};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let tokens = Limiter::new(MemoryStore::new(), 1000, Duration::from_secs(60))?;
    /// let key = Key::new("model/large")?;
    /// assert_eq!(tokens.try_take_many(&key, 700).await?, Taken::Allowed { left: 300 });
    /// assert!(!tokens.try_take_many(&key, 301).await?.is_allowed());
    /// assert!(tokens.try_take_many(&key, 1001).await.is_err());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn try_take_many(&self, key: &Key, n: u32) -> Result<Taken> {
        if n == 0 || n > self.limit {
            let error = Error::new(ErrorKind::Invalid, "as many permits are never free at once");
            return Err(error.with("wanted", n).with("limit", self.limit));
        }
        let at = self.record_key(key);
        // One name for all tries of this call: however late a write of ours arrives, we find it by it.
        let writer = random::below(u64::MAX - 1) + 1;
        let mut tries = self.retry.start();
        let mut in_doubt = false;
        loop {
            let error = match self.attempt(key, &at, writer, n).await {
                Ok(taken) => return Ok(taken),
                Err(e) => e,
            };
            let again = match error.kind() {
                ErrorKind::OutcomeUnknown => {
                    in_doubt = true;
                    true
                }
                ErrorKind::Conflict => true,
                kind => in_doubt && kind == ErrorKind::Unavailable,
            };
            if again && tries.again().await {
                continue;
            }
            let error = error.with("key", key).with("tries", tries.used() + 1);
            if !in_doubt || error.kind() == ErrorKind::OutcomeUnknown {
                return Err(error);
            }
            let lost = Error::new(ErrorKind::OutcomeUnknown, "the answer is lost: permits may be used up");
            return Err(lost.with("key", key).because(error));
        }
    }

    /// Reads, decides, writes if nobody was faster.
    async fn attempt(&self, key: &Key, at: &Key, writer: u64, n: u32) -> Result<Taken> {
        let found = self.store.get(at).await?;
        let log = match &found {
            Some(record) => Log::decode(key, record)?,
            None => Log::new(random::below(u64::MAX)),
        };
        let (mut window, now_ms) = self.window(key, &log, found.as_ref());
        let moved = window.advance(now_ms);
        if log.writer == writer && !planted!("limiter-counts-twice") {
            return Ok(Taken::Allowed { left: self.limit.saturating_sub(window.used()) });
        }
        let taken = window.ask(now_ms, n);
        if !taken.is_allowed() && !moved {
            return Ok(taken);
        }
        pause_point("limiter.between-read-and-write").await;
        // A refusal writes only what a clock that was set back has moved; else it would be moved with it for ever.
        let (writer, fresh) = if taken.is_allowed() { (writer, n) } else { (0, 0) };
        let mut next = log.followed_by(writer, &window, fresh);
        let clockless = found.as_ref().is_some_and(|record| record.times.is_none());
        if clockless {
            // Times of our own clock mean nothing to others; they count from when they see the permits.
            next.runs.clear();
            next.fresh += window.used();
        }
        let cond = found.as_ref().map_or(Cond::Absent, |record| Cond::Version(record.version));
        self.store.put(at, next.encode(), cond, Some(self.window)).await?;
        if !self.store.capability().clock {
            self.sightings.note(key, next.generation, next.total(), self.now_ms());
        }
        Ok(taken)
    }

    /// The permits that may still count, and the time to judge them by.
    fn window(&self, key: &Key, log: &Log, record: Option<&Record>) -> (Window, u64) {
        let mut window = self.empty.clone();
        let Some(record) = record else { return (window, 0) };
        let Some(times) = record.times else {
            let now_ms = self.now_ms();
            self.sightings.fill(key, log, now_ms, &mut window);
            return (window, now_ms);
        };
        for (at, count) in &log.runs {
            window.push(*at, *count);
        }
        // A write "before" its predecessors means a clock that was set back; `push` takes the later time.
        window.push(times.written_ms, log.fresh);
        (window, times.now_ms)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now().since_boot().as_millis()).unwrap_or(u64::MAX)
    }

    fn record_key(&self, key: &Key) -> Key {
        let (window, key) = (self.window.as_millis(), key.as_str());
        // Together with its prefix a long key would be none; a hash cannot meet a key, because those with its mark are
        // hashed as well.
        if key.len() <= 480 && !key.starts_with('#') {
            return Key::reserved("limit", &format!("{window}/{key}"));
        }
        let digest: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        Key::reserved("limit", &format!("{window}/#{digest}"))
    }
}
