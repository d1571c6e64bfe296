//! The tools as MCP sees them, and errors as an agent can act on them.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorCode, ErrorData, ListToolsResult, MetaObject,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Ran, Result};

use crate::app::App;
use crate::tools::{self, Call};

/// Where a caller puts its key. The runtime sets it, not the model, so it is no argument.
const KEY: &str = "dev.stanchion/idempotencyKey";

/// Set in the result's `_meta` when the answer is that of an earlier call.
const REPLAYED: &str = "dev.stanchion/replayed";

#[derive(Debug, Clone)]
pub(crate) struct Server {
    app: Arc<App>,
    tools: Arc<[Tool]>,
}

impl Server {
    pub(crate) fn new(app: Arc<App>) -> Result<Self> {
        Ok(Self { app, tools: tools::list()?.into() })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call { arguments: request.arguments.unwrap_or_default(), key: context.meta.get(KEY).cloned() };
        let (app, name) = (Arc::clone(&self.app), request.name.clone());
        // A task of its own: whatever becomes of the request, a transfer or an invoice is not stopped half-way; and a
        // tool that panics is answered.
        let done = tokio::spawn(async move { tools::call(&app, &name, call).await }).await;
        stanchion_core::pause::pause_point("budget.before-answer").await;
        match done {
            Ok(Some(Ok(said))) => {
                let meta =
                    said.replayed.then(|| MetaObject([(REPLAYED.to_owned(), Value::Bool(true))].into_iter().collect()));
                Ok(CallToolResult::structured(said.value).with_meta(meta).into())
            }
            Ok(Some(Err(e))) => Ok(CallToolResult::structured_error(refusal(&e)).into()),
            Ok(None) => Err(ErrorData::new(ErrorCode::INVALID_PARAMS, format!("no tool {:?}", request.name), None)),
            Err(_) => Err(ErrorData::internal_error("the tool broke; it may have run", None)),
        }
    }
}

/// What the agent is told: did anything run, and is another call of use?
fn refusal(e: &Error) -> Value {
    use ErrorKind::{Conflict, Contended, FenceRejected, InProgress, Limited, Unavailable};
    let later = matches!(e.kind(), Conflict | Contended | FenceRejected | InProgress | Limited | Unavailable);
    json!({
        "type": e.kind().code().to_ascii_lowercase(),
        "message": e.to_string(),
        "mayHaveExecuted": e.ran() == Ran::Maybe,
        "retryable": later,
        "hint": e.next_step(),
    })
}
