//! Race specifications: `docs/race-spec.md` is the reference.

mod calls;
mod expect;
mod operation;
mod parse;
mod problem;
mod reader;
mod target;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::operation::{Action, Operation};
pub use self::problem::{SpecError, SpecProblem};
pub(crate) use self::template::Vars;
pub(crate) use self::template::is_target_template;
pub use self::template::{Template, ValueTemplate};

/// Which calls are made at the same time, against what, and what must hold afterwards.
///
/// ```
/// let spec = stanchion_race::Spec::parse(r#"
/// version = 1
/// name = "two at once"
/// [target]
/// kind = "mcp-stdio"
/// command = ["node", "{root}/dist/index.js"]
/// [[call]]
/// tool = "add"
/// arguments = { name = "{id}" }
/// [read]
/// tool = "list"
/// [expect]
/// every = "{id}"
/// "#, "probe.toml")?;
/// assert_eq!(spec.name, "two at once");
/// assert_eq!(spec.calls[0].times, 20);
/// # Ok::<(), stanchion_race::SpecError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Spec {
    /// The title of the verdict.
    pub name: String,
    /// The same seed makes the same schedules.
    pub seed: Option<u64>,
    /// Where a probe comes from.
    pub origin: Origin,
    /// What is raced.
    pub target: Target,
    /// How much.
    pub limits: Limits,
    /// Before every round, one after the other.
    pub setup: Vec<Call>,
    /// Released at one moment.
    pub calls: Vec<Call>,
    /// When all calls have ended, on every instance.
    pub read: Option<Read>,
    /// After every round, one after the other.
    pub teardown: Vec<Call>,
    /// How faults look.
    pub faults: Faults,
    /// A recorder that stands in for a service.
    pub upstream: Option<Upstream>,
    /// What must hold.
    pub expect: Expect,
}

impl Spec {
    /// The same, with the target's command started by another: these words come before it.
    ///
    /// ```
    /// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
    /// let guarded = spec.started_by(&["stanchion".into(), "wrap".into(), "--".into()]);
    /// assert_eq!(guarded.target.command.len(), spec.target.command.len() + 3);
    /// ```
    #[must_use]
    pub fn started_by(&self, words: &[String]) -> Self {
        let mut guarded = self.clone();
        let words = words.iter().map(|word| Template::literal(word));
        guarded.target.command = words.chain(guarded.target.command).collect();
        guarded.target.is_guarded = true;
        guarded
    }
}

/// Where a probe comes from; only shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Where it reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// Where it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
}

/// How a target is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// MCP over standard input and output.
    McpStdio,
    /// MCP over streamable HTTP.
    McpHttp,
    /// Plain HTTP.
    Http,
}

/// What is raced.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Target {
    /// How it is spoken to.
    pub kind: Kind,
    /// Started without a shell; empty if the servers run already.
    pub command: Vec<Template>,
    /// Where it is started.
    pub cwd: Template,
    /// Added to `PATH` and the locale.
    pub env: BTreeMap<String, Template>,
    /// All of our environment is handed on.
    pub is_inherited: bool,
    /// How many.
    pub instances: usize,
    /// Where they answer.
    pub urls: Vec<Template>,
    /// Sent with every request.
    pub headers: BTreeMap<String, Template>,
    /// Until it answers.
    pub start: Duration,
    /// Started by a guard, which is given time to write down what it did.
    pub(crate) is_guarded: bool,
}

/// How much is done at most.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// Calls over all rounds and instances.
    pub calls: usize,
    /// For the whole run.
    pub run: Duration,
    /// Rounds.
    pub rounds: u64,
    /// For one answer.
    pub call: Duration,
}

/// One kind of call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Call {
    /// What is asked.
    pub request: Request,
    /// How often in a round.
    pub times: usize,
    /// What may happen to it.
    pub faults: Vec<FaultKind>,
    /// What it is for `linearizable`.
    pub operation: Option<Operation>,
}

/// What is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Request {
    /// A tool of MCP.
    Tool {
        /// Its name.
        name: Template,
        /// Its arguments.
        arguments: ValueTemplate,
    },
    /// A request of HTTP.
    Http {
        /// The method.
        method: &'static str,
        /// The path and query.
        path: Template,
        /// Headers of this request.
        headers: BTreeMap<String, Template>,
        /// Text as it is; everything else as JSON.
        body: Option<ValueTemplate>,
    },
}

/// The call that shows what is left.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Read {
    /// What is asked.
    pub request: Request,
    /// Which parts of the answer count: a JSON pointer with `*`.
    pub select: Option<String>,
    /// What it is for `linearizable`.
    pub operation: Option<Operation>,
}

/// What can happen to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// Held back.
    Delay,
    /// Delivered, and the answer dropped.
    LostReply,
    /// Delivered twice.
    Duplicate,
    /// Its connection cut.
    Reset,
    /// Its process stopped for a while.
    Pause,
    /// Its process killed and started again.
    Kill,
}

/// How faults look.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Faults {
    /// From and to, in milliseconds.
    pub delay_ms: (u64, u64),
    /// How long a process is stopped.
    pub pause_ms: u64,
    /// How long a killed process is away.
    pub restart_ms: u64,
    /// How likely a call with faults meets one.
    pub chance: f64,
}

/// What can happen to a request at the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamFault {
    /// Answered late.
    Delay,
    /// Recorded, and cut without an answer.
    LostReply,
    /// Cut before it is recorded as done.
    Reset,
    /// 503.
    Error,
}

impl UpstreamFault {
    /// The word of the specification.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::LostReply => "lost-reply",
            Self::Reset => "reset",
            Self::Error => "error",
        }
    }
}

/// A recorder that stands in for a service the target calls.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Upstream {
    /// Of its answers.
    pub status: u16,
    /// Of its answers.
    pub headers: BTreeMap<String, Template>,
    /// Of its answers.
    pub body: ValueTemplate,
    /// What may happen to a request.
    pub faults: Vec<UpstreamFault>,
}

/// A number that is fixed, or follows from what happened.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Amount {
    /// This number.
    Fixed(f64),
    /// As many as calls were acknowledged.
    Acknowledged,
    /// As before the round.
    Before,
    /// As before the round, and one for each acknowledged call.
    BeforeAndAcknowledged,
}

/// The shape of a linearizable object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Model {
    /// The last write counts.
    Register,
    /// A sum.
    Counter,
    /// Elements that are there or not.
    Set,
    /// One holder at a time.
    Mutex,
}

/// What must hold.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Expect {
    /// Is in the read-back for each acknowledged call.
    pub every: Option<Template>,
    /// Is there exactly once if acknowledged, and never twice.
    pub once: Option<Template>,
    /// No selected value is there twice.
    pub unique: bool,
    /// So many values are selected.
    pub count: Option<Amount>,
    /// The numbers selected by the pointer, or the one number that there is, add up to it.
    pub sum: Option<(Option<String>, Amount)>,
    /// At most one changing request for each call, one for each acknowledged one.
    pub effects: bool,
    /// Every call after the last fault is answered.
    pub answers: bool,
    /// The read-back works.
    pub readable: bool,
    /// Some order of the calls explains all answers.
    pub linearizable: Option<Model>,
}

impl Expect {
    /// The keys that are set, in the order of the reference.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let all = [
            ("every", self.every.is_some()),
            ("once", self.once.is_some()),
            ("unique", self.unique),
            ("count", self.count.is_some()),
            ("sum", self.sum.is_some()),
            ("effects", self.effects),
            ("answers", self.answers),
            ("readable", self.readable),
            ("linearizable", self.linearizable.is_some()),
        ];
        all.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
    }
}

/// Whether the target is looked at before a round, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Unasked,
    /// Nothing may be there yet, and it can be judged without where every call is acknowledged.
    Helps,
    Needed,
}

impl Spec {
    /// The target must be looked at before the round, too.
    pub(crate) fn before(&self) -> Before {
        let before = |amount: &Amount| matches!(amount, Amount::Before | Amount::BeforeAndAcknowledged);
        let is_operation = self.read.as_ref().is_some_and(|read| read.operation.is_some());
        let Expect { count, sum, .. } = &self.expect;
        let needs =
            is_operation || count.as_ref().is_some_and(before) || sum.as_ref().is_some_and(|(_, is)| before(is));
        match sum {
            _ if needs => Before::Needed,
            Some((_, Amount::Fixed(_))) => Before::Helps,
            _ => Before::Unasked,
        }
    }

    /// All of the answer to this kind of call counts.
    pub(crate) fn keeps_answer(&self, call: usize) -> bool {
        let operation = self.calls.get(call).and_then(|call| call.operation.as_ref());
        operation.is_some_and(|operation| operation.gives.is_some())
    }
}

impl Expect {
    /// Names a number that only all calls together reach.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed().is_some()
    }

    /// The expectation that names such a number.
    pub(crate) fn fixed(&self) -> Option<&'static str> {
        let fixed = |amount: &Amount| matches!(amount, Amount::Fixed(_));
        let count = self.count.as_ref().is_some_and(fixed).then_some("count");
        count.or(self.sum.as_ref().is_some_and(|(_, is)| fixed(is)).then_some("sum"))
    }
}

impl Call {
    /// An error is an answer of its operation.
    pub(crate) fn may_be_no(&self) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.error_is_no)
    }
}
