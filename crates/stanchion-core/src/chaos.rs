//! Faults on demand: delays, errors and lost replies in front of any backend, repeatable by seed.
//!
//! In the shipped binary through `STANCHION_CHAOS`, off by default. The wrappers run the same conformance
//! suite as the backends.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use crate::{
    Acquire, Capability, Cond, Error, ErrorKind, FencingToken, Grant, Key, LockBackend, LockInfo, Owner, Page, Record,
    RecordStore, Released, Renewal, Result, Version, text,
};

/// How much goes wrong: `delay=20ms,error=0.05,lost=0.1,seed=7`.
///
/// - `delay`: up to this long before each operation;
/// - `error`: the share of operations that fail before anything is sent (`Unavailable`);
/// - `lost`: the share of writes that happen while their answer is lost (`OutcomeUnknown`);
/// - `seed`: the same seed gives the same faults in the same order.
///
/// ```
/// use stanchion_core::Chaos;
/// let chaos: Chaos = "delay=5ms,error=0.1,lost=0.1,seed=7".parse()?;
/// assert_eq!(chaos.to_string(), "delay=5ms,error=0.1,lost=0.1,seed=7");
/// assert!("lost=2".parse::<Chaos>().is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Chaos {
    delay: Duration,
    error: f64,
    lost: f64,
    seed: u64,
    drawn: Arc<AtomicU64>,
}

impl FromStr for Chaos {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |part: &str| {
            Error::new(ErrorKind::Invalid, "not a chaos setting")
                .with("value", format_args!("{part:?}"))
                .hint("as in delay=20ms,error=0.05,lost=0.1,seed=7; shares are from 0 to 1")
        };
        let mut chaos = Self { delay: Duration::ZERO, error: 0.0, lost: 0.0, seed: 1, drawn: Arc::default() };
        let share = |part: &str, value: &str| {
            value.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| refuse(part))
        };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("delay", value)) => chaos.delay = text::parse_duration(value)?,
                Some(("error", value)) => chaos.error = share(part, value)?,
                Some(("lost", value)) => chaos.lost = share(part, value)?,
                Some(("seed", value)) => chaos.seed = value.parse().map_err(|_| refuse(part))?,
                _ => return Err(refuse(part)),
            }
        }
        Ok(chaos)
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Exact, unlike the words for people: this line repeats a run.
        write!(f, "delay={}ms,error={},lost={},seed={}", self.delay.as_millis(), self.error, self.lost, self.seed)
    }
}

impl Chaos {
    /// The next number of the seeded sequence (splitmix64), in [0, 1).
    fn draw(&self) -> f64 {
        let n = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mut z = self.seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are kept, as many as a double has")]
        let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }

    /// Delay, then perhaps an error before anything is sent.
    async fn before(&self, what: &'static str) -> Result<()> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay.mul_f64(self.draw())).await;
        }
        if self.draw() < self.error {
            return Err(Error::new(ErrorKind::Unavailable, "chaos: refused before sending").with("operation", what));
        }
        Ok(())
    }

    /// Perhaps loses the answer to something that has happened.
    fn after<T>(&self, what: &'static str, answer: Result<T>) -> Result<T> {
        if self.draw() < self.lost {
            return Err(Error::new(ErrorKind::OutcomeUnknown, "chaos: the answer is lost").with("operation", what));
        }
        answer
    }
}

/// A record store with faults.
///
/// ```
/// use stanchion_core::{ChaosStore, ErrorKind, Key, MemoryStore, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = ChaosStore::new(MemoryStore::new(), "error=1".parse()?);
/// assert_eq!(store.get(&Key::new("a")?).await.unwrap_err().kind(), ErrorKind::Unavailable);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct ChaosStore<S> {
    inner: S,
    chaos: Chaos,
}

impl<S: RecordStore> ChaosStore<S> {
    /// Puts `chaos` in front of `inner`.
    ///
    /// ```
    /// # use stanchion_core::{ChaosStore, MemoryStore};
    /// let _store = ChaosStore::new(MemoryStore::new(), "seed=1".parse()?);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub const fn new(inner: S, chaos: Chaos) -> Self {
        Self { inner, chaos }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: RecordStore> RecordStore for ChaosStore<S> {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.chaos.before("get").await?;
        self.inner.get(key).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.chaos.before("touch").await?;
        self.chaos.after("touch", self.inner.touch(key, token).await)
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.chaos.before("put").await?;
        self.chaos.after("put", self.inner.put(key, value, cond, ttl).await)
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.chaos.before("delete").await?;
        self.chaos.after("delete", self.inner.delete(key, cond).await)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.chaos.before("scan").await?;
        self.inner.scan(prefix, page).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.inner.changed(key, since, until).await
    }
}

/// A lock backend with faults.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, ChaosLock, ErrorKind, Key, LockBackend, MemoryStore, Owner};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks = ChaosLock::new(CasLock::new(MemoryStore::new()), "lost=1".parse()?);
/// let error = locks.try_acquire(&Acquire::new(Key::new("a")?), Owner::random()).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct ChaosLock<L> {
    inner: L,
    chaos: Chaos,
}

impl<L: LockBackend> ChaosLock<L> {
    /// Puts `chaos` in front of `inner`.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, ChaosLock, MemoryStore};
    /// let _locks = ChaosLock::new(CasLock::new(MemoryStore::new()), "seed=1".parse()?);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub const fn new(inner: L, chaos: Chaos) -> Self {
        Self { inner, chaos }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: LockBackend> LockBackend for ChaosLock<L> {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        self.chaos.before("try_acquire").await?;
        self.chaos.after("try_acquire", self.inner.try_acquire(req, owner).await)
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.inner.wait(req, owner, until).await
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.inner.withdraw(req, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        if let Err(e) = self.chaos.before("renew").await {
            return Renewal::Unknown(e);
        }
        let answer = self.inner.renew(grant, ttl).await;
        self.chaos.after("renew", Ok(answer)).unwrap_or_else(Renewal::Unknown)
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.chaos.before("release").await?;
        self.chaos.after("release", self.inner.release(grant).await)
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        self.chaos.before("list").await?;
        self.inner.list(prefix, page).await
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.chaos.before("evict").await?;
        self.chaos.after("evict", self.inner.evict(key).await)
    }
}
