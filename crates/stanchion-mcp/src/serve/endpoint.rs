//! One server behind the front door.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};

/// Who stands at the door, as the front has found out.
///
/// ```
/// let visitor = stanchion_mcp::serve::Visitor { principal: "alice".into() };
/// assert_eq!(&*visitor.principal, "alice");
/// ```
#[derive(Debug, Clone)]
pub struct Visitor {
    /// Whose keys and sessions they are.
    pub principal: Arc<str>,
}

/// What is sent back, whole or piece by piece.
pub type Body = BoxBody<Bytes, Infallible>;
/// A request whose body has been read; it is bounded.
pub type Request = http::Request<Bytes>;

/// A body that is known as a whole.
///
/// ```
/// let _body = stanchion_mcp::serve::full("{}");
/// ```
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed()
}

/// One server: everything under its path. Requests run at the same time, each in the task of its connection, which is dropped when
/// the client goes away: what must run on is spawned.
#[async_trait::async_trait]
pub trait Endpoint: Send + Sync + 'static {
    /// Answers a request whose host, origin and token have been checked.
    async fn handle(&self, request: Request, visitor: Visitor) -> http::Response<Body>;

    /// Can it take calls now?
    async fn is_ready(&self) -> bool;

    /// Takes nothing new, waits for what runs, at most this long, and ends what it started.
    async fn shut_down(&self, within: std::time::Duration);
}
