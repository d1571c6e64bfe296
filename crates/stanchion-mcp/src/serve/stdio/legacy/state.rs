//! The streams of one session, and what is said on them.
//!
//! A stream whose client can resume it, and has been told so, outlives its connection: what is said meanwhile is kept in the log.
//! Any other ends with its connection.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::log::Log;
use crate::frame::Id;
use crate::serve::stdio::events::{Event, Gauge, Inlet, Outflow, flow};

/// What is kept while no stream is open: so many messages, and so many bytes.
const BACKLOG: usize = 256;
const BACKLOG_BYTES: usize = 4 << 20;
/// So many requests of one session are open at a time, also those whose connection was cut.
pub(super) const OPEN: usize = 1024;

/// A request of the client.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) raw_id: String,
    /// What its progress is told under.
    pub(super) token: Option<Id>,
    /// The client has taken it back: an answer may never come.
    pub(super) cancelled: bool,
}

#[derive(Debug)]
pub(super) struct Stream {
    /// The way to the client, with a number of its own; `None` while its connection is cut.
    pub(super) line: Option<(u64, Inlet)>,
    /// The client knows where on the stream it is, and can come back.
    pub(super) told: bool,
    /// Those that are not answered yet.
    pub(super) asked: Vec<Asked>,
}

#[derive(Debug)]
pub(super) struct State {
    /// By their age.
    pub(super) streams: BTreeMap<u64, Stream>,
    /// Connections that are still being told the end of a stream on which nothing more is said.
    ending: HashMap<u64, (u64, Gauge)>,
    pub(super) by_id: HashMap<Id, u64>,
    pub(super) by_token: HashMap<Id, u64>,
    /// The stream that belongs to no request.
    pub(super) standing: Option<u64>,
    pub(super) log: Log,
    backlog: VecDeque<String>,
    backlog_bytes: usize,
    next: u64,
    pub(super) closed: bool,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            ending: HashMap::new(),
            by_id: HashMap::new(),
            by_token: HashMap::new(),
            standing: None,
            log: Log::new(),
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            next: 0,
            closed: false,
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A new stream: what comes out of it, its number, and that of its connection.
    pub(super) fn add(&mut self, asked: Vec<Asked>) -> (Outflow, u64, u64) {
        let ((inlet, flow), number, serial) = (flow(), self.number(), self.number());
        for one in &asked {
            self.by_id.insert(one.id.clone(), number);
            if let Some(token) = &one.token {
                self.by_token.insert(token.clone(), number);
            }
        }
        self.streams.insert(number, Stream { line: Some((serial, inlet)), told: false, asked });
        (flow, number, serial)
    }

    /// Room for so many requests more. Nobody may come back for those that were cut: the oldest of them give way.
    pub(super) fn make_room(&mut self, more: usize) -> bool {
        while self.by_id.len() + more > OPEN {
            let mut cut = self.streams.iter().filter(|(_, stream)| stream.line.is_none() && !stream.asked.is_empty());
            let Some(number) = cut.next().map(|(number, _)| *number) else { return false };
            tracing::warn!("a stream that was cut was given up: too many requests of its session are under way");
            self.close(number);
            self.log.forget(number);
        }
        true
    }

    pub(super) fn raw_id(&self, id: &Id) -> String {
        let stream = self.by_id.get(id).and_then(|number| self.streams.get(number));
        let asked = stream.and_then(|stream| stream.asked.iter().find(|one| one.id == *id));
        asked.map_or_else(|| id.to_string(), |one| one.raw_id.clone())
    }

    pub(super) fn is_connected(&self, number: u64) -> bool {
        self.streams.get(&number).is_some_and(|stream| stream.line.is_some())
    }

    /// Gives a stream a new connection. One that it still has ends, also if nothing more is said on the stream.
    pub(super) fn connect(&mut self, number: u64, inlet: Inlet) -> u64 {
        let serial = self.number();
        if let Some(stream) = self.streams.get_mut(&number) {
            self.log.back(number);
            if let Some((_, before)) = stream.line.replace((serial, inlet)) {
                before.gauge().cut();
            }
        } else if let Some((_, before)) = self.ending.insert(number, (serial, inlet.gauge())) {
            before.cut();
        }
        serial
    }

    /// One of its connections has gone; it may have another one by now.
    pub(super) fn hung_up(&mut self, number: u64, serial: u64) {
        if let Some((_, gauge)) = self.ending.get(&number).filter(|(its, _)| *its == serial) {
            if gauge.has_ended() {
                self.log.told(number)
            } else {
                self.log.away(number)
            }
            self.ending.remove(&number);
            return;
        }
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.line.as_ref().is_none_or(|(its, _)| *its != serial) {
            return;
        }
        stream.line = None;
        self.log.away(number);
        if stream.told { self.forget_cancelled(number) } else { self.close(number) }
    }

    /// Nobody comes back for requests that were taken back.
    pub(super) fn forget_cancelled(&mut self, number: u64) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let (cancelled, rest): (Vec<Asked>, Vec<Asked>) = stream.asked.drain(..).partition(|one| one.cancelled);
        stream.asked = rest;
        let is_over = stream.asked.is_empty() && self.standing != Some(number);
        cancelled.iter().for_each(|one| self.forget(one, number));
        if is_over {
            self.close(number);
        }
    }

    pub(super) fn close_standing(&mut self) {
        self.closed = true;
        if let Some(number) = self.standing {
            self.close(number);
        }
    }

    /// Ends a stream. What was said on it stays in the log.
    pub(super) fn close(&mut self, number: u64) {
        if self.standing == Some(number) {
            self.standing = None;
        }
        if let Some(stream) = self.streams.remove(&number) {
            stream.asked.iter().for_each(|one| self.forget(one, number));
            let ending = stream.line.map(|(serial, inlet)| (number, (serial, inlet.gauge())));
            self.ending.extend(ending);
        }
        self.log.over(number);
    }

    fn forget(&mut self, one: &Asked, number: u64) {
        self.by_id.remove(&one.id);
        if let Some(token) = &one.token
            && self.by_token.get(token) == Some(&number)
        {
            self.by_token.remove(token);
        }
    }

    /// Says something on a stream. False if it neither arrives nor is kept.
    pub(super) fn put(&mut self, number: u64, mut event: Event) -> bool {
        let Some(stream) = self.streams.get(&number) else { return false };
        let kept = stream.told && self.log.add(number, &mut event);
        let arrives = stream.line.as_ref().is_some_and(|(_, inlet)| inlet.put(event));
        if !arrives {
            // Who has lost its connection meanwhile comes back for what is kept.
            self.log.away(number);
        }
        arrives || kept
    }

    /// Answers a request; `None` ends it without an answer.
    pub(super) fn answer(&mut self, id: &Id, event: Option<Event>) {
        let Some(number) = self.by_id.get(id).copied() else {
            tracing::debug!(%id, "an answer came for which nobody waits any more");
            return;
        };
        if let Some(event) = event {
            // Who has gone meanwhile cannot be told.
            self.put(number, event);
        }
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if let Some(at) = stream.asked.iter().position(|one| one.id == *id) {
            let one = stream.asked.swap_remove(at);
            let over = stream.asked.is_empty();
            self.forget(&one, number);
            if over {
                self.close(number);
            }
        }
    }

    pub(super) fn line(&self, number: u64) -> Option<Inlet> {
        self.streams.get(&number)?.line.as_ref().map(|(_, inlet)| inlet.clone())
    }

    /// The youngest stream of a request before this one, with a connection or without.
    pub(super) fn youngest(&self, below: u64, connected: bool) -> Option<u64> {
        let fits = |number: u64, stream: &Stream| Some(number) != self.standing && stream.line.is_some() == connected;
        self.streams.range(..below).rev().find(|(number, stream)| fits(**number, stream)).map(|(number, _)| *number)
    }

    /// Keeps a message for whoever comes.
    pub(super) fn keep_for_later(&mut self, frame: &str) {
        if self.closed {
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

    pub(super) fn deliver_backlog(&mut self, number: u64) {
        self.backlog_bytes = 0;
        for frame in std::mem::take(&mut self.backlog) {
            self.put(number, Event::aside(frame));
        }
    }
}
