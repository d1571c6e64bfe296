//! Being told of writes: one consumer per process for the whole bucket, made when somebody waits, and only then.
//!
//! It sends the headers of each message that is stored. A gap in its numbers, a missing heartbeat, or the end of its
//! connection means that something may have been missed: then everybody who waits is woken and looks again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_nats::{Message, StatusCode, Subscriber};
use futures_util::StreamExt as _;
use serde_json::json;
use stanchion_core::Key;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, timeout};

use super::api::Api;
use super::entry::Head;
use super::fault::Fault;
use super::known::Known;
use super::link::Link;

/// The server says this often that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Without any waiter for this long, the consumer is given up.
const IDLE: Duration = Duration::from_secs(30);

/// The bells of those who wait, and the consumer that rings them.
#[derive(Debug)]
pub(super) struct Watch {
    api: Arc<Api>,
    known: Arc<Known>,
    bells: Mutex<HashMap<Key, Weak<Notify>>>,
    current: tokio::sync::Mutex<Option<Arc<Listening>>>,
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

/// A consumer, until it ends.
#[derive(Debug, Default)]
pub(super) struct Listening(AtomicBool);

impl Listening {
    pub(super) fn ended(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Watch {
    pub(super) fn new(api: Arc<Api>, known: Arc<Known>) -> Arc<Self> {
        Arc::new(Self {
            api,
            known,
            bells: Mutex::default(),
            current: tokio::sync::Mutex::default(),
            task: Mutex::default(),
        })
    }

    /// After this, every write that is stored rings, until it has [`ended`](Listening::ended).
    pub(super) async fn listen(self: &Arc<Self>) -> Result<Arc<Listening>, Fault> {
        let mut current = self.current.lock().await;
        if let Some(listening) = current.as_ref().filter(|listening| !listening.ended()) {
            return Ok(Arc::clone(listening));
        }
        let link = self.api.hub.link().await?;
        let inbox = link.client.new_inbox();
        let messages = link.client.subscribe(inbox.clone()).await.map_err(|_| Fault::Cut)?;
        let order = json!({
            "stream_name": self.api.stream,
            "config": {
                "deliver_subject": inbox,
                "deliver_policy": "new",
                "ack_policy": "none",
                "max_deliver": 1,
                "filter_subject": self.api.subjects.all(),
                "headers_only": true,
                "mem_storage": true,
                "idle_heartbeat": u64::try_from(HEARTBEAT.as_nanos()).unwrap_or(u64::MAX),
            },
        });
        let verb = format!("{}.CONSUMER.CREATE.{}", self.api.hub.options.api, self.api.stream);
        let made = self.api.hub.send(&link, &verb, None, order.to_string().into()).await?;
        super::api::refusal(&made.payload)?;
        let listening = Arc::new(Listening::default());
        *current = Some(Arc::clone(&listening));
        drop(current);
        let task = tokio::spawn(run(Arc::downgrade(self), link, messages, Arc::clone(&listening)));
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        Ok(listening)
    }

    /// What rings when the key is written. Enable its notification before looking.
    pub(super) fn bell(&self, key: &Key) -> Arc<Notify> {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(key).and_then(Weak::upgrade) {
            return bell;
        }
        bells.retain(|_, bell| bell.strong_count() > 0);
        let bell = Arc::new(Notify::new());
        bells.insert(key.clone(), Arc::downgrade(&bell));
        bell
    }

    fn ring(&self, key: &Key) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(key).and_then(Weak::upgrade) {
            bell.notify_waiters();
        }
    }

    fn ring_all(&self) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        for bell in bells.values().filter_map(Weak::upgrade) {
            bell.notify_waiters();
        }
    }

    fn anybody(&self) -> bool {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.values().any(|bell| bell.strong_count() > 0)
    }

    /// Takes a message that tells of a write; how many the consumer has sent by then, and its number in the stream.
    fn hear(&self, message: &Message) -> Option<(u64, u64)> {
        let (count, seq) = numbers(message.reply.as_ref()?)?;
        if let Some(key) = self.api.subjects.key(&message.subject) {
            let header =
                |name: &str| message.headers.as_ref().and_then(|headers| headers.get(name)).map(|value| value.as_str());
            match Head::read(seq, 0, header) {
                // A deleted key: whoever waits can take its place without a look.
                Some(head) if head.version.is_none() => self.known.saw(&key, head),
                _ => self.known.ask(&key, seq),
            }
            self.ring(&key);
        }
        Some((count, seq))
    }
}

/// How many messages the consumer has sent, and this one's number in the stream.
///
/// `$JS.ACK.STREAM.CONSUMER.TRIES.NUMBER.COUNT.TIME.PENDING`, or with domain and account in front and a token behind.
fn numbers(reply: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = reply.split('.').collect();
    let at = match words.len() {
        9 => 5,
        11.. => 7,
        _ => return None,
    };
    Some((words[at + 1].parse().ok()?, words[at].parse().ok()?))
}

async fn run(watch: Weak<Watch>, link: Arc<Link>, mut messages: Subscriber, listening: Arc<Listening>) {
    let (mut heard, mut stream, mut idle_since) = (0, None, Instant::now());
    loop {
        let message = timeout(3 * HEARTBEAT, messages.next()).await;
        let Some(watch) = watch.upgrade() else { return };
        let whole = match message {
            Ok(Some(message)) if message.status == Some(StatusCode::IDLE_HEARTBEAT) => {
                let number = |name: &str| message.headers.as_ref()?.get(name)?.as_str().parse::<u64>().ok();
                // What the server skipped, because it was gone again or by a purge, somebody may wait for.
                let last = number("Nats-Last-Stream");
                if stream.replace(last) != Some(last) {
                    watch.ring_all();
                }
                number("Nats-Last-Consumer").is_none_or(|last| last == heard)
            }
            Ok(Some(message)) => match watch.hear(&message) {
                Some((count, seq)) => {
                    stream = Some(Some(seq));
                    let next = count == heard + 1;
                    heard = count;
                    next
                }
                None => false,
            },
            Ok(None) | Err(_) => false,
        };
        if watch.anybody() {
            idle_since = Instant::now();
        }
        if !whole || !link.lives() || idle_since.elapsed() > IDLE {
            // First the mark, then the bells: who registers between the two sees the mark.
            listening.0.store(true, Ordering::Release);
            watch.ring_all();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_both_forms_of_the_reply() {
        assert_eq!(numbers("$JS.ACK.KV_s.abc.1.508.3.1794783493550139077.0"), Some((3, 508)));
        assert_eq!(numbers("$JS.ACK.hub.ACC.KV_s.abc.1.508.3.1794783493550139077.0.tok"), Some((3, 508)));
        assert_eq!(numbers("_INBOX.a"), None);
    }
}
