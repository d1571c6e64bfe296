//! One call of a tool, from its arguments to its answer.

use std::sync::atomic::Ordering;

use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value, json};
use stanchion_core::CallKey;
use stanchion_mcp::{Problem, ProblemKind};

use super::answers::{self, Said};
use super::arguments::{Call, Wanted};
use super::keys::{Caller, Came, key_of};
use super::tools::Spec;
use super::updates::Own;
use super::{Connection, tell};
use crate::{MemoryError, Mutation};

/// Where a call comes from.
#[derive(Debug)]
pub(super) struct From {
    pub(super) peer: Peer<RoleServer>,
    pub(super) meta: Map<String, Value>,
    pub(super) caller: Caller,
    /// It is of the era without sessions.
    pub(super) modern: bool,
}

impl Connection {
    /// Answers a call of a tool.
    pub(super) async fn call(&self, params: Option<Value>, from: From) -> Said {
        let (connection, modern) = (self.clone(), from.modern);
        let counts = self.server.running.one_more();
        // In a task of its own: a client that goes away must not leave a change half way, nor a keyed call without its record, and a
        // fault of ours must not leave a call without an answer.
        let running = tokio::spawn(async move {
            let said = connection.answer(params, from).await;
            drop(counts);
            said
        });
        let mut said = running.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a call broke off");
            answers::problem(&Problem::new(ProblemKind::Internal, "the call broke off by a fault of ours"), modern)
        })?;
        if modern && let Some(result) = said.as_object_mut() {
            result.entry("resultType").or_insert_with(|| json!("complete"));
        }
        Ok(said)
    }

    async fn answer(&self, params: Option<Value>, from: From) -> Said {
        let asked = Call::of(params).and_then(|call| call.wanted().map(|wanted| (call, wanted)));
        let (call, (tool, wanted)) = match asked {
            Ok(asked) => asked,
            Err(refused) => return answers::refused(refused),
        };
        let mutation = match wanted {
            Wanted::Change(mutation) => mutation,
            Wanted::Read(query) => {
                return match self.server.memory.read(query).await {
                    Ok((selection, notices)) => Ok(answers::selection(&selection, &notices)),
                    Err(error) => answers::failure(error, from.modern),
                };
            }
        };
        match key_of(&from.meta, call.key.as_ref(), from.caller.key.as_deref()) {
            Err(problem) => answers::problem(&problem, from.modern),
            Ok(Some(key)) => self.change_once(key, tool, &call, mutation, &from).await,
            Ok(None) => {
                let own = self.server.updates.begin();
                let said = match self.change(mutation).await {
                    Ok(said) => said,
                    Err(error) => return answers::failure(error, from.modern),
                };
                self.tell_all(own, &from).await;
                Ok(said)
            }
        }
    }

    async fn change_once(&self, key: CallKey, tool: &Spec, call: &Call, mutation: Mutation, from: &From) -> Said {
        let modern = from.modern;
        let Some(keys) = &self.server.keys else {
            let why = "idempotency keys are not remembered here";
            return answers::problem(&Problem::new(ProblemKind::StoreUnsuitable, why), modern);
        };
        let mut changed = None;
        let done = &mut changed;
        let work = || async {
            let own = self.server.updates.begin();
            match self.change(mutation).await {
                Ok(said) => {
                    *done = Some(own);
                    Came::Done(said)
                }
                Err(error) if answers::may_have_changed(&error) => Came::Unknown(error.to_string()),
                Err(error) => Came::Nothing(answers::failure_result(error, modern)),
            }
        };
        let said = keys.run(key, tool.name, &call.arguments, &from.caller, modern, work).await;
        if let Some(own) = changed {
            self.tell_all(own, from).await;
        }
        said
    }

    async fn change(&self, mutation: Mutation) -> Result<Value, MemoryError> {
        let tool = mutation.tool();
        let changed = self.server.memory.change(mutation).await?;
        Ok(answers::outcome(tool, &changed.outcome, &changed.notices))
    }

    /// Tells everybody who wants to know that the graph has changed; the one who did it before its answer, as the official server
    /// does.
    async fn tell_all(&self, own: Own, from: &From) {
        let is_told = !from.modern && self.session.is_subscribed();
        own.happened(|count| {
            if is_told {
                self.session.told.fetch_max(count, Ordering::AcqRel);
            }
        })
        .await;
        if is_told {
            tell(&from.peer).await;
        }
    }
}
