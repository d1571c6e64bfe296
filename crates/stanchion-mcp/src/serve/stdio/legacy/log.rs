//! What was said on the streams of one session, kept for a client that lost its connection. Bounded: what is dropped is known to
//! be gone, so that nobody who comes back is told a part for the whole. What its client has most likely seen is dropped first, and
//! what belongs to an answer that nobody has fetched yet, last.

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
    /// Its client is not there, and was told nothing from this event on.
    away: Option<u64>,
    /// So many of those that are kept are answers.
    answers: usize,
}

impl Trail {
    /// What is dropped first. Everything on a stream alike: without its asides an answer cannot be told either.
    fn rank(&self) -> Rank {
        match (self.away, self.answers) {
            (None, _) => Rank::Told,
            (Some(_), 0) => Rank::Missed,
            (Some(_), 1..) => Rank::Answer,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// Its client is there, or was told everything.
    Told,
    Missed,
    Answer,
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
        let trail = Trail { next: 1, first: 1, kept: 0, over: false, away: None, answers: 0 };
        self.trails.insert(stream, trail);
        Event::place(self.id(stream, 0))
    }

    /// Keeps what is now said there, and gives it its id. False if there is no room for it, or nobody can come back.
    pub(super) fn add(&mut self, stream: u64, event: &mut Event) -> bool {
        let Some(trail) = self.trails.get_mut(&stream) else { return false };
        let number = trail.next;
        (trail.next, trail.kept) = (number + 1, trail.kept + 1);
        trail.answers += usize::from(event.is_answer);
        event.id = Some(self.id(stream, number));
        self.bytes += event.frame.len();
        self.kept.push_back(Kept { stream, number, event: event.clone() });
        while self.kept.len() > EVENTS || (self.bytes > BYTES && self.kept.len() > 1) {
            self.drop_one();
        }
        self.kept.back().is_some_and(|kept| (kept.stream, kept.number) == (stream, number))
    }

    /// The oldest of those that are most easily done without. Of each stream, that is its oldest.
    fn drop_one(&mut self) {
        let oldest = |rank: Rank| {
            let is = |kept: &Kept| self.trails.get(&kept.stream).map_or(Rank::Told, Trail::rank) == rank;
            self.kept.iter().position(is)
        };
        let at = [Rank::Told, Rank::Missed, Rank::Answer].into_iter().find_map(oldest);
        let Some(Kept { stream, number, event }) = at.and_then(|at| self.kept.remove(at)) else { return };
        self.bytes -= event.frame.len();
        let Some(trail) = self.trails.get_mut(&stream) else { return };
        (trail.first, trail.kept) = (number + 1, trail.kept - 1);
        trail.answers -= usize::from(event.is_answer);
        let is_missed = trail.away.is_some_and(|since| number >= since);
        if is_missed || (event.is_answer && trail.away.is_some()) {
            tracing::warn!("a stream that was cut cannot be resumed any more: too much is kept in its session");
        }
        if is_missed {
            // Nobody has a place after it.
            self.forget(stream);
        } else if trail.over && trail.kept == 0 {
            self.trails.remove(&stream);
        }
    }

    /// The client of this stream has gone, or will get nothing more on its connection.
    pub(super) fn away(&mut self, stream: u64) {
        if let Some(trail) = self.trails.get_mut(&stream) {
            trail.away.get_or_insert(trail.next);
        }
    }

    /// It is there again, and is told what it has missed and what is said from now on.
    pub(super) fn back(&mut self, stream: u64) {
        if let Some(trail) = self.trails.get_mut(&stream) {
            trail.away = None;
        }
    }

    /// Everything on this stream, which is over, was handed to its client. It is kept on, as long as there is room for all.
    pub(super) fn told(&mut self, stream: u64) {
        self.back(stream);
        // More than the bound is only kept until it is told.
        if self.bytes > BYTES && self.kept.front().is_some_and(|kept| kept.stream == stream) {
            self.drop_one();
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

    fn answer(log: &mut Log, stream: u64, frame: &str) {
        assert!(log.add(stream, &mut Event::answer(frame.to_owned(), false)));
        log.over(stream);
    }

    fn after(log: &Log, id: &str) -> Option<Vec<String>> {
        let place = log.find(id)?;
        let told: Vec<Event> = log.after(place).collect();
        assert_eq!((told[0].id.as_deref(), told[0].frame.as_str()), (Some(id), ""));
        assert_eq!(log.has_after(place), told.len() > 1);
        Some(told.into_iter().skip(1).map(|event| event.frame.to_string()).collect())
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

    /// Streams 1 and 2 were cut, 1 after it had said something, and answered; 3 is cut and waits; 4 has its client.
    fn with_answers_nobody_has_fetched(log: &mut Log) -> [String; 4] {
        let begun = [1, 2, 3, 4].map(|stream| log.begin(stream).id.unwrap());
        say(log, 1, "a");
        (1..=3).for_each(|stream| log.away(stream));
        say(log, 1, "b");
        answer(log, 1, "c");
        answer(log, 2, "d");
        say(log, 3, "e");
        begun
    }

    #[test]
    fn what_was_told_is_dropped_first_then_what_was_missed_and_answers_that_were_missed_last() {
        let mut log = Log::new();
        let [one, two, three, four] = with_answers_nobody_has_fetched(&mut log);
        let one_is_whole = |log: &Log| after(log, &one).is_some_and(|told| told == ["a", "b", "c"]);
        (0..2 * EVENTS).for_each(|n| drop(say(&mut log, 4, &n.to_string())));
        assert!(one_is_whole(&log) && log.kept.len() == EVENTS);
        assert_eq!((after(&log, &two), after(&log, &three)), (Some(vec!["d".to_owned()]), Some(vec!["e".to_owned()])));
        assert_eq!(log.find(&four), None);
        // Too much on a stream that was cut: it goes as a whole, and the next that is said there is not kept at all.
        log.begin(5);
        log.away(5);
        (0..EVENTS - 4).for_each(|n| drop(say(&mut log, 5, &n.to_string())));
        assert!(one_is_whole(&log) && log.find(&two).is_some());
        assert_eq!((log.find(&three), log.kept.len()), (None, EVENTS));
        say(&mut log, 5, "too much");
        assert_eq!((log.kept.len(), log.trails.contains_key(&5)), (4, false));
        assert!(!log.add(5, &mut Event::aside("nobody comes".to_owned())) && !log.trails.contains_key(&3));
        // Answers give way to answers, the oldest first.
        log.begin(6);
        log.away(6);
        answer(&mut log, 6, &"x".repeat(BYTES));
        assert_eq!((log.find(&one), log.find(&two), log.kept.len()), (None, None, 1));
    }

    #[test]
    fn an_answer_that_was_told_is_dropped_before_one_that_was_not() {
        let mut log = Log::new();
        let [one, two, ..] = with_answers_nobody_has_fetched(&mut log);
        log.told(1);
        // There is room for it still.
        assert!(log.find(&one).is_some());
        (0..EVENTS).for_each(|n| drop(say(&mut log, 4, &n.to_string())));
        assert_eq!((log.find(&one), after(&log, &two)), (None, Some(vec!["d".to_owned()])));
    }

    #[test]
    fn what_is_larger_than_all_that_may_be_kept_is_kept_until_it_was_told() {
        let mut log = Log::new();
        let [one, two, three, four] = [1, 2, 3, 4].map(|stream| log.begin(stream).id.unwrap());
        log.away(1);
        answer(&mut log, 1, &"x".repeat(BYTES + 1));
        // Its client may come for it, whatever others say to whom it is told.
        say(&mut log, 2, "a");
        assert_eq!((after(&log, &one).map(|told| told.len()), log.find(&two), log.kept.len()), (Some(1), None, 1));
        log.told(1);
        assert_eq!((log.find(&one), log.bytes, log.kept.len()), (None, 0, 0));
        // Another such, that its client is being told: it may lose it.
        answer(&mut log, 3, &"x".repeat(BYTES + 1));
        assert!(log.find(&three).is_some());
        say(&mut log, 4, "b");
        assert_eq!((log.find(&three), after(&log, &four), log.bytes), (None, Some(vec!["b".to_owned()]), 1));
    }

    #[test]
    fn what_is_told_again_is_not_another_copy() {
        let mut log = Log::new();
        let place = log.begin(1).id.unwrap();
        say(&mut log, 1, "a");
        let told = || log.after(log.find(&place).unwrap()).last().unwrap().frame;
        assert!(std::sync::Arc::ptr_eq(&told(), &told()));
    }
}
