//! An item and its attributes.
//!
//! | attribute | holds |
//! |---|---|
//! | `k` | the key |
//! | `ver` | the version; counts up for ever, so the item is never deleted |
//! | `len` | the value's length |
//! | `val` | the value, unless it is empty |
//! | `ends` | when the record ends, in milliseconds of the engine's time; there is a record if there is an end |
//! | `fence`, `lease` | number and lease id of the highest token that has touched the key |

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use stanchion_core::{FencingToken, Record, Version};

use super::fault::Fault;
use super::link::Item;

/// The end of a record that does not end: the last millisecond of the year 9999. So that one comparison tells whether there is a
/// record now, whatever it is.
pub(super) const NEVER: u64 = 253_402_300_799_999;

/// An item as it was read.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) version: Option<Version>,
    pub(super) fence: Option<FencingToken>,
    pub(super) ends: Option<u64>,
    /// The value's length, if there is a record.
    length: Option<u64>,
    value: Bytes,
}

impl Row {
    pub(super) fn read(mut item: Item) -> Result<Self, Fault> {
        let value = match item.remove("val") {
            Some(AttributeValue::B(blob)) => Bytes::from(blob.into_inner()),
            None => Bytes::new(),
            Some(_) => return Err(Fault::Garbled("val")),
        };
        let fence = match (read_number(&item, "fence")?, item.get("lease")) {
            (None, None) => None,
            (Some(number), Some(AttributeValue::S(lease))) => {
                let nonce = u64::from_str_radix(lease, 16).map_err(|_| Fault::Garbled("lease"))?;
                Some(FencingToken::from_parts(number, nonce))
            }
            _ => return Err(Fault::Garbled("fence")),
        };
        let (length, version) = (read_number(&item, "len")?, read_number(&item, "ver")?.map(Version::new));
        if length.is_some() && version.is_none() {
            return Err(Fault::Garbled("ver"));
        }
        let ends = read_number(&item, "ends")?;
        if length.is_some() != ends.is_some() {
            return Err(Fault::Garbled("ends"));
        }
        Ok(Self { version, fence, ends, length, value })
    }

    /// The same without the value's bytes, to be kept for a while.
    pub(super) fn without_value(self) -> Self {
        Self { value: Bytes::new(), ..self }
    }

    /// There was a record, and it has ended.
    pub(super) fn ended(&self, now_ms: u64) -> bool {
        self.length.is_some() && self.ends.is_some_and(|ends| ends <= now_ms)
    }

    /// The version of the record, if there is one.
    pub(super) fn live(&self, now_ms: u64) -> Option<Version> {
        self.version.filter(|_| self.length.is_some() && !self.ended(now_ms))
    }

    pub(super) fn record(self, now_ms: u64) -> Result<Option<Record>, Fault> {
        let Some(version) = self.live(now_ms) else { return Ok(None) };
        if self.length != u64::try_from(self.value.len()).ok() {
            return Err(Fault::Garbled("len"));
        }
        Ok(Some(Record { value: self.value, version, fence: self.fence, times: None }))
    }
}

fn read_number(item: &Item, name: &'static str) -> Result<Option<u64>, Fault> {
    match item.get(name) {
        None => Ok(None),
        Some(AttributeValue::N(text)) => text.parse().map(Some).map_err(|_| Fault::Garbled(name)),
        Some(_) => Err(Fault::Garbled(name)),
    }
}

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(super) fn binary(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(parts: &[(&str, AttributeValue)]) -> Item {
        parts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn a_record_is_there_until_it_ends() {
        let full = item(&[("ver", number(7)), ("len", number(2)), ("val", binary(b"hi")), ("ends", number(100))]);
        let record = Row::read(full.clone()).unwrap().record(99).unwrap().unwrap();
        assert_eq!((&record.value[..], record.version), (&b"hi"[..], Version::new(7)));
        assert!(Row::read(full.clone()).unwrap().ended(100));
        assert_eq!(Row::read(full).unwrap().record(100).unwrap(), None);
        let empty = item(&[("ver", number(7)), ("len", number(0)), ("ends", number(NEVER))]);
        assert!(Row::read(empty).unwrap().record(NEVER - 1).unwrap().unwrap().value.is_empty());
        assert_eq!(Row::read(item(&[("ver", number(7))])).unwrap().record(0).unwrap(), None, "deleted");
    }

    #[test]
    fn what_we_did_not_write_is_damage() {
        for parts in [
            &[("ver", text("x"))][..],
            &[("len", number(1)), ("ends", number(NEVER))],
            &[("ver", number(7)), ("len", number(1))],
            &[("ver", number(7)), ("ends", number(NEVER))],
            &[("fence", number(1))],
            &[("fence", number(1)), ("lease", text("zz"))],
            &[("ver", AttributeValue::N("1.5".to_owned()))],
            &[("val", text("x"))],
        ] {
            assert!(matches!(Row::read(item(parts)), Err(Fault::Garbled(_))), "{parts:?}");
        }
        let cut = item(&[("ver", number(7)), ("len", number(3)), ("val", binary(b"hi")), ("ends", number(NEVER))]);
        assert!(Row::read(cut).unwrap().record(0).is_err());
    }
}
