//! One stream on which etcd tells what has changed, shared by all who wait.
//!
//! There is one watch for a place, whoever waits there, and it outlives its waiters for a while. A watch that begins while others
//! write may find that the revision it was to begin at has just passed; etcd then serves it by its catch-up loop, which turns
//! every 100 ms. With a watch for each waiter, that befell up to all waiters of a busy lock at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

use super::fault::Fault;
use super::heard::Heard;
use super::link::{Hub, Link, Why};
use super::proto::{Watch, WatchCancel, WatchCreate, Watched};

const PATH: &str = "/etcdserverpb.Watch/Watch";
/// Requests on their way to the stream.
const QUEUE: usize = 1024;
/// Leave out puts.
const NO_PUTS: i32 = 0;
/// So long a watch is kept that nobody waits for. Only an event ends it, because only events cost something.
const KEPT: Duration = Duration::from_secs(5);
/// A stream that has been silent for longer may be dead, and a watch on it is not used by others: a new one shows by its
/// answer whether the stream lives.
const SILENT: Duration = Duration::from_secs(1);
/// Watches on one stream before those that nobody waits for are ended early.
const MOST: usize = 1024;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    watched: Mutex<All>,
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

#[derive(Debug)]
struct All {
    last: i64,
    /// When the stream last told something.
    spoke: Instant,
    by_id: BTreeMap<i64, (Place, Arc<Heard>)>,
    by_place: BTreeMap<Place, i64>,
    ended: bool,
}

impl All {
    fn new() -> Self {
        Self { last: 0, spoke: Instant::now(), by_id: BTreeMap::new(), by_place: BTreeMap::new(), ended: false }
    }

    /// The watch of a place, with its number.
    fn at(&self, place: &Place) -> Option<(i64, Arc<Heard>)> {
        let id = self.by_place.get(place)?;
        let (_, heard) = self.by_id.get(id)?;
        Some((*id, Arc::clone(heard)))
    }

    fn add(&mut self, place: Place) -> (i64, Arc<Heard>) {
        self.last += 1;
        let heard = Arc::new(Heard::new());
        self.by_place.insert(place.clone(), self.last);
        self.by_id.insert(self.last, (place, Arc::clone(&heard)));
        (self.last, heard)
    }

    fn remove(&mut self, id: i64) -> Option<Arc<Heard>> {
        let (place, heard) = self.by_id.remove(&id)?;
        self.by_place.remove(&place);
        Some(heard)
    }

    /// Those that nobody listens to. Nobody can begin to meanwhile: that needs this lock.
    fn deserted(&self) -> Vec<i64> {
        self.by_id.iter().filter(|(_, (_, heard))| Arc::strong_count(heard) == 1).map(|(id, _)| *id).collect()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Stream {
    fn watched(&self) -> std::sync::MutexGuard<'_, All> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everybody looks again, and the next watch opens another stream.
    fn end(&self) {
        let mut watched = self.watched();
        watched.ended = true;
        watched.by_id.values().for_each(|(_, heard)| heard.end());
    }

    fn cancel(&self, id: i64) {
        let cancel = Watch { create: None, cancel: Some(WatchCancel { watch_id: id }) };
        // If the queue is full, etcd goes on telling us of this watch, and at the next event it is cancelled again.
        drop(self.requests.try_send(cancel));
    }

    fn answer(&self, answer: Watched) {
        let mut watched = self.watched();
        watched.spoke = Instant::now();
        let id = answer.watch_id;
        let Some((_, heard)) = watched.by_id.get(&id) else {
            if !answer.canceled {
                self.cancel(id);
            }
            return;
        };
        if answer.canceled {
            heard.end();
            watched.remove(id);
            return;
        }
        if answer.created {
            heard.begin(answer.header.map_or(i64::MAX, |header| header.revision));
        }
        if answer.events.is_empty() {
            return;
        }
        if Arc::strong_count(heard) == 1 && heard.used().elapsed() > KEPT {
            watched.remove(id);
            self.cancel(id);
            return;
        }
        for kv in answer.events.into_iter().filter_map(|event| event.kv) {
            heard.tell(kv.mod_revision, kv.key);
        }
    }
}

/// One who listens at a place.
#[derive(Debug)]
pub(super) struct Ear {
    pub(super) heard: Arc<Heard>,
    stream: Arc<Stream>,
}

impl Ear {
    /// It should have begun long ago: another stream for everybody.
    pub(super) fn give_up(&self) {
        self.stream.end();
    }
}

impl Watches {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, stream: Mutex::default() }
    }

    /// Listens at a place.
    pub(super) async fn listen(&self, place: Place) -> Result<Ear, Fault> {
        let stream = match self.living() {
            Some(stream) => stream,
            None => {
                let link = self.hub.link().await?;
                self.living().unwrap_or_else(|| self.open(link))
            }
        };
        // Before anything is promised to others, so that nobody waits for a watch that was not asked for.
        let room = stream.requests.reserve().await;
        let room = room.map_err(|_| Fault::NotSent("the stream of changes has ended".to_owned()))?;
        let heard = {
            let mut watched = stream.watched();
            if watched.ended {
                return Err(Fault::NotSent("the stream of changes has just ended".to_owned()));
            }
            let silent = watched.spoke.elapsed() > SILENT;
            let there = watched.at(&place).filter(|(id, heard)| {
                let doubtful = silent && heard.has_begun();
                if doubtful {
                    watched.remove(*id);
                    heard.end();
                    stream.cancel(*id);
                }
                !doubtful
            });
            there.map(|(_, heard)| heard).unwrap_or_else(|| {
                if watched.by_id.len() >= MOST {
                    for id in watched.deserted() {
                        watched.remove(id);
                        stream.cancel(id);
                    }
                }
                let filters = if place.deletes_only { vec![NO_PUTS] } else { Vec::new() };
                let (key, range_end) = (place.key.clone(), place.end.clone());
                let (id, heard) = watched.add(place);
                let create = WatchCreate { key, range_end, filters, watch_id: id };
                room.send(Watch { create: Some(create), cancel: None });
                heard
            })
        };
        heard.use_now();
        Ok(Ear { heard, stream })
    }

    fn living(&self) -> Option<Arc<Stream>> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.as_ref().filter(|stream| !stream.watched().ended && !stream.requests.is_closed()).cloned()
    }

    fn open(&self, link: Link) -> Arc<Stream> {
        let (requests, queue) = mpsc::channel(QUEUE);
        let stream = Arc::new(Stream { requests, watched: Mutex::new(All::new()), task: Mutex::default() });
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
        stream.answer(answer);
    }
    Ok(())
}
