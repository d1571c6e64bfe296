//! The streams of one session: how they are opened, cut, taken up again and ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::state::{Asked, State};
use crate::frame::Id;
use crate::serve::stdio::events::{Event, Outflow, Ticket, flow};
use crate::serve::stdio::words;

/// Why no stream was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// A request with this id is under way, or the standing stream is open already.
    Taken,
    TooMany,
    /// The session is over.
    Over,
}

/// A stream that was taken up again.
pub(super) enum Resumed {
    Live {
        flow: Outflow,
        ticket: Ticket,
        /// It belongs to no request.
        is_standing: bool,
    },
    /// Everything has been told.
    Over,
    /// The id is none of ours, or not all that came after it is kept.
    Unknown,
}

/// The streams of one session.
#[derive(Debug)]
pub(super) struct Streams {
    state: Mutex<State>,
    /// Does any client wait for an answer?
    waited_for: watch::Sender<bool>,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::new()), waited_for: watch::Sender::new(false) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when every request is answered, or its client gone.
    pub(super) async fn quiet(&self) {
        // The sender is our own: it is not gone.
        self.waited_for.subscribe().wait_for(|waited_for| !*waited_for).await.ok();
    }

    pub(super) fn count(&self, state: &State) {
        let now = state.streams.values().any(|stream| stream.line.is_some() && !stream.asked.is_empty());
        self.waited_for.send_if_modified(|waited_for| std::mem::replace(waited_for, now) != now);
    }

    /// The way of the answers to these requests, and its number.
    pub(super) fn open(self: &Arc<Self>, asked: Vec<Asked>) -> Result<(Outflow, Ticket, u64), NotOpened> {
        let mut state = self.lock();
        let twice = asked.iter().enumerate().any(|(nth, one)| asked[..nth].iter().any(|other| other.id == one.id));
        if state.closed {
            return Err(NotOpened::Over);
        }
        if twice || asked.iter().any(|one| state.by_id.contains_key(&one.id)) {
            return Err(NotOpened::Taken);
        }
        if !state.make_room(asked.len()) {
            return Err(NotOpened::TooMany);
        }
        let (flow, number, serial) = state.add(asked);
        state.deliver_backlog(number);
        self.count(&state);
        Ok((flow, self.ticket(number, serial), number))
    }

    /// From now on the stream can be resumed. Returns what it begins with: `first`, which was taken from it, and what waits.
    /// Nobody is told that it can be resumed if the client has lost a part already.
    pub(super) fn begin(&self, number: u64, first: Option<Event>, flow: &mut Outflow) -> Vec<Event> {
        let mut state = self.lock();
        let Some(waiting) = flow.waiting() else { return Vec::new() };
        let mut begins = vec![state.log.begin(number)];
        for mut event in first.into_iter().chain(waiting) {
            state.log.add(number, &mut event);
            begins.push(event);
        }
        match state.streams.get_mut(&number) {
            Some(stream) => stream.told = true,
            None => state.log.over(number),
        }
        begins
    }

    /// The stream that belongs to no request. There is one at a time.
    pub(super) fn open_standing(self: &Arc<Self>, resumable: bool) -> Result<(Outflow, Ticket), NotOpened> {
        let mut state = self.lock();
        if state.closed {
            return Err(NotOpened::Over);
        }
        if let Some(before) = state.standing {
            if state.is_connected(before) {
                return Err(NotOpened::Taken);
            }
            state.close(before);
        }
        let (flow, number, serial) = state.add(Vec::new());
        state.standing = Some(number);
        if resumable {
            let place = state.log.begin(number);
            state.put(number, place);
            state.streams.entry(number).and_modify(|stream| stream.told = true);
        }
        state.deliver_backlog(number);
        Ok((flow, self.ticket(number, serial)))
    }

    /// Takes a stream up again after the event with this id. A connection that it still has ends: the newest counts.
    pub(super) fn resume(self: &Arc<Self>, id: &str) -> Resumed {
        let mut state = self.lock();
        let Some(place) = state.log.find(id) else { return Resumed::Unknown };
        let number = place.stream;
        let is_over = !state.streams.contains_key(&number);
        if is_over && !state.log.has_after(place) {
            return Resumed::Over;
        }
        let (inlet, flow) = flow();
        for event in state.log.after(place) {
            inlet.put(event);
        }
        let serial = state.connect(number, inlet);
        if !is_over {
            state.deliver_backlog(number);
        }
        self.count(&state);
        let is_standing = state.standing == Some(number);
        Resumed::Live { flow, ticket: self.ticket(number, serial), is_standing }
    }

    fn ticket(self: &Arc<Self>, number: u64, serial: u64) -> Ticket {
        struct Open(Arc<Streams>, u64, u64);
        impl Drop for Open {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.hung_up(self.1, self.2);
                self.0.count(&state);
            }
        }
        Box::new(Open(Arc::clone(self), number, serial))
    }

    /// Is anybody there?
    pub(super) fn is_open(&self) -> bool {
        self.lock().streams.values().any(|stream| stream.line.is_some())
    }

    /// May clients still come back?
    pub(super) fn may_resume(&self) -> bool {
        !self.lock().closed
    }

    /// The client has taken a request back.
    pub(super) fn cancelled(&self, id: &Id) {
        let mut state = self.lock();
        let Some(number) = state.by_id.get(id).copied() else { return };
        let Some(stream) = state.streams.get_mut(&number) else { return };
        stream.asked.iter_mut().filter(|one| one.id == *id).for_each(|one| one.cancelled = true);
        if stream.line.is_none() {
            state.forget_cancelled(number);
        }
    }

    /// Nothing more is opened, and the stream that belongs to no request ends.
    pub(super) fn close_standing(&self) {
        self.lock().close_standing();
    }

    /// The server is gone. Requests that `spared` says nothing of are told so; all streams end once theirs are answered.
    pub(super) fn server_gone(&self, spared: impl Fn(&Id) -> bool) {
        let mut state = self.lock();
        state.close_standing();
        let lost: Vec<Id> = state.by_id.keys().filter(|id| !spared(id)).cloned().collect();
        for id in lost {
            let raw_id = state.raw_id(&id);
            let frame = words::lost(&raw_id, "the server ended before it answered");
            state.answer(&id, Some(Event::answer(frame, false)));
        }
        self.count(&state);
    }
}
