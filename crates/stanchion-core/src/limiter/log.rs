//! The limiter's record.
//!
//! Layout: magic, generation, removed, writer; then numbers in base 128: the permits of this very write, and for
//! each run of earlier ones the time since the run before (the first since 0) and their count. A permit costs about
//! two bytes, so the largest log is some 40 kB.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::window::{PERMITS_MAX, Window};
use crate::{Error, ErrorKind, Key, Record, Result};

const MAGIC: &[u8; 4] = b"stl1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Log {
    /// Drawn when the record begins: without a clock, two records of one key must not be taken for one.
    pub(super) generation: u64,
    /// How many permits have ended and left the log.
    pub(super) removed: u64,
    /// Who wrote this version: a lost answer is resolved by it.
    pub(super) writer: u64,
    /// Permits of this version's own writer. They count from the time at which the *store* wrote it.
    pub(super) fresh: u32,
    /// Earlier permits: the store's time, and how many.
    pub(super) runs: Vec<(u64, u32)>,
}

impl Log {
    pub(super) const fn new(generation: u64) -> Self {
        Self { generation, removed: 0, writer: 0, fresh: 0, runs: Vec::new() }
    }

    /// How many permits were ever taken, this one's successor's not counted.
    pub(super) fn total(&self) -> u64 {
        self.removed + u64::from(self.fresh) + self.runs.iter().map(|(_, count)| u64::from(*count)).sum::<u64>()
    }

    /// The log after `fresh` more permits, where `window` holds what of this one still counts.
    pub(super) fn followed_by(&self, writer: u64, window: &Window, fresh: u32) -> Self {
        let removed = self.total() - u64::from(window.used());
        Self { generation: self.generation, removed, writer, fresh, runs: window.runs().iter().copied().collect() }
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(36 + 4 * self.runs.len());
        out.put_slice(MAGIC);
        for number in [self.generation, self.removed, self.writer] {
            out.put_u64(number);
        }
        put_number(&mut out, u64::from(self.fresh));
        let mut before = 0;
        for (at, count) in &self.runs {
            put_number(&mut out, at - before);
            put_number(&mut out, u64::from(*count));
            before = *at;
        }
        out.freeze()
    }

    pub(super) fn decode(key: &Key, record: &Record) -> Result<Self> {
        Self::parse(&record.value).ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "the limiter's record is not readable")
                .with("key", key)
                .hint("it ends by itself one window after its last write")
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (generation, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
        let (removed, rest) = rest.split_first_chunk::<8>()?;
        let (writer, mut rest) = rest.split_first_chunk::<8>()?;
        let mut log = Self::new(u64::from_be_bytes(*generation));
        log.removed = u64::from_be_bytes(*removed);
        log.writer = u64::from_be_bytes(*writer);
        log.fresh = u32::try_from(take_number(&mut rest)?).ok()?;
        let (mut before, mut permits) = (0_u64, u64::from(log.fresh));
        while !rest.is_empty() {
            let at = before.checked_add(take_number(&mut rest)?)?;
            let count = u32::try_from(take_number(&mut rest)?).ok().filter(|count| *count > 0)?;
            permits += u64::from(count);
            log.runs.push((at, count));
            before = at;
        }
        let sane = permits <= u64::from(PERMITS_MAX) && log.removed.checked_add(permits).is_some();
        // Times of a clock that has run for less than ten thousand years, so that sums cannot overflow.
        (sane && before < 1 << 48).then_some(log)
    }
}

fn put_number(out: &mut BytesMut, mut number: u64) {
    while number >= 0x80 {
        out.put_u8(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.put_u8(u8::try_from(number).unwrap_or(0));
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back_as_it_was_written() {
        let log = Log {
            generation: 7,
            removed: 12,
            writer: 9,
            fresh: 3,
            runs: vec![(1_790_000_000_000, 2), (1_790_000_000_900, 400)],
        };
        assert_eq!(Log::parse(&log.encode()), Some(log));
        assert_eq!(Log::parse(&Log::new(1).encode()), Some(Log::new(1)));
    }

    #[test]
    fn no_bytes_at_all_make_it_panic_and_nonsense_is_refused() {
        let good = Log { generation: 7, removed: 1, writer: 9, fresh: 3, runs: vec![(1_790_000_000_000, 2)] }.encode();
        for cut in 0..good.len() {
            assert!(Log::parse(&good[..cut]).is_none_or(|log| log.runs.is_empty()), "cut at {cut}");
        }
        let too_many = Log { fresh: 10_001, ..Log::new(1) };
        let beyond_time = Log { runs: vec![(1 << 50, 1)], ..Log::new(1) };
        let no_permit = Log { runs: vec![(5, 0)], ..Log::new(1) };
        for bad in [too_many, beyond_time, no_permit, Log { removed: u64::MAX, fresh: 1, ..Log::new(1) }] {
            assert_eq!(Log::parse(&bad.encode()), None, "{bad:?}");
        }
        assert_eq!(Log::parse(&[&good[..], &[0x80; 12]].concat()), None);
        assert_eq!(Log::parse(b"something else"), None);
    }

    #[test]
    fn the_largest_log_stays_small() {
        let runs = (0..10_000).map(|n| (1_790_000_000_000 + n * 8640, 1)).collect();
        assert!(Log { runs, ..Log::new(1) }.encode().len() < 45_000);
    }
}
