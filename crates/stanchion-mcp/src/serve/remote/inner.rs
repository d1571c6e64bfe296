//! What the tasks of one upstream share, and the head of a request on its way to it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Uri};
use tokio::sync::watch;

use super::under_way::UnderWay;
use super::upstream::Upstream;
use crate::gate::Gate;

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) gate: Arc<Gate>,
    pub(super) upstream: Upstream,
    pub(super) under_way: Arc<UnderWay>,
    /// Headers that hand on fences: only we set them.
    pub(super) fences: Vec<HeaderName>,
    /// True when nothing new is taken.
    pub(super) closing: watch::Sender<bool>,
    /// True when what runs is not waited for any longer.
    pub(super) giving_up: watch::Sender<bool>,
    /// Requests of our own have ids that no client has.
    pub(super) own: String,
}

/// A request without its body, as the upstream gets it.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    /// Only its query counts.
    pub(super) uri: Uri,
}

impl Head {
    pub(super) fn request(self, body: Bytes) -> http::Request<Bytes> {
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method;
        *request.headers_mut() = self.headers;
        *request.uri_mut() = self.uri;
        request
    }
}
