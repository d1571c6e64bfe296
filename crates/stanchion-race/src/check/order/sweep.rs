//! The look through the operations of one key.

use super::{Checked, Kind};

/// A token that was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant {
    pub(super) token: u64,
    pub(super) call: u64,
    pub(super) ret: u64,
    pub(super) at: usize,
}

/// A version that was given by a write, or seen by a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) version: u64,
    pub(super) reads: bool,
    pub(super) token: u64,
    pub(super) base: Option<u64>,
    pub(super) call: u64,
    pub(super) ret: u64,
    pub(super) at: usize,
}

/// All that is known of one key.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) grants: Vec<Grant>,
    pub(super) touches: Vec<Touch>,
    /// The calls of writes whose version is unknown.
    pub(super) unknown: Vec<u64>,
}

impl Sweep {
    pub(super) fn check(mut self, checked: &mut Checked) {
        self.grants.sort_unstable_by_key(|grant| (grant.token, grant.call, grant.at));
        self.touches.sort_unstable_by_key(|touch| (touch.version, touch.reads, touch.call, touch.at));
        self.tokens(checked);
        self.real_time(checked);
        self.fence_and_bases(checked);
        self.origins(checked);
    }

    /// Downwards, the earliest return of all higher tokens: nothing may be asked for after it.
    fn tokens(&self, checked: &mut Checked) {
        let mut first: Option<(u64, usize)> = None;
        for group in self.grants.chunk_by(|one, other| one.token == other.token).rev() {
            let mut others = group.iter();
            let given = others.next().map(|grant| grant.at);
            others.for_each(|grant| checked.found(Kind::TokenTwice, grant.at, given));
            for grant in group {
                if let Some((_, other)) = first.filter(|(ret, _)| *ret < grant.call) {
                    checked.found(Kind::TokenOrder, grant.at, Some(other));
                }
            }
            first = group.iter().map(|grant| (grant.ret, grant.at)).chain(first).min();
        }
    }

    /// The same for versions, given and seen.
    fn real_time(&self, checked: &mut Checked) {
        let mut first: Option<(u64, usize)> = None;
        for group in self.touches.chunk_by(|one, other| one.version == other.version).rev() {
            let written = group.first().filter(|touch| !touch.reads);
            for touch in group {
                if let Some((_, other)) = first.filter(|(ret, _)| *ret < touch.call) {
                    let kind = if touch.reads { Kind::StaleRead } else { Kind::VersionOrder };
                    checked.found(kind, touch.at, Some(other));
                }
                let Some(write) = written.filter(|write| write.at != touch.at) else { continue };
                if !touch.reads {
                    checked.found(Kind::VersionTwice, touch.at, Some(write.at));
                } else if touch.ret < write.call {
                    checked.found(Kind::FutureRead, touch.at, Some(write.at));
                }
            }
            first = group.iter().map(|touch| (touch.ret, touch.at)).chain(first).min();
        }
    }

    /// Upwards, the highest token so far, and the write before.
    fn fence_and_bases(&self, checked: &mut Checked) {
        let mut fence: (u64, usize) = (0, 0);
        let mut before: Option<&Touch> = None;
        for group in self.touches.chunk_by(|one, other| one.version == other.version) {
            for touch in group.iter().filter(|touch| !touch.reads) {
                if touch.token != 0 && touch.token < fence.0 {
                    checked.found(Kind::BelowFence, touch.at, Some(fence.1));
                }
                let Some(base) = touch.base else { continue };
                if let Some(lost) = before.filter(|before| base < before.version) {
                    checked.found(Kind::LostUpdate, touch.at, Some(lost.at));
                }
                if base >= touch.version {
                    checked.found(Kind::FutureRead, touch.at, None);
                }
            }
            fence = group
                .iter()
                .map(|touch| (touch.token, touch.at))
                .fold(fence, |high, one| if one.0 > high.0 { one } else { high });
            before = group.first().filter(|touch| !touch.reads).or(before);
        }
    }

    /// Each version that was seen, and is not of a known write, needs a write with an unknown outcome that was called
    /// before; except one below all others, which was there from the start.
    fn origins(mut self, checked: &mut Checked) {
        let written = |version: u64| {
            let at = self.touches.partition_point(|touch| (touch.version, touch.reads) < (version, false));
            self.touches.get(at).is_some_and(|touch| touch.version == version && !touch.reads)
        };
        let mut seen: Vec<(u64, u64, usize)> = Vec::new();
        let mut before = 0;
        for group in self.touches.chunk_by(|one, other| one.version == other.version) {
            let known = group.first().is_some_and(|touch| !touch.reads);
            for touch in group {
                let version = if touch.reads { Some(touch.version).filter(|_| !known) } else { touch.base };
                // Nearly every base is the version before.
                if let Some(version) = version.filter(|version| *version != 0 && (touch.reads || *version != before))
                    && (touch.reads || !written(version))
                {
                    seen.push((version, touch.ret, touch.at));
                }
            }
            if known {
                before = group.first().map_or(before, |touch| touch.version);
            }
        }
        let lowest = self.touches.iter().find(|touch| !touch.reads).map_or(u64::MAX, |touch| touch.version);
        seen.sort_unstable();
        seen.dedup_by_key(|(version, ..)| *version);
        if seen.first().is_some_and(|(version, ..)| *version < lowest) {
            seen.remove(0);
        }
        seen.sort_unstable_by_key(|(_, ret, at)| (*ret, *at));
        self.unknown.sort_unstable();
        let mut calls = self.unknown.iter();
        for (_, ret, at) in seen {
            // Whoever was seen first needs the write that was called first; a late one can serve nobody earlier.
            if calls.as_slice().first().is_some_and(|call| *call <= ret) {
                calls.next();
            } else {
                checked.found(Kind::NobodysVersion, at, None);
            }
        }
    }
}
