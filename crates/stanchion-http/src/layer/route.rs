//! By which rules the requests of a route are guarded.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use stanchion_core::{Acquire, Error, ErrorKind, Key, Policy, Result, TTL_DEFAULT, Wait};

use super::head;
use super::meaning::{Meaning, Meanings};
use super::principal::Principal;
use crate::KeyTemplate;
use crate::key::KeyRules;

/// The largest request body, unless the policy says otherwise: 1 MiB.
///
/// ```
/// assert_eq!(stanchion_http::layer::BODY_DEFAULT, 1 << 20);
/// ```
pub const BODY_DEFAULT: usize = 1 << 20;

/// The highest limit for request bodies: they are held in memory.
///
/// ```
/// # use stanchion_http::layer::{BODY_MAX, Principal, RoutePolicy};
/// let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
/// assert!(policy.body_limit(BODY_MAX + 1).is_err());
/// ```
pub const BODY_MAX: usize = 64 << 20;

/// The largest answer that is kept, unless the policy says otherwise: 1 MiB.
const RESPONSE_DEFAULT: usize = 1 << 20;

/// How the requests of a route are guarded.
///
/// Unless told otherwise: POST and PATCH are guarded, a key is required, the effect class is `non_idempotent`, a
/// repetition during the first request is answered with 409.
///
/// ```
/// use std::time::Duration;
/// use http::{Method, header::AUTHORIZATION};
/// use stanchion_core::{InFlight, Policy, Wait};
/// use stanchion_http::layer::{Meaning, Principal, RoutePolicy};
///
/// let policy = RoutePolicy::new("payments", Principal::secret(AUTHORIZATION))
///     .methods([Method::POST, Method::DELETE])
///     .policy(Policy::default().in_flight(InFlight::Wait(Duration::from_secs(5))))
///     .lock("order:{path.2}".parse()?, Wait::For(Duration::from_secs(2)))
///     .on_status(503..=503, Meaning::NothingRan);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RoutePolicy {
    pub(super) label: String,
    pub(super) principal: Principal,
    pub(super) methods: Vec<Method>,
    pub(super) key: KeyRules,
    pub(super) policy: Arc<Policy>,
    pub(super) body_limit: usize,
    pub(super) response_cap: usize,
    pub(super) locks: Vec<(KeyTemplate, Wait)>,
    pub(super) lock_ttl: Duration,
    pub(super) kept_headers: Vec<HeaderName>,
    pub(super) meanings: Meanings,
}

impl RoutePolicy {
    /// The rules for the route called `label`. The label is part of what a key belongs to: two routes with different
    /// labels never share a record, so do not change it while keys are in use.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// let _policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// ```
    #[must_use]
    pub fn new(label: impl Into<String>, principal: Principal) -> Self {
        Self {
            label: label.into(),
            principal,
            methods: vec![Method::POST, Method::PATCH],
            key: KeyRules::required(),
            policy: Arc::new(Policy::default()),
            body_limit: BODY_DEFAULT,
            response_cap: RESPONSE_DEFAULT,
            locks: Vec::new(),
            lock_ttl: TTL_DEFAULT,
            kept_headers: head::KEPT.to_vec(),
            meanings: Meanings::default(),
        }
    }

    /// Guards these methods. Requests with another one pass untouched, their bodies streamed.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # use http::Method;
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.methods([Method::POST, Method::PUT, Method::DELETE]);
    /// ```
    #[must_use]
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Reads the key by these rules.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # use stanchion_http::key::KeyRules;
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.key(KeyRules::optional());
    /// ```
    #[must_use]
    pub fn key(mut self, rules: KeyRules) -> Self {
        self.key = rules;
        self
    }

    /// Remembers requests by this policy of the core: effect class, what a repetition gets while the first one runs,
    /// leases, how long answers and keys are kept, weak stores. Only its response cap is not looked at, but
    /// [`response_cap`](Self::response_cap) here.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # use stanchion_core::{Effect, InFlight, Policy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.policy(Policy::default().effect(Effect::Idempotent).in_flight(InFlight::Attach));
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        // What is kept and what is buffered must be the same size. Ours is in range: `response_cap` checked it.
        self.policy = Arc::new(policy.clone().response_cap(self.response_cap).unwrap_or(policy));
        self
    }

    /// The largest request body that is read; a larger one gets 413. [1 MiB](BODY_DEFAULT) unless set.
    ///
    /// # If it fails
    /// `Invalid` above [`BODY_MAX`].
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.body_limit(16 << 10)?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn body_limit(mut self, bytes: usize) -> Result<Self> {
        if bytes > BODY_MAX {
            return Err(Error::new(ErrorKind::Invalid, "the limit for request bodies is too high")
                .with("bytes", bytes)
                .hint("allowed: 0 to 64 MiB"));
        }
        self.body_limit = bytes;
        Ok(self)
    }

    /// The largest answer that is kept for replays; 1 MiB unless set. A larger one is streamed to the first caller, and a
    /// repetition is told that it ran, but not its answer.
    ///
    /// # If it fails
    /// `Invalid` above 15 MiB.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// assert!(policy.response_cap(1 << 30).is_err());
    /// ```
    pub fn response_cap(mut self, bytes: usize) -> Result<Self> {
        self.policy = Arc::new((*self.policy).clone().response_cap(bytes)?);
        self.response_cap = bytes;
        Ok(self)
    }

    /// Holds this lock while the handler runs, also for requests without a key. May be called several times.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # use stanchion_core::Wait;
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.lock("customer:{body.customer}".parse()?, Wait::No);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn lock(mut self, template: KeyTemplate, wait: Wait) -> Self {
        self.locks.push((template, wait));
        self
    }

    /// How long a lock outlives a process that falls silent; it is renewed while the handler runs.
    /// [30 s](stanchion_core::TTL_DEFAULT) unless set.
    ///
    /// # If it fails
    /// `Invalid` outside 50 ms to 24 h.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.lock_ttl(Duration::from_secs(5))?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn lock_ttl(mut self, ttl: Duration) -> Result<Self> {
        // The key does not matter: only the range is checked.
        Acquire::new(Key::new("lock")?).ttl(ttl)?;
        self.lock_ttl = ttl;
        Ok(self)
    }

    /// Replays these headers and no others. The default are those that describe the body, and `Location`, `Link`, `ETag`
    /// and `Last-Modified`.
    ///
    /// ```
    /// # use stanchion_http::layer::{Principal, RoutePolicy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// let _policy = policy.keep_headers([http::header::CONTENT_TYPE, http::HeaderName::from_static("x-charge-id")]);
    /// ```
    #[must_use]
    pub fn keep_headers(mut self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.kept_headers = names.into_iter().collect();
        self
    }

    /// What these statuses of the handler mean. Unless told otherwise: 401, 425 and 429 mean that nothing ran, 408 and
    /// 500 to 599 that the outcome is unknown, all others are final.
    ///
    /// ```
    /// # use stanchion_http::layer::{Meaning, Principal, RoutePolicy};
    /// # let policy = RoutePolicy::new("payments", Principal::everyone("internal"));
    /// // This handler rolls back before it answers 500.
    /// let _policy = policy.on_status(500..=500, Meaning::NothingRan);
    /// ```
    #[must_use]
    pub fn on_status(mut self, statuses: RangeInclusive<u16>, meaning: Meaning) -> Self {
        self.meanings.set(statuses, meaning);
        self
    }

    /// Is the body needed before the handler runs?
    pub(super) fn locks_need_body(&self) -> bool {
        self.locks.iter().any(|(template, _)| template.needs_body())
    }
}
