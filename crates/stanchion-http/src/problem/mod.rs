//! Answers of our own: `application/problem+json` (RFC 9457).
//!
//! | kind | status | retry? | why this status |
//! |---|---|---|---|
//! | [`KeyMissing`](ProblemKind::KeyMissing) | 400 | no | the draft's |
//! | [`KeyInvalid`](ProblemKind::KeyInvalid) | 400 | no | the request is malformed |
//! | [`KeyReused`](ProblemKind::KeyReused) | 422 | no | the draft's |
//! | [`InProgress`](ProblemKind::InProgress) | 409 + Retry-After | yes | the draft's |
//! | [`KeyExpired`](ProblemKind::KeyExpired) | 412 | no | OASIS Repeatable Requests: running again may repeat the effect |
//! | [`OutcomeUnknown`](ProblemKind::OutcomeUnknown) | 409, no Retry-After | no | below |
//! | [`NotRetained`](ProblemKind::NotRetained) | 410 | no | it ran; its answer is gone for good |
//! | [`LockBusy`](ProblemKind::LockBusy) | 409 + Retry-After | yes | below |
//! | [`StoreDown`](ProblemKind::StoreDown) | 503 + Retry-After | yes | we refuse to run what we cannot record |
//! | [`RateLimited`](ProblemKind::RateLimited) | 429 + Retry-After | yes | what 429 is for |
//! | [`BodyTooLarge`](ProblemKind::BodyTooLarge) | 413 | no | what 413 is for |
//! | [`BodyBroken`](ProblemKind::BodyBroken) | 400 | no | it broke off before its end, so nothing was begun |
//! | [`PrincipalMissing`](ProblemKind::PrincipalMissing) | 403 | no | a 401 would have to name a scheme, and that is the service's matter |
//! | [`LockKeyMissing`](ProblemKind::LockKeyMissing) | 400 | no | running it without its lock would be silent |
//! | [`Unreachable`](ProblemKind::Unreachable) | 503 + Retry-After | yes | nothing was sent |
//! | [`NoAnswer`](ProblemKind::NoAnswer) | 502 | no | sent, no answer, and no key: look before sending again |
//! | [`Unsupported`](ProblemKind::Unsupported) | 501 | no | what 501 is for |
//! | [`WebhookRejected`](ProblemKind::WebhookRejected) | 400 | no | the delivery is not authentic, or not fresh |
//! | [`Internal`](ProblemKind::Internal) | 500 | no | our configuration, our data or our bug |
//!
//! **Outcome unknown** is a 409: the request conflicts with an earlier attempt that nobody has settled. A status of
//! the 500 range would be retried by most HTTP clients without anybody looking; a status that means "change the
//! request" invites a new key, and with it a second effect. Asking again *under the same key* is always harmless,
//! and answers as soon as the outcome is settled; but nobody knows when, so there is no `Retry-After`.
//!
//! **Lock busy** is a 409 and not a 503, because balancers take an instance out of service that says 503 often, and
//! one busy key is no sick instance.

mod from_error;
mod kind;

use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Map, Value};

pub use kind::{PROBLEM_BASE, ProblemKind};

/// One answer of ours.
///
/// ```
/// use std::time::Duration;
/// use stanchion_http::problem::{Problem, ProblemKind};
///
/// let problem = Problem::new(ProblemKind::InProgress).detail("began 2s ago").retry_after(Duration::from_millis(1500));
/// let response = problem.into_response();
/// assert_eq!(response.status(), 409);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// assert_eq!(response.headers()["retry-after"], "2"); // whole seconds, rounded up
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    detail: Option<String>,
    receipt: Option<String>,
    may_have_executed: bool,
    /// `None`: another try cannot succeed.
    retry_after: Option<Duration>,
}

impl Problem {
    /// The answer of this kind.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// assert_eq!(Problem::new(ProblemKind::RateLimited).status(), 429);
    /// ```
    #[must_use]
    pub fn new(kind: ProblemKind) -> Self {
        let retry_after = kind.retryable().then_some(Duration::from_secs(1));
        Self { kind, detail: None, receipt: None, may_have_executed: kind.may_have_executed(), retry_after }
    }

    /// What happened this time. Never put a secret, a stored body or another caller's data here.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let problem = Problem::new(ProblemKind::LockBusy).detail("order:7 is locked");
    /// assert_eq!(problem.to_json()["detail"], "order:7 is locked");
    /// ```
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The name under which an operator finds the attempt.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let problem = Problem::new(ProblemKind::OutcomeUnknown).receipt("c1f0");
    /// assert_eq!(problem.to_json()["receipt"], "c1f0");
    /// ```
    #[must_use]
    pub fn receipt(mut self, receipt: impl Into<String>) -> Self {
        self.receipt = Some(receipt.into());
        self
    }

    /// Corrects [`ProblemKind::may_have_executed`] where more is known.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// assert!(!Problem::new(ProblemKind::Internal).executed(false).may_have_executed());
    /// ```
    #[must_use]
    pub fn executed(mut self, may_have: bool) -> Self {
        self.may_have_executed = may_have;
        self
    }

    /// When to come back. A kind that is not retryable has no such time, and ignores it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let problem = Problem::new(ProblemKind::OutcomeUnknown).retry_after(Duration::from_secs(5));
    /// assert!(!problem.into_response().headers().contains_key("retry-after"));
    /// ```
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = self.kind.retryable().then_some(after);
        self
    }

    /// Takes back that another try can succeed, where more is known than the kind says.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let problem = Problem::new(ProblemKind::RateLimited).not_retryable();
    /// assert_eq!(problem.to_json()["retryable"], false);
    /// ```
    #[must_use]
    pub fn not_retryable(mut self) -> Self {
        self.retry_after = None;
        self
    }

    /// Its kind.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// assert_eq!(Problem::new(ProblemKind::StoreDown).kind(), ProblemKind::StoreDown);
    /// ```
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The HTTP status.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// assert_eq!(Problem::new(ProblemKind::KeyExpired).status(), 412);
    /// ```
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// Can the effect have happened?
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// assert!(Problem::new(ProblemKind::OutcomeUnknown).may_have_executed());
    /// ```
    #[must_use]
    pub const fn may_have_executed(&self) -> bool {
        self.may_have_executed
    }

    /// The document: `type`, `title`, `status`, `detail` and, of our own, `mayHaveExecuted`, `retryable`,
    /// `retryAfterMs` and `receipt`.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let json = Problem::new(ProblemKind::OutcomeUnknown).to_json();
    /// assert_eq!(json["type"], "https://stanchion.dev/problems/outcome-unknown");
    /// assert_eq!((json["mayHaveExecuted"].as_bool(), json["retryable"].as_bool()), (Some(true), Some(false)));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        let mut member = |name: &str, value: Value| members.insert(name.to_owned(), value);
        member("type", self.kind.type_uri().into());
        member("title", self.kind.title().into());
        member("status", self.status().as_u16().into());
        member("mayHaveExecuted", self.may_have_executed.into());
        member("retryable", self.retry_after.is_some().into());
        if let Some(detail) = &self.detail {
            member("detail", detail.as_str().into());
        }
        if let Some(after) = self.retry_after {
            member("retryAfterMs", u64::try_from(after.as_millis()).unwrap_or(u64::MAX).into());
        }
        if let Some(receipt) = &self.receipt {
            member("receipt", receipt.as_str().into());
        }
        Value::Object(members)
    }

    /// The whole response. Caches must not keep it.
    ///
    /// ```
    /// # use stanchion_http::problem::{Problem, ProblemKind};
    /// let response = Problem::new(ProblemKind::NotRetained).into_response();
    /// assert_eq!((response.status().as_u16(), &response.headers()["cache-control"]), (410, &"no-store".parse().unwrap()));
    /// ```
    #[must_use]
    pub fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.to_json().to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            headers.insert(RETRY_AFTER, seconds.max(1).into());
        }
        response
    }
}
