//! What is under way between one client and its server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use stanchion_core::{ClaimId, Key};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::flight::Flight;
use crate::frame::Id;
use crate::questions::Questions;

/// So many guarded calls of one client are under way at a time, and so many bytes of them.
pub(super) const CALLS: usize = 1024;
const CALLS_BYTES: usize = 256 << 20;
/// So many requests of one kind are remembered; more are passed on and not understood.
const MOST: usize = 4096;

/// One guarded call.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) flight: Arc<Flight>,
    /// What it locks, once that is known.
    pub(super) locks: Vec<Key>,
    /// Its client does not want the answer any more.
    pub(super) cancelled: bool,
    /// Its claim, once it is known that it has a key.
    pub(super) receipt: Option<ClaimId>,
    /// What is being said to those who wait for its locks.
    pub(super) note: Option<JoinHandle<()>>,
    /// How large it is.
    bytes: usize,
    /// Where the server's answer goes, once it was sent.
    answer: Option<oneshot::Sender<String>>,
}

impl Entry {
    pub(super) const fn new(flight: Arc<Flight>, bytes: usize) -> Self {
        Self { flight, locks: Vec::new(), cancelled: false, receipt: None, note: None, bytes, answer: None }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) calls: HashMap<Id, Entry>,
    own: HashMap<Id, oneshot::Sender<String>>,
    /// Requests whose answers get our capabilities.
    introductions: HashSet<Id>,
    /// Calls that were sent and are not waited for any more, with their claims.
    given_up: HashMap<Id, Option<ClaimId>>,
    /// Calls that have ended and whose answer is on its way to the client.
    delivering: usize,
    /// The size of all calls together.
    bytes: usize,
    questions: Questions,
    pub(super) server_gone: bool,
    /// Changes whenever a call has ended.
    pub(super) idle: watch::Sender<()>,
    next_own: u64,
}

impl Default for Table {
    fn default() -> Self {
        let (idle, _) = watch::channel(());
        Self {
            calls: HashMap::new(),
            own: HashMap::new(),
            introductions: HashSet::new(),
            given_up: HashMap::new(),
            delivering: 0,
            bytes: 0,
            questions: Questions::default(),
            server_gone: false,
            idle,
            next_own: 0,
        }
    }
}

impl Table {
    /// Takes a call, if there is room for it.
    pub(super) fn begin(&mut self, id: Id, entry: Entry) -> bool {
        let room = self.calls.len() < CALLS && self.bytes < CALLS_BYTES;
        if room {
            self.bytes += entry.bytes;
            self.calls.insert(id, entry);
        }
        room
    }

    /// Would a new call under this id be taken for another one?
    pub(super) fn is_taken(&self, id: &Id) -> bool {
        self.calls.contains_key(id) || self.given_up.contains_key(id)
    }

    /// How many calls have not been answered.
    pub(super) fn under_way(&self) -> usize {
        self.calls.len() + self.delivering
    }

    /// Where the answer to a call will be; `None` if no server is there any more.
    pub(super) fn expect(&mut self, id: &Id) -> Option<oneshot::Receiver<String>> {
        if self.server_gone {
            return None;
        }
        let (answer, waiting) = oneshot::channel();
        self.calls.get_mut(id)?.answer = Some(answer);
        Some(waiting)
    }

    /// A request of our own: its id, and where its answer will be.
    pub(super) fn expect_own(&mut self, prefix: &str) -> Option<(String, oneshot::Receiver<String>)> {
        if self.server_gone {
            return None;
        }
        self.next_own += 1;
        let id = format!("{prefix}{}", self.next_own);
        let (answer, waiting) = oneshot::channel();
        self.own.insert(Id::Text(id.as_str().into()), answer);
        Some((id, waiting))
    }

    /// Who waits for the answer with this id. It is given away only once.
    pub(super) fn waiting_for(&mut self, id: &Id) -> Option<oneshot::Sender<String>> {
        self.own.remove(id).or_else(|| self.calls.get_mut(id)?.answer.take())
    }

    /// The claim of a call that was given up, whose answer has come now.
    pub(super) fn late(&mut self, id: &Id) -> Option<Option<ClaimId>> {
        self.given_up.remove(id)
    }

    pub(super) fn introduces(&mut self, id: Id) {
        if self.introductions.len() < MOST {
            self.introductions.insert(id);
        }
    }

    pub(super) fn is_introduction(&mut self, id: &Id) -> bool {
        self.introductions.remove(id)
    }

    /// The server asks the client something. Whoever it is about, it may be any of the calls that run now.
    pub(super) fn asked(&mut self, id: Id) {
        let running = self.calls.values().filter(|entry| entry.flight.is_running());
        let locks: Vec<Key> = running.flat_map(|entry| entry.locks.iter().cloned()).collect();
        self.questions.asked(id, locks);
    }

    pub(super) fn answered(&mut self, id: &Id) {
        self.questions.answered(id);
    }

    /// Since when one of these locks is held by a call that waits for the client.
    pub(super) fn asked_under(&self, locks: &[Key]) -> Option<Instant> {
        self.questions.under(locks)
    }

    /// The call has ended; its answer is about to be [delivered](Self::delivered). Its id is free from here on, unless the server may
    /// still answer.
    pub(super) fn ended(&mut self, id: &Id) -> Option<Entry> {
        let entry = self.calls.remove(id)?;
        self.bytes -= entry.bytes;
        self.delivering += 1;
        if entry.answer.is_some() && self.given_up.len() < MOST {
            self.given_up.insert(id.clone(), entry.receipt);
        }
        if self.calls.values().all(|entry| !entry.flight.is_running()) {
            self.questions.clear();
        }
        Some(entry)
    }

    pub(super) fn delivered(&mut self) {
        self.delivering = self.delivering.saturating_sub(1);
        self.idle.send_replace(());
    }

    pub(super) fn server_gone(&mut self) {
        self.server_gone = true;
        self.own.clear();
        self.given_up.clear();
        self.calls.values_mut().for_each(|entry| entry.answer = None);
    }
}

/// Can a message that begins and ends like this be the answer with this id? Only a member of the message itself counts, not one of
/// something in it.
pub(super) fn names(head: &[u8], tail: &[u8], id: &Id) -> bool {
    let wanted = format!(r#""id":{id}"#);
    if outermost(&String::from_utf8_lossy(head)).contains(&format!("{wanted},")) {
        return true;
    }
    // Of its end, only what stands right before the last brace is certainly its own.
    let tail: String = String::from_utf8_lossy(tail).chars().filter(|c| !c.is_whitespace()).collect();
    let Some(own) = tail.strip_suffix('}') else { return false };
    own.strip_suffix(r#","jsonrpc":"2.0""#).unwrap_or(own).ends_with(&format!(",{wanted}"))
}

/// What of a message's beginning belongs to the message itself: without space, and without what is inside its values.
fn outermost(head: &str) -> String {
    let (mut own, mut depth, mut in_text, mut escaped) = (String::new(), 0_u32, false, false);
    for c in head.chars() {
        let outside = depth == 1;
        match c {
            _ if in_text => {
                in_text = escaped || c != '"';
                escaped = !escaped && c == '\\';
            }
            '"' => in_text = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ if c.is_whitespace() => continue,
            _ => {}
        }
        if outside {
            own.push(c);
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_of_the_message_itself_names_a_call() {
        let one = Id::Integer(1);
        assert!(names(br#"{ "jsonrpc": "2.0", "id": 1, "result": {"x": "#, b"...", &one));
        assert!(names(br#"{"result":{"x":"#, br#"y"}} , "id" : 1 }"#, &one));
        assert!(names(br#"{"result":{"x":"#, br#"y"},"id":1,"jsonrpc":"2.0"}"#, &one));
        for (head, tail) in [
            (&br#"{"id":7,"result":{"items":[{"id":1,"x":2}"#[..], &br#""}]}}"#[..]),
            (br#"{"id":7,"result":{"text":"\",\"id\":1,"#, br#"x"}}"#),
            (br#"{"result":{"x":"#, br#"{"a":2,"id":1}}"#),
            (br#"{"result":{"x":"#, br#"{"a":2,"id":1}]},"id":7}"#),
            (br#"{"id":12,"#, b""),
        ] {
            assert!(!names(head, tail, &one), "{}", String::from_utf8_lossy(head));
        }
    }
}
