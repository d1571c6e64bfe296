//! The kinds of answers, their statuses and what they say about retrying.

use http::StatusCode;

/// What the problem types' addresses begin with.
///
/// ```
/// use stanchion_http::problem::{PROBLEM_BASE, ProblemKind};
/// assert_eq!(ProblemKind::LockBusy.type_uri(), format!("{PROBLEM_BASE}lock-busy"));
/// ```
pub const PROBLEM_BASE: &str = "https://stanchion.dev/problems/";

/// What kind of answer it is. Clients tell kinds apart by [`type_uri`](Self::type_uri), not by status.
///
/// ```
/// use stanchion_http::problem::ProblemKind;
/// assert_eq!(ProblemKind::InProgress.status(), ProblemKind::OutcomeUnknown.status());
/// assert_ne!(ProblemKind::InProgress.type_uri(), ProblemKind::OutcomeUnknown.type_uri());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The route asks for a key, and there is none.
    KeyMissing,
    /// The key is not a key.
    KeyInvalid,
    /// The key was used before, with another request.
    KeyReused,
    /// The first request with this key has not finished.
    InProgress,
    /// The key is older than what we remember, so we cannot tell whether it was used.
    KeyExpired,
    /// An attempt began and nobody knows how it ended.
    OutcomeUnknown,
    /// It ran; the answer was too large to keep, or is no longer kept.
    NotRetained,
    /// A lock that the request needs is held by somebody else.
    LockBusy,
    /// The store cannot be reached.
    StoreDown,
    /// Too many calls in a span of time or at once, or too many failures lately.
    RateLimited,
    /// The request's body is over the limit.
    BodyTooLarge,
    /// The request's body ended before it was complete.
    BodyBroken,
    /// Nothing tells who asks.
    PrincipalMissing,
    /// The request lacks what its lock is named by.
    LockKeyMissing,
    /// The service behind the guard could not be reached: nothing was sent.
    Unreachable,
    /// The service behind the guard took the request and gave no answer, and there is no key to remember that.
    NoAnswer,
    /// The proxy does not do this.
    Unsupported,
    /// The delivery's signature or time stamp is not good.
    WebhookRejected,
    /// Our configuration, our data or our bug.
    Internal,
}

impl ProblemKind {
    /// Every kind.
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert!(ProblemKind::ALL.iter().all(|kind| kind.status().as_u16() >= 400));
    /// ```
    pub const ALL: [Self; 19] = [
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::KeyReused,
        Self::InProgress,
        Self::KeyExpired,
        Self::OutcomeUnknown,
        Self::NotRetained,
        Self::LockBusy,
        Self::StoreDown,
        Self::RateLimited,
        Self::BodyTooLarge,
        Self::BodyBroken,
        Self::PrincipalMissing,
        Self::LockKeyMissing,
        Self::Unreachable,
        Self::NoAnswer,
        Self::Unsupported,
        Self::WebhookRejected,
        Self::Internal,
    ];

    /// The last part of the type's address.
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert_eq!(ProblemKind::KeyReused.slug(), "idempotency-key-reused");
    /// ```
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::KeyMissing => "idempotency-key-missing",
            Self::KeyInvalid => "idempotency-key-invalid",
            Self::KeyReused => "idempotency-key-reused",
            Self::InProgress => "idempotency-key-in-progress",
            Self::KeyExpired => "idempotency-key-expired",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::NotRetained => "response-not-retained",
            Self::LockBusy => "lock-busy",
            Self::StoreDown => "store-down",
            Self::RateLimited => "rate-limited",
            Self::BodyTooLarge => "body-too-large",
            Self::BodyBroken => "body-broken",
            Self::PrincipalMissing => "principal-missing",
            Self::LockKeyMissing => "lock-key-missing",
            Self::Unreachable => "unreachable",
            Self::NoAnswer => "no-answer",
            Self::Unsupported => "unsupported",
            Self::WebhookRejected => "webhook-rejected",
            Self::Internal => "internal",
        }
    }

    /// The stable name that clients compare.
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert_eq!(ProblemKind::StoreDown.type_uri(), "https://stanchion.dev/problems/store-down");
    /// ```
    #[must_use]
    pub fn type_uri(self) -> String {
        format!("{PROBLEM_BASE}{}", self.slug())
    }

    /// The kind in one sentence, the same every time.
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert_eq!(ProblemKind::BodyTooLarge.title(), "The request body is too large");
    /// ```
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::KeyMissing => "The idempotency key is missing",
            Self::KeyInvalid => "The idempotency key is not valid",
            Self::KeyReused => "The idempotency key was used with another request",
            Self::InProgress => "The first request with this idempotency key is still being processed",
            Self::KeyExpired => "The idempotency key has expired",
            Self::OutcomeUnknown => "The outcome of an earlier attempt is unknown",
            Self::NotRetained => "The request was executed; its response is not retained",
            Self::LockBusy => "The resource is locked by another request",
            Self::StoreDown => "The coordination store is not available",
            Self::RateLimited => "Too many requests",
            Self::BodyTooLarge => "The request body is too large",
            Self::BodyBroken => "The request body is not complete",
            Self::PrincipalMissing => "The caller is not known",
            Self::LockKeyMissing => "The request lacks what its lock is named by",
            Self::Unreachable => "The service cannot be reached",
            Self::NoAnswer => "The service took the request and gave no answer",
            Self::Unsupported => "The proxy does not support this",
            Self::WebhookRejected => "The webhook delivery was rejected",
            Self::Internal => "The guard failed",
        }
    }

    /// The HTTP status.
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert_eq!(ProblemKind::KeyReused.status(), 422);
    /// ```
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyInvalid | Self::BodyBroken | Self::LockKeyMissing | Self::WebhookRejected => {
                StatusCode::BAD_REQUEST
            }
            Self::PrincipalMissing => StatusCode::FORBIDDEN,
            Self::InProgress | Self::OutcomeUnknown | Self::LockBusy => StatusCode::CONFLICT,
            Self::NotRetained => StatusCode::GONE,
            Self::KeyExpired => StatusCode::PRECONDITION_FAILED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Self::NoAnswer => StatusCode::BAD_GATEWAY,
            Self::StoreDown | Self::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// May the same request be sent again, unchanged and under the same key, in the hope of another answer?
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert!(ProblemKind::LockBusy.retryable() && !ProblemKind::OutcomeUnknown.retryable());
    /// ```
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::InProgress | Self::LockBusy | Self::StoreDown | Self::RateLimited | Self::Unreachable)
    }

    /// Can the request's effect have happened, now or in an earlier attempt?
    ///
    /// ```
    /// use stanchion_http::problem::ProblemKind;
    /// assert!(ProblemKind::NotRetained.may_have_executed() && !ProblemKind::StoreDown.may_have_executed());
    /// ```
    #[must_use]
    pub const fn may_have_executed(self) -> bool {
        matches!(
            self,
            Self::InProgress
                | Self::KeyExpired
                | Self::OutcomeUnknown
                | Self::NotRetained
                | Self::NoAnswer
                | Self::Internal
        )
    }
}
