//! A request for a lock, checked when it is built.

use std::time::Duration;

use crate::{Error, ErrorKind, Identity, Key, Result};

/// The shortest and the longest ttl of a lease.
///
/// ```
/// assert!(stanchion_core::TTL_RANGE.0 < stanchion_core::TTL_RANGE.1);
/// ```
pub const TTL_RANGE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(24 * 60 * 60));

/// The ttl when none is given.
///
/// ```
/// assert_eq!(stanchion_core::TTL_DEFAULT.as_secs(), 30);
/// ```
pub const TTL_DEFAULT: Duration = Duration::from_secs(30);

/// The most slots one key can have.
///
/// ```
/// assert_eq!(stanchion_core::SLOTS_MAX, 1024);
/// ```
pub const SLOTS_MAX: u32 = 1024;

/// How many may hold one key together.
///
/// ```
/// use stanchion_core::Mode;
/// assert_eq!(Mode::default(), Mode::Exclusive);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// One holder.
    #[default]
    Exclusive,
    /// Any number of shared holders, or one exclusive.
    Shared,
    /// Up to this many holders. All callers of one key must agree on the number; it ranges from 1 to 1024.
    Slots(u32),
}

/// How long to wait for a lock that is taken.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::Wait;
/// assert_eq!(Wait::default(), Wait::For(Duration::from_secs(30)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: one attempt.
    No,
    /// At most this long.
    For(Duration),
    /// Until the lock is ours or the caller gives up.
    Forever,
}

impl Default for Wait {
    fn default() -> Self {
        Self::For(Duration::from_secs(30))
    }
}

/// A request for one lock. Checked when it is built, so backends never see a bad one.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Acquire, Key, Mode, Wait};
/// let request = Acquire::new(Key::new("deploy")?).ttl(Duration::from_secs(10))?.wait(Wait::No);
/// assert_eq!(request.mode, Mode::Exclusive);
/// assert!(Acquire::new(Key::new("deploy")?).ttl(Duration::ZERO).is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquire {
    /// What to lock.
    pub key: Key,
    /// Alone or together.
    pub mode: Mode,
    /// How long the lease lives without renewal; kernel locks ignore it.
    pub ttl: Duration,
    /// How long to wait.
    pub wait: Wait,
    /// The fence of the grant will be above this number.
    pub floor: u64,
    /// Give the lease up after this long, however healthy its renewals are.
    pub max_hold: Option<Duration>,
    /// Renew only while [`Lease::progress`](crate::Lease::progress) is called.
    pub needs_progress: bool,
    /// Who asks, for display.
    pub identity: Identity,
}

impl Acquire {
    /// Exclusive, ttl 30 s, waiting up to 30 s.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key};
    /// assert_eq!(Acquire::new(Key::new("a")?).ttl.as_secs(), 30);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self {
            key,
            mode: Mode::Exclusive,
            ttl: TTL_DEFAULT,
            wait: Wait::default(),
            floor: 0,
            max_hold: None,
            needs_progress: false,
            identity: Identity::current(),
        }
    }

    /// Sets the lease's time to live, 50 ms to 24 h.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]; nothing is silently corrected.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key};
    /// assert!(Acquire::new(Key::new("a")?).ttl(std::time::Duration::MAX).is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Result<Self> {
        if ttl < TTL_RANGE.0 || ttl > TTL_RANGE.1 {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is outside 50ms to 24h")
                .with("ttl", format_args!("{ttl:?}"))
                .hint("choose a ttl of a few times the longest pause you expect; 30s is a good start"));
        }
        self.ttl = ttl;
        Ok(self)
    }

    /// Sets how many may hold the key together.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for 0 or more than 1024 slots.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key, Mode};
    /// assert!(Acquire::new(Key::new("a")?).mode(Mode::Slots(0)).is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn mode(mut self, mode: Mode) -> Result<Self> {
        if let Mode::Slots(n) = mode
            && !(1..=SLOTS_MAX).contains(&n)
        {
            return Err(Error::new(ErrorKind::Invalid, "the number of slots is outside 1 to 1024").with("slots", n));
        }
        self.mode = mode;
        Ok(self)
    }

    /// Sets how long to wait.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key, Wait};
    /// assert_eq!(Acquire::new(Key::new("a")?).wait(Wait::Forever).wait, Wait::Forever);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Lifts the fence above `floor`: the number a store gave when it refused a token.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key};
    /// assert_eq!(Acquire::new(Key::new("a")?).floor(9).floor, 9);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn floor(mut self, floor: u64) -> Self {
        self.floor = floor;
        self
    }

    /// Gives the lease up after `limit`, even if renewals succeed.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a limit of zero.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key};
    /// let request = Acquire::new(Key::new("a")?).max_hold(std::time::Duration::from_secs(600))?;
    /// assert!(request.max_hold.is_some());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn max_hold(mut self, limit: Duration) -> Result<Self> {
        if limit.is_zero() {
            return Err(Error::new(ErrorKind::Invalid, "a lock that may be held for no time is no lock")
                .with("max_hold", "0s")
                .hint("leave it out, or choose a time above zero"));
        }
        self.max_hold = Some(limit);
        Ok(self)
    }

    /// Renews only while the work reports progress through [`Lease::progress`](crate::Lease::progress):
    /// a stuck holder then loses the lock even though its renewals would succeed.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key};
    /// assert!(Acquire::new(Key::new("a")?).needs_progress().needs_progress);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn needs_progress(mut self) -> Self {
        self.needs_progress = true;
        self
    }

    /// Says who asks, for display.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Identity, Key};
    /// let request = Acquire::new(Key::new("a")?).identity(Identity::current().labelled("nightly"));
    /// assert_eq!(request.identity.label, "nightly");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }
}
