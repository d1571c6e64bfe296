//! What is to be done with a call: nothing runs yet.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use stanchion_core::{
    Acquire, Call, CallKey, ClaimId, Effect, Error, ErrorKind, Guard, Identity, InFlight, Key, Scope, Wait, planted,
};

use super::{Caller, Gate};
use crate::calls::{CallLine, Verdict};
use crate::frame::Frame;
use crate::hints::Hint;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Locking, Rule};
use crate::tool_call::{ToolCall, chosen_key};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Plan {
    /// It needs no guard: pass it on as it is.
    Pass,
    /// Ask the server for its hints first, then plan again.
    AskHints,
    /// Run it through the guard.
    Guard(Box<Guarded>),
}

/// A call with everything its guard needs, apart from the frame it came in.
#[derive(Debug)]
pub struct Guarded {
    pub(super) call: Call,
    pub(super) guard: Guard,
    pub(super) rule: Arc<Rule>,
    pub(super) frame: String,
    pub(super) raw_id: String,
    pub(super) key: Option<String>,
    pub(super) modern: bool,
    pub(super) allows_tasks: bool,
    pub(super) progress_token: Option<String>,
    pub(super) line: CallLine,
}

impl Guarded {
    /// The names of the locks it takes.
    pub fn locks(&self) -> impl Iterator<Item = &Key> {
        self.call.locks.iter().map(|lock| &lock.key)
    }

    /// Has it a key, so that its answer is worth something without its caller?
    #[must_use]
    pub const fn is_keyed(&self) -> bool {
        self.call.key.is_some()
    }

    /// Its claim, if it has a key.
    #[must_use]
    pub fn receipt(&self) -> Option<ClaimId> {
        self.call.claim_id()
    }

    /// The id it came with, as JSON.
    #[must_use]
    pub fn raw_id(&self) -> &str {
        &self.raw_id
    }

    /// The answer to this call that says what is wrong.
    pub(crate) fn refusal(&self, problem: &Problem) -> String {
        problem.frame(&self.raw_id, self.modern)
    }
}

/// A refusal, and whether its caller is of the era without sessions.
pub(crate) type Refusal = (Problem, bool);

impl Gate {
    /// Decides. Needs no store and never waits.
    pub(crate) fn plan(&self, frame: &Frame<'_>, caller: &Caller) -> Result<Plan, Refusal> {
        let invalid = |error: Error| (Problem::from(error), false);
        let call = ToolCall::of(frame).map_err(invalid)?;
        let modern = call.is_modern();
        self.plan_call(frame, &call, caller).map_err(|problem| {
            let line = self.line(&call, caller);
            self.written_down(CallLine {
                verdict: Verdict::Refused,
                detail: Some(problem.kind().as_str().to_owned()),
                ..line
            });
            (problem, modern)
        })
    }

    fn plan_call(&self, frame: &Frame<'_>, call: &ToolCall<'_>, caller: &Caller) -> Result<Plan, Problem> {
        let rule = self.rules.of(&call.tool);
        let effect = match (rule.effect, self.hints.of(&call.tool)) {
            (Some(effect), _) => effect,
            (None, Hint::NotAsked) => return Ok(Plan::AskHints),
            (None, Hint::ReadOnly) => Effect::ReadOnly,
            (None, Hint::Writing) => Effect::NonIdempotent,
        };
        let locks = self.locks_of(rule, effect, call)?;
        let key = if effect == Effect::ReadOnly { None } else { key_of(rule, call, caller)? };
        if locks.is_empty() && call.has_fence(&rule.fencing) {
            let why = "it carries a fence, and takes no lock: a fence is the gateway's to give";
            return Err(Problem::new(ProblemKind::InvalidRequest, why));
        }
        let limited = rule.rate.is_some() || rule.concurrency.is_some() || rule.breaker.is_some();
        if locks.is_empty() && key.is_none() && !limited {
            let line = self.line(call, caller);
            self.written_down(CallLine { verdict: Verdict::Passed, ..line });
            return Ok(Plan::Pass);
        }
        if call.is_task && !locks.is_empty() {
            return Err(Problem::new(
                ProblemKind::TaskNotGuarded,
                format!("{} takes a lock, and a task goes on after its answer", call.tool),
            ));
        }
        let principal = if planted!("gateway-key-without-tenant") { "everybody" } else { &*caller.principal };
        let scope = Scope::new(principal, &self.server, &call.tool)?;
        let mut policy = rule.policy.clone().effect(effect);
        if key.as_ref().is_some_and(|key| key.window().is_some()) {
            // The second of a double dispatch was never meant to be an error.
            policy = policy.in_flight(InFlight::Attach);
        }
        let mut wanted = Call::new(scope, policy);
        let shown = key.as_ref().map(|key| key.as_str().to_owned());
        if let Some(key) = key {
            wanted = wanted.key(key, call.fingerprint()?);
            if let Some(round) = call.round()? {
                wanted = wanted.round(round);
            }
        }
        let who = Identity::current().labelled(&call.tool);
        for lock in locks {
            let lock = Acquire::new(lock).mode(rule.mode)?.ttl(rule.ttl)?.wait(Wait::For(rule.wait));
            wanted = wanted.lock(lock.identity(who.clone()));
        }
        let mut line = self.line(call, caller);
        line.locks = wanted.locks.iter().map(|lock| lock.key.to_string()).collect();
        line.receipt = wanted.claim_id().map(|id| id.to_string());
        line.key = shown.as_deref().map(crate::calls::key_digest);
        if rule.log_arguments {
            line.arguments = call.arguments.map(RawValue::to_owned);
        }
        Ok(Plan::Guard(Box::new(Guarded {
            guard: self.guard(rule, &call.tool)?,
            call: wanted,
            rule: Arc::clone(rule),
            frame: frame.text().to_owned(),
            raw_id: frame.raw_id().unwrap_or("null").to_owned(),
            key: shown,
            modern: call.is_modern(),
            allows_tasks: call.allows_tasks(),
            progress_token: call.progress_token().map(str::to_owned),
            line,
        })))
    }

    fn locks_of(&self, rule: &Rule, effect: Effect, call: &ToolCall<'_>) -> Result<Vec<Key>, Problem> {
        let templates = match &rule.locking {
            Locking::None => return Ok(Vec::new()),
            Locking::Default if effect == Effect::ReadOnly => return Ok(Vec::new()),
            Locking::Default => return Ok(self.default_lock.iter().cloned().collect()),
            Locking::Keys(templates) => templates,
        };
        let missing = |error: Error| Problem::new(ProblemKind::LockArgumentMissing, error.to_string());
        if templates.iter().all(|template| template.names().is_empty()) {
            let fixed = templates.iter().map(|template| template.fill(&serde_json::Value::Null).map_err(missing));
            return fixed.collect();
        }
        // Refuses members that are there twice: readers disagree which one counts.
        call.fingerprint().map_err(missing)?;
        let arguments = call.arguments.map_or("{}", RawValue::get);
        let arguments = serde_json::from_str(arguments)
            .map_err(|e| missing(Error::new(ErrorKind::Invalid, "the arguments cannot be read").because(e)))?;
        templates.iter().map(|template| template.fill(&arguments).map_err(missing)).collect()
    }

    fn line(&self, call: &ToolCall<'_>, caller: &Caller) -> CallLine {
        let mut line = CallLine::new(&self.server, &*caller.principal, &*call.tool, Verdict::Done);
        line.trace = call.trace();
        line
    }
}

fn key_of(rule: &Rule, call: &ToolCall<'_>, caller: &Caller) -> Result<Option<CallKey>, Problem> {
    let bad = |error: Error| Problem::new(ProblemKind::KeyInvalid, error.to_string());
    let sources = &rule.key;
    if planted!("gateway-drops-the-key") {
        return Ok(None);
    }
    let carried = call.key(caller.key.as_deref(), sources.argument.as_deref(), sources.host_call_id).map_err(bad)?;
    match (carried.map(Cow::into_owned), sources.dedupe) {
        (Some(key), _) => chosen_key(&key).map(Some),
        (None, Some(window)) => CallKey::derived(call.fingerprint()?, window).map(Some).map_err(bad),
        (None, None) => Ok(None),
    }
}
