//! Everything that can be wrong with a request, before anything runs.

use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use stanchion_core::{Acquire, Call, CallKey, Effect, Fingerprint, Scope};

use super::RoutePolicy;
use super::collect::{self, Unread};
use crate::Body;
use crate::key::IdempotencyKey;
use crate::problem::{Problem, ProblemKind};

const DIGEST: &str = "sha256:";

pub(super) enum Admitted {
    /// Its method is not guarded: its body is not touched.
    Unguarded(Request<Body>),
    Refused(Problem),
    Guarded(Box<Call>, Request<Body>),
}

pub(super) async fn admit(route: &RoutePolicy, request: Request<Body>) -> Admitted {
    if !route.methods.contains(request.method()) {
        return Admitted::Unguarded(request);
    }
    let key = match route.key.read(request.headers()) {
        // What changes nothing is not remembered.
        Ok(key) => key.filter(|_| route.policy.effect_class() != Effect::ReadOnly),
        Err(bad) => return Admitted::Refused(bad.problem(route.key.header_name())),
    };
    let (parts, body) = request.into_parts();
    let scope = match scope(route, &parts) {
        Ok(scope) => scope,
        Err(problem) => return Admitted::Refused(problem),
    };
    // Without a key nothing is compared, so a body that no lock is named by can stay a stream.
    let (whole, body) = if key.is_some() || route.locks_need_body() {
        match collect::read(body, route.body_limit).await {
            Ok(whole) => (whole.clone(), Body::from(whole)),
            Err(Unread::TooLarge) => return Admitted::Refused(too_large(route.body_limit)),
            Err(Unread::Broken(e)) => return Admitted::Refused(broken(&e)),
        }
    } else {
        (Bytes::new(), body)
    };
    match call(route, scope, key.as_ref(), &parts, &whole) {
        Ok(call) => Admitted::Guarded(Box::new(call), Request::from_parts(parts, body)),
        Err(problem) => Admitted::Refused(problem),
    }
}

fn scope(route: &RoutePolicy, parts: &Parts) -> Result<Scope, Problem> {
    let principal = route.principal.of(parts).ok_or_else(|| Problem::new(ProblemKind::PrincipalMissing))?;
    Scope::new(name(principal), &route.label, tool(parts)).map_err(|e| {
        tracing::error!(route = route.label, error = %e, "a request cannot be scoped");
        Problem::new(ProblemKind::Internal).executed(false)
    })
}

fn call(
    route: &RoutePolicy,
    scope: Scope,
    key: Option<&IdempotencyKey>,
    parts: &Parts,
    body: &[u8],
) -> Result<Call, Problem> {
    let mut call = Call::new(scope, route.policy.clone());
    if let Some(key) = key {
        let key =
            CallKey::new(key.as_str()).map_err(|e| Problem::new(ProblemKind::KeyInvalid).detail(e.to_string()))?;
        call = call.key(key, fingerprint(parts, body));
    }
    for (template, wait) in &route.locks {
        let lock = template.fill(parts, body).and_then(|key| Acquire::new(key).wait(*wait).ttl(route.lock_ttl));
        call = call.lock(lock.map_err(|e| Problem::new(ProblemKind::LockKeyMissing).detail(e.to_string()))?);
    }
    Ok(call)
}

/// Method and path. A key of one path is unknown to every other.
fn tool(parts: &Parts) -> String {
    let tool = format!("{} {}", parts.method, parts.uri.path());
    if fits(&tool) { tool } else { format!("{} {}", parts.method, Fingerprint::of_bytes(tool.as_bytes())) }
}

/// Nobody may be called like the digest of somebody else.
fn name(principal: String) -> String {
    let plain = fits(&principal) && !principal.starts_with(DIGEST);
    if plain { principal } else { format!("{DIGEST}{}", Fingerprint::of_bytes(principal.as_bytes())) }
}

/// What is too long for a scope, or has control characters, is told apart by its digest.
fn fits(part: &str) -> bool {
    Scope::new(part, "server", "tool").is_ok()
}

/// Method, path, query and body. Two spellings of one JSON document are one, if it says that it is JSON.
fn fingerprint(parts: &Parts, body: &[u8]) -> Fingerprint {
    let json = is_json(parts).then(|| std::str::from_utf8(body).ok()).flatten();
    let body = json.and_then(|text| Fingerprint::of_json(text).ok()).unwrap_or_else(|| Fingerprint::of_bytes(body));
    let query = parts.uri.query().unwrap_or_default();
    Fingerprint::of_parts(&[
        parts.method.as_str().as_bytes(),
        parts.uri.path().as_bytes(),
        query.as_bytes(),
        body.as_bytes(),
    ])
}

fn is_json(parts: &Parts) -> bool {
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    !parts.headers.contains_key(CONTENT_ENCODING) && (kind == "application/json" || kind.ends_with("+json"))
}

fn too_large(limit: usize) -> Problem {
    Problem::new(ProblemKind::BodyTooLarge).detail(format!("at most {limit} bytes are allowed"))
}

/// The caller is gone, or its body is no body; in the second case it can read this.
fn broken(error: &crate::BoxError) -> Problem {
    tracing::debug!(%error, "a request body broke off; nothing ran");
    Problem::new(ProblemKind::BodyBroken)
}
