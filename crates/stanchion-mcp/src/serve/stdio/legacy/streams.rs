//! Where the messages of one session's server go: to the request they belong to, or to whichever stream is open.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::frame::{Frame, Id, Kind};
use crate::gate::Answered;
use crate::serve::stdio::events::{Event, Inlet, Outflow, Ticket, flow};
use crate::serve::stdio::words;
use crate::session::Client;
use crate::splice;
use crate::stdio::PassOn;

/// What is kept while no stream is open: so many messages, and so many bytes.
const BACKLOG: usize = 256;
const BACKLOG_BYTES: usize = 4 << 20;
/// So many requests of one session are open at a time.
const OPEN: usize = 1024;

/// A request of the client.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) raw_id: String,
    /// What its progress is told under.
    pub(super) token: Option<Id>,
}

#[derive(Debug)]
struct Post {
    inlet: Inlet,
    /// Those that are not answered yet.
    asked: Vec<Asked>,
}

#[derive(Debug, Default)]
struct State {
    /// By their age.
    posts: BTreeMap<u64, Post>,
    by_id: HashMap<Id, u64>,
    by_token: HashMap<Id, u64>,
    standing: Option<(u64, Inlet)>,
    backlog: VecDeque<String>,
    backlog_bytes: usize,
    next: u64,
    closed: bool,
}

/// Why no stream was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// A request with this id is under way, or the standing stream is open already.
    Taken,
    TooMany,
    /// The session is over.
    Over,
}

/// The streams of one session.
#[derive(Debug, Default)]
pub(super) struct Streams {
    state: Mutex<State>,
    /// How many requests are not answered yet.
    unanswered: watch::Sender<usize>,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when every request is answered, or its client gone.
    pub(super) async fn quiet(&self) {
        // The sender is our own: it is not gone.
        self.unanswered.subscribe().wait_for(|open| *open == 0).await.ok();
    }

    fn count(&self, state: &State) {
        self.unanswered.send_if_modified(|open| std::mem::replace(open, state.by_id.len()) != state.by_id.len());
    }

    /// The way of the answers to these requests.
    pub(super) fn open(self: &Arc<Self>, asked: Vec<Asked>) -> Result<(Outflow, Ticket), NotOpened> {
        let mut state = self.lock();
        let twice = asked.iter().enumerate().any(|(nth, one)| asked[..nth].iter().any(|other| other.id == one.id));
        match () {
            () if state.closed => return Err(NotOpened::Over),
            () if twice || asked.iter().any(|one| state.by_id.contains_key(&one.id)) => return Err(NotOpened::Taken),
            () if state.by_id.len() + asked.len() > OPEN => return Err(NotOpened::TooMany),
            () => {}
        }
        let (inlet, outflow) = flow();
        let number = state.number();
        for one in &asked {
            state.by_id.insert(one.id.clone(), number);
            if let Some(token) = &one.token {
                state.by_token.insert(token.clone(), number);
            }
        }
        state.deliver_backlog(&inlet);
        state.posts.insert(number, Post { inlet, asked });
        self.count(&state);
        Ok((outflow, self.ticket(number)))
    }

    /// The stream that belongs to no request. There is one at a time.
    pub(super) fn open_standing(self: &Arc<Self>) -> Result<(Outflow, Ticket), NotOpened> {
        let mut state = self.lock();
        if state.closed {
            return Err(NotOpened::Over);
        }
        if state.standing.is_some() {
            return Err(NotOpened::Taken);
        }
        let (inlet, outflow) = flow();
        state.deliver_backlog(&inlet);
        let number = state.number();
        state.standing = Some((number, inlet));
        Ok((outflow, self.ticket(number)))
    }

    fn ticket(self: &Arc<Self>, number: u64) -> Ticket {
        struct Open(Arc<Streams>, u64);
        impl Drop for Open {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.close(self.1);
                self.0.count(&state);
            }
        }
        Box::new(Open(Arc::clone(self), number))
    }

    /// Is anybody there?
    pub(super) fn is_open(&self) -> bool {
        let state = self.lock();
        state.standing.is_some() || !state.posts.is_empty()
    }

    /// Nothing more is opened, and the stream that belongs to no request ends.
    pub(super) fn close_standing(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.standing = None;
    }

    /// The server is gone. Requests that `spared` says nothing of are told so; all streams end once theirs are answered.
    pub(super) fn server_gone(&self, spared: impl Fn(&Id) -> bool) {
        let mut state = self.lock();
        state.closed = true;
        state.standing = None;
        let lost: Vec<Id> = state.by_id.keys().filter(|id| !spared(id)).cloned().collect();
        for id in lost {
            let raw_id = state.raw_id(&id);
            let frame = words::lost(&raw_id, "the server ended before it answered");
            state.answer(&id, Some(Event::answer(frame, false)));
        }
        self.count(&state);
    }

    fn tell_whoever_listens(&self, frame: &str, prefer_standing: bool) {
        self.lock().tell_whoever_listens(frame, prefer_standing);
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn raw_id(&self, id: &Id) -> String {
        let post = self.by_id.get(id).and_then(|number| self.posts.get(number));
        let asked = post.and_then(|post| post.asked.iter().find(|one| one.id == *id));
        asked.map_or_else(|| id.to_string(), |one| one.raw_id.clone())
    }

    fn close(&mut self, number: u64) {
        if self.standing.as_ref().is_some_and(|(standing, _)| *standing == number) {
            self.standing = None;
        }
        for one in self.posts.remove(&number).map(|post| post.asked).unwrap_or_default() {
            self.forget(&one, number);
        }
    }

    fn forget(&mut self, one: &Asked, number: u64) {
        self.by_id.remove(&one.id);
        if let Some(token) = &one.token
            && self.by_token.get(token) == Some(&number)
        {
            self.by_token.remove(token);
        }
    }

    /// Answers a request; `None` ends it without an answer.
    fn answer(&mut self, id: &Id, event: Option<Event>) {
        let Some(number) = self.by_id.get(id).copied() else {
            tracing::debug!(%id, "an answer came for which nobody waits any more");
            return;
        };
        let Some(post) = self.posts.get_mut(&number) else { return };
        if let Some(event) = event {
            // Who has gone meanwhile cannot be told.
            post.inlet.put(event);
        }
        if let Some(at) = post.asked.iter().position(|one| one.id == *id) {
            let one = post.asked.swap_remove(at);
            let over = post.asked.is_empty();
            self.forget(&one, number);
            if over {
                self.posts.remove(&number);
            }
        }
    }

    fn deliver_backlog(&mut self, inlet: &Inlet) {
        self.backlog_bytes = 0;
        for frame in std::mem::take(&mut self.backlog) {
            inlet.put(Event::aside(frame));
        }
    }

    fn tell_whoever_listens(&mut self, frame: &str, prefer_standing: bool) {
        let put = |inlet: &Inlet| inlet.put(Event::aside(frame.to_owned()));
        let standing = |state: &Self| state.standing.as_ref().is_some_and(|(_, inlet)| put(inlet));
        let youngest = |state: &Self| state.posts.values().rev().any(|post| put(&post.inlet));
        let first = if prefer_standing { standing(self) } else { youngest(self) };
        let told = first || if prefer_standing { youngest(self) } else { standing(self) };
        if told || self.closed {
            return;
        }
        self.backlog_bytes += frame.len();
        self.backlog.push_back(frame.to_owned());
        while self.backlog.len() > BACKLOG || (self.backlog_bytes > BACKLOG_BYTES && self.backlog.len() > 1) {
            let dropped = self.backlog.pop_front().map_or(0, |frame| frame.len());
            self.backlog_bytes -= dropped.min(self.backlog_bytes);
            tracing::warn!("a message for a client that has no stream open was dropped: too many wait for it");
        }
    }
}

impl Client for Streams {
    fn answer(&self, id: &Id, answered: Answered) {
        let event = answered.frame.map(|frame| Event::answer(frame, answered.replayed));
        let mut state = self.lock();
        state.answer(id, event);
        self.count(&state);
    }

    fn aside(&self, id: &Id, frame: &str) {
        let state = self.lock();
        if let Some(post) = state.by_id.get(id).and_then(|number| state.posts.get(number)) {
            post.inlet.put(Event::aside(frame.to_owned()));
        }
    }

    fn say(&self, frame: &str) {
        self.tell_whoever_listens(frame, false);
    }
}

/// The server's side: called from the thread that reads it, which may wait a little.
pub(super) struct FromServer(pub(super) Arc<Streams>);

/// Where one message goes.
enum Way {
    Answer(Id),
    Progress(u64),
    Any { prefer_standing: bool },
}

impl PassOn for FromServer {
    fn pass(&mut self, text: &str) {
        let Ok(frame) = Frame::parse(text) else { return };
        let mut state = self.0.lock();
        let way = state.way(&frame);
        if let Some(inlet) = state.inlet(&way) {
            // Not under the lock: tasks need it.
            drop(state);
            inlet.wait_for_room();
            state = self.0.lock();
        }
        match way {
            Way::Answer(id) => {
                state.answer(&id, Some(Event::answer(text.to_owned(), false)));
                self.0.count(&state);
            }
            Way::Progress(number) => {
                if let Some(post) = state.posts.get(&number) {
                    post.inlet.put(Event::aside(text.to_owned()));
                }
            }
            Way::Any { prefer_standing } => state.tell_whoever_listens(text, prefer_standing),
        }
    }

    fn flush(&mut self) {}
}

impl State {
    fn way(&self, frame: &Frame<'_>) -> Way {
        let any = Way::Any { prefer_standing: frame.method().is_some_and(is_about_no_request) };
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) => frame.id().map_or(any, Way::Answer),
            (_, Some("notifications/progress")) => progress_token(frame)
                .and_then(|token| self.by_token.get(&token))
                .map_or(any, |number| Way::Progress(*number)),
            _ => any,
        }
    }

    fn inlet(&self, way: &Way) -> Option<Inlet> {
        let standing = || self.standing.as_ref().map(|(_, inlet)| inlet);
        let youngest = || self.posts.values().next_back().map(|post| &post.inlet);
        let inlet = match way {
            Way::Answer(id) => self.by_id.get(id).and_then(|number| self.posts.get(number)).map(|post| &post.inlet),
            Way::Progress(number) => self.posts.get(number).map(|post| &post.inlet),
            Way::Any { prefer_standing: true } => standing().or_else(youngest),
            Way::Any { prefer_standing: false } => youngest().or_else(standing),
        };
        inlet.cloned()
    }
}

fn is_about_no_request(method: &str) -> bool {
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}

/// The token of a progress notification.
pub(in crate::serve::stdio) fn progress_token(frame: &Frame<'_>) -> Option<Id> {
    let params = splice::members(frame.params()?.get())?;
    let (_, raw) = params.into_iter().find(|(name, _)| name == "progressToken")?;
    Id::of(raw)
}
