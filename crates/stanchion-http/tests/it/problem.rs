use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;
use stanchion_http::problem::{Problem, ProblemKind};

#[test]
fn every_kind_has_its_row() {
    use ProblemKind::*;
    // kind, status, Retry-After, mayHaveExecuted
    let table = [
        (KeyMissing, 400, None, false),
        (KeyInvalid, 400, None, false),
        (KeyReused, 422, None, false),
        (InProgress, 409, Some("1"), true),
        (KeyExpired, 412, None, true),
        (OutcomeUnknown, 409, None, true),
        (NotRetained, 410, None, true),
        (LockBusy, 409, Some("1"), false),
        (StoreDown, 503, Some("1"), false),
        (RateLimited, 429, Some("1"), false),
        (BodyTooLarge, 413, None, false),
        (BodyBroken, 400, None, false),
        (PrincipalMissing, 403, None, false),
        (LockKeyMissing, 400, None, false),
        (Unreachable, 503, Some("1"), false),
        (NoAnswer, 502, None, true),
        (Unsupported, 501, None, false),
        (WebhookRejected, 400, None, false),
        (Internal, 500, None, true),
    ];
    assert_eq!(table.map(|row| row.0), ProblemKind::ALL);
    let mut types = HashSet::new();
    for (kind, status, retry_after, executed) in table {
        let response = Problem::new(kind).into_response();
        let json: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(response.status(), status, "{kind:?}");
        assert_eq!(json["status"], status, "the document repeats the status of {kind:?}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers().get("retry-after").map(|v| v.to_str().unwrap()), retry_after, "{kind:?}");
        assert_eq!(json["retryable"], retry_after.is_some(), "{kind:?}");
        assert_eq!(json["mayHaveExecuted"], executed, "{kind:?}");
        assert!(json["type"].as_str().unwrap().starts_with("https://"), "{kind:?}");
        assert!(!json["title"].as_str().unwrap().is_empty());
        assert!(types.insert(json["type"].clone()), "{kind:?} shares its type");
    }
}

#[test]
fn what_is_retryable_is_never_a_new_effect() {
    // "Retryable" and "may have executed" together are only right where a repeat cannot run a second time.
    for kind in ProblemKind::ALL.into_iter().filter(|kind| kind.retryable() && kind.may_have_executed()) {
        assert_eq!(kind, ProblemKind::InProgress);
    }
}

#[test]
fn retry_after_is_whole_seconds_and_at_least_one() {
    for (after, seconds) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (90_000, "90")] {
        let problem = Problem::new(ProblemKind::RateLimited).retry_after(Duration::from_millis(after));
        assert_eq!(problem.to_json()["retryAfterMs"], after);
        assert_eq!(problem.into_response().headers()["retry-after"], seconds);
    }
    let longest = Problem::new(ProblemKind::RateLimited).retry_after(Duration::MAX);
    assert!(longest.into_response().headers().contains_key("retry-after"));
}

#[test]
fn optional_members_are_absent_until_given() {
    let bare = Problem::new(ProblemKind::OutcomeUnknown).to_json();
    assert!(bare.get("receipt").is_none() && bare.get("detail").is_none() && bare.get("retryAfterMs").is_none());
    let full = Problem::new(ProblemKind::OutcomeUnknown).detail("said \"no\"\n").receipt("r-1").to_json();
    assert_eq!((&full["detail"], &full["receipt"]), (&"said \"no\"\n".into(), &"r-1".into()));
}
