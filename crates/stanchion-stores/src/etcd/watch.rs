//! One stream on which etcd tells what has changed, shared by all who wait.
//!
//! A watch begins at "now" and its waiter looks once more after it has begun. One that began in the past, even one revision
//! ago, would be served by etcd's catch-up loop, which turns every 100 ms.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, mpsc};
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

use super::fault::Fault;
use super::link::{Hub, Link, Why};
use super::proto::{Watch, WatchCancel, WatchCreate, Watched};

const PATH: &str = "/etcdserverpb.Watch/Watch";
/// Requests on their way to the stream.
const QUEUE: usize = 1024;
/// Leave out puts.
const NO_PUTS: i32 = 0;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) key: Vec<u8>,
    /// Empty: this key alone.
    pub(super) end: Vec<u8>,
    pub(super) deletes_only: bool,
}

/// All watches of one store.
#[derive(Debug)]
pub(super) struct Watches {
    hub: Arc<Hub>,
    stream: Mutex<Option<Arc<Stream>>>,
}

#[derive(Debug)]
struct Stream {
    requests: mpsc::Sender<Watch>,
    bells: Mutex<Bells>,
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

#[derive(Debug, Default)]
struct Bells {
    last: i64,
    by_id: BTreeMap<i64, Arc<Signals>>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Signals {
    begun: Notify,
    rung: Notify,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Stream {
    fn bells(&self) -> std::sync::MutexGuard<'_, Bells> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everybody looks again, and the next watch opens another stream.
    fn end(&self) {
        let mut bells = self.bells();
        bells.ended = true;
        for signals in bells.by_id.values() {
            signals.begun.notify_one();
            signals.rung.notify_one();
        }
    }
}

/// One watch; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Bell {
    id: i64,
    signals: Arc<Signals>,
    stream: Arc<Stream>,
}

impl Bell {
    /// The watch has begun: whatever happens from now on rings.
    pub(super) async fn begun(&self) {
        self.signals.begun.notified().await;
    }

    /// It should have begun long ago: another stream for everybody.
    pub(super) fn give_up(&self) {
        self.stream.end();
    }

    /// Something happened, or the stream has ended.
    pub(super) async fn rung(&self) {
        self.signals.rung.notified().await;
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.stream.bells().by_id.remove(&self.id);
        let cancel = Watch { create: None, cancel: Some(WatchCancel { watch_id: self.id }) };
        // If the queue is full, etcd goes on telling us of this watch, and nobody listens.
        drop(self.stream.requests.try_send(cancel));
    }
}

impl Watches {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, stream: Mutex::default() }
    }

    /// Begins a watch.
    pub(super) async fn begin(&self, place: Place) -> Result<Bell, Fault> {
        let stream = match self.living() {
            Some(stream) => stream,
            None => {
                let link = self.hub.link().await?;
                self.living().unwrap_or_else(|| self.open(link))
            }
        };
        let signals = Arc::new(Signals::default());
        let id = {
            let mut bells = stream.bells();
            if bells.ended {
                return Err(Fault::NotSent("the stream of changes has just ended".to_owned()));
            }
            bells.last += 1;
            let id = bells.last;
            bells.by_id.insert(id, Arc::clone(&signals));
            id
        };
        let bell = Bell { id, signals, stream };
        let filters = if place.deletes_only { vec![NO_PUTS] } else { Vec::new() };
        let create = WatchCreate { key: place.key, range_end: place.end, filters, watch_id: id };
        let sent = bell.stream.requests.send(Watch { create: Some(create), cancel: None }).await;
        sent.map_err(|_| Fault::NotSent("the stream of changes has ended".to_owned()))?;
        Ok(bell)
    }

    fn living(&self) -> Option<Arc<Stream>> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.as_ref().filter(|stream| !stream.bells().ended && !stream.requests.is_closed()).cloned()
    }

    fn open(&self, link: Link) -> Arc<Stream> {
        let (requests, queue) = mpsc::channel(QUEUE);
        let stream = Arc::new(Stream { requests, bells: Mutex::default(), task: Mutex::default() });
        let (hub, heard) = (Arc::clone(&self.hub), Arc::downgrade(&stream));
        let task = tokio::spawn(async move {
            let ended = tokio::select! {
                ended = listen(&link, queue, &heard) => ended,
                // It might stay silent for ever, and those who wait would wait with it.
                () = link.retired() => Ok(()),
            };
            hub.retire(&link, Why::Weak);
            tracing::debug!(?ended, "the stream of changes has ended");
            if let Some(stream) = heard.upgrade() {
                stream.end();
            }
        });
        *stream.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&stream));
        stream
    }
}

async fn listen(
    link: &Link,
    mut queue: mpsc::Receiver<Watch>,
    stream: &std::sync::Weak<Stream>,
) -> Result<(), tonic::Status> {
    let requests = futures_util::stream::poll_fn(move |cx| queue.poll_recv(cx));
    let mut request = tonic::Request::new(requests);
    let metadata = request.metadata_mut().as_mut();
    // The stream ends when its member loses the majority, so that nobody waits for what cannot come.
    metadata.insert("hasleader", tonic::codegen::http::HeaderValue::from_static("true"));
    if let Some(token) = &link.token {
        metadata.insert("token", token.clone());
    }
    let mut client = tonic::client::Grpc::new(link.channel.clone()).max_decoding_message_size(64 << 20);
    client.ready().await.map_err(|e| tonic::Status::unavailable(e.to_string()))?;
    let codec = ProstCodec::<Watch, Watched>::default();
    let answers = client.streaming(request, PathAndQuery::from_static(PATH), codec).await?;
    let mut answers = answers.into_inner();
    while let Some(answer) = answers.message().await? {
        let Some(stream) = stream.upgrade() else { return Ok(()) };
        let signals = stream.bells().by_id.get(&answer.watch_id).cloned();
        if let Some(signals) = signals {
            if answer.created || answer.canceled {
                signals.begun.notify_one();
            }
            if answer.canceled || !answer.events.is_empty() {
                signals.rung.notify_one();
            }
        }
    }
    Ok(())
}
