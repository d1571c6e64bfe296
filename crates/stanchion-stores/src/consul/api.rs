//! The calls that we use: transactions, single reads that may block, sessions.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hyper::Method;
use serde::{Deserialize, Serialize};
use stanchion_core::{Error, ErrorKind, Result};
use tokio::time::Instant;

use super::fault::{Fault, denied};
use super::http::{Answer, Http};
use super::name::in_path;

/// The longest time to live of a session.
pub(super) const SESSION_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// The most operations of one transaction.
pub(super) const OPS_MOST: usize = 64;

/// One operation of a transaction.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Op<'a> {
    #[serde(rename = "KV")]
    kv: Verb<'a>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Verb<'a> {
    verb: &'static str,
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

impl<'a> Op<'a> {
    const fn new(verb: &'static str, key: &'a str) -> Self {
        Self { kv: Verb { verb, key, value: None, flags: None, index: None, session: None } }
    }

    /// All names that begin so; none is no failure.
    pub(super) const fn tree(prefix: &'a str) -> Self {
        Self::new("get-tree", prefix)
    }

    pub(super) fn set(key: &'a str, value: &[u8], flags: u64) -> Self {
        let mut op = Self::new("set", key);
        (op.kv.value, op.kv.flags) = (Some(BASE64.encode(value)), Some(flags));
        op
    }

    /// Writes, and ties it to a session; nothing if another session has it.
    pub(super) fn lock(key: &'a str, value: &[u8], flags: u64, session: &'a str) -> Self {
        let mut op = Self::set(key, value, flags);
        (op.kv.verb, op.kv.session) = ("lock", Some(session));
        op
    }

    /// Writes, and unties it from its session; nothing if that does not have it.
    pub(super) fn unlock(key: &'a str, value: &[u8], flags: u64, session: &'a str) -> Self {
        let mut op = Self::set(key, value, flags);
        (op.kv.verb, op.kv.session) = ("unlock", Some(session));
        op
    }

    pub(super) const fn delete(key: &'a str) -> Self {
        Self::new("delete", key)
    }

    pub(super) const fn absent(key: &'a str) -> Self {
        Self::new("check-not-exists", key)
    }

    pub(super) const fn unchanged(key: &'a str, index: u64) -> Self {
        let mut op = Self::new("check-index", key);
        op.kv.index = Some(index);
        op
    }

    pub(super) const fn held(key: &'a str, session: &'a str) -> Self {
        let mut op = Self::new("check-session", key);
        op.kv.session = Some(session);
        op
    }
}

/// A name and what is stored there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Pair {
    pub(super) key: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    pub(super) flags: u64,
    #[serde(default)]
    pub(super) session: Option<String>,
    pub(super) create_index: u64,
    pub(super) modify_index: u64,
}

impl Pair {
    /// `None` if it is not base64.
    pub(super) fn bytes(&self) -> Option<Bytes> {
        self.value.as_ref().map_or(Some(Bytes::new()), |text| BASE64.decode(text).ok().map(Bytes::from))
    }

    pub(super) fn is_held(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.is_empty())
    }
}

/// Why a transaction did nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Refusal {
    #[serde(default)]
    op_index: usize,
    pub(super) what: String,
}

impl Refusal {
    /// Whether it was the operation at this place.
    pub(super) const fn at(&self, op: usize) -> bool {
        self.op_index == op
    }

    pub(super) fn no_session(&self) -> bool {
        self.what.contains("invalid session")
    }

    pub(super) fn nothing_there(&self) -> bool {
        self.what.contains("doesn't exist")
    }

    pub(super) fn lock_delay(&self) -> bool {
        self.what.contains("lock delay")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Done {
    results: Option<Vec<One>>,
    errors: Option<Vec<Refusal>>,
}

#[derive(Deserialize)]
struct One {
    #[serde(rename = "KV")]
    kv: Option<Pair>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Created {
    #[serde(rename = "ID")]
    id: String,
}

fn garbled(e: impl std::fmt::Display) -> Fault {
    Fault::Garbled(e.to_string())
}

impl Http {
    fn end(&self) -> Instant {
        Instant::now() + self.options.timeout
    }

    /// A read; once more on a fresh connection if the first one broke.
    pub(super) async fn get(&self, path: &str, end: Instant) -> Result<Answer, Fault> {
        match self.ask(Method::GET, path, Bytes::new(), end).await {
            Err(fault) if fault.broke() => self.ask(Method::GET, path, Bytes::new(), end).await,
            answer => answer,
        }
    }

    /// All of `ops` in one step, or nothing and the reason.
    pub(super) async fn write(&self, ops: &[Op<'_>]) -> Result<Result<Vec<Pair>, Refusal>> {
        let body = serde_json::to_vec(ops).map_err(|e| self.error(garbled(e), false))?;
        let answer = self.ask(Method::PUT, "/v1/txn", body.into(), self.end()).await;
        let answer = answer.and_then(done).map_err(|fault| self.error(fault, true))?;
        answer.map_or_else(|refusal| self.rights(refusal).map(Err), |pairs| Ok(Ok(pairs)))
    }

    /// Reads in one step what the majority of the servers agrees on at this moment.
    pub(super) async fn read_all(&self, ops: &[Op<'_>]) -> Result<Vec<Pair>> {
        let body = Bytes::from(serde_json::to_vec(ops).map_err(|e| self.error(garbled(e), false))?);
        let path = "/v1/txn?consistent";
        let mut answer = self.ask(Method::PUT, path, body.clone(), self.end()).await;
        if answer.as_ref().is_err_and(Fault::broke) {
            answer = self.ask(Method::PUT, path, body, self.end()).await;
        }
        match answer.and_then(done).map_err(|fault| self.error(fault, false))? {
            Ok(pairs) => Ok(pairs),
            Err(refusal) => {
                let refusal = self.rights(refusal)?;
                Err(self.error(Fault::Garbled(refusal.what), false))
            }
        }
    }

    /// A refusal that is about rights is an error of its own.
    fn rights(&self, refusal: Refusal) -> Result<Refusal> {
        let text = &refusal.what;
        if text.contains("ermission denied") || text.contains("ACL not found") {
            return Err(denied(text).with("store", &self.options.shown));
        }
        Ok(refusal)
    }

    /// One name, or with `tree` all that begin so; as of which index. With `since` it blocks until that index has
    /// passed or `end` has come, and then has nothing to tell.
    pub(super) async fn look(
        &self,
        name: &str,
        tree: bool,
        since: Option<u64>,
        end: Instant,
    ) -> Result<Option<(u64, Vec<Pair>)>> {
        let mut path = format!("/v1/kv/{}?consistent{}", in_path(name), if tree { "&recurse" } else { "" });
        let mut until = self.end();
        if let Some(since) = since {
            // Consul adds up to a sixteenth; an answer in time keeps the connection. Zero would not block.
            let wait = end.saturating_duration_since(Instant::now()).min(Duration::from_secs(300)) * 15 / 16;
            path.push_str(&format!("&index={}&wait={}ms", since.max(1), wait.as_millis().max(1)));
            until = end;
        }
        let answer = match self.get(&path, until).await {
            Err(Fault::Late) if since.is_some() => return Ok(None),
            answer => answer.map_err(|fault| self.error(fault, false))?,
        };
        let pairs = match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|e| self.error(garbled(e), false))?,
            404 => Vec::new(),
            status => return Err(self.error(refused(status, &answer.body), false)),
        };
        Ok(Some((answer.index, pairs)))
    }

    /// The names that begin with `prefix`; up to the next `~` only, if `short`.
    pub(super) async fn names(&self, prefix: &str, short: bool) -> Result<Vec<String>> {
        let separator = if short { "&separator=~" } else { "" };
        let path = format!("/v1/kv/{}?consistent&keys{separator}", in_path(prefix));
        let answer = self.get(&path, self.end()).await.map_err(|fault| self.error(fault, false))?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|e| self.error(garbled(e), false)),
            404 => Ok(Vec::new()),
            status => Err(self.error(refused(status, &answer.body), false)),
        }
    }

    /// A new session of this time to live; `Err` with the refusal's text if the agent does not allow that.
    ///
    /// It hangs on nothing but its time: a node's health check could end it before.
    pub(super) async fn session(
        &self,
        ttl: Duration,
        behavior: &str,
        delay: Duration,
    ) -> Result<Result<String, String>> {
        let mut body = serde_json::json!({
            "Name": "stanchion", "TTL": millis(ttl), "Behavior": behavior, "LockDelay": millis(delay),
            "Checks": [], "NodeChecks": [],
        });
        if let Some(node) = &self.options.node {
            body["Node"] = node.as_str().into();
        }
        let answer = self.ask(Method::PUT, "/v1/session/create", body.to_string().into(), self.end()).await;
        // A session that nobody knows of ends by itself, and nothing of the caller's was sent.
        let answer = answer.map_err(|fault| self.error(fault, false))?;
        match answer.status {
            200 => {
                let created: Created =
                    serde_json::from_slice(&answer.body).map_err(|e| self.error(garbled(e), false))?;
                Ok(Ok(created.id))
            }
            status => {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                if text.contains("Invalid Session TTL") {
                    return Ok(Err(text));
                }
                if text.contains("Missing node registration") {
                    return Err(self.no_node());
                }
                Err(self.error(refused(status, &answer.body), false))
            }
        }
    }

    fn no_node(&self) -> Error {
        let node = self.options.node.as_deref().unwrap_or("the agent's own");
        Error::new(ErrorKind::Unavailable, "Consul does not know the node that our sessions hang on")
            .with("node", node)
            .with("store", &self.options.shown)
            .hint(format!(
                "register it: curl -X PUT HOST:8500/v1/catalog/register -d '{{\"Node\":\"{node}\",\"Address\":\"127.0.0.1\"}}'"
            ))
    }

    /// Another time to live; `false` if there is no such session any more.
    pub(super) async fn renew_session(&self, id: &str) -> Result<bool> {
        let path = format!("/v1/session/renew/{id}");
        let mut answer = self.ask(Method::PUT, &path, Bytes::new(), self.end()).await;
        // It may be said twice.
        if answer.as_ref().is_err_and(Fault::broke) {
            answer = self.ask(Method::PUT, &path, Bytes::new(), self.end()).await;
        }
        let answer = answer.map_err(|fault| self.error(fault, false))?;
        match answer.status {
            200 => Ok(true),
            404 => Ok(false),
            status => Err(self.error(refused(status, &answer.body), false)),
        }
    }

    /// Whether that is done. One that is not there any more counts.
    pub(super) async fn destroy_session(&self, id: &str) -> bool {
        let path = format!("/v1/session/destroy/{id}");
        match self.ask(Method::PUT, &path, Bytes::new(), self.end()).await {
            Ok(answer) => answer.status == 200,
            Err(fault) => {
                tracing::debug!(?fault, "could not end a session; it ends by itself");
                false
            }
        }
    }

    /// Any other fact, as JSON; `None` if our rights do not reach it.
    pub(super) async fn fact(&self, path: &str) -> Result<Option<serde_json::Value>> {
        let answer = self.get(path, self.end()).await.map_err(|fault| self.error(fault, false))?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map(Some).map_err(|e| self.error(garbled(e), false)),
            401 | 403 => Ok(None),
            status => Err(self.error(refused(status, &answer.body), false)),
        }
    }

    /// Too many changes at once, again and again.
    pub(super) fn restless(&self, key: &stanchion_core::Key) -> Error {
        Error::new(ErrorKind::Unexpected, "it changed under us again and again")
            .with("key", key)
            .with("store", &self.options.shown)
    }
}

fn refused(status: u16, body: &[u8]) -> Fault {
    Fault::Refused(status, String::from_utf8_lossy(body).into_owned())
}

/// A transaction's answer: 200 with results, or 409 with reasons.
fn done(answer: Answer) -> Result<Result<Vec<Pair>, Refusal>, Fault> {
    if answer.status != 200 && answer.status != 409 {
        return Err(refused(answer.status, &answer.body));
    }
    let done: Done = serde_json::from_slice(&answer.body).map_err(garbled)?;
    match (answer.status, done.errors.and_then(|errors| errors.into_iter().next())) {
        (_, Some(refusal)) => Ok(Err(refusal)),
        (200, None) => Ok(Ok(done.results.unwrap_or_default().into_iter().filter_map(|one| one.kv).collect())),
        _ => Err(Fault::Garbled("a refused transaction without a reason".to_owned())),
    }
}

/// As Consul reads times.
pub(super) fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}
