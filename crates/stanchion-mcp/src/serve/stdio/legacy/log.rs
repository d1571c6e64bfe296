//! What was said on the streams of one session, kept for a client that lost its connection. Bounded: what is dropped is known to
//! be gone, so that nobody who comes back is told a part for the whole.

use std::collections::{HashMap, VecDeque};

use stanchion_core::Owner;

use crate::serve::stdio::events::Event;

/// So much is kept, of all streams of a session together.
const EVENTS: usize = 1024;
const BYTES: usize = 4 << 20;

/// One message, where it was said.
#[derive(Debug)]
struct Kept {
    stream: u64,
    number: u64,
    event: Event,
}

/// What is known of one stream.
#[derive(Debug)]
struct Trail {
    /// The number of its next event. Its first, which is empty, has 0.
    next: u64,
    /// Events before this one are not kept any more.
    first: u64,
    kept: usize,
    /// Nothing more will be said on it.
    over: bool,
}

/// The log of one session.
#[derive(Debug)]
pub(super) struct Log {
    /// Ids of other sessions do not begin like this.
    tag: String,
    trails: HashMap<u64, Trail>,
    /// By their age.
    kept: VecDeque<Kept>,
    bytes: usize,
}

/// A place on a stream: everything up to this event has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    number: u64,
}

impl Log {
    pub(super) fn new() -> Self {
        let tag = Owner::random().to_hex().chars().take(8).collect();
        Self { tag, trails: HashMap::new(), kept: VecDeque::new(), bytes: 0 }
    }

    fn id(&self, stream: u64, number: u64) -> String {
        format!("{}-{stream}-{number}", self.tag)
    }

    /// Begins to keep what is said on this stream. Returns the event that tells its client so.
    pub(super) fn begin(&mut self, stream: u64) -> Event {
        self.trails.insert(stream, Trail { next: 1, first: 1, kept: 0, over: false });
        Event::place(self.id(stream, 0))
    }

    /// Keeps what is now said there, and gives it its id.
    pub(super) fn add(&mut self, stream: u64, event: &mut Event) {
        let Some(trail) = self.trails.get_mut(&stream) else { return };
        let number = trail.next;
        (trail.next, trail.kept) = (number + 1, trail.kept + 1);
        event.id = Some(self.id(stream, number));
        self.bytes += event.frame.len();
        self.kept.push_back(Kept { stream, number, event: event.clone() });
        while self.kept.len() > EVENTS || (self.bytes > BYTES && self.kept.len() > 1) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(Kept { stream, number, event }) = self.kept.pop_front() else { return };
        self.bytes -= event.frame.len();
        if let Some(trail) = self.trails.get_mut(&stream) {
            (trail.first, trail.kept) = (number + 1, trail.kept - 1);
            if trail.over && trail.kept == 0 {
                self.trails.remove(&stream);
            }
        }
    }

    /// Nothing more will be said there. What was said stays, as long as there is room.
    pub(super) fn over(&mut self, stream: u64) {
        if let Some(trail) = self.trails.get_mut(&stream) {
            trail.over = true;
            if trail.kept == 0 {
                self.trails.remove(&stream);
            }
        }
    }

    /// Gives a stream up, and all that was said there.
    pub(super) fn forget(&mut self, stream: u64) {
        self.trails.remove(&stream);
        self.kept.retain(|kept| kept.stream != stream);
        self.bytes = self.kept.iter().map(|kept| kept.event.frame.len()).sum();
    }

    /// The place that an id names, if all that came after it is still kept.
    pub(super) fn find(&self, id: &str) -> Option<Place> {
        let (stream, number) = id.strip_prefix(&*self.tag)?.strip_prefix('-')?.split_once('-')?;
        let (stream, number) = (stream.parse().ok()?, number.parse().ok()?);
        let trail = self.trails.get(&stream)?;
        // The same number can be written in several ways; ours is one of them.
        let ours = id == self.id(stream, number);
        (ours && number < trail.next && number + 1 >= trail.first).then_some(Place { stream, number })
    }

    /// What came after it, on the same stream; first of all, where this is.
    pub(super) fn after(&self, place: Place) -> impl Iterator<Item = Event> {
        let came = move |kept: &&Kept| kept.stream == place.stream && kept.number > place.number;
        let again = std::iter::once(Event::place(self.id(place.stream, place.number)));
        again.chain(self.kept.iter().filter(came).map(|kept| kept.event.clone()))
    }

    /// Did anything come after it?
    pub(super) fn has_after(&self, place: Place) -> bool {
        self.trails.get(&place.stream).is_some_and(|trail| place.number + 1 < trail.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(log: &mut Log, stream: u64, frame: &str) -> String {
        let mut event = Event::aside(frame.to_owned());
        log.add(stream, &mut event);
        event.id.unwrap()
    }

    fn after(log: &Log, id: &str) -> Option<Vec<String>> {
        let place = log.find(id)?;
        let told: Vec<Event> = log.after(place).collect();
        assert_eq!((told[0].id.as_deref(), told[0].frame.as_str()), (Some(id), ""));
        assert_eq!(log.has_after(place), told.len() > 1);
        Some(told.into_iter().skip(1).map(|event| event.frame).collect())
    }

    #[test]
    fn what_came_after_is_told_of_that_stream_only() {
        let mut log = Log::new();
        let (one, two) = (log.begin(1).id.unwrap(), log.begin(2).id.unwrap());
        let first = say(&mut log, 1, "a");
        let other = say(&mut log, 2, "b");
        let last = say(&mut log, 1, "c");
        log.over(1);
        assert_eq!(after(&log, &one), Some(vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(after(&log, &first), Some(vec!["c".to_owned()]));
        assert_eq!(after(&log, &last), Some(vec![]));
        assert_eq!((after(&log, &two), after(&log, &other)), (Some(vec!["b".to_owned()]), Some(vec![])));
        let mut foreign = Log::new();
        foreign.begin(1);
        say(&mut foreign, 1, "x");
        let tag = &log.tag;
        for wrong in [format!("{tag}-1-3"), format!("{tag}-3-0"), format!("{tag}-1-01"), format!("{tag}-1-+1")] {
            assert_eq!(log.find(&wrong), None, "{wrong}");
        }
        for wrong in ["", "1", "1-0", tag, &format!("{tag}-"), &format!("{tag}1-0"), &foreign.id(1, 0)] {
            assert_eq!(log.find(wrong), None, "{wrong}");
        }
        log.forget(2);
        assert_eq!((log.find(&two), log.bytes), (None, 2));
    }

    #[test]
    fn it_is_bounded_and_knows_what_it_has_dropped() {
        let mut log = Log::new();
        let begin = log.begin(1).id.unwrap();
        let ids: Vec<String> = (0..EVENTS + 2).map(|n| say(&mut log, 1, &n.to_string())).collect();
        assert_eq!(log.kept.len(), EVENTS);
        assert_eq!((log.find(&begin), log.find(&ids[0])), (None, None));
        // Everything after it is still there, though it is not itself.
        assert_eq!(after(&log, &ids[1]).map(|told| told.len()), Some(EVENTS));
        log.begin(2);
        let big = "x".repeat(BYTES / 2 + 1);
        let (first, second) = (say(&mut log, 2, &big), say(&mut log, 2, &big));
        assert!(log.bytes <= BYTES && log.kept.len() == 1);
        // Nothing of the first stream is kept, and it goes on.
        let last = ids.last().unwrap();
        assert_eq!((after(&log, last), log.find(&ids[1])), (Some(vec![]), None));
        assert_eq!(after(&log, &first), Some(vec![big]));
        log.over(1);
        assert_eq!((log.find(last), log.trails.len()), (None, 1));
        // The newest is kept, however big.
        let huge = say(&mut log, 2, &"x".repeat(BYTES * 2));
        assert_eq!((log.kept.len(), log.find(&first), after(&log, &second).map(|told| told.len())), (1, None, Some(1)));
        log.over(2);
        assert_eq!(after(&log, &huge), Some(vec![]));
    }
}
