//! One call of a tool, before anything has happened: who, what, under which key, by which policy.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::claim::Wish;
use crate::{Acquire, CallKey, Error, ErrorKind, Fingerprint, Key, Policy, Result, planted};

/// The longest part of a [`Scope`], in bytes.
const SCOPE_MAX_BYTES: usize = 256;

/// Who calls what: a key of one principal, server and tool is unknown to every other.
///
/// ```
/// use stanchion_core::Scope;
/// let scope = Scope::new("alice", "billing", "send_invoice")?;
/// assert_eq!(scope.to_string(), "alice@billing/send_invoice");
/// assert!(Scope::new("", "billing", "send_invoice").is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    principal: Arc<str>,
    server: Arc<str>,
    tool: Arc<str>,
}

impl Scope {
    /// All three are needed: 1 to 256 bytes each, without control characters.
    ///
    /// # If it fails
    /// `Invalid`, naming the part and the rule.
    ///
    /// ```
    /// # use stanchion_core::Scope;
    /// assert!(Scope::new("alice", "billing", "x".repeat(257)).is_err());
    /// ```
    pub fn new(principal: impl AsRef<str>, server: impl AsRef<str>, tool: impl AsRef<str>) -> Result<Self> {
        let part = |name: &'static str, text: &str| {
            if text.is_empty() || text.len() > SCOPE_MAX_BYTES || text.chars().any(char::is_control) {
                return Err(Error::new(ErrorKind::Invalid, "a scope has a part that is not allowed")
                    .with("part", name)
                    .with("bytes", text.len())
                    .hint("principal, server and tool are 1 to 256 bytes each, without control characters"));
            }
            Ok(Arc::<str>::from(text))
        };
        Ok(Self {
            principal: part("principal", principal.as_ref())?,
            server: part("server", server.as_ref())?,
            tool: part("tool", tool.as_ref())?,
        })
    }

    /// Who calls.
    ///
    /// ```
    /// # use stanchion_core::Scope;
    /// assert_eq!(Scope::new("alice", "billing", "send")?.principal(), "alice");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The server the tool belongs to.
    ///
    /// ```
    /// # use stanchion_core::Scope;
    /// assert_eq!(Scope::new("alice", "billing", "send")?.server(), "billing");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tool.
    ///
    /// ```
    /// # use stanchion_core::Scope;
    /// assert_eq!(Scope::new("alice", "billing", "send")?.tool(), "send");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// A key of this scope's own, for limits.
    pub(crate) fn key(&self) -> Result<Key> {
        let parts = [self.principal.as_bytes(), self.server.as_bytes(), self.tool.as_bytes()];
        Key::new(Fingerprint::of_parts(&parts).to_string())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.principal, self.server, self.tool)
    }
}

/// The name of a claim: a digest of scope and key. It is the receipt that answers and errors carry.
///
/// ```
/// use stanchion_core::{CallKey, ClaimId, Scope};
/// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
/// assert_eq!(id.to_string().parse::<ClaimId>()?, id);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimId(Fingerprint);

impl ClaimId {
    /// The claim of `key` in `scope`.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, ClaimId, Scope};
    /// let key = CallKey::new("order-77")?;
    /// let (alice, bob) = (Scope::new("alice", "billing", "send")?, Scope::new("bob", "billing", "send")?);
    /// assert_ne!(ClaimId::of(&alice, &key), ClaimId::of(&bob, &key));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn of(scope: &Scope, key: &CallKey) -> Self {
        let principal = if planted!("key-without-tenant") { "" } else { &*scope.principal };
        let parts = [principal, &*scope.server, &*scope.tool, key.as_str()].map(str::as_bytes);
        Self(Fingerprint::of_parts(&parts))
    }

    /// The key of its record.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, ClaimId, Scope};
    /// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
    /// assert!(id.record_key().as_str().starts_with(ClaimId::RECORDS));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn record_key(&self) -> Key {
        Key::reserved("claim", &self.0.to_string())
    }

    /// What the keys of all claims' records begin with.
    ///
    /// ```
    /// assert_eq!(stanchion_core::ClaimId::RECORDS, "\u{1}claim/");
    /// ```
    pub const RECORDS: &'static str = "\u{1}claim/";

    /// A key for the tool behind us: the same for every attempt of this call, so that a tool which knows keys of its
    /// own can tell a repetition.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, ClaimId, Scope};
    /// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
    /// assert!(id.downstream_key().starts_with("stn-"));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn downstream_key(&self) -> String {
        format!("stn-{}", &self.0.to_string()[..40])
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ClaimId {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|_| Error::new(ErrorKind::Invalid, "a receipt is 64 hex digits"))
    }
}

/// One call: what the guard needs to know of it.
///
/// ```
/// use stanchion_core::{Acquire, Call, CallKey, Fingerprint, Key, Policy, Scope};
/// let call = Call::new(Scope::new("alice", "billing", "send_invoice")?, Policy::default())
///     .key(CallKey::new("order-77")?, Fingerprint::of_json(r#"{"order": 77}"#)?)
///     .lock(Acquire::new(Key::new("customer:bob")?));
/// assert_eq!(call.locks.len(), 1);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Call {
    /// Who calls what.
    pub scope: Scope,
    /// The key, and what it stands for; without one, a repetition runs again.
    pub key: Option<(CallKey, Fingerprint)>,
    /// For a further round of a call that asked for input: the fingerprint of what it was given.
    pub round: Option<Fingerprint>,
    /// What is locked while it runs.
    pub locks: Vec<Acquire>,
    /// By which rules.
    pub policy: Arc<Policy>,
}

impl Call {
    /// A call without key and locks.
    ///
    /// ```
    /// # use stanchion_core::{Call, Policy, Scope};
    /// assert!(Call::new(Scope::new("alice", "notes", "add")?, Policy::default()).key.is_none());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn new(scope: Scope, policy: impl Into<Arc<Policy>>) -> Self {
        Self { scope, key: None, round: None, locks: Vec::new(), policy: policy.into() }
    }

    /// Sets the key and the fingerprint of what is asked.
    ///
    /// ```
    /// # use stanchion_core::{Call, CallKey, Fingerprint, Policy, Scope};
    /// let call = Call::new(Scope::new("alice", "notes", "add")?, Policy::default());
    /// assert!(call.key(CallKey::new("k")?, Fingerprint::of_bytes(b"")).key.is_some());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn key(mut self, key: CallKey, fingerprint: Fingerprint) -> Self {
        self.key = Some((key, fingerprint));
        self
    }

    /// Marks a further round of a call that had asked for input.
    ///
    /// ```
    /// # use stanchion_core::{Call, Fingerprint, Policy, Scope};
    /// let call = Call::new(Scope::new("alice", "notes", "add")?, Policy::default());
    /// assert!(call.round(Fingerprint::of_bytes(b"yes")).round.is_some());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn round(mut self, given: Fingerprint) -> Self {
        self.round = Some(given);
        self
    }

    /// Adds a lock.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Call, Key, Policy, Scope};
    /// let call = Call::new(Scope::new("alice", "notes", "add")?, Policy::default());
    /// assert_eq!(call.lock(Acquire::new(Key::new("notes")?)).locks.len(), 1);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn lock(mut self, lock: Acquire) -> Self {
        self.locks.push(lock);
        self
    }

    /// The wish to claim its key, by its policy; `now_ms` is wall time, for people.
    ///
    /// ```
    /// # use stanchion_core::{Call, CallKey, Fingerprint, Policy, Scope};
    /// let call = Call::new(Scope::new("alice", "notes", "add")?, Policy::default());
    /// assert!(call.wish(0).is_none(), "there is no key");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn wish(&self, now_ms: u64) -> Option<Wish> {
        let (key, fingerprint) = self.key.as_ref()?;
        let mut wish = Wish::new(self.scope.clone(), key.clone(), *fingerprint);
        wish.effect = self.policy.effect;
        wish.lease = if planted!("claim-kept-as-long-as-key") { self.policy.key_ttl } else { self.policy.lease };
        wish.round = self.round;
        wish.keep = self.policy.keep_of(key);
        wish.attempts = self.policy.attempts;
        wish.now_ms = now_ms;
        Some(wish)
    }

    /// The name of its claim, if it has a key.
    ///
    /// ```
    /// # use stanchion_core::{Call, Policy, Scope};
    /// assert!(Call::new(Scope::new("alice", "notes", "add")?, Policy::default()).claim_id().is_none());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn claim_id(&self) -> Option<ClaimId> {
        self.key.as_ref().map(|(key, _)| ClaimId::of(&self.scope, key))
    }
}
