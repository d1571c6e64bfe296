//! Many callers, one server: each request has an id of ours, and gets its own back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tokio::sync::watch;

use super::mirrored::Mirrored;
use crate::frame::{Frame, Id, Kind};
use crate::gate::Answered;
use crate::outlet::Outlet;
use crate::serve::stdio::events::{Event, Inlet};
use crate::serve::stdio::legacy::progress_token;
use crate::serve::stdio::message::meta;
use crate::serve::stdio::words;
use crate::session::{self, Client, Session, cancelled_id};
use crate::splice::{self, quoted};
use crate::stdio::PassOn;

/// So many requests to one server are open at a time.
const OPEN: usize = 16 * 1024;
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) inlet: Inlet,
    /// The id it came with, as JSON.
    pub(super) raw_id: String,
    /// Its progress token, as JSON.
    pub(super) token: Option<String>,
    pub(super) principal: Arc<str>,
    /// It asked for log messages.
    pub(super) wants_logs: bool,
    pub(super) method: String,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, Entry>,
    closed: bool,
}

/// Who waits for what from one process.
#[derive(Debug)]
pub(super) struct Router {
    state: Mutex<State>,
    mirrored: Arc<Mirrored>,
    unanswered: watch::Sender<usize>,
}

fn number(id: &Id) -> Option<u64> {
    match id {
        Id::Integer(number) => u64::try_from(*number).ok(),
        // Some servers make texts of everything. `05` and `+5` are no numbers of ours.
        Id::Text(text) => text.parse().ok().filter(|number: &u64| number.to_string() == **text),
        Id::Number(_) => None,
    }
}

impl Router {
    pub(super) fn new(mirrored: Arc<Mirrored>) -> Self {
        Self { state: Mutex::default(), mirrored, unanswered: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        self.unanswered.send_if_modified(|open| std::mem::replace(open, state.open.len()) != state.open.len());
    }

    /// Returns when every request is answered, or its client gone.
    pub(super) async fn quiet(&self) {
        // The sender is our own: it is not gone.
        self.unanswered.subscribe().wait_for(|open| *open == 0).await.ok();
    }

    /// Is every request answered?
    pub(super) fn is_quiet(&self) -> bool {
        self.lock().open.is_empty()
    }

    /// Expects an answer under this number. False if there are too many, or the server is gone.
    pub(super) fn open(&self, number: u64, entry: Entry) -> bool {
        let mut state = self.lock();
        if state.closed || state.open.len() >= OPEN {
            return false;
        }
        state.open.insert(number, entry);
        self.count(&state);
        true
    }

    /// The client has gone. Was something still to come?
    pub(super) fn close(&self, number: u64) -> bool {
        let mut state = self.lock();
        let found = state.open.remove(&number).is_some();
        self.count(&state);
        found
    }

    /// The request of this principal with this id of its own, if there is exactly one.
    pub(super) fn find(&self, principal: &str, id: &Id) -> Option<u64> {
        let state = self.lock();
        let same = |entry: &Entry| {
            &*entry.principal == principal
                && serde_json::from_str(&entry.raw_id).ok().and_then(Id::of).as_ref() == Some(id)
        };
        let mut found = state.open.iter().filter(|(_, entry)| same(entry)).map(|(number, _)| *number);
        found.next().filter(|_| found.next().is_none())
    }

    /// Ends the streams that only listen: nothing ends them otherwise.
    pub(super) fn stop_listening(&self) {
        let mut state = self.lock();
        state.open.retain(|_, entry| entry.method != "subscriptions/listen");
        self.count(&state);
    }

    /// The server is gone. Requests that `spared` says nothing of are told so.
    pub(super) fn server_gone(&self, spared: impl Fn(u64) -> bool) {
        let mut state = self.lock();
        state.closed = true;
        let lost: Vec<u64> = state.open.keys().copied().filter(|number| !spared(*number)).collect();
        for entry in lost.iter().filter_map(|number| state.open.remove(number)) {
            if entry.method != "subscriptions/listen" {
                let frame = words::lost(&entry.raw_id, "the server ended before it answered");
                entry.inlet.put(Event::answer(frame, false));
            }
        }
        self.count(&state);
    }

    /// Gives an answer, under the id that the request came with.
    fn answer(&self, number: u64, text: &str, replayed: bool) {
        let mut state = self.lock();
        let Some(entry) = state.open.remove(&number) else {
            tracing::debug!(number, "an answer came for which nobody waits any more");
            return;
        };
        self.count(&state);
        drop(state);
        if entry.method == "tools/list" {
            self.mirrored.learn(text);
        }
        let mut frame = restored(text, &["id"], &entry.raw_id);
        if entry.method == "subscriptions/listen" && frame.contains(SUBSCRIPTION) {
            frame = replaced(frame, &["result", "_meta", SUBSCRIPTION], &entry.raw_id);
        }
        entry.inlet.put(Event::answer(frame, replayed));
    }

    /// Something that belongs to one request.
    fn aside(&self, number: u64, text: &str, path: &[&str], own: impl Fn(&Entry) -> Option<String>) {
        let state = self.lock();
        if let Some(entry) = state.open.get(&number)
            && let Some(own) = own(entry)
        {
            entry.inlet.put(Event::aside(restored(text, path, &own)));
        }
    }

    /// A log message does not say whose it is. If those who asked for any are one principal's, it is theirs, and goes to the
    /// youngest request; else nobody gets it, because it may be another one's.
    fn log_message(&self, text: &str) {
        let state = self.lock();
        let mut asked: Vec<(&u64, &Entry)> = state.open.iter().filter(|(_, entry)| entry.wants_logs).collect();
        asked.sort_unstable_by_key(|(number, _)| **number);
        if let Some((_, youngest)) = asked.last()
            && asked.iter().all(|(_, entry)| entry.principal == youngest.principal)
        {
            youngest.inlet.put(Event::aside(text.to_owned()));
        }
    }

    fn inlet(&self, number: u64) -> Option<Inlet> {
        self.lock().open.get(&number).map(|entry| entry.inlet.clone())
    }
}

/// The text with one member as the client knows it; every other byte stays.
fn restored(text: &str, path: &[&str], own: &str) -> String {
    splice::set(text, path, own).unwrap_or_else(|| text.to_owned())
}

fn replaced(text: String, path: &[&str], own: &str) -> String {
    splice::set(&text, path, own).unwrap_or(text)
}

impl Client for Router {
    fn answer(&self, id: &Id, answered: Answered) {
        let Some(number) = number(id) else { return };
        match answered.frame {
            Some(frame) => self.answer(number, &frame, answered.replayed),
            None => drop(self.close(number)),
        }
    }

    fn aside(&self, id: &Id, frame: &str) {
        if let Some(number) = number(id) {
            self.aside(number, frame, &["params", "progressToken"], |entry| entry.token.clone());
        }
    }

    fn say(&self, frame: &str) {
        tracing::debug!(frame, "nobody can be told this");
    }
}

/// The server's side: called from the thread that reads it, which may wait a little.
pub(super) struct FromServer {
    pub(super) router: Arc<Router>,
    pub(super) to_server: Outlet,
    /// Set before anything is asked.
    pub(super) session: Arc<OnceLock<Weak<Session>>>,
}

impl FromServer {
    fn pass_notification(&self, frame: &Frame<'_>, method: &str) {
        let text = frame.text();
        if method == "notifications/progress" {
            if let Some(number) = progress_token(frame).as_ref().and_then(number) {
                self.hold_back(number);
                self.router.aside(number, text, &["params", "progressToken"], |entry| entry.token.clone());
            }
            return;
        }
        if method == "notifications/cancelled" {
            // The server ends a subscription; over HTTP that is the end of its stream.
            if let Some(number) = cancelled_id(frame).as_ref().and_then(number) {
                self.router.close(number);
            }
            return;
        }
        if let Some(id) = meta(frame, SUBSCRIPTION).and_then(Id::of) {
            let Some(number) = number(&id) else { return };
            self.hold_back(number);
            let as_text = matches!(id, Id::Text(_));
            return self.router.aside(number, text, &["params", "_meta", SUBSCRIPTION], |entry| {
                let own = &entry.raw_id;
                Some(if as_text && !own.starts_with('"') { quoted(own) } else { own.clone() })
            });
        }
        if method == "notifications/message" {
            return self.router.log_message(text);
        }
        tracing::debug!(method, "the server said something that belongs to no request");
    }

    /// An answer whose id is a text. The session knows our ids as numbers only, and a guarded call must be recorded before its
    /// answer is told: it looks again, at the answer as it should be.
    fn pass_renumbered(&self, number: u64, text: &str) {
        let Some(session) = self.session.get().and_then(Weak::upgrade) else { return };
        let Some(text) = splice::set(text, &["id"], &number.to_string()) else { return };
        match session.look_at_server(&text) {
            session::FromServer::Pass(frame) => self.router.answer(number, &frame, false),
            // Who does not wait any more has been told something else.
            session::FromServer::Deliver(waiting) => waiting.send(text).unwrap_or_default(),
            session::FromServer::Late(receipt) => session.late(receipt, &text),
            session::FromServer::Surplus | session::FromServer::Noise => {}
        }
    }

    fn hold_back(&self, number: u64) {
        if let Some(inlet) = self.router.inlet(number) {
            inlet.wait_for_room();
        }
    }
}

impl PassOn for FromServer {
    fn pass(&mut self, text: &str) {
        let Ok(frame) = Frame::parse(text) else { return };
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) => {
                let Some(id) = frame.id() else { return };
                match (number(&id), id) {
                    (Some(number), Id::Text(_)) => self.pass_renumbered(number, text),
                    (Some(number), _) => self.router.answer(number, text, false),
                    (None, _) => {}
                }
            }
            (Kind::Notification, Some(method)) => self.pass_notification(&frame, method),
            (Kind::Request, _) => {
                // This era has none, and the server must not wait for ever.
                let what = "Method not found: this protocol version has no requests to the client";
                let answer = words::error(frame.raw_id().unwrap_or("null"), -32601, what, None);
                self.to_server.post(format!("{answer}\n").as_bytes());
            }
            _ => {}
        }
    }

    fn flush(&mut self) {}
}
