//! One attempt to take a lock, from the first request to the grant or the end of its traces.

use std::time::Duration;

use super::{NODES_MAX, ROUNDS_MAX, Tally, Verdict, Vote, quorum, validity};
use crate::{BootTime, planted};

/// What a node answers in a round.
///
/// ```
/// assert_ne!(stanchion_core::redlock::Answer::Yes(1), stanchion_core::redlock::Answer::No);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Ours there, and this is the highest number that the node knows of now. In a later round: the number is written.
    Yes(u64),
    /// In a later round: ours there, but the node has seen this higher number meanwhile.
    Behind(u64),
    /// Not ours there.
    No,
    /// No answer that counts: it may be ours there.
    Error,
}

/// What to do next.
///
/// ```
/// assert_ne!(stanchion_core::redlock::Next::Wait, stanchion_core::redlock::Next::Granted(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// Nothing yet.
    Wait,
    /// Write this number to all nodes; their answers belong to the next round.
    WriteBack(u64),
    /// Ours, with this fence.
    Granted(u64),
    /// Not ours. Release where it may be: at once where the answer was yes or is lost, later where it is still out.
    GiveUp(Reason),
    /// A yes that came after we gave up: release it on this node.
    Release(usize),
}

/// Why an attempt ended without a grant.
///
/// ```
/// assert_ne!(stanchion_core::redlock::Reason::Refused, stanchion_core::redlock::Reason::TooLate);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// So many nodes refused that no quorum was left.
    Refused,
    /// Too few nodes gave an answer that counts.
    NoQuorum,
    /// The quorum came when nothing was left of the ttl.
    TooLate,
    /// Others kept writing higher fences. Trying again at another moment helps.
    Overtaken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Asking,
    Granted,
    GaveUp,
}

/// One attempt. Rounds are counted from 0, the taking; every further round writes a fence back.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::BootTime;
/// use stanchion_core::redlock::{Answer, Attempt, Next, drift};
/// let (ttl, t) = (Duration::from_secs(10), BootTime::from_boot(Duration::from_secs(100)));
/// let mut attempt = Attempt::new(3, ttl, drift(ttl), t, 0, true);
/// attempt.answer(0, 0, Answer::Yes(41), t);
/// // The nodes disagree about the last fence: the highest becomes ours when a quorum has it.
/// assert_eq!(attempt.answer(1, 0, Answer::Yes(12), t), Next::WriteBack(41));
/// attempt.answer(0, 1, Answer::Yes(41), t);
/// assert_eq!(attempt.answer(1, 1, Answer::Yes(41), t), Next::Granted(41));
/// assert_eq!(attempt.answer(2, 0, Answer::Yes(13), t), Next::Wait); // late, and ours as well
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attempt {
    nodes: usize,
    ttl: Duration,
    drift: Duration,
    sent: BootTime,
    floor: u64,
    write_back: bool,
    state: State,
    round: u8,
    /// The number that this round writes back.
    wanted: u64,
    tally: Tally,
    numbers: [u64; NODES_MAX],
    /// Nodes that were ahead of the number of this round.
    ahead: usize,
    spread: u64,
}

impl Attempt {
    /// An attempt whose first request is sent after `sent` was read. The fence will be above `floor`; without
    /// `write_back` it is the highest number of the quorum, whether a quorum knows it or not.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Attempt};
    /// let t = BootTime::from_boot(Duration::ZERO);
    /// let attempt = Attempt::new(5, Duration::from_secs(1), Duration::ZERO, t, 0, true);
    /// assert_eq!(attempt.round(), 0);
    /// ```
    #[must_use]
    pub fn new(nodes: usize, ttl: Duration, drift: Duration, sent: BootTime, floor: u64, write_back: bool) -> Self {
        let nodes = nodes.min(NODES_MAX);
        let (tally, numbers) = (Tally::new(nodes), [0; NODES_MAX]);
        Self {
            nodes,
            ttl,
            drift,
            sent,
            floor,
            write_back,
            state: State::Asking,
            round: 0,
            wanted: 0,
            tally,
            numbers,
            ahead: 0,
            spread: 0,
        }
    }

    /// When it is overtaken, it goes on this much above the highest number: at random, so that of several the highest
    /// wins.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::{Answer, Attempt, Next}};
    /// # let t = BootTime::from_boot(Duration::ZERO);
    /// let mut attempt = Attempt::new(1, Duration::from_secs(1), Duration::ZERO, t, 9, true).spread(3);
    /// assert_eq!(attempt.answer(0, 0, Answer::Yes(5), t), Next::WriteBack(10)); // above the floor
    /// assert_eq!(attempt.answer(0, 1, Answer::Behind(20), t), Next::WriteBack(24));
    /// ```
    #[must_use]
    pub const fn spread(mut self, by: u64) -> Self {
        self.spread = by;
        self
    }

    /// The present round.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Attempt};
    /// # let t = BootTime::from_boot(Duration::ZERO);
    /// # let attempt = Attempt::new(5, Duration::from_secs(1), Duration::ZERO, t, 0, true);
    /// assert_eq!(attempt.round(), 0); // taking
    /// ```
    #[must_use]
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// The votes of the present round.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Attempt};
    /// # let t = BootTime::from_boot(Duration::ZERO);
    /// # let attempt = Attempt::new(5, Duration::from_secs(1), Duration::ZERO, t, 0, true);
    /// assert_eq!(attempt.tally().pending(), 5);
    /// ```
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What is left of the lease at `now`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Attempt};
    /// let t = BootTime::from_boot(Duration::ZERO);
    /// let attempt = Attempt::new(5, Duration::from_secs(1), Duration::from_millis(12), t, 0, true);
    /// assert_eq!(attempt.valid_for(t + Duration::from_millis(500)), Duration::from_millis(488));
    /// ```
    #[must_use]
    pub fn valid_for(&self, now: BootTime) -> Duration {
        let elapsed = if planted!("redlock-ignores-elapsed") { Duration::ZERO } else { now - self.sent };
        validity(self.ttl, elapsed, self.drift)
    }

    /// Takes in what `node` answered in `round`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::{Answer, Attempt, Next, Reason}};
    /// # let t = BootTime::from_boot(Duration::ZERO);
    /// let mut attempt = Attempt::new(1, Duration::from_secs(1), Duration::ZERO, t, 0, true);
    /// let late = t + Duration::from_secs(2);
    /// assert_eq!(attempt.answer(0, 0, Answer::Yes(1), late), Next::GiveUp(Reason::TooLate));
    /// ```
    pub fn answer(&mut self, node: usize, round: u8, answer: Answer, now: BootTime) -> Next {
        match self.state {
            State::Granted => return Next::Wait,
            State::GaveUp if planted!("redlock-late-yes-kept") => return Next::Wait,
            State::GaveUp if matches!(answer, Answer::Yes(_) | Answer::Behind(_)) => return Next::Release(node),
            State::GaveUp => return Next::Wait,
            State::Asking if round != self.round || node >= self.nodes || self.tally.has(node) => return Next::Wait,
            State::Asking => {}
        }
        let vote = match answer {
            Answer::Yes(number) => {
                self.numbers[node] = number;
                Vote::Yes
            }
            Answer::Behind(number) => {
                self.numbers[node] = number;
                self.ahead += 1;
                Vote::Error
            }
            Answer::No => Vote::No,
            Answer::Error => Vote::Error,
        };
        match self.tally.cast(node, vote) {
            Verdict::Open => Next::Wait,
            Verdict::Yes if self.valid_for(now).is_zero() => self.give_up(Reason::TooLate),
            Verdict::Yes => self.agreed(),
            Verdict::No => self.give_up(Reason::Refused),
            Verdict::Unknown if self.behind() && self.valid_for(now).is_zero() => self.give_up(Reason::TooLate),
            Verdict::Unknown if self.behind() => {
                self.again(self.highest().saturating_add(1).saturating_add(self.spread))
            }
            Verdict::Unknown => self.give_up(Reason::NoQuorum),
        }
    }

    /// The time is up: nothing that can still come would help.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::{Attempt, Next, Reason}};
    /// # let t = BootTime::from_boot(Duration::ZERO);
    /// let mut attempt = Attempt::new(3, Duration::from_secs(1), Duration::ZERO, t, 0, true);
    /// assert_eq!(attempt.time_is_up(), Next::GiveUp(Reason::TooLate));
    /// ```
    pub fn time_is_up(&mut self) -> Next {
        match self.state {
            State::Asking => self.give_up(Reason::TooLate),
            State::Granted | State::GaveUp => Next::Wait,
        }
    }

    fn give_up(&mut self, reason: Reason) -> Next {
        self.state = State::GaveUp;
        Next::GiveUp(reason)
    }

    fn granted(&mut self, number: u64) -> Next {
        self.state = State::Granted;
        Next::Granted(number)
    }

    /// A quorum says yes. Its number counts if a quorum knows it: whoever comes later meets one of those nodes.
    fn agreed(&mut self) -> Next {
        if self.round > 0 {
            return self.granted(self.wanted);
        }
        let highest = self.highest();
        let known = self.numbers[..self.nodes].iter().filter(|number| **number == highest).count();
        if highest > self.floor && (known >= quorum(self.nodes) || !self.write_back) {
            return self.granted(highest);
        }
        self.again(highest.max(self.floor.saturating_add(1)))
    }

    fn again(&mut self, number: u64) -> Next {
        if self.round == ROUNDS_MAX {
            return self.give_up(Reason::Overtaken);
        }
        self.round += 1;
        self.wanted = number;
        self.tally = Tally::new(self.nodes);
        self.numbers = [0; NODES_MAX];
        self.ahead = 0;
        Next::WriteBack(number)
    }

    fn highest(&self) -> u64 {
        self.numbers.iter().copied().max().unwrap_or(0)
    }

    /// Whether it failed because the number was overtaken, not because nodes are away.
    fn behind(&self) -> bool {
        let (yes, ..) = self.tally.counts();
        self.ahead > 0 && yes + self.ahead + self.tally.pending() >= quorum(self.nodes)
    }
}
