//! What is under way: guarded calls, with what their clients were asked meanwhile, and requests that are only passed on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::HeaderMap;
use stanchion_core::Key;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

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
    /// It has been recorded and told.
    is_over: bool,
    /// Says why its locks are still held.
    note: Option<JoinHandle<()>>,
    /// Where its answer goes if it comes on another stream.
    elsewhere: Option<oneshot::Sender<String>>,
    /// The streams that pass it on when it is recorded.
    waiting: Vec<oneshot::Sender<String>>,
}

/// What cancelling a request has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelling {
    /// It is no call of ours: the upstream has to be told.
    NotOurs,
    /// It was not sent, and will not be.
    TakenBack,
    /// It runs: the upstream has to be told.
    Runs,
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
    /// Requests that are passed on.
    passages: usize,
    /// Streams that clients have taken up again themselves.
    resumed: HashMap<Who, usize>,
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
        let (elsewhere, from_elsewhere) = oneshot::channel();
        let entry = Entry {
            who: who.clone(),
            id: id.clone(),
            flight,
            locks,
            cancelled: false,
            is_over: false,
            note: None,
            elsewhere: Some(elsewhere),
            waiting: Vec::new(),
        };
        table.calls.insert(number, entry);
        drop(table);
        Some(Place { under_way: Arc::clone(self), number, who, id, from_elsewhere: Mutex::new(Some(from_elsewhere)) })
    }

    /// A request that is passed on.
    pub(super) fn passage(self: &Arc<Self>) -> Passage {
        self.table().passages += 1;
        Passage(Arc::clone(self))
    }

    /// A client takes up a stream itself.
    pub(super) fn resuming(self: &Arc<Self>, who: Who) -> Resumed {
        *self.table().resumed.entry(who.clone()).or_default() += 1;
        Resumed(Arc::clone(self), who)
    }

    /// Returns when the client has no stream that it took up itself: on one, the answer to any of its calls can come.
    pub(super) async fn none_resumed(&self, who: &Who) {
        let mut ended = self.ended.subscribe();
        // Without a session it would be anybody's stream.
        while who.session.is_some() && self.table().resumed.contains_key(who) && ended.changed().await.is_ok() {}
    }

    /// An answer has come on a stream that is not its call's own. If that call still runs it gets the answer; what is returned
    /// then tells when it is recorded, and as what, or ends. Without a session, ids cannot be told apart.
    pub(super) fn came_elsewhere(&self, who: &Who, id: &Id, answer: &str) -> Option<oneshot::Receiver<String>> {
        who.session.as_ref()?;
        let mut table = self.table();
        let is_it =
            |entry: &&mut Entry| entry.who == *who && entry.id == *id && !entry.is_over && entry.flight.is_running();
        let mut found = table.calls.values_mut().filter(is_it);
        let (Some(entry), None) = (found.next(), found.next()) else { return None };
        if let Some(to) = entry.elsewhere.take() {
            // It has ended meanwhile: then it has its answer.
            to.send(answer.to_owned()).unwrap_or_default();
        }
        let (recorded, is_recorded) = oneshot::channel();
        entry.waiting.push(recorded);
        Some(is_recorded)
    }

    /// A client cancels a request. Without a session, clients cannot be told apart, and neither can their ids. `note` begins to say
    /// why the locks of one that runs are still held.
    pub(super) fn cancel(&self, who: &Who, id: &Id, note: impl FnOnce(Vec<Key>) -> JoinHandle<()>) -> Cancelling {
        if who.session.is_none() {
            return Cancelling::NotOurs;
        }
        let mut table = self.table();
        let Some(entry) = table.calls.values_mut().find(|entry| entry.who == *who && entry.id == *id && !entry.is_over)
        else {
            return Cancelling::NotOurs;
        };
        match entry.flight.cancel() {
            Cancelled::BeforeItRan => Cancelling::TakenBack,
            Cancelled::WhileItRuns => {
                if !entry.cancelled && !entry.locks.is_empty() {
                    entry.note = Some(note(entry.locks.clone()));
                }
                entry.cancelled = true;
                Cancelling::Runs
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

    /// Requests that are passed on.
    pub(super) fn passages(&self) -> usize {
        self.table().passages
    }

    /// Returns when nothing is left.
    pub(super) async fn all_ended(&self) {
        let mut ended = self.ended.subscribe();
        while self.len() + self.passages() > 0 && ended.changed().await.is_ok() {}
    }
}

impl Table {
    fn ask(&mut self, who: &Who, question: Id, locks: Vec<Key>) {
        if !locks.is_empty() {
            self.questions.entry(who.clone()).or_default().asked(question, locks);
        }
    }
}

/// A request that is passed on, until it is dropped.
#[derive(Debug)]
pub(super) struct Passage(Arc<UnderWay>);

impl Drop for Passage {
    fn drop(&mut self) {
        self.0.table().passages -= 1;
        self.0.ended.send_replace(());
    }
}

/// A stream that its client has taken up, until it is dropped.
#[derive(Debug)]
pub(super) struct Resumed(Arc<UnderWay>, Who);

impl Drop for Resumed {
    fn drop(&mut self) {
        let mut table = self.0.table();
        if let Some(count) = table.resumed.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                table.resumed.remove(&self.1);
            }
        }
        drop(table);
        self.0.ended.send_replace(());
    }
}

/// One call among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    under_way: Arc<UnderWay>,
    number: u64,
    pub(super) who: Who,
    pub(super) id: Id,
    from_elsewhere: Mutex<Option<oneshot::Receiver<String>>>,
}

impl Place {
    /// The answer, if it comes on another stream; else it never returns.
    pub(super) async fn answer_from_elsewhere(&self) -> String {
        let from = self.from_elsewhere.lock().unwrap_or_else(PoisonError::into_inner).take();
        match from {
            Some(from) => match from.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    /// It has been recorded, and this is what its server said. Nobody can cancel it any more; what is returned writes a note.
    pub(super) fn over(&self, recorded: Option<&str>) -> Option<JoinHandle<()>> {
        let mut table = self.under_way.table();
        let entry = table.calls.get_mut(&self.number)?;
        entry.is_over = true;
        for waits in entry.waiting.drain(..) {
            if let Some(frame) = recorded {
                // A stream that has ended passes nothing on.
                waits.send(frame.to_owned()).unwrap_or_default();
            }
        }
        entry.note.take()
    }

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

    fn no_note(_: Vec<Key>) -> JoinHandle<()> {
        panic!("it does not run, or locks nothing")
    }

    #[test]
    fn an_answer_from_elsewhere_is_for_the_one_call_of_its_client_that_runs() {
        let (under_way, id) = (Arc::new(UnderWay::default()), Id::Integer(1));
        let mine = who("a", Some("s"));
        let (waits, runs) = (Arc::new(Flight::default()), Arc::new(Flight::default()));
        let _waiting = under_way.enter(mine.clone(), Id::Integer(2), waits, Vec::new()).unwrap();
        let place = under_way.enter(mine.clone(), id.clone(), Arc::clone(&runs), Vec::new()).unwrap();
        assert!(under_way.came_elsewhere(&mine, &id, "x").is_none(), "it was not even sent");
        assert!(runs.begin());
        for other in [who("b", Some("s")), who("a", Some("t")), who("a", None)] {
            assert!(under_way.came_elsewhere(&other, &id, "x").is_none());
        }
        assert!(under_way.came_elsewhere(&mine, &Id::Integer(2), "x").is_none());
        let mut recorded = under_way.came_elsewhere(&mine, &id, "x").unwrap();
        assert!(recorded.try_recv().is_err());
        assert!(place.over(Some("y")).is_none());
        assert_eq!(recorded.try_recv().unwrap(), "y");
        assert!(under_way.came_elsewhere(&mine, &id, "x").is_none(), "it is over");
    }

    #[test]
    fn only_its_own_client_cancels_a_call() {
        let (under_way, id) = (Arc::new(UnderWay::default()), Id::Integer(1));
        let flight = Arc::new(Flight::default());
        let _place = under_way.enter(who("a", Some("s")), id.clone(), Arc::clone(&flight), Vec::new()).unwrap();
        for other in [who("b", Some("s")), who("a", Some("t")), who("a", None)] {
            assert_eq!(under_way.cancel(&other, &id, no_note), Cancelling::NotOurs);
        }
        assert_eq!(under_way.cancel(&who("a", Some("s")), &Id::Integer(2), no_note), Cancelling::NotOurs);
        assert!(!flight.is_cancelled());
        assert_eq!(under_way.cancel(&who("a", Some("s")), &id, no_note), Cancelling::TakenBack);
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
