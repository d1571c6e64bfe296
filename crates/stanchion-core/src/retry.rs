//! When to try again: exponential, full jitter, a budget and a deadline.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, ErrorKind, Result, random};

/// How often and how fast to try again.
///
/// The pause before try *n* is uniform between zero and `base * 2^n`, at most `cap` ("full jitter"), so
/// that many losers of one race do not meet again.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::RetryPolicy;
/// let policy = RetryPolicy::default().budget(20).deadline(Duration::from_secs(2));
/// assert!(policy.pause(3) <= Duration::from_millis(8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    base: Duration,
    cap: Duration,
    budget: u32,
    deadline: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(1),
            cap: Duration::from_millis(250),
            budget: 100,
            deadline: Duration::from_secs(10),
        }
    }
}

impl RetryPolicy {
    /// Sets the first and the longest pause.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] if `base` is zero or above `cap`: a retry without a pause is a storm.
    ///
    /// ```
    /// use std::time::Duration;
    /// # use stanchion_core::RetryPolicy;
    /// assert!(RetryPolicy::default().pauses(Duration::ZERO, Duration::from_secs(1)).is_err());
    /// ```
    pub fn pauses(mut self, base: Duration, cap: Duration) -> Result<Self> {
        if base.is_zero() || base > cap {
            return Err(Error::new(ErrorKind::Invalid, "the first pause must be above zero and not above the longest")
                .with("base", format_args!("{base:?}"))
                .with("cap", format_args!("{cap:?}")));
        }
        (self.base, self.cap) = (base, cap);
        Ok(self)
    }

    /// Sets how many times to try again at most.
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// assert_ne!(RetryPolicy::default().budget(1), RetryPolicy::default());
    /// ```
    #[must_use]
    pub const fn budget(mut self, tries: u32) -> Self {
        self.budget = tries;
        self
    }

    /// Sets how long to go on trying.
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// assert_ne!(RetryPolicy::default().deadline(std::time::Duration::ZERO), RetryPolicy::default());
    /// ```
    #[must_use]
    pub const fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// A random pause before try number `n` (from 0).
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// assert!(RetryPolicy::default().pause(60) <= std::time::Duration::from_millis(250));
    /// ```
    #[must_use]
    pub fn pause(&self, n: u32) -> Duration {
        let most = self.base.saturating_mul(1_u32.checked_shl(n).unwrap_or(u32::MAX)).min(self.cap);
        Duration::from_nanos(random::below(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX).max(1)))
    }

    /// Starts counting.
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut tries = RetryPolicy::default().budget(1).start();
    /// assert!(tries.again().await);
    /// assert!(!tries.again().await);
    /// # });
    /// ```
    #[must_use]
    pub fn start(&self) -> Tries {
        Tries { policy: *self, used: 0, until: Instant::now().checked_add(self.deadline) }
    }
}

/// The tries of one operation.
///
/// ```
/// # use stanchion_core::RetryPolicy;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert_eq!(RetryPolicy::default().start().used(), 0);
/// # });
/// ```
#[derive(Debug)]
pub struct Tries {
    policy: RetryPolicy,
    used: u32,
    /// `None`: beyond the end of time.
    until: Option<Instant>,
}

impl Tries {
    /// Pauses and says yes, or says no at once if the budget or the time is used up.
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(!RetryPolicy::default().budget(0).start().again().await);
    /// # });
    /// ```
    pub async fn again(&mut self) -> bool {
        let pause = self.policy.pause(self.used);
        if self.used >= self.policy.budget || self.until.is_some_and(|until| Instant::now() + pause > until) {
            return false;
        }
        self.used += 1;
        tokio::time::sleep(pause).await;
        true
    }

    /// How many times we tried again.
    ///
    /// ```
    /// # use stanchion_core::RetryPolicy;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut tries = RetryPolicy::default().start();
    /// tries.again().await;
    /// assert_eq!(tries.used(), 1);
    /// # });
    /// ```
    #[must_use]
    pub const fn used(&self) -> u32 {
        self.used
    }
}
