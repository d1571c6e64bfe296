//! The record of a key: somebody's turn, or the value that a turn ended with.
//!
//! No absolute time is stored, only how long a turn lasts without renewal: whoever reads subtracts the record's age.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Error, ErrorKind, Identity, Key, Owner, Record, Result, VALUE_MAX_BYTES};

const MAGIC: &[u8; 4] = b"stt1";
/// Magic, kind, owner.
const HEADER: usize = 4 + 1 + 16;

/// The largest value that fits into a record together with its header.
pub(super) const VALUE_MOST: usize = VALUE_MAX_BYTES - HEADER;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Somebody is at work, for `lease` after the record was written.
    Busy { owner: Owner, lease: Duration, identity: Identity },
    /// What the work of `owner` came to. The owner tells a writer whose answer was lost that this is its own.
    Value { owner: Owner, value: Bytes },
}

impl State {
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_slice(MAGIC);
        match self {
            Self::Busy { owner, lease, identity } => {
                out.put_u8(b'b');
                out.put_u128(owner.to_bits());
                out.put_u64(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
                out.put_slice(identity.encode().as_bytes());
            }
            Self::Value { owner, value } => {
                out.put_u8(b'v');
                out.put_u128(owner.to_bits());
                out.put_slice(value);
            }
        }
        out.freeze()
    }

    pub(super) fn decode(key: &Key, record: &Record) -> Result<Self> {
        Self::parse(&record.value).ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "the record is not readable")
                .with("key", key)
                .hint("`forget` removes it, and the next caller starts anew")
        })
    }

    fn parse(record: &Bytes) -> Option<Self> {
        if record.len() < HEADER || !record.starts_with(MAGIC) {
            return None;
        }
        let owner = Owner::from_bits(u128::from_be_bytes(record[5..HEADER].try_into().ok()?));
        let rest = record.slice(HEADER..);
        match record[4] {
            b'v' => Some(Self::Value { owner, value: rest }),
            b'b' => {
                let (lease, identity) = rest.split_at_checked(8)?;
                let lease = Duration::from_millis(u64::from_be_bytes(lease.try_into().ok()?));
                Some(Self::Busy { owner, lease, identity: Identity::decode(std::str::from_utf8(identity).ok()?) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    fn record(value: impl Into<Bytes>) -> Record {
        Record { value: value.into(), version: Version::new(1), fence: None, times: None }
    }

    #[test]
    fn both_kinds_come_back_as_they_were() {
        let key = Key::new("a").unwrap();
        let owner = Owner::from_bits(7 << 64 | 9);
        let busy = State::Busy { owner, lease: Duration::from_millis(250), identity: Identity::new("ci-7", 41) };
        for state in [busy, State::Value { owner, value: "v".into() }, State::Value { owner, value: Bytes::new() }] {
            assert_eq!(State::decode(&key, &record(state.encode())).unwrap(), state);
        }
    }

    #[test]
    fn every_cut_or_foreign_record_is_damaged_and_none_panics() {
        let key = Key::new("a").unwrap();
        let busy = State::Busy { owner: Owner::from_bits(1), lease: Duration::MAX, identity: Identity::new("h", 1) };
        let whole = busy.encode();
        for cut in 0..HEADER + 8 {
            let e = State::decode(&key, &record(whole.slice(..cut))).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Damaged, "{cut} bytes");
        }
        let foreign = State::decode(&key, &record("what a stranger wrote here, long enough")).unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::Damaged);
    }
}
