//! What callers are told when a call is not simply answered. One table; `docs/gateway.md` shows it.

use std::time::Duration;

use serde_json::{Value, json};
use stanchion_core::{ClaimId, Error, ErrorKind, Holder};

use crate::splice::quoted;

/// Everything the gateway itself can say of a call.
///
/// ```
/// use stanchion_mcp::ProblemKind;
/// assert_eq!(ProblemKind::LockBusy.as_str(), "lock_busy");
/// assert!(!ProblemKind::LockBusy.may_have_executed());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The lock stayed busy for the whole wait.
    LockBusy,
    /// The lock is held by a call that waits for an answer of this very client.
    Deadlock,
    /// A rate, concurrency or breaker limit.
    RateLimited,
    /// The store is away.
    StoreDown,
    /// The store cannot keep the promise that the call needs.
    StoreUnsuitable,
    /// The key was used for other arguments.
    KeyConflict,
    /// A call with this key is running.
    KeyInProgress,
    /// The key was used so long ago that its answer is gone.
    KeyExpired,
    /// The key is no good key.
    KeyInvalid,
    /// The lock is named by an argument that is not there.
    LockArgumentMissing,
    /// A task goes on after its answer, and no lock would be held then.
    TaskNotGuarded,
    /// It may have run.
    OutcomeUnknown,
    /// It ran; its answer was too large to keep.
    AnswerNotKept,
    /// It was not delivered.
    UpstreamFailed,
    /// The message is no good request.
    InvalidRequest,
    /// The line is no JSON.
    ParseError,
    /// What the memory is kept in cannot be read as one.
    FileDamaged,
    /// A fault of the gateway.
    Internal,
}

/// How it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// As a result with `isError`: the model sees it and can act.
    Result,
    /// As an error of the protocol, with this code: the client's program sees it.
    Error(i32),
}

impl ProblemKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 18] = [
        Self::LockBusy,
        Self::Deadlock,
        Self::RateLimited,
        Self::StoreDown,
        Self::StoreUnsuitable,
        Self::KeyConflict,
        Self::KeyInProgress,
        Self::KeyExpired,
        Self::KeyInvalid,
        Self::LockArgumentMissing,
        Self::TaskNotGuarded,
        Self::OutcomeUnknown,
        Self::AnswerNotKept,
        Self::UpstreamFailed,
        Self::InvalidRequest,
        Self::ParseError,
        Self::FileDamaged,
        Self::Internal,
    ];

    /// Its `type`.
    ///
    /// ```
    /// assert_eq!(stanchion_mcp::ProblemKind::KeyConflict.as_str(), "idempotency_key_conflict");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LockBusy => "lock_busy",
            Self::Deadlock => "deadlock",
            Self::RateLimited => "rate_limited",
            Self::StoreDown => "store_down",
            Self::StoreUnsuitable => "store_unsuitable",
            Self::KeyConflict => "idempotency_key_conflict",
            Self::KeyInProgress => "idempotency_key_in_progress",
            Self::KeyExpired => "idempotency_key_expired",
            Self::KeyInvalid => "idempotency_key_invalid",
            Self::LockArgumentMissing => "lock_argument_missing",
            Self::TaskNotGuarded => "task_not_guarded",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::AnswerNotKept => "answer_not_kept",
            Self::UpstreamFailed => "upstream_failed",
            Self::InvalidRequest => "invalid_request",
            Self::ParseError => "parse_error",
            Self::FileDamaged => "file_damaged",
            Self::Internal => "internal",
        }
    }

    /// Codes of our own lie outside -32768..-32000, which the protocol keeps for itself.
    const fn said(self) -> Said {
        match self {
            Self::KeyConflict | Self::KeyInvalid => Said::Error(-32602),
            Self::KeyInProgress => Said::Error(-31001),
            Self::KeyExpired => Said::Error(-31002),
            Self::TaskNotGuarded => Said::Error(-31003),
            Self::InvalidRequest => Said::Error(-32600),
            Self::ParseError => Said::Error(-32700),
            _ => Said::Result,
        }
    }

    /// The code, if it is said as an error of the protocol; else it is a result with `isError`.
    ///
    /// ```
    /// use stanchion_mcp::ProblemKind;
    /// assert_eq!(ProblemKind::KeyInProgress.code(), Some(-31001));
    /// assert_eq!(ProblemKind::LockBusy.code(), None);
    /// ```
    #[must_use]
    pub const fn code(self) -> Option<i32> {
        match self.said() {
            Said::Error(code) => Some(code),
            Said::Result => None,
        }
    }

    /// Can the same call succeed later, unchanged?
    ///
    /// ```
    /// assert!(!stanchion_mcp::ProblemKind::OutcomeUnknown.is_retryable());
    /// ```
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::LockBusy
                | Self::Deadlock
                | Self::RateLimited
                | Self::StoreDown
                | Self::KeyInProgress
                | Self::UpstreamFailed
        )
    }

    /// Can the call's effect have happened? Where a key says that another call with it may have run, that counts. While the store is
    /// away, nobody knows of earlier calls: then this is about the present one.
    ///
    /// ```
    /// assert!(stanchion_mcp::ProblemKind::OutcomeUnknown.may_have_executed());
    /// ```
    #[must_use]
    pub const fn may_have_executed(self) -> bool {
        matches!(
            self,
            Self::KeyInProgress | Self::KeyExpired | Self::OutcomeUnknown | Self::AnswerNotKept | Self::Internal
        )
    }

    /// What an agent should do about it.
    ///
    /// ```
    /// assert!(stanchion_mcp::ProblemKind::RateLimited.advice().contains("later"));
    /// ```
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::LockBusy => "Nothing was executed. Try again later.",
            Self::Deadlock => "Nothing was executed. Answer the server's open request first, then try again.",
            Self::RateLimited => "Nothing was executed. Try again later, and less often.",
            Self::StoreDown => "Nothing was executed. Try again when the store is back.",
            Self::StoreUnsuitable => "Nothing was executed. A person has to change the store or the policy.",
            Self::KeyConflict => "Nothing was executed. Use a new key for a new call.",
            Self::KeyInProgress => "The first call with this key is still running. Ask again later with the same key.",
            Self::KeyExpired => {
                "The call was made earlier, or may have been. Look before you call again with a new key."
            }
            Self::KeyInvalid => "Nothing was executed. Send a key of 1 to 255 characters, or none.",
            Self::LockArgumentMissing => "Nothing was executed. Call again with the missing argument.",
            Self::TaskNotGuarded => "Nothing was executed. Call without a task.",
            Self::OutcomeUnknown => "It may have been executed. Do not repeat it blindly: look first.",
            Self::AnswerNotKept => "The call was executed once. Read its effect with another tool.",
            Self::UpstreamFailed => "Nothing was executed. Try again later.",
            Self::InvalidRequest | Self::ParseError => "Nothing was executed.",
            Self::FileDamaged => {
                "Nothing was changed. A person has to look at it: stanchion memory check, then repair."
            }
            Self::Internal => "It may have been executed. Look first.",
        }
    }
}

/// One problem, with what helps to act on it.
///
/// ```
/// use stanchion_mcp::{Problem, ProblemKind};
/// let frame = Problem::new(ProblemKind::LockBusy, "notes is busy").frame("7", false);
/// assert!(frame.starts_with(r#"{"jsonrpc":"2.0","id":7,"result":{"#) && frame.contains(r#""isError":true"#));
/// ```
#[derive(Debug, Clone)]
pub struct Problem(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ProblemKind,
    message: String,
    retry_after: Option<Duration>,
    holder: Option<Holder>,
    /// Why the holder holds on.
    note: Option<String>,
    receipt: Option<ClaimId>,
    key: Option<String>,
    may_have_executed: bool,
}

impl Problem {
    /// A problem, in words.
    ///
    /// ```
    /// # use stanchion_mcp::{Problem, ProblemKind};
    /// assert_eq!(Problem::new(ProblemKind::StoreDown, "away").kind(), ProblemKind::StoreDown);
    /// ```
    #[must_use]
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            retry_after: None,
            holder: None,
            note: None,
            receipt: None,
            key: None,
            may_have_executed: kind.may_have_executed(),
        }))
    }

    /// What kind it is.
    ///
    /// ```
    /// # use stanchion_mcp::{Problem, ProblemKind};
    /// assert_eq!(Problem::new(ProblemKind::Deadlock, "").kind(), ProblemKind::Deadlock);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ProblemKind {
        self.0.kind
    }

    pub(crate) fn receipt(mut self, receipt: Option<ClaimId>) -> Self {
        self.0.receipt = receipt;
        self
    }

    /// The key it is about, which its sender knows anyway.
    pub(crate) fn key(mut self, key: Option<&str>) -> Self {
        self.0.key = key.map(str::to_owned);
        self
    }

    pub(crate) fn note(mut self, note: Option<String>) -> Self {
        self.0.note = note;
        self
    }

    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// What programs read.
    fn data(&self) -> Value {
        let mut data = json!({
            "type": self.0.kind.as_str(),
            "retryable": self.0.kind.is_retryable(),
            "mayHaveExecuted": self.0.may_have_executed,
        });
        let mut add = |name: &str, value: Value| data[name] = value;
        if let Some(wait) = self.0.retry_after {
            add("retryAfterMs", json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
        }
        if let Some(holder) = &self.0.holder {
            let since = holder.held_for.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            let who = &holder.identity;
            let mut said = json!({"host": who.host, "pid": who.pid});
            if !who.label.is_empty() {
                said["label"] = json!(who.label);
            }
            if let Some(ms) = since {
                said["heldForMs"] = json!(ms);
            }
            if let Some(note) = &self.0.note {
                said["note"] = json!(note);
            }
            add("holder", said);
        } else if let Some(note) = &self.0.note {
            add("holder", json!({"note": note}));
        }
        if let Some(receipt) = self.0.receipt {
            add("receipt", json!(receipt.to_string()));
        }
        // SEP-3182 names it.
        if let (Some(key), ProblemKind::KeyConflict | ProblemKind::KeyInProgress) = (&self.0.key, self.0.kind) {
            add("idempotencyKey", json!(key));
        }
        data
    }

    fn sentence(&self) -> String {
        let note = self.0.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}: {}{note}. {}", self.0.kind.as_str(), self.0.message, self.0.kind.advice())
    }

    /// The answer to the request with this id (as JSON). A call of the era without sessions is told that its result is complete.
    ///
    /// ```
    /// # use stanchion_mcp::{Problem, ProblemKind};
    /// let frame = Problem::new(ProblemKind::KeyConflict, "the key stands for another call").frame("\"a\"", true);
    /// assert!(frame.contains(r#""code":-32602"#) && frame.contains(r#""type":"idempotency_key_conflict""#));
    /// ```
    #[must_use]
    pub fn frame(&self, id: &str, modern: bool) -> String {
        let data = self.data();
        match self.0.kind.said() {
            Said::Error(code) => {
                let message = quoted(&self.sentence());
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message},"data":{data}}}}}"#)
            }
            Said::Result => {
                // Models are shown the content, programs read `_meta`.
                let mut result = json!({
                    "content": [{"type": "text", "text": self.sentence()}, {"type": "text", "text": data.to_string()}],
                    "isError": true,
                    "_meta": {"dev.stanchion/error": data},
                });
                if modern {
                    result["resultType"] = json!("complete");
                }
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            }
        }
    }
}

/// The guard's refusals: nothing ran.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Contended => ProblemKind::LockBusy,
            ErrorKind::Deadlock => ProblemKind::Deadlock,
            ErrorKind::Limited => ProblemKind::RateLimited,
            ErrorKind::InProgress => ProblemKind::KeyInProgress,
            ErrorKind::KeyReused => ProblemKind::KeyConflict,
            ErrorKind::KeyExpired => ProblemKind::KeyExpired,
            ErrorKind::Unavailable => ProblemKind::StoreDown,
            ErrorKind::Unsupported | ErrorKind::Denied | ErrorKind::Damaged => ProblemKind::StoreUnsuitable,
            ErrorKind::Invalid => ProblemKind::InvalidRequest,
            _ => ProblemKind::Internal,
        };
        // A key of ours, as the store knows it, may begin with a control character.
        let mut problem = Self::new(kind, error.to_string().replace(char::is_control, ""));
        problem.0.retry_after = error.retry_after().or_else(|| kind.is_retryable().then_some(Duration::from_secs(1)));
        problem.0.holder = error.holder().cloned();
        problem
    }
}
