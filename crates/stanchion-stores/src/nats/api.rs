//! The requests to JetStream, as bytes on the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, FencingToken, Key, Result};

use super::entry::{Entry, Head, Next, in_block, milliseconds};
use super::fault::{Fault, code};
use super::link::Hub;
use super::subject::Subjects;

/// Headers of a message and what JetStream adds: a value must leave this much room.
const ROOM: usize = 1024;

#[derive(Debug)]
pub(super) struct Api {
    pub(super) hub: Hub,
    pub(super) subjects: Subjects,
    /// `KV_BUCKET`, the stream of the bucket.
    pub(super) stream: String,
    /// What comes in front of a subject on its way to another domain.
    detour: String,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    subject: String,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
    time: String,
}

#[derive(Deserialize)]
struct Answer {
    error: Option<Refusal>,
    #[serde(default)]
    seq: u64,
    message: Option<Stored>,
}

/// The names of a part of the bucket's subjects.
#[derive(Deserialize)]
pub(super) struct Names {
    #[serde(default)]
    pub(super) total: usize,
    #[serde(default)]
    pub(super) state: NamesState,
}

#[derive(Deserialize, Default)]
pub(super) struct NamesState {
    #[serde(default)]
    pub(super) subjects: Option<std::collections::HashMap<String, u64>>,
}

impl Api {
    pub(super) fn new(hub: Hub) -> Self {
        let (subjects, stream) = (Subjects::new(&hub.options.bucket), format!("KV_{}", hub.options.bucket));
        let detour = if hub.options.api == "$JS.API" { String::new() } else { format!("{}.", hub.options.api) };
        Self { hub, subjects, stream, detour }
    }

    pub(super) fn shown(&self) -> &str {
        &self.hub.options.shown
    }

    /// The error of a request that `writes`.
    pub(super) fn error(&self, fault: Fault, writes: bool) -> Error {
        fault.into_error(self.shown(), writes)
    }

    fn verb(&self, verb: &str) -> String {
        format!("{}.{verb}.{}", self.hub.options.api, self.stream)
    }

    /// A question to JetStream that changes nothing.
    pub(super) async fn ask(&self, verb: &str, question: &Value) -> Result<Bytes, Fault> {
        let answer = self.hub.read(&self.verb(verb), question.to_string().into()).await?;
        refusal(&answer.payload)?;
        Ok(answer.payload)
    }

    /// An order to JetStream.
    pub(super) async fn order(&self, verb: &str, order: &Value) -> Result<Bytes, Fault> {
        let answer = self.hub.write(&self.verb(verb), async_nats::HeaderMap::new(), order.to_string().into()).await?;
        refusal(&answer.payload)?;
        Ok(answer.payload)
    }

    /// What the account uses and may use.
    pub(super) async fn account(&self) -> Result<Bytes, Fault> {
        let answer = self.hub.read(&format!("{}.INFO", self.hub.options.api), Bytes::new()).await?;
        refusal(&answer.payload)?;
        Ok(answer.payload)
    }

    /// Writes a message that says nothing, for its time.
    pub(super) async fn tick(&self) -> Result<(), Fault> {
        let subject = format!("{}{}", self.detour, self.subjects.clock());
        self.hub.write(&subject, async_nats::HeaderMap::new(), Bytes::new()).await.map(drop)
    }

    /// The last message on a subject, read by the leader of the stream: `STREAM.MSG.GET`, never a direct get, which a
    /// replica that lags may answer.
    pub(super) async fn last(&self, key: &Key) -> Result<Entry, Fault> {
        self.last_on(&self.subjects.of(key)).await.map(|(entry, _)| entry)
    }

    /// That message and its time, in milliseconds.
    pub(super) async fn last_on(&self, subject: &str) -> Result<(Entry, u64), Fault> {
        let question = format!("{{\"last_by_subj\":\"{subject}\"}}");
        let answer = self.hub.read(&self.verb("STREAM.MSG.GET"), question.into()).await?;
        let answer: Answer = serde_json::from_slice(&answer.payload).map_err(|_| Fault::Garbled)?;
        match answer {
            Answer { error: Some(refusal), .. } if refusal.err_code == code::NO_MESSAGE => Ok((Entry::default(), 0)),
            Answer { error: Some(refusal), .. } => Err(Fault::Refused(refusal.err_code, refusal.description)),
            Answer { message: Some(stored), .. } => stored.entry().ok_or_else(|| Fault::Damaged(subject.to_owned())),
            _ => Err(Fault::Garbled),
        }
    }

    /// The first message of the bucket from the number `seq` on: its number, and what it says of which key if it is ours.
    pub(super) async fn next(&self, seq: u64) -> Result<Option<(u64, Option<(Key, Head)>)>, Fault> {
        let question = json!({ "seq": seq, "next_by_subj": self.subjects.all() });
        let answer = self.hub.read(&self.verb("STREAM.MSG.GET"), question.to_string().into()).await?;
        let answer: Answer = serde_json::from_slice(&answer.payload).map_err(|_| Fault::Garbled)?;
        match answer {
            Answer { error: Some(refusal), .. } if refusal.err_code == code::NO_MESSAGE => Ok(None),
            Answer { error: Some(refusal), .. } => Err(Fault::Refused(refusal.err_code, refusal.description)),
            Answer { message: Some(stored), .. } => {
                Ok(Some((stored.seq, self.subjects.key(&stored.subject).zip(stored.head().map(|(head, _)| head)))))
            }
            _ => Err(Fault::Garbled),
        }
    }

    /// Writes in the place of `before`; the new message's number. `None` if something else stands there now.
    pub(super) async fn replace(
        &self,
        key: &Key,
        before: u64,
        fence: Option<FencingToken>,
        next: Next,
    ) -> Result<Option<u64>, Fault> {
        let (headers, value) = next.message(before, fence);
        let subject = format!("{}{}", self.detour, self.subjects.of(key));
        let answer = self.hub.write(&subject, headers, value).await?;
        let answer: Answer = serde_json::from_slice(&answer.payload).map_err(|_| Fault::Garbled)?;
        match answer.error {
            None if answer.seq > 0 => Ok(Some(answer.seq)),
            None => Err(Fault::Garbled),
            Some(refusal) if refusal.err_code == code::WRONG_SEQUENCE => Ok(None),
            Some(refusal) => Err(Fault::Refused(refusal.err_code, refusal.description)),
        }
    }

    /// Removes the message `seq`, and no other. Not by a purge of its subject: a server of 2.9 then also skips what its
    /// consumers have not yet delivered, on all subjects.
    pub(super) async fn remove(&self, seq: u64) -> Result<(), Fault> {
        match self.order("STREAM.MSG.DELETE", &json!({ "seq": seq, "no_erase": true })).await {
            Err(fault) if fault.is(code::NO_MESSAGE) || fault.is(code::NO_SUCH_NUMBER) => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Subjects that match the filter, from number `offset` on.
    pub(super) async fn names(&self, filter: &str, offset: usize) -> Result<Names, Fault> {
        let answer = self.ask("STREAM.INFO", &json!({ "subjects_filter": filter, "offset": offset })).await?;
        serde_json::from_slice(&answer).map_err(|_| Fault::Garbled)
    }

    /// Refuses a value that the server would refuse, before anything is sent.
    pub(super) fn check(&self, key: &Key, size: usize, max: usize) -> Result<()> {
        let most = max.saturating_sub(ROOM);
        if size <= most {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, "the value is larger than the server takes")
            .with("key", key)
            .with("bytes", size)
            .with("most", most)
            .hint("raise max_payload of nats-server, or store less"))
    }
}

impl Stored {
    /// What it says without its value, and its time.
    fn head(&self) -> Option<(Head, u64)> {
        let block = STANDARD.decode(&self.hdrs).ok()?;
        let block = std::str::from_utf8(&block).ok()?;
        let time = milliseconds(&self.time)?;
        Some((Head::read(self.seq, time, |name| in_block(block, name))?, time))
    }

    fn entry(self) -> Option<(Entry, u64)> {
        let (head, time) = self.head()?;
        Some((Entry { head, value: STANDARD.decode(self.data).ok()?.into() }, time))
    }
}

pub(super) fn refusal(answer: &[u8]) -> Result<(), Fault> {
    #[derive(Deserialize)]
    struct Only {
        error: Option<Refusal>,
    }
    let only: Only = serde_json::from_slice(answer).map_err(|_| Fault::Garbled)?;
    only.error.map_or(Ok(()), |refusal| Err(Fault::Refused(refusal.err_code, refusal.description)))
}
