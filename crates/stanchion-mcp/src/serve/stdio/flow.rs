//! The way of messages to one client, who may read slowly or be gone.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::mpsc;

/// A client that has not taken so much is behind.
const BEHIND: usize = 8 << 20;
/// How long a server is held back for a client that is behind; then the client loses its stream.
const PATIENCE: Duration = Duration::from_secs(1);

/// One message to the client.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// What a client that loses its connection says it has seen last.
    pub(super) id: Option<String>,
    /// Empty if it only says where on its stream the client is. Shared: whoever keeps it, and everybody it is told, have the same.
    pub(super) frame: Arc<String>,
    /// The answer to a request, not something said meanwhile.
    pub(super) is_answer: bool,
    pub(super) replayed: bool,
}

impl Event {
    pub(super) fn aside(frame: String) -> Self {
        Self { id: None, frame: Arc::new(frame), is_answer: false, replayed: false }
    }
    pub(super) fn answer(frame: String, replayed: bool) -> Self {
        Self { id: None, frame: Arc::new(frame), is_answer: true, replayed }
    }
    pub(super) fn place(id: String) -> Self {
        Self { id: Some(id), frame: Arc::default(), is_answer: false, replayed: false }
    }
}

#[derive(Debug, Default)]
struct Load {
    state: Mutex<Level>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Level {
    /// So many bytes wait for the client.
    waiting: usize,
    /// Nothing more is taken from here.
    lost: bool,
    /// Because another connection has the stream now.
    cut: bool,
    /// All that was ever put in has been taken.
    ended: bool,
}

impl Load {
    fn lock(&self) -> MutexGuard<'_, Level> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at a way into which nothing more is put.
#[derive(Debug)]
pub(super) struct Gauge(Arc<Load>);

impl Gauge {
    /// Was everything handed to the client's connection?
    pub(super) fn has_ended(&self) -> bool {
        self.0.lock().ended
    }

    /// Ends the other side at once, also if it is behind.
    pub(super) fn cut(&self) {
        let mut level = self.0.lock();
        (level.lost, level.cut) = (true, true);
        self.0.room.notify_all();
    }
}

/// The end where messages are put in.
#[derive(Debug, Clone)]
pub(super) struct Inlet {
    to: mpsc::UnboundedSender<Event>,
    load: Arc<Load>,
}

/// The end where they come out.
#[derive(Debug)]
pub(super) struct Outflow {
    from: mpsc::UnboundedReceiver<Event>,
    load: Arc<Load>,
}

/// A way for messages to one client.
pub(super) fn flow() -> (Inlet, Outflow) {
    let (to, from) = mpsc::unbounded_channel();
    let load = Arc::new(Load::default());
    (Inlet { to, load: Arc::clone(&load) }, Outflow { from, load })
}

impl Inlet {
    /// Puts a message in. False if the client is gone, or so far behind that it has lost its stream.
    pub(super) fn put(&self, event: Event) -> bool {
        let mut level = self.load.lock();
        if !level.lost && level.waiting > BEHIND {
            tracing::warn!("a client does not read what it is sent, and has lost its stream");
            level.lost = true;
        }
        if level.lost {
            return false;
        }
        level.waiting += event.frame.len();
        drop(level);
        self.to.send(event).is_ok()
    }

    /// Holds this thread back while the client is behind, for a while.
    pub(super) fn wait_for_room(&self) {
        let behind = |level: &mut Level| level.waiting > BEHIND && !level.lost;
        drop(self.load.room.wait_timeout_while(self.load.lock(), PATIENCE, behind));
    }

    pub(super) fn gauge(&self) -> Gauge {
        Gauge(Arc::clone(&self.load))
    }
}

impl Outflow {
    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let event = self.from.recv().await;
        self.taken(event)
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.from.poll_recv(cx).map(|event| self.taken(event))
    }

    /// Has another connection the stream now? Then not even what was begun is finished.
    pub(super) fn is_cut(&self) -> bool {
        self.load.lock().cut
    }

    fn taken(&self, event: Option<Event>) -> Option<Event> {
        let mut level = self.load.lock();
        if level.lost {
            // What was lost cannot be made up for: the client must see the end, not a gap.
            return None;
        }
        match &event {
            Some(event) => {
                level.waiting -= event.frame.len().min(level.waiting);
                self.load.room.notify_all();
            }
            None => level.ended = true,
        }
        event
    }

    /// What is there already. `None` if the client has lost a part of it.
    pub(super) fn waiting(&mut self) -> Option<Vec<Event>> {
        let mut all = Vec::new();
        while let Ok(event) = self.from.try_recv() {
            all.push(self.taken(Some(event))?);
        }
        (!self.load.lock().lost).then_some(all)
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        self.load.lock().lost = true;
        self.load.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_read_loses_the_stream_and_not_a_part_of_it() {
        let (inlet, mut flow) = flow();
        let message = || Event::aside("x".repeat(1 << 20));
        let taken = (0..100).take_while(|_| inlet.put(message())).count();
        assert!((8..=10).contains(&taken), "{taken}");
        assert!(!inlet.put(Event::answer("{}".into(), false)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(flow.next()).is_none());
    }
}
