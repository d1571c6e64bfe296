//! The gate: every `tools/call` of one server goes through it, whatever carries it.

mod notes;
mod plan;
mod run;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{Breaker, Guard, Idempotency, Key, Limiter, Locks, RecordStore, Result};

pub use self::plan::Guarded;
pub(crate) use self::plan::Plan;
pub use self::run::{Answered, Outgoing, Sent};

use crate::calls::{CallLine, CallLog, Verdict};
use crate::frame::Frame;
use crate::hints::{self, Hints};
use crate::policy::Rules;
use crate::rule::Rule;
use crate::splice;

/// So many guards are kept apart by tool; callers can invent names.
const GUARDS: usize = 4096;

/// Who calls, as far as the transport knows.
///
/// ```
/// let caller = stanchion_mcp::Caller::new("alice");
/// assert!(caller.key.is_none());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Caller {
    /// Whose keys they are.
    pub principal: Arc<str>,
    /// The header `Idempotency-Key`.
    pub key: Option<String>,
}

impl Caller {
    /// A caller without a header.
    ///
    /// ```
    /// assert_eq!(&*stanchion_mcp::Caller::new("alice").principal, "alice");
    /// ```
    #[must_use]
    pub fn new(principal: &str) -> Self {
        Self { principal: principal.into(), key: None }
    }
}

/// What guards the calls of one server, whatever carries them. See [`Session`](crate::Session) for one over pipes.
#[derive(Debug)]
pub struct Gate {
    server: String,
    rules: Rules,
    claims: Idempotency,
    locks: Locks,
    records: Arc<dyn RecordStore>,
    /// What every tool that is not read-only locks, unless a rule says otherwise.
    default_lock: Option<Key>,
    guards: Mutex<HashMap<(usize, String), Guard>>,
    hints: Hints,
    log: CallLog,
}

impl Gate {
    /// A gate for the server of this name. `locks` must be those of `claims`, and `records` those behind them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// use stanchion_mcp::{Gate, policy::PolicyFile};
    /// let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// let claims = Idempotency::new(store.clone(), locks.clone());
    /// let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// assert_eq!(gate.server(), "notes");
    /// ```
    #[must_use]
    pub fn new(server: &str, rules: Rules, claims: Idempotency, locks: Locks, records: Arc<dyn RecordStore>) -> Self {
        Self {
            server: server.to_owned(),
            rules,
            claims,
            locks,
            records,
            default_lock: None,
            guards: Mutex::default(),
            hints: Hints::default(),
            log: CallLog::none(),
        }
    }

    /// Sets what every tool that is not read-only locks, unless a rule says otherwise.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// let _gate = gate.default_lock(stanchion_core::Key::new("mcp:notes")?);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn default_lock(mut self, key: Key) -> Self {
        self.default_lock = Some(key);
        self
    }

    /// Sets where calls are written down.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// let _gate = gate.log(stanchion_mcp::calls::CallLog::none());
    /// ```
    #[must_use]
    pub fn log(mut self, log: CallLog) -> Self {
        self.log = log;
        self
    }

    /// The server's name.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// assert_eq!(gate.server(), "notes");
    /// ```
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What is asked of this server's tools.
    pub(crate) const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Writes a call down, and counts it.
    fn written_down(&self, line: CallLine) {
        let verdict = line.verdict.as_str();
        metrics::counter!("stanchion_calls_total", "server" => self.server.clone(), "verdict" => verdict).increment(1);
        if line.verdict != Verdict::Passed {
            let waited = Duration::from_micros(line.waited_us);
            metrics::histogram!("stanchion_call_wait_seconds", "server" => self.server.clone()).record(waited);
        }
        self.log.log(line);
    }

    /// What an answer to `initialize` or `server/discover` is passed on as: the server's capabilities, and ours among them.
    pub(crate) fn advertise<'a>(&self, frame: &Frame<'a>) -> Cow<'a, str> {
        let path = ["result", "capabilities", "extensions", "dev.stanchion/idempotency"];
        if frame.result().is_none() {
            return frame.text().into();
        }
        let kept = self.rules.of("").policy.key_ttl().as_secs();
        let ours = format!(r#"{{"retentionSeconds":{kept}}}"#);
        splice::set(frame.text(), &path, &ours).map_or_else(|| frame.text().into(), Cow::Owned)
    }

    /// Waits for what dropped calls have left to be recorded and released.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// gate.settled().await;
    /// # });
    /// ```
    pub async fn settled(&self) {
        self.claims.settled().await;
        self.locks.settled().await;
    }

    /// The list of tools has changed: hints are asked for again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("notes", PolicyFile::default().rules("notes"), claims, Locks::shared(locks), store);
    /// gate.tools_changed();
    /// ```
    pub fn tools_changed(&self) {
        self.hints.forget();
    }

    /// Asks the server which of its tools only read, and warns of rules for tools that it does not have.
    pub(crate) async fn learn_hints<Asked>(&self, tool: &str, era: Option<&str>, ask: impl Fn(OwnRequest) -> Asked)
    where
        Asked: Future<Output = Option<String>>,
    {
        let era = era.map(str::to_owned);
        let learnt = self.hints.learn(tool, |cursor| ask(OwnRequest { era: era.clone(), cursor })).await;
        let Some(names) = learnt else { return };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for unknown in self.rules.unknown(&names) {
            tracing::warn!(server = self.server, "the policy has a rule that applies to nothing: {unknown}");
        }
    }

    /// The guard of a rule: its limits are shared by all calls it is for.
    fn guard(&self, rule: &Arc<Rule>, tool: &str) -> Result<Guard> {
        let apart = if rule.concurrency.is_some() || rule.breaker.is_some() { tool } else { "" };
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        let rule_at = Arc::as_ptr(rule).addr();
        let mut at = (rule_at, apart.to_owned());
        if guards.len() >= GUARDS && !guards.contains_key(&at) {
            at = (rule_at, String::new());
        }
        if let Some(guard) = guards.get(&at) {
            return Ok(guard.clone());
        }
        let mut guard = Guard::with(self.claims.clone(), self.locks.clone()).on_store_down(rule.on_store_down);
        if let Some(rate) = rule.rate {
            guard = guard.rate(Limiter::shared(Arc::clone(&self.records), rate.most, rate.within)?);
        }
        if let Some(most) = rule.concurrency {
            guard = guard.concurrency(most);
        }
        if let Some((most, rest)) = rule.breaker {
            guard = guard.breaker(Breaker::new(most, rest)?);
        }
        guards.insert(at, guard.clone());
        Ok(guard)
    }
}

/// A `tools/list` that the gate needs for itself.
#[derive(Debug, Clone)]
pub(crate) struct OwnRequest {
    era: Option<String>,
    cursor: Option<String>,
}

impl OwnRequest {
    pub(crate) fn frame(&self, id: &str) -> String {
        hints::request(id, self.era.as_deref(), self.cursor.as_deref())
    }
}
