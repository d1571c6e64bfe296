//! One body type for both directions, so that a guarded service can be any service.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};

/// Any error of a body or a service.
///
/// ```
/// let _error: stanchion_http::BoxError = "no".into();
/// ```
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body of bytes: what a guarded service receives, and what the guard answers.
///
/// ```
/// use http_body::Body as _;
/// let body = stanchion_http::Body::from("paid");
/// assert_eq!(body.size_hint().exact(), Some(4));
/// ```
pub struct Body(UnsyncBoxBody<Bytes, BoxError>);

impl Body {
    /// Wraps another body.
    ///
    /// ```
    /// use stanchion_http::Body;
    /// let _body = Body::new(Body::from("paid"));
    /// ```
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(body.map_err(Into::into).boxed_unsync())
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::new(Full::new(bytes.into()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}
