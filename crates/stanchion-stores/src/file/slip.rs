//! What stands in a lock file: the fence counter and who holds, in checked blocks of 512 bytes.
//!
//! Block 0 is the head: the highest fence ever given and the exclusive holder. Blocks 1 to 3 hold the
//! whole key where the file's name is a hash. From block 4 on, one block per holder that shares the lock.
//! A block is one sector and inside one page, so a killed writer leaves the old or the new one; whatever
//! else is found there is damage, and is said.

use std::fs::File;
use std::io;
use std::time::Duration;

use stanchion_core::{Clock, FencingToken, Holder, Identity, Mode, SystemClock};

pub(super) const BLOCK: usize = 512;

/// The first block of the holders that share.
pub(super) const TABLE: u64 = 4;

const MAGIC: &[u8; 4] = b"STN1";
const FIXED: usize = 4 + 4 + 8 + 8 + 8 + 2;
const TEXT_MAX: usize = BLOCK - FIXED - 8;

/// How a file is held, according to its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Free,
    /// By one, who stands in the head.
    Alone,
    /// By those in the table.
    Together,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slip {
    pub(super) usage: Use,
    /// The number of slots, 0 where there are none.
    pub(super) slots: u32,
    /// In the head: the highest fence given. In the table: that holder's.
    pub(super) fence: u64,
    pub(super) nonce: u64,
    /// Milliseconds since boot; 0 where the system's clock cannot be compared between processes.
    pub(super) since_ms: u64,
    pub(super) identity: String,
}

impl Slip {
    pub(super) const fn free(fence: u64) -> Self {
        Self { usage: Use::Free, slots: 0, fence, nonce: 0, since_ms: 0, identity: String::new() }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let text = clip(&self.identity, TEXT_MAX);
        let usage = match self.usage {
            Use::Free => 0u32,
            Use::Alone => 1,
            Use::Together => 2 + self.slots,
        };
        let mut out = Vec::with_capacity(FIXED + text.len() + 8);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&usage.to_le_bytes());
        out.extend_from_slice(&self.fence.to_le_bytes());
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(&self.since_ms.to_le_bytes());
        out.extend_from_slice(&u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// `Ok(None)` where nothing was ever written.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<Self>, Damage> {
        if bytes.iter().all(|b| *b == 0) {
            return Ok(None);
        }
        let mut rest = Fields(bytes);
        if rest.take(4)? != MAGIC {
            return Err(Damage);
        }
        let usage = rest.u32()?;
        let (fence, nonce, since_ms) = (rest.u64()?, rest.u64()?, rest.u64()?);
        let text_len = usize::from(u16::from_le_bytes(rest.array()?));
        let text = rest.take(text_len)?;
        let sum = rest.u64()?;
        if checksum(&bytes[..FIXED + text_len]) != sum {
            return Err(Damage);
        }
        let (usage, slots) = match usage {
            0 => (Use::Free, 0),
            1 => (Use::Alone, 0),
            n => (Use::Together, n - 2),
        };
        let identity = String::from_utf8_lossy(text).into_owned();
        Ok(Some(Self { usage, slots, fence, nonce, since_ms, identity }))
    }

    pub(super) fn mode(&self) -> Mode {
        match (self.usage, self.slots) {
            (Use::Together, 0) => Mode::Shared,
            (Use::Together, n) => Mode::Slots(n),
            _ => Mode::Exclusive,
        }
    }

    pub(super) fn holder(&self) -> Holder {
        let mut holder = Holder::new(Identity::decode(&self.identity));
        holder.mode = self.mode();
        holder.fence = Some(FencingToken::from_parts(self.fence, self.nonce));
        holder.held_for = since(self.since_ms);
        holder
    }

    pub(super) fn read(file: &File, block: u64) -> io::Result<Result<Option<Self>, Damage>> {
        let mut bytes = [0; BLOCK];
        let read = read_at(file, &mut bytes, block * BLOCK as u64)?;
        Ok(Self::decode(&bytes[..read]))
    }

    pub(super) fn write(&self, file: &File, block: u64) -> io::Result<()> {
        write_at(file, &self.encode(), block * BLOCK as u64)
    }
}

/// The bytes are not what any version of ours wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage;

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Damage> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Damage)?;
        self.0 = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        self.take(N)?.try_into().map_err(|_| Damage)
    }
    fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Now, in a form that other processes of this machine can compare; 0 where there is none.
pub(super) fn now_ms() -> u64 {
    if cfg!(target_os = "linux") {
        u64::try_from(SystemClock.now().since_boot().as_millis()).unwrap_or(u64::MAX)
    } else {
        0
    }
}

/// How long ago; `None` where it cannot be told.
pub(super) fn since(then_ms: u64) -> Option<Duration> {
    (then_ms != 0).then(|| Duration::from_millis(now_ms().saturating_sub(then_ms)))
}

fn clip(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// FNV-1a: finds torn and flipped bytes; it is no defence against somebody who means harm, who could
/// rewrite the file as a whole.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(unix)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip() -> Slip {
        Slip {
            usage: Use::Together,
            slots: 3,
            fence: 57,
            nonce: 9,
            since_ms: 4,
            identity: Identity::new("ci-7", 4123).labelled("é").encode(),
        }
    }

    #[test]
    fn a_slip_reads_back() {
        assert_eq!(Slip::decode(&slip().encode()), Ok(Some(slip())));
        assert_eq!(Slip::decode(&Slip::free(7).encode()), Ok(Some(Slip::free(7))));
        assert_eq!(Slip::decode(&[]), Ok(None));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_damage() {
        let good = slip().encode();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Slip::decode(&bad), Err(Damage), "bit {bit}");
        }
        for cut in 1..good.len() {
            assert_eq!(Slip::decode(&good[..cut]), Err(Damage), "cut at {cut}");
        }
    }

    #[test]
    fn a_long_identity_still_fits_its_block() {
        let long = Slip { identity: "ü".repeat(600), ..slip() };
        assert!(long.encode().len() <= BLOCK);
    }
}
