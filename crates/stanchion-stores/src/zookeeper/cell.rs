//! What the node of a record holds.

use bytes::Bytes;
use stanchion_core::{FencingToken, Record, Times, Version};
use zookeeper_client::Stat;

const MARK: [u8; 2] = [b'S', 1];
const HEAD: usize = 2 + 1 + 5 * 8;
const PRESENT: u8 = 1;
const FENCED: u8 = 2;

/// A record, a fence, or both, as the node keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell {
    /// `None`: deleted, or never written.
    pub(super) value: Option<Bytes>,
    pub(super) fence: Option<FencingToken>,
    /// Zero for ever.
    pub(super) ttl_ms: u64,
    /// Version and time of the value, if the node was written again since, to raise its fence. Zero: those of the node.
    pub(super) version: u64,
    pub(super) written_ms: u64,
}

/// A node as it was read.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) cell: Cell,
    pub(super) version: u64,
    pub(super) written_ms: u64,
    /// The node's own count of writes. It starts again when the node is made again, so it means something only together
    /// with `epoch`: nodes are removed in one step with a change of that.
    pub(super) writes: i32,
    pub(super) epoch: i32,
}

impl Cell {
    pub(super) fn encode(&self) -> Vec<u8> {
        let value = self.value.as_deref().unwrap_or_default();
        let flags = u8::from(self.value.is_some()) * PRESENT + u8::from(self.fence.is_some()) * FENCED;
        let (number, nonce) = self.fence.map_or((0, 0), |fence| (fence.number(), fence.nonce()));
        let mut data = Vec::with_capacity(HEAD + value.len());
        data.extend(MARK);
        data.push(flags);
        for number in [self.ttl_ms, self.version, self.written_ms, number, nonce] {
            data.extend(number.to_be_bytes());
        }
        data.extend(value);
        data
    }

    /// `None` for what we have not written.
    pub(super) fn decode(data: Vec<u8>) -> Option<Self> {
        let head = data.get(..HEAD).filter(|head| head[..2] == MARK)?;
        let number = |at: usize| Some(u64::from_be_bytes(head.get(3 + 8 * at..11 + 8 * at)?.try_into().ok()?));
        let flags = head[2];
        let fence = FencingToken::from_parts(number(3)?, number(4)?);
        let cell = Self {
            value: None,
            fence: (flags & FENCED != 0).then_some(fence),
            ttl_ms: number(0)?,
            version: number(1)?,
            written_ms: number(2)?,
        };
        let value = (flags & PRESENT != 0).then(|| Bytes::from(data).slice(HEAD..));
        Some(Self { value, ..cell })
    }
}

impl Seen {
    pub(super) fn new(data: Vec<u8>, stat: &Stat, epoch: i32) -> Option<Self> {
        let cell = Cell::decode(data)?;
        let own = |kept: u64, node: i64| if kept == 0 { u64::try_from(node).ok() } else { Some(kept) };
        let (version, written_ms) = (own(cell.version, stat.mzxid)?, own(cell.written_ms, stat.mtime)?);
        Some(Self { cell, version, written_ms, writes: stat.version, epoch })
    }

    /// When it ends by itself, by the engine's clock.
    pub(super) fn ends_ms(&self) -> Option<u64> {
        (self.cell.ttl_ms > 0).then(|| self.written_ms.saturating_add(self.cell.ttl_ms))
    }

    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.cell.value.is_some() && self.ends_ms().is_none_or(|end| now_ms < end)
    }

    /// The same with another fence. Version and time stay those of the value.
    pub(super) fn fenced(&self, fence: FencingToken, now_ms: u64) -> Cell {
        let fence = Some(fence);
        if !self.is_live(now_ms) {
            return Cell { fence, ..Cell::default() };
        }
        Cell { fence, version: self.version, written_ms: self.written_ms, ..self.cell.clone() }
    }

    pub(super) fn record(&self, now_ms: u64) -> Option<Record> {
        let value = self.cell.value.clone().filter(|_| self.is_live(now_ms))?;
        let times = Times { written_ms: self.written_ms, now_ms: now_ms.max(self.written_ms) };
        Some(Record { value, version: Version::new(self.version), fence: self.cell.fence, times: Some(times) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_as_it_was_written() {
        let fence = Some(FencingToken::from_parts(7, 9));
        for value in [None, Some(Bytes::new()), Some(Bytes::from_static(b"v"))] {
            for fence in [None, fence] {
                let cell = Cell { value: value.clone(), fence, ttl_ms: 3, version: 4, written_ms: 5 };
                assert_eq!(Cell::decode(cell.encode()), Some(cell));
            }
        }
        assert_eq!(Cell::decode(b"foreign data".to_vec()), None);
    }
}
