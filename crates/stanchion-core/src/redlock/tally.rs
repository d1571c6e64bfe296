//! Counting votes.

use super::quorum;

/// What one node says.
///
/// ```
/// assert_ne!(stanchion_core::redlock::Vote::No, stanchion_core::redlock::Vote::Error);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vote {
    /// Done.
    Yes,
    /// Refused: nothing was done there.
    No,
    /// No answer that counts: it may have been done there.
    Error,
}

/// What the votes amount to.
///
/// ```
/// use stanchion_core::redlock::{Tally, Verdict};
/// assert_eq!(Tally::new(5).verdict(), Verdict::Open);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The votes that are still out can decide it either way.
    Open,
    /// A quorum says yes.
    Yes,
    /// So many say no that there is no quorum for yes, whatever the errors hide.
    No,
    /// A quorum cannot be reached any more, and errors are among the reasons.
    Unknown,
}

/// The votes of some nodes. The first vote of a node counts.
///
/// ```
/// use stanchion_core::redlock::{Tally, Verdict, Vote};
/// let mut tally = Tally::new(4);
/// tally.cast(0, Vote::Yes);
/// tally.cast(1, Vote::Yes);
/// tally.cast(2, Vote::No);
/// assert_eq!(tally.cast(3, Vote::No), Verdict::No); // an even split is a no, not a wait for ever
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tally {
    nodes: u8,
    yes: u32,
    no: u32,
    error: u32,
}

impl Tally {
    /// Nobody has voted.
    ///
    /// ```
    /// assert_eq!(stanchion_core::redlock::Tally::new(3).pending(), 3);
    /// ```
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { nodes: u8::try_from(nodes.min(super::NODES_MAX)).unwrap_or(0), yes: 0, no: 0, error: 0 }
    }

    /// Counts a vote; a second vote of the same node, or one of a node that does not exist, changes nothing.
    ///
    /// ```
    /// use stanchion_core::redlock::{Tally, Verdict, Vote};
    /// let mut tally = Tally::new(1);
    /// assert_eq!(tally.cast(0, Vote::Yes), Verdict::Yes);
    /// assert_eq!(tally.cast(0, Vote::No), Verdict::Yes);
    /// ```
    pub fn cast(&mut self, node: usize, vote: Vote) -> Verdict {
        if node < usize::from(self.nodes) && !self.has(node) {
            let bit = 1_u32 << node;
            match vote {
                Vote::Yes => self.yes |= bit,
                Vote::No => self.no |= bit,
                Vote::Error => self.error |= bit,
            }
        }
        self.verdict()
    }

    /// Whether this node has voted.
    ///
    /// ```
    /// assert!(!stanchion_core::redlock::Tally::new(3).has(1));
    /// ```
    #[must_use]
    pub const fn has(&self, node: usize) -> bool {
        (self.yes | self.no | self.error) >> node & 1 == 1
    }

    /// How many say yes, no, and nothing that counts.
    ///
    /// ```
    /// use stanchion_core::redlock::{Tally, Vote};
    /// let mut tally = Tally::new(3);
    /// tally.cast(2, Vote::Error);
    /// assert_eq!(tally.counts(), (0, 0, 1));
    /// ```
    #[must_use]
    pub const fn counts(&self) -> (usize, usize, usize) {
        (self.yes.count_ones() as usize, self.no.count_ones() as usize, self.error.count_ones() as usize)
    }

    /// How many are still out.
    ///
    /// ```
    /// assert_eq!(stanchion_core::redlock::Tally::new(5).pending(), 5);
    /// ```
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.nodes as usize - (self.yes | self.no | self.error).count_ones() as usize
    }

    /// What the votes amount to.
    ///
    /// ```
    /// use stanchion_core::redlock::{Tally, Verdict, Vote};
    /// let mut tally = Tally::new(3);
    /// tally.cast(0, Vote::Error);
    /// assert_eq!(tally.verdict(), Verdict::Open);
    /// assert_eq!(tally.cast(1, Vote::Error), Verdict::Unknown);
    /// ```
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        let (nodes, (yes, no, _)) = (self.nodes as usize, self.counts());
        let needed = quorum(nodes);
        if yes >= needed {
            Verdict::Yes
        } else if no > nodes - needed {
            Verdict::No
        } else if yes + self.pending() < needed {
            Verdict::Unknown
        } else {
            Verdict::Open
        }
    }
}
