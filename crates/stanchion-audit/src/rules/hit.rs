//! What a rule found, before anybody has decided how it is told.

use std::collections::BTreeSet;

use crate::engine::{Scope, Site};
use crate::hir::FunctionId;

/// Something that a rule found.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) code: &'static str,
    pub(crate) read: Option<Site>,
    pub(crate) window: Option<Site>,
    pub(crate) write: Site,
    pub(crate) resource: String,
    pub(crate) scope: Scope,
    /// 0 low, 1 medium, 2 high.
    pub(crate) sure: u8,
    pub(crate) message: String,
    pub(crate) why: String,
    /// Where the two are put together, if not where they stand: the calls that lead to the read and to the write.
    pub(crate) calls: Vec<(Site, Site)>,
    /// Calls on the ways from there to the read and to the write.
    pub(crate) frames: BTreeSet<Site>,
    /// Other lines that the same calls come to: of the read and of the write.
    pub(crate) others: Vec<(Option<Site>, Site)>,
    /// Where it is told.
    pub(crate) at: Site,
    /// Things in memory that were written, if it depends on where they come from.
    pub(crate) memory: Vec<String>,
    /// The files with the functions from outside that lead to it.
    pub(crate) by: BTreeSet<usize>,
    /// What is written there is the same each time.
    pub(crate) same: bool,
    /// It stands if a look at that file lets processes write their number there.
    pub(crate) marked: bool,
    /// The functions that lead to it, if nobody from outside calls one of them: their files, and which ones there.
    pub(crate) loose: Option<BTreeSet<(usize, FunctionId)>>,
    /// It rests on columns that others have to change for it.
    pub(crate) rests: Option<Rests>,
}

/// The columns on which a change of a row rests.
#[derive(Debug, Clone)]
pub(crate) struct Rests {
    pub(crate) columns: Vec<String>,
    /// A new row has something in them already: whoever sets one of them changes what it is.
    pub(crate) filled: bool,
}

impl Hit {
    /// The lines that read, in the order in which they are come to: where the read is called, then where it is done.
    pub(crate) fn reads(&self) -> Vec<Site> {
        let done = self.read.into_iter().chain(self.others.iter().filter_map(|(read, _)| *read));
        each_once(self.calls.iter().map(|(read, _)| *read).chain(done))
    }

    /// And those that write.
    pub(crate) fn writes(&self) -> Vec<Site> {
        let done = std::iter::once(self.write).chain(self.others.iter().map(|(_, write)| *write));
        each_once(self.calls.iter().map(|(_, write)| *write).chain(done))
    }

    /// Another way to the same two lines.
    pub(crate) fn comes_also_by(&mut self, other: &Self) {
        self.by.extend(&other.by);
        // What is so in any case does not depend on others.
        self.rests = self.rests.take().filter(|_| other.rests.is_some());
        let both = self.loose.take().zip(other.loose.as_ref());
        self.loose = both.map(|(one, other)| one.into_iter().chain(other.iter().copied()).collect());
        for frame in other.frames.iter().copied() {
            if self.frames.len() == FRAMES_MOST {
                return;
            }
            self.frames.insert(frame);
        }
    }
}

fn each_once(sites: impl Iterator<Item = Site>) -> Vec<Site> {
    let mut seen = BTreeSet::new();
    sites.filter(|site| seen.insert(*site)).collect()
}

/// Calls between that a hit knows: code that calls itself has any number.
pub(super) const FRAMES_MOST: usize = 64;
