//! A claim as bytes: `stc1`, the length of a JSON head, the head, then the body of the answer as it is.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Attempt, Before, Body, Claim, Keep, Note, Outcome, Response, Runner, State};
use crate::{CallKey, Error, ErrorKind, Fingerprint, Owner, Result, Scope};

const MAGIC: &[u8; 4] = b"stc1";
const FRONT: usize = 8;
const HEAD_USUAL: usize = 1024;
/// Two years.
const TIME_MAX_MS: u64 = 2 * 366 * 24 * 60 * 60 * 1000;

#[derive(Serialize, Deserialize)]
struct Head<'a> {
    principal: Cow<'a, str>,
    server: Cow<'a, str>,
    tool: Cow<'a, str>,
    key: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window_ms: Option<u64>,
    fingerprint: String,
    effect: Cow<'a, str>,
    epoch: u64,
    owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<StoredBefore>,
    runner: Cow<'a, Runner>,
    keep_answer_ms: u64,
    keep_key_ms: u64,
    first_seen_ms: u64,
    #[serde(default, skip_serializing_if = "<[Note]>::is_empty")]
    notes: Cow<'a, [Note]>,
    state: Stored<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<StoredResponse<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored<'a> {
    Claimed { lease_ms: u64 },
    Dispatched { lease_ms: u64 },
    Suspended { keep_ms: u64 },
    Done { outcome: Outcome, keep_ms: u64 },
    Retryable {},
    Unknown { reason: Cow<'a, str> },
    Tombstone { outcome: Outcome },
}

/// The response is the record's own: the states that have something before them have none.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBefore {
    Unknown {},
    Suspended { keep_ms: u64 },
}

#[derive(Serialize, Deserialize)]
struct StoredResponse<'a> {
    head: Cow<'a, str>,
    len: u64,
    /// Only of a body that is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Claim {
    /// The record's value.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, Fingerprint, Scope};
    /// # use stanchion_core::claim::{Asked, Claim, Wish, ask};
    /// # let (scope, key) = (Scope::new("a", "b", "c")?, CallKey::new("k")?);
    /// # let Asked::Claim(claim) = ask(None, false, &Wish::new(scope, key, Fingerprint::of_bytes(b""))) else { panic!() };
    /// assert_eq!(Claim::decode(&claim.encode())?, claim);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let ms = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (state, response) = match &self.state {
            State::Claimed { lease } => (Stored::Claimed { lease_ms: ms(lease) }, None),
            State::Dispatched { lease } => (Stored::Dispatched { lease_ms: ms(lease) }, None),
            State::Suspended { response, keep } => (Stored::Suspended { keep_ms: ms(keep) }, Some(response)),
            State::Done { outcome, response, keep } => {
                (Stored::Done { outcome: *outcome, keep_ms: ms(keep) }, Some(response))
            }
            State::Retryable { response } => (Stored::Retryable {}, response.as_ref()),
            State::Unknown { reason } => (Stored::Unknown { reason: reason.into() }, None),
            State::Tombstone { outcome, response } => (Stored::Tombstone { outcome: *outcome }, Some(response)),
        };
        let (before, response) = match &self.before {
            Before::Nothing => (None, response),
            Before::Unknown => (Some(StoredBefore::Unknown {}), response),
            Before::Suspended { response, keep } => {
                (Some(StoredBefore::Suspended { keep_ms: ms(keep) }), Some(response))
            }
        };
        let head = Head {
            principal: self.scope.principal().into(),
            server: self.scope.server().into(),
            tool: self.scope.tool().into(),
            key: self.key.as_str().into(),
            sent_ms: self.key.sent_at(),
            window_ms: self.key.window().as_ref().map(ms),
            fingerprint: self.fingerprint.to_string(),
            effect: self.effect.as_str().into(),
            epoch: self.attempt.epoch,
            owner: self.attempt.owner.to_hex(),
            round: self.round.map(|round| round.to_string()),
            earlier: self.earlier.iter().map(Fingerprint::to_string).collect(),
            before,
            runner: Cow::Borrowed(&*self.runner),
            keep_answer_ms: ms(&self.keep.answer),
            keep_key_ms: ms(&self.keep.key),
            first_seen_ms: self.first_seen_ms,
            notes: Cow::Borrowed(&self.notes),
            state,
            response: response.map(|response| StoredResponse {
                head: Cow::Borrowed(&response.head),
                len: response.body.len(),
                digest: match response.body {
                    Body::Kept(_) => None,
                    Body::Dropped { digest, .. } => Some(digest.to_string()),
                },
            }),
        };
        let body = response.and_then(Response::bytes).map_or(&[][..], |body| body);
        // Room for an ordinary head: growing by halves would copy it several times.
        let mut out = Vec::with_capacity(FRONT + HEAD_USUAL + body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[0; 4]);
        // Nothing in it can fail: texts and numbers, written into memory.
        serde_json::to_writer(&mut out, &head).unwrap_or_default();
        let len = u32::try_from(out.len() - FRONT).unwrap_or(u32::MAX);
        out[4..FRONT].copy_from_slice(&len.to_be_bytes());
        out.extend_from_slice(body);
        out.into()
    }

    /// Reads a record's value.
    ///
    /// # If it fails
    /// `Damaged`: it is not a claim as we write it. Nothing may be run on the strength of it.
    ///
    /// ```
    /// use stanchion_core::{ErrorKind, claim::Claim};
    /// assert_eq!(Claim::decode(&"nonsense".into()).unwrap_err().kind(), ErrorKind::Damaged);
    /// ```
    pub fn decode(value: &Bytes) -> Result<Self> {
        read(value).ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "a stored claim is not as we write it")
                .with("bytes", value.len())
                .hint("look at it with `stanchion claims show`; nothing is run under this key until it is settled")
        })
    }
}

fn read(value: &Bytes) -> Option<Claim> {
    let front = value.get(..FRONT)?;
    if front.get(..4)? != MAGIC {
        return None;
    }
    let len = usize::try_from(u32::from_be_bytes(front.get(4..)?.try_into().ok()?)).ok()?;
    let end = FRONT.checked_add(len)?;
    let head: Head<'_> = serde_json::from_slice(value.get(FRONT..end)?).ok()?;
    let body = value.slice(end..);
    let mut response = match head.response {
        None if body.is_empty() => None,
        Some(StoredResponse { head, len, digest: Some(digest) }) if body.is_empty() => {
            Some(Response { head: head.into_owned(), body: Body::Dropped { len, digest: digest.parse().ok()? } })
        }
        Some(StoredResponse { head, len, digest: None }) if len == body.len() as u64 => {
            Some(Response { head: head.into_owned(), body: Body::Kept(body) })
        }
        _ => return None,
    };
    let time = Duration::from_millis;
    // No policy allows more; a damaged number must not make a deadline overflow.
    let longest = |ms: u64| (ms <= TIME_MAX_MS).then(|| time(ms));
    let before = match (&head.state, head.before) {
        (_, None) => Before::Nothing,
        (Stored::Claimed { .. } | Stored::Dispatched { .. } | Stored::Unknown { .. }, Some(before)) => match before {
            StoredBefore::Unknown {} => Before::Unknown,
            StoredBefore::Suspended { keep_ms } => {
                Before::Suspended { response: response.take()?, keep: longest(keep_ms)? }
            }
        },
        _ => return None,
    };
    let state = match (head.state, response) {
        (Stored::Claimed { lease_ms }, None) => State::Claimed { lease: longest(lease_ms)? },
        (Stored::Dispatched { lease_ms }, None) => State::Dispatched { lease: longest(lease_ms)? },
        (Stored::Suspended { keep_ms }, Some(response)) => State::Suspended { response, keep: longest(keep_ms)? },
        (Stored::Done { outcome, keep_ms }, Some(response)) => {
            State::Done { outcome, response, keep: longest(keep_ms)? }
        }
        (Stored::Retryable {}, response) => State::Retryable { response },
        (Stored::Unknown { reason }, None) => State::Unknown { reason: reason.into_owned() },
        (Stored::Tombstone { outcome }, Some(response)) => State::Tombstone { outcome, response },
        _ => return None,
    };
    Some(Claim {
        scope: Scope::new(head.principal, head.server, head.tool).ok()?,
        key: CallKey::stored(&head.key, head.sent_ms, head.window_ms.map(time)).ok()?,
        fingerprint: head.fingerprint.parse().ok()?,
        effect: head.effect.parse().ok()?,
        attempt: Attempt { epoch: head.epoch, owner: head.owner.parse::<Owner>().ok()? },
        round: match head.round {
            Some(round) => Some(round.parse::<Fingerprint>().ok()?),
            None => None,
        },
        earlier: head.earlier.iter().map(|round| round.parse().ok()).collect::<Option<_>>()?,
        before,
        runner: Arc::new(head.runner.into_owned()),
        keep: Keep { answer: longest(head.keep_answer_ms)?, key: longest(head.keep_key_ms)? },
        first_seen_ms: head.first_seen_ms,
        state,
        notes: head.notes.into_owned(),
    })
}
