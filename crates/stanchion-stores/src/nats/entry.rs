//! One message of the bucket: what stands under a key, or that nothing does.

use async_nats::HeaderMap;
use bytes::Bytes;
use stanchion_core::{FencingToken, Record, Version};

/// Ours: fence, ttl, and what a `touch` keeps of the record that it carries on.
const OURS: &str = "Stanchion";
/// The mark of a deleted key, as all clients of NATS write and read it.
const OPERATION: &str = "KV-Operation";
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";

/// What is known of a key without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The message's sequence number; 0 if there is none.
    pub(super) seq: u64,
    /// The record's version; `None` if there is no record. A `touch` writes a new message and leaves it.
    pub(super) version: Option<u64>,
    pub(super) fence: Option<FencingToken>,
    /// When the record was written, by the server's clock, and how long it lives; both in milliseconds.
    pub(super) lives: Option<Lives>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lives {
    pub(super) written_ms: u64,
    pub(super) ttl_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Entry {
    pub(super) head: Head,
    pub(super) value: Bytes,
}

impl Entry {
    pub(super) fn record(&self) -> Option<Record> {
        let version = Version::new(self.head.version?);
        Some(Record { value: self.value.clone(), version, fence: self.head.fence, times: None })
    }
}

impl Head {
    /// From a message with these headers; `None` if they are not readable.
    pub(super) fn read<'a>(seq: u64, time_ms: u64, header: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let mut head = Self { seq, version: Some(seq), fence: None, lives: None };
        let (mut ttl, mut written) = (None, time_ms);
        for field in header(OURS).unwrap_or_default().split_ascii_whitespace() {
            match field.split_once('=')? {
                ("fence", token) => head.fence = Some(token.parse().ok()?),
                ("ttl", ms) => ttl = Some(ms.parse().ok()?),
                ("version", number) => head.version = Some(number.parse().ok()?),
                ("written", ms) => written = ms.parse().ok()?,
                _ => return None,
            }
        }
        head.lives = ttl.map(|ttl_ms| Lives { written_ms: written, ttl_ms });
        if header(OPERATION).is_some() {
            (head.version, head.lives) = (None, None);
        }
        Some(head)
    }

    /// Is the record over at `now_ms` of the server's clock?
    pub(super) fn over(&self, now_ms: u64) -> bool {
        self.lives.is_some_and(|lives| now_ms >= lives.written_ms.saturating_add(lives.ttl_ms))
    }

    /// The same without the record.
    pub(super) const fn emptied(self) -> Self {
        Self { version: None, lives: None, ..self }
    }
}

/// What a write puts in the place of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// A new record, with its ttl in milliseconds.
    Put(Bytes, Option<u64>),
    /// No record.
    Gone,
    /// The same record under a higher fence.
    Touched(Bytes, u64, Option<Lives>),
}

impl Next {
    /// The message, in the place of the one with the number `expected`.
    pub(super) fn message(self, expected: u64, fence: Option<FencingToken>) -> (HeaderMap, Bytes) {
        let mut fields = Vec::new();
        if let Some(fence) = fence {
            fields.push(format!("fence={fence}"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, expected.to_string());
        let value = match self {
            Self::Put(value, ttl) => {
                fields.extend(ttl.map(|ms| format!("ttl={ms}")));
                value
            }
            Self::Gone => {
                headers.insert(OPERATION, "DEL");
                Bytes::new()
            }
            Self::Touched(value, version, lives) => {
                fields.push(format!("version={version}"));
                if let Some(Lives { written_ms, ttl_ms }) = lives {
                    fields.push(format!("ttl={ttl_ms} written={written_ms}"));
                }
                value
            }
        };
        if !fields.is_empty() {
            headers.insert(OURS, fields.join(" "));
        }
        (headers, value)
    }
}

/// Looks a header up in the block that JetStream stores: `NATS/1.0`, then a line each.
pub(super) fn in_block<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found == name).then(|| value.trim())
    })
}

/// Milliseconds since 1970 of a time as JetStream writes it: `2026-11-15T22:58:13.550139077Z`.
pub(super) fn milliseconds(time: &str) -> Option<u64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<u64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(str::parse::<u64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let fraction: u64 = digits.parse().ok()?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(next: Next, fence: Option<FencingToken>) -> Head {
        let (headers, _) = next.message(4, fence);
        assert_eq!(headers.get(EXPECTED).unwrap().as_str(), "4");
        Head::read(5, 900, |name| headers.get(name).map(|value| value.as_str())).unwrap()
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let fence = Some(FencingToken::from_parts(7, 9));
        let plain = back(Next::Put("v".into(), None), None);
        assert_eq!(plain, Head { seq: 5, version: Some(5), fence: None, lives: None });
        let lives = Some(Lives { written_ms: 900, ttl_ms: 50 });
        assert_eq!(back(Next::Put("v".into(), Some(50)), fence), Head { fence, lives, ..plain });
        assert_eq!(back(Next::Gone, fence), Head { seq: 5, version: None, fence, lives: None });
        let earlier = Some(Lives { written_ms: 800, ttl_ms: 50 });
        let touched = back(Next::Touched("v".into(), 3, earlier), fence);
        assert_eq!(touched, Head { seq: 5, version: Some(3), fence, lives: earlier });
        assert!(touched.over(850) && !touched.over(849) && !plain.over(u64::MAX));
    }

    #[test]
    fn foreign_words_in_our_header_are_damage() {
        for text in ["fence=x", "nonsense", "colour=red", "ttl=-1"] {
            assert_eq!(Head::read(1, 0, |name| (name == OURS).then_some(text)), None, "{text}");
        }
    }

    #[test]
    fn headers_are_found_in_the_stored_block() {
        let block = "NATS/1.0\r\nKV-Operation: DEL\r\nStanchion: fence=1-0000000000000002\r\n\r\n";
        assert_eq!(in_block(block, "KV-Operation"), Some("DEL"));
        assert_eq!(in_block(block, "Nats"), None);
    }

    #[test]
    fn times_are_counted_from_1970() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T00:00:00.5Z", 951_782_400_500),
            ("2026-11-15T22:58:13.550139077Z", 1_794_783_493_550),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
        ] {
            assert_eq!(milliseconds(text), Some(ms), "{text}");
        }
        assert_eq!(milliseconds("0001-01-01T00:00:00Z"), None);
        assert_eq!(milliseconds("yesterday"), None);
    }
}
