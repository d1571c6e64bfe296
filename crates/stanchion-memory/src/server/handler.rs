//! What is answered to which request of the protocol.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientNotification, ClientRequest, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
    ServerCapabilities, ServerConfig, ServerResult, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::json;
use stanchion_mcp::serve::ANONYMOUS;

use super::answers::{failure, no_such_method, noticed, unusable};
use super::arguments::shown;
use super::call::From;
use super::keys::Caller;
use super::shape::{Member, Shape, pretty};
use super::{Connection, RESOURCE, tools};
use crate::Query;

const IDEMPOTENCY: &str = "dev.stanchion/idempotency";
const URI: Shape = Shape::Object(&[Member::new("uri", Shape::Text)]);
const PAGE: Shape = Shape::Object(&[Member::optional("cursor", Shape::Text)]);
const INITIALIZE: Shape = Shape::Object(&[
    Member::new("protocolVersion", Shape::Text),
    Member::new("capabilities", Shape::Object(&[])),
    Member::new("clientInfo", Shape::Object(&[Member::new("name", Shape::Text), Member::new("version", Shape::Text)])),
]);

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl Connection {
    fn from(&self, context: RequestContext<RoleServer>) -> From {
        let modern = is_modern(&context);
        let caller = context.extensions.get::<http::request::Parts>();
        let caller = caller.and_then(|parts| parts.extensions.get::<Caller>()).cloned();
        let caller = caller.unwrap_or_else(|| Caller { principal: ANONYMOUS.into(), key: None });
        From { peer: context.peer, meta: context.meta.0.0, caller, modern }
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        if let Some(keys) = &self.server.keys {
            let ours = json!({"retentionSeconds": keys.retention()});
            let ours = ours.as_object().cloned().unwrap_or_default();
            capabilities.extensions = Some([(IDEMPOTENCY.to_owned(), ours)].into_iter().collect());
        }
        ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(Implementation::new("memory-server", env!("CARGO_PKG_VERSION")))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        // By the version that was agreed on, later requests are read.
        context.peer.set_peer_info(request.with_protocol_version(result.protocol_version.clone()));
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut params = json!({"name": request.name});
        if let Some(arguments) = request.arguments {
            params["arguments"] = arguments.into();
        }
        let said = self.call(Some(params), self.from(context)).await?;
        let result = serde_json::from_value::<rmcp::model::CallToolResult>(said);
        result.map(CallToolResponse::from).map_err(|error| unusable(error.to_string()))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let graph = Resource::new(RESOURCE, "knowledge-graph")
            .with_title("Knowledge Graph")
            .with_description("The full knowledge graph with all entities and relations")
            .with_mime_type("application/json");
        Ok(ListResourcesResult::with_all_items(vec![graph]))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(Vec::new()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        if !is_uri(uri) {
            return Err(unusable("Invalid URL".to_owned()));
        }
        if !is_ours(uri) {
            let why = format!("MCP error -32602: Resource {} not found", shown(uri));
            return Err(ErrorData::invalid_params(why, None));
        }
        // In a task of its own: a fault of ours must not leave the request without an answer.
        let memory = std::sync::Arc::clone(&self.server.memory);
        let reading = tokio::spawn(async move { memory.read(Query::All).await });
        let read = reading.await.map_err(|error| unusable(format!("the graph could not be read: {error}")))?;
        let (graph, notices) = match read {
            Ok(read) => read,
            Err(error) => {
                let said = failure(error, is_modern(&context))?;
                let why = said["content"][0]["text"].as_str().unwrap_or("the graph cannot be read").to_owned();
                return Err(ErrorData::internal_error(why, said["_meta"].get("dev.stanchion/error").cloned()));
            }
        };
        let mut contents = ResourceContents::text(pretty(&graph), RESOURCE).with_mime_type("application/json");
        if let ResourceContents::TextResourceContents { meta, .. } = &mut contents {
            *meta = noticed(&notices).map(Into::into);
        }
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Others are accepted and never change, as with the official server.
        if request.uri == RESOURCE {
            self.session.subscribe(&self.server.updates, context.peer);
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == RESOURCE {
            self.session.unsubscribe();
        }
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let wanted = requested.resource_subscriptions.iter().flatten().any(|uri| uri == RESOURCE);
        let filter = SubscriptionFilter::builder();
        Some(if wanted { filter.resource_subscription(RESOURCE) } else { filter }.build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut listener = self.server.updates.listen();
        let wanted = context.accepted().resource_subscriptions.is_some();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.session.over() => return Ok(()),
                _ = listener.next(), if wanted => {
                    if context.sink().notify_resource_updated(RESOURCE).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_such_method())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_such_method())
    }

    /// Whatever has a method that is not known, or params that do not fit the method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            return self.call(request.params, self.from(context)).await.map(CustomResult);
        }
        let shape = shape_of(&request.method).ok_or_else(no_such_method)?;
        let problems = shape.problems(request.params.as_ref(), &["params"]);
        Err(match problems.is_empty() {
            true => ErrorData::invalid_params("the params do not fit the method", None),
            false => unusable(problems.json()),
        })
    }
}

/// What the params of a method must be, if it is one of ours.
pub(super) fn shape_of(method: &str) -> Option<Shape> {
    match method {
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some(URI),
        "tools/list" | "resources/list" | "resources/templates/list" => Some(PAGE),
        "initialize" => Some(INITIALIZE),
        _ => None,
    }
}

/// As far as it matters here.
fn is_uri(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
    })
}

/// The scheme of a URI may be written in any case.
fn is_ours(uri: &str) -> bool {
    let (Some((scheme, rest)), Some((ours, path))) = (uri.split_once(':'), RESOURCE.split_once(':')) else {
        return false;
    };
    scheme.eq_ignore_ascii_case(ours) && rest == path
}

/// A connection whose answers are those of the official server to the last member; for transports that let us.
#[derive(Debug, Clone)]
pub(super) struct Exact(pub(super) Connection);

impl Service<RoleServer> for Exact {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_list = matches!(request, ClientRequest::ListToolsRequest(_)) && !is_modern(&context);
        let result = match self.0.handle_request(request, context).await {
            Ok(result) => result,
            Err(error) if error.code == rmcp::model::ErrorCode::METHOD_NOT_FOUND => return Err(no_such_method()),
            Err(error) => return Err(error),
        };
        if !is_list {
            return Ok(result);
        }
        let mut list = serde_json::to_value(&result).map_err(|error| unusable(error.to_string()))?;
        tools::without_tasks(&mut list);
        Ok(ServerResult::CustomResult(CustomResult(list)))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
