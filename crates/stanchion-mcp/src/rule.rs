//! What holds for one tool of one server, resolved: nothing is looked up any more.

use std::time::Duration;

use stanchion_core::{Effect, Mode, OnStoreDown, Policy};

use crate::ArgumentTemplate;

/// Which locks a call takes.
///
/// ```
/// assert_eq!(stanchion_mcp::Locking::default(), stanchion_mcp::Locking::Default);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Locking {
    /// Under `wrap` one lock per server for every tool that is not read-only; under `serve` none.
    #[default]
    Default,
    /// None at all.
    None,
    /// These, named by the call's arguments.
    Keys(Vec<ArgumentTemplate>),
}

/// How the upstream learns the fencing token of the lock.
///
/// ```
/// assert_eq!(stanchion_mcp::Fencing::default(), stanchion_mcp::Fencing::None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fencing {
    /// Not at all.
    #[default]
    None,
    /// As `_meta["dev.stanchion/fence"]` of the call.
    Meta,
    /// As an argument of this name.
    Argument(String),
    /// As a header of this name; HTTP upstreams only.
    Header(String),
}

/// Where a key may come from besides `_meta`, `params.idempotencyKey` and the header, which always count.
///
/// ```
/// assert!(!stanchion_mcp::KeySources::default().host_call_id);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySources {
    /// The argument that carries the key; it is passed on as it is.
    pub argument: Option<String>,
    /// The call id of the host (`_meta["claudecode/toolUseId"]`).
    pub host_call_id: bool,
    /// Without any key, identical calls within this time are one call.
    pub dedupe: Option<Duration>,
}

/// At most so many calls within a time, for each principal and tool.
///
/// ```
/// let rate = stanchion_mcp::Rate { most: 10, within: std::time::Duration::from_secs(1) };
/// assert_eq!(rate.most, 10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub most: u32,
    /// In which time.
    pub within: Duration,
}

/// The rules for one tool.
///
/// ```
/// let rule = stanchion_mcp::Rule::default();
/// assert_eq!(rule.wait.as_secs(), 20);
/// assert_eq!(rule.max_hold.as_secs(), 600);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// How the tool may be repeated; unless set, its hints say whether it is read-only, and everything else is `non_idempotent`.
    pub effect: Option<Effect>,
    /// Its locks.
    pub locking: Locking,
    /// How they are held.
    pub mode: Mode,
    /// How long a busy lock is waited for.
    pub wait: Duration,
    /// How long a lease outlives a stopped gateway.
    pub ttl: Duration,
    /// How long a call may hold its locks; after that its outcome is unknown.
    pub max_hold: Duration,
    /// How keyed calls are remembered. Its effect class is overwritten by `effect`, or by the hints.
    pub policy: Policy,
    /// Where keys come from.
    pub key: KeySources,
    /// How the fence is handed on.
    pub fencing: Fencing,
    /// How often.
    pub rate: Option<Rate>,
    /// How many calls of this tool run at the same time in this process.
    pub concurrency: Option<usize>,
    /// After so many unanswered calls, none for this long.
    pub breaker: Option<(u32, Duration)>,
    /// What happens while the store is away.
    pub on_store_down: OnStoreDown,
    /// Write arguments to the call log.
    pub log_arguments: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            effect: None,
            locking: Locking::default(),
            mode: Mode::default(),
            wait: Duration::from_secs(20),
            ttl: Duration::from_secs(30),
            max_hold: Duration::from_secs(10 * 60),
            policy: Policy::default(),
            key: KeySources::default(),
            fencing: Fencing::default(),
            rate: None,
            concurrency: None,
            breaker: None,
            on_store_down: OnStoreDown::default(),
            log_arguments: false,
        }
    }
}
