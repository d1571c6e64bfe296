//! The guarded calls that are under way, and what their clients were asked meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::HeaderMap;
use stanchion_core::Key;
use tokio::sync::watch;

use super::headers::SESSION;
use crate::flight::{Cancelled, Flight};
use crate::frame::Id;
use crate::questions::Questions;

/// So many guarded calls are under way at a time.
pub(super) const MOST: usize = 4096;

/// A client, as far as it can be told from others: who it is, and the upstream's session if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) principal: Arc<str>,
    session: Option<Box<str>>,
}

impl Who {
    pub(super) fn of(principal: Arc<str>, headers: &HeaderMap) -> Self {
        let session = headers.get(SESSION).and_then(|value| value.to_str().ok()).map(Into::into);
        Self { principal, session }
    }
}

#[derive(Debug)]
struct Entry {
    who: Who,
    id: Id,
    flight: Arc<Flight>,
    locks: Vec<Key>,
    /// Its client does not want the answer any more.
    cancelled: bool,
}

/// What cancelling a request has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelling {
    /// It is no call of ours: the upstream has to be told.
    NotOurs,
    /// It was not sent, and will not be.
    TakenBack,
    /// It runs, with these locks: the upstream has to be told.
    Runs(Vec<Key>),
}

#[derive(Debug)]
pub(super) struct UnderWay {
    table: Mutex<Table>,
    /// Changes whenever a call has ended.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    calls: HashMap<u64, Entry>,
    questions: HashMap<Who, Questions>,
}

impl Default for UnderWay {
    fn default() -> Self {
        let (ended, _) = watch::channel(());
        Self { table: Mutex::default(), ended }
    }
}

impl UnderWay {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a call; `None` if there are too many.
    pub(super) fn enter(self: &Arc<Self>, who: Who, id: Id, flight: Arc<Flight>, locks: Vec<Key>) -> Option<Place> {
        let mut table = self.table();
        if table.calls.len() >= MOST {
            return None;
        }
        table.next += 1;
        let number = table.next;
        table.calls.insert(number, Entry { who: who.clone(), id: id.clone(), flight, locks, cancelled: false });
        Some(Place { under_way: Arc::clone(self), number, who, id })
    }

    /// A client cancels a request. Without a session, clients cannot be told apart, and neither can their ids.
    pub(super) fn cancel(&self, who: &Who, id: &Id) -> Cancelling {
        if who.session.is_none() {
            return Cancelling::NotOurs;
        }
        let mut table = self.table();
        let Some(entry) = table.calls.values_mut().find(|entry| entry.who == *who && entry.id == *id) else {
            return Cancelling::NotOurs;
        };
        match entry.flight.cancel() {
            Cancelled::BeforeItRan => Cancelling::TakenBack,
            Cancelled::WhileItRuns => {
                entry.cancelled = true;
                Cancelling::Runs(entry.locks.clone())
            }
        }
    }

    /// The upstream asks a client something, on a stream of its own: it may be about any call that runs.
    pub(super) fn asked(&self, who: &Who, question: Id) {
        let mut table = self.table();
        let running = table.calls.values().filter(|entry| entry.who == *who && entry.flight.is_running());
        let locks: Vec<Key> = running.flat_map(|entry| entry.locks.iter().cloned()).collect();
        table.ask(who, question, locks);
    }

    pub(super) fn answered(&self, who: &Who, question: &Id) {
        if let Some(questions) = self.table().questions.get_mut(who) {
            questions.answered(question);
        }
    }

    /// Since when one of these locks is held by a call that waits for this client.
    pub(super) fn asked_under(&self, who: &Who, locks: &[Key]) -> Option<Instant> {
        self.table().questions.get(who)?.under(locks)
    }

    pub(super) fn len(&self) -> usize {
        self.table().calls.len()
    }

    /// Returns when none is left.
    pub(super) async fn all_ended(&self) {
        let mut ended = self.ended.subscribe();
        while self.len() > 0 && ended.changed().await.is_ok() {}
    }
}

impl Table {
    fn ask(&mut self, who: &Who, question: Id, locks: Vec<Key>) {
        if !locks.is_empty() {
            self.questions.entry(who.clone()).or_default().asked(question, locks);
        }
    }
}

/// One call among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    under_way: Arc<UnderWay>,
    number: u64,
    pub(super) who: Who,
    pub(super) id: Id,
}

impl Place {
    /// The upstream asks the client something on the stream of this very call.
    pub(super) fn asked(&self, question: Id) {
        let mut table = self.under_way.table();
        let locks = table.calls.get(&self.number).map(|entry| entry.locks.clone()).unwrap_or_default();
        table.ask(&self.who, question, locks);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.under_way.table().calls.get(&self.number).is_some_and(|entry| entry.cancelled)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.under_way.table();
        table.calls.remove(&self.number);
        if table.calls.values().all(|entry| entry.who != self.who || !entry.flight.is_running()) {
            table.questions.remove(&self.who);
        }
        drop(table);
        self.under_way.ended.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(principal: &str, session: Option<&'static str>) -> Who {
        let mut headers = HeaderMap::new();
        if let Some(session) = session {
            headers.insert(SESSION, http::HeaderValue::from_static(session));
        }
        Who::of(principal.into(), &headers)
    }

    #[test]
    fn only_its_own_client_cancels_a_call() {
        let (under_way, id) = (Arc::new(UnderWay::default()), Id::Integer(1));
        let flight = Arc::new(Flight::default());
        let _place = under_way.enter(who("a", Some("s")), id.clone(), Arc::clone(&flight), Vec::new()).unwrap();
        for other in [who("b", Some("s")), who("a", Some("t")), who("a", None)] {
            assert_eq!(under_way.cancel(&other, &id), Cancelling::NotOurs);
        }
        assert_eq!(under_way.cancel(&who("a", Some("s")), &Id::Integer(2)), Cancelling::NotOurs);
        assert!(!flight.is_cancelled());
        assert_eq!(under_way.cancel(&who("a", Some("s")), &id), Cancelling::TakenBack);
    }

    #[test]
    fn a_question_is_about_the_locks_of_its_call_until_it_is_answered() {
        let under_way = Arc::new(UnderWay::default());
        let (a, lock) = (who("a", None), [Key::new("n").unwrap()]);
        let flight = Arc::new(Flight::default());
        let place = under_way.enter(a.clone(), Id::Integer(1), flight, lock.to_vec()).unwrap();
        place.asked(Id::Integer(9));
        assert!(under_way.asked_under(&a, &lock).is_some());
        assert!(under_way.asked_under(&who("b", None), &lock).is_none());
        assert!(under_way.asked_under(&a, &[Key::new("other").unwrap()]).is_none());
        under_way.answered(&a, &Id::Integer(9));
        assert!(under_way.asked_under(&a, &lock).is_none());
        place.asked(Id::Integer(10));
        drop(place);
        assert!(under_way.asked_under(&a, &lock).is_none() && under_way.table().questions.is_empty());
    }
}
