//! What went wrong between us and DynamoDB, by what it says about the effect.

use std::error::Error as StdError;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use stanchion_core::{Error, ErrorKind};

/// A failed request.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nothing was sent.
    NotSent(String),
    /// Sent; the answer is lost, or says that DynamoDB itself does not know.
    Lost(String),
    /// Refused for now, surely without effect.
    Busy(String),
    /// Refused: code and message.
    Refused(String, String),
    /// An item that we did not write.
    Garbled(&'static str),
}

impl Fault {
    pub(super) fn of<E: ProvideErrorMetadata + StdError + 'static>(error: &SdkError<E>) -> Self {
        let why = || reasons(error);
        match error {
            SdkError::ConstructionFailure(_) => Self::NotSent(why()),
            SdkError::DispatchFailure(failure) => {
                let connector = failure.as_connector_error().map(|error| error as &(dyn StdError + 'static));
                if failure.is_user() || connector.is_some_and(never_connected) {
                    Self::NotSent(why())
                } else {
                    Self::Lost(why())
                }
            }
            SdkError::ServiceError(refusal) => {
                let code = refusal.err().code().unwrap_or_default().to_owned();
                let message = refusal.err().message().unwrap_or_default().to_owned();
                judge(code, message, refusal.raw().status().as_u16())
            }
            _ => Self::Lost(why()),
        }
    }

    pub(super) fn missing_table(&self) -> bool {
        matches!(self, Self::Refused(code, _) if code == "ResourceNotFoundException")
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(super) fn into_error(self, store: &str, writes: bool) -> Error {
        let error = match self {
            Self::NotSent(why) => Error::new(ErrorKind::Unavailable, "DynamoDB cannot be reached").with("cause", why),
            Self::Lost(why) => {
                let kind = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
                Error::new(kind, "the answer of DynamoDB is lost").with("cause", why)
            }
            Self::Busy(code) => {
                let hint = if code.contains("Conflict") || code.contains("InProgress") {
                    "other requests change the same item, here or in another region: try again later"
                } else {
                    "the table gets more requests than it may: use on-demand billing, or raise its capacity"
                };
                Error::new(ErrorKind::Unavailable, "DynamoDB refused for now, again and again")
                    .with("answer", code)
                    .hint(hint)
            }
            Self::Refused(code, message) => refused(&code, &message),
            Self::Garbled(what) => Error::new(ErrorKind::Damaged, "a stored item is not as we write it")
                .with("attribute", what)
                .hint("another program writes to this table; give each its own"),
        };
        error.with("store", store)
    }
}

/// The error and its reasons, in one line.
pub(super) fn reasons(error: &(dyn StdError + 'static)) -> String {
    let (mut said, mut next) = (Vec::new(), Some(error));
    while let Some(error) = next {
        said.push(error.to_string());
        next = error.source();
    }
    said.join(": ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The connection was never made, so nothing went over it.
fn never_connected(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|error| error.is_connect()) {
            return true;
        }
        next = error.source();
    }
    false
}

fn judge(code: String, message: String, status: u16) -> Fault {
    match code.as_str() {
        // Refused before the table was looked at; a conflict with a transaction has no effect either.
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded"
        | "TransactionConflictException"
        | "TransactionInProgressException"
        // Rejected because a request in another region changes the item; Amazon marks it as safe to repeat.
        | "ReplicatedWriteConflictException" => Fault::Busy(code),
        // Amazon's own words: after a 5xx answer a write may or may not have happened.
        _ if status >= 500 || code.is_empty() => Fault::Lost(format!("{status} {code} {message}")),
        _ => Fault::Refused(code, message),
    }
}

fn refused(code: &str, message: &str) -> Error {
    let (kind, hint) = match code {
        "UnrecognizedClientException"
        | "InvalidAccessKeyId"
        | "InvalidClientTokenId"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken" => {
            (ErrorKind::Denied, "check the access key: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or profile=")
        }
        "InvalidSignatureException" | "SignatureDoesNotMatch" | "RequestTimeTooSkewed" | "RequestExpired" => {
            (ErrorKind::Denied, "check the secret key, the region, and this machine's clock")
        }
        "ExpiredTokenException" | "ExpiredToken" => (ErrorKind::Denied, "the session has ended: log in again"),
        "AccessDeniedException" | "AccessDenied" => (
            ErrorKind::Denied,
            "the role needs dynamodb:DescribeTable, GetItem, UpdateItem and Scan on this table (CreateTable to make it)",
        ),
        "ResourceNotFoundException" => (
            ErrorKind::Unavailable,
            "the table is missing: check its name and the region, or open the store again to make it",
        ),
        "ResourceInUseException" => (ErrorKind::Unavailable, "the table is being changed: wait until it is ACTIVE"),
        "LimitExceededException" => (ErrorKind::Unavailable, "the account's limit is reached: ask Amazon to raise it"),
        "UnknownOperationException" => (ErrorKind::Unsupported, "this endpoint does not know the operation"),
        "ItemCollectionSizeLimitExceededException" => (ErrorKind::Invalid, "choose a smaller value"),
        "ValidationException" if message.contains("exceeded the maximum allowed size") => {
            (ErrorKind::Invalid, "an item holds at most 400 KB")
        }
        "ValidationException" if message.contains("key element does not match") => (
            ErrorKind::Invalid,
            "the table belongs to another program: ours has one string key, k; give another table's name",
        ),
        _ => (ErrorKind::Unexpected, "see the answer"),
    };
    Error::new(kind, "DynamoDB refused").with("answer", format_args!("{code} {message}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_surely_did_not_run_is_tried_again() {
        let judged = |code: &str, status| judge(code.to_owned(), String::new(), status);
        assert!(matches!(judged("ThrottlingException", 400), Fault::Busy(_)));
        assert!(matches!(judged("ProvisionedThroughputExceededException", 400), Fault::Busy(_)));
        assert!(matches!(judged("ReplicatedWriteConflictException", 400), Fault::Busy(_)));
        assert!(matches!(judged("InternalServerError", 500), Fault::Lost(_)));
        assert!(matches!(judged("ServiceUnavailable", 503), Fault::Lost(_)));
        assert!(matches!(judged("", 400), Fault::Lost(_)), "not an answer of DynamoDB");
        assert!(matches!(judged("AccessDeniedException", 400), Fault::Refused(..)));
        let lost = |writes| judged("InternalServerError", 500).into_error("s", writes).kind();
        assert_eq!((lost(true), lost(false)), (ErrorKind::OutcomeUnknown, ErrorKind::Unavailable));
        assert_eq!(judged("ThrottlingException", 400).into_error("s", true).kind(), ErrorKind::Unavailable);
    }
}
