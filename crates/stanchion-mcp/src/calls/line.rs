//! One line of the call log, and how it is read back.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use stanchion_core::{Error, ErrorKind};

/// Arguments longer than this stay out of the log; their length is written instead.
pub(super) const ARGUMENTS_MAX: usize = 64 << 10;

static PID: LazyLock<u32> = LazyLock::new(std::process::id);

/// What became of a call.
///
/// ```
/// use stanchion_mcp::calls::Verdict;
/// assert_eq!("no_effect".parse::<Verdict>()?, Verdict::NoEffect);
/// assert_eq!(Verdict::Replayed.to_string(), "replayed");
/// assert_eq!(Verdict::ALL.len(), 9);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was passed on unguarded, as read-only tools are.
    Passed,
    /// It ran and succeeded.
    Done,
    /// It ran and failed for good.
    Failed,
    /// It had run before; the caller got that answer.
    Replayed,
    /// It waits for its caller's input.
    Suspended,
    /// The upstream says that nothing happened.
    NoEffect,
    /// It may have run.
    Unknown,
    /// We refused it; nothing ran.
    Refused,
    /// Its caller took it back before it ran.
    Cancelled,
}

impl Verdict {
    /// All of them, in the order in which they are shown.
    ///
    /// ```
    /// use stanchion_mcp::calls::Verdict;
    /// assert_eq!(Verdict::ALL[0], Verdict::Passed);
    /// ```
    pub const ALL: [Self; 9] = [
        Self::Passed,
        Self::Done,
        Self::Failed,
        Self::Replayed,
        Self::Suspended,
        Self::NoEffect,
        Self::Unknown,
        Self::Refused,
        Self::Cancelled,
    ];

    /// Its name in the log.
    ///
    /// ```
    /// assert_eq!(stanchion_mcp::calls::Verdict::NoEffect.as_str(), "no_effect");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Replayed => "replayed",
            Self::Suspended => "suspended",
            Self::NoEffect => "no_effect",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Verdict {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == text).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "there is no such verdict")
                .with("verdict", format_args!("{text:?}"))
                .hint(format!("one of {}", Self::ALL.map(Self::as_str).join(", ")))
        })
    }
}

/// One line of the call log. Members that a reader does not know are passed over.
///
/// ```
/// use stanchion_mcp::calls::{CallLine, Verdict, key_digest};
/// let mut line = CallLine::new("memory", "local", "create_entities", Verdict::Done);
/// line.key = Some(key_digest("order-17"));
/// line.took_us = 850;
/// let text = serde_json::to_string(&line)?;
/// assert!(text.contains(r#""verdict":"done""#) && !text.contains("order-17"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallLine {
    /// When the call came, in milliseconds of the Unix clock; for people.
    pub at_ms: u64,
    /// The server's name.
    pub server: String,
    /// Who called.
    #[serde(default)]
    pub principal: String,
    /// What was called.
    pub tool: String,
    /// What became of it.
    pub verdict: Verdict,
    /// The claim's receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// The [digest](key_digest) of the idempotency key, never the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The locks it took or waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// How long it waited for them, in microseconds.
    #[serde(default)]
    pub waited_us: u64,
    /// How long it held them, in microseconds.
    #[serde(default)]
    pub held_us: u64,
    /// From the caller's request to our answer, in microseconds.
    #[serde(default)]
    pub took_us: u64,
    /// The trace id of the call's `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The claim's epoch, which grows with every attempt; 0 without a claim.
    #[serde(default)]
    pub epoch: u64,
    /// The type of the error, as `lock_busy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it was called with; only where the policy asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// How long the arguments were, where they were too long to be logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<u64>,
    /// The process that wrote the line.
    #[serde(default)]
    pub pid: u32,
}

impl CallLine {
    /// A call of now and of this process, with everything else empty.
    ///
    /// ```
    /// use stanchion_mcp::calls::{CallLine, Verdict};
    /// let line = CallLine::new("memory", "local", "read_graph", Verdict::Passed);
    /// assert_eq!(line.pid, std::process::id());
    /// ```
    #[must_use]
    pub fn new(
        server: impl Into<String>,
        principal: impl Into<String>,
        tool: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Self {
            at_ms: wall_clock_ms(),
            server: server.into(),
            principal: principal.into(),
            tool: tool.into(),
            verdict,
            receipt: None,
            key: None,
            locks: Vec::new(),
            waited_us: 0,
            held_us: 0,
            took_us: 0,
            trace: None,
            epoch: 0,
            detail: None,
            arguments: None,
            arguments_bytes: None,
            pid: *PID,
        }
    }

    /// Takes arguments out that are too long.
    pub(super) fn bound(&mut self) {
        if let Some(long) = self.arguments.take_if(|arguments| arguments.get().len() > ARGUMENTS_MAX) {
            self.arguments_bytes = Some(long.get().len() as u64);
        }
    }

    /// What of it has no fixed size, roughly.
    pub(super) fn weight(&self) -> usize {
        self.arguments.as_ref().map_or(0, |arguments| arguments.get().len())
            + self.locks.iter().map(String::len).sum::<usize>()
            + self.tool.len()
            + self.detail.as_ref().map_or(0, String::len)
    }
}

/// Lines that were not written: the queue was full, or the disk.
///
/// ```
/// use stanchion_mcp::calls::{Entry, parse};
/// assert!(matches!(parse(r#"{"at_ms":0,"dropped":17,"pid":1}"#), Some(Entry::Dropped(lost)) if lost.dropped == 17));
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dropped {
    /// When the first line after them was written.
    pub at_ms: u64,
    /// How many.
    pub dropped: u64,
    /// The process that lost them.
    #[serde(default)]
    pub pid: u32,
}

impl Dropped {
    pub(super) fn now(dropped: u64) -> Self {
        Self { at_ms: wall_clock_ms(), dropped, pid: *PID }
    }
}

/// What a line of the log says.
///
/// ```
/// use stanchion_mcp::calls::{Entry, parse};
/// assert!(matches!(parse(r#"{"at_ms":1,"server":"s","tool":"t","verdict":"done"}"#), Some(Entry::Call(_))));
/// ```
#[derive(Debug, Clone)]
pub enum Entry {
    /// A call.
    Call(Box<CallLine>),
    /// Calls that are missing here.
    Dropped(Dropped),
}

/// Reads one line; `None` if it is damaged.
///
/// ```
/// assert!(stanchion_mcp::calls::parse(r#"{"at_ms":1,"serv"#).is_none());
/// ```
#[must_use]
pub fn parse(line: &str) -> Option<Entry> {
    if let Ok(call) = serde_json::from_str(line) {
        return Some(Entry::Call(Box::new(call)));
    }
    serde_json::from_str(line).ok().map(Entry::Dropped)
}

/// What stands for an idempotency key in the log: enough to find two calls with one key, too little to find the key.
///
/// ```
/// use stanchion_mcp::calls::key_digest;
/// assert_eq!(key_digest("order-17").len(), 16);
/// assert_eq!(key_digest("order-17"), key_digest("order-17"));
/// ```
#[must_use]
pub fn key_digest(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest
        .iter()
        .take(8)
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|n| char::from_digit(n.into(), 16))
        .collect()
}

/// For a person who reads the log later; nothing is decided by it.
fn wall_clock_ms() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "shown, never compared with a lease's clock")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
