//! Idempotency keys: a repeated call happens once, and is answered as it was.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use stanchion_core::claim::Response;
use stanchion_core::{
    Call, CallKey, Effect, Error, ErrorKind, Fingerprint, Guard, InFlight, Policy, Reply, Result, Scope,
};
use stanchion_mcp::{KEPT_RESULT, KEY_NAMES, Problem, ProblemKind, chosen_key, frame_of};
use tokio::sync::OnceCell;

use super::answers::{self, Said};

type Opening = Pin<Box<dyn Future<Output = Result<Guard>> + Send>>;

/// Where keyed calls are remembered. Opened when the first one comes: who sends no keys pays nothing.
#[derive(Clone)]
pub(super) struct Keys {
    server: Arc<str>,
    open: Arc<dyn Fn() -> Opening + Send + Sync>,
    guard: Arc<OnceCell<Guard>>,
    policy: Arc<Policy>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Who calls, as far as keys are concerned.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Arc<str>,
    /// The key in the header of the request.
    pub(super) key: Option<String>,
}

/// What came of a keyed change, and how it is remembered.
#[derive(Debug)]
pub(super) enum Came {
    /// It happened; this was said.
    Done(Value),
    /// Nothing was changed, and this was said: the same key may try again.
    Nothing(Value),
    /// It may have happened.
    Unknown(String),
}

impl Keys {
    pub(super) fn new<Open>(server: &str, open: impl Fn() -> Open + Send + Sync + 'static) -> Self
    where
        Open: Future<Output = Result<Guard>> + Send + 'static,
    {
        // A mutation whose outcome is unknown is not repeated: it would undo what others have done since. A repetition that comes
        // while the first call runs waits for its answer: mutations are short. A store that can forget a key can forget the graph
        // that it keeps as well, so it is good enough for both.
        let policy = Policy::default().effect(Effect::NonIdempotent).in_flight(InFlight::Attach).allow_weak();
        Self {
            server: server.into(),
            open: Arc::new(move || Box::pin(open())),
            guard: Arc::default(),
            policy: Arc::new(policy),
        }
    }

    /// For how long keys are known.
    pub(super) fn retention(&self) -> u64 {
        self.policy.key_ttl().as_secs()
    }

    /// Runs the change, or tells again what came of it.
    pub(super) async fn run<Work>(
        &self,
        key: CallKey,
        tool: &str,
        arguments: &Map<String, Value>,
        caller: &Caller,
        modern: bool,
        work: impl FnOnce() -> Work,
    ) -> Said
    where
        Work: Future<Output = Came>,
    {
        let call = match self.call(key, tool, arguments, caller) {
            Ok(call) => call,
            Err(error) => return answers::problem(&error.into(), modern),
        };
        let guard = match self.guard.get_or_try_init(|| (self.open)()).await {
            Ok(guard) => guard,
            Err(error) => return answers::problem(&error.into(), modern),
        };
        let answered = guard
            .call(&call, |_| async move {
                let kept = |result: Value| Response::new(KEPT_RESULT, result.to_string());
                match work().await {
                    Came::Done(result) => Reply::Done(kept(result)),
                    Came::Nothing(result) => Reply::NoEffect(kept(result)),
                    Came::Unknown(why) => Reply::Unknown(why),
                }
            })
            .await;
        match answered {
            Ok(answer) => answers::of_frame(&frame_of(&answer, "0", modern)),
            Err(error) => answers::problem(&error.into(), modern),
        }
    }

    fn call(&self, key: CallKey, tool: &str, arguments: &Map<String, Value>, caller: &Caller) -> Result<Call> {
        let text = serde_json::to_string(arguments)
            .map_err(|e| Error::new(ErrorKind::Invalid, "the arguments cannot be written").because(e))?;
        let scope = Scope::new(&caller.principal, &self.server, tool)?;
        Ok(Call::new(scope, Arc::clone(&self.policy)).key(key, Fingerprint::of_json(&text)?))
    }
}

/// The key of a call: in `_meta`, in `params`, in the header; the first that is there counts.
///
/// # If it fails
/// It is there, and is no key. Nothing ran.
pub(super) fn key_of(
    meta: &Map<String, Value>,
    param: Option<&Value>,
    header: Option<&str>,
) -> Result<Option<CallKey>, Problem> {
    let there = |value: &&Value| !value.is_null();
    let carried = KEY_NAMES.iter().find_map(|name| meta.get(*name).filter(there)).or(param.filter(there));
    let text = match (carried, header) {
        (Some(Value::String(text)), _) => text.as_str(),
        (Some(_), _) => return Err(Problem::new(ProblemKind::KeyInvalid, "an idempotency key is a text")),
        (None, Some(text)) => text,
        (None, None) => return Ok(None),
    };
    chosen_key(text).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_key_that_is_there_counts() {
        let found = |meta: Value, param: Option<Value>, header: Option<&str>| {
            key_of(meta.as_object().unwrap(), param.as_ref(), header)
                .map(|key| key.map(|key| key.as_str().to_owned()))
                .map_err(|problem| problem.kind())
        };
        assert_eq!(found(json!({}), None, None), Ok(None));
        assert_eq!(found(json!({"idempotencyKey": null}), None, Some("h")), Ok(Some("h".into())));
        assert_eq!(found(json!({}), Some(json!("p")), Some("h")), Ok(Some("p".into())));
        let both = json!({"idempotency_key": "b", "dev.stanchion/idempotencyKey": "a"});
        assert_eq!(found(both, Some(json!("p")), None), Ok(Some("a".into())));
        for bad in [json!(5), json!(""), json!("a\nb"), json!("derived:x"), json!("k".repeat(256))] {
            assert_eq!(found(json!({"idempotencyKey": bad}), None, None), Err(ProblemKind::KeyInvalid), "{bad}");
        }
    }
}
