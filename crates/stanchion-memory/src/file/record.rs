//! What the last writer left to be known: which file it was, how far it was whole, and what was going on.
//!
//! Whoever finds the file as the record says knows that only our own writers have touched it, and in which way. Everybody else
//! reads it anew. The record is never needed to understand the file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::disk::Disk;

/// Which file, and how it was: another stamp is another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified_ns: u64,
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let modified_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        #[cfg(unix)]
        let (device, inode) = (std::os::unix::fs::MetadataExt::dev(meta), std::os::unix::fs::MetadataExt::ino(meta));
        // A file that is open cannot be replaced there; one that was, was created at another time.
        #[cfg(not(unix))]
        let (device, inode) = {
            let created = meta.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            (0, u64::try_from(created.as_nanos()).unwrap_or(u64::MAX))
        };
        Self { device, inode, size: meta.len(), modified_ns }
    }

    /// The file under this name; `None` if there is none.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(meta) => Ok(Some(Self::of(&meta))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// What the writer was doing when it wrote the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: the file is as the stamp says.
    Settled,
    /// Something is being added behind `stamp.size`.
    Appending,
    /// It is being replaced, or cut.
    Replacing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) phase: Phase,
    /// Two states with the same number differ only by what was added at the end.
    pub(super) chain: u64,
    /// `None`: there was no file.
    pub(super) stamp: Option<Stamp>,
}

const MAGIC: &[u8; 4] = b"stm1";
const LENGTH: usize = 4 + 4 + 6 * 8;

impl Record {
    fn encode(&self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        out[..4].copy_from_slice(MAGIC);
        out[4] = self.phase as u8;
        out[5] = u8::from(self.stamp.is_some());
        let Stamp { device, inode, size, modified_ns } = self.stamp.unwrap_or_default();
        for (nth, number) in [self.chain, device, inode, size, modified_ns].into_iter().enumerate() {
            out[8 + nth * 8..16 + nth * 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&out[..LENGTH - 8]);
        out[LENGTH - 8..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let number = |nth: usize| bytes[8 + nth * 8..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        if !bytes.starts_with(MAGIC) || number(5)? != checksum(&bytes[..LENGTH - 8]) {
            return None;
        }
        let phase = match bytes[4] {
            0 => Phase::Settled,
            1 => Phase::Appending,
            _ => Phase::Replacing,
        };
        let stamp = Stamp { device: number(1)?, inode: number(2)?, size: number(3)?, modified_ns: number(4)? };
        Some(Self { phase, chain: number(0)?, stamp: (bytes[5] == 1).then_some(stamp) })
    }

    /// The record in this file. `None` if there is none, or it is being written at this moment.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let mut bytes = Vec::with_capacity(LENGTH);
        File::open(path).ok()?.take(LENGTH as u64 + 1).read_to_end(&mut bytes).ok()?;
        Self::decode(&bytes)
    }

    /// Whether it speaks of the file as it is: then by which number, and how far.
    pub(super) fn vouches(&self, now: &Stamp) -> Option<(u64, u64)> {
        let stamp = self.stamp.as_ref()?;
        let is_it = match self.phase {
            Phase::Settled | Phase::Replacing => stamp == now,
            Phase::Appending => stamp.is_same_file(now) && now.size >= stamp.size,
        };
        is_it.then_some((self.chain, stamp.size))
    }
}

/// Where the record is written.
#[derive(Debug)]
pub(super) struct Ledger(File);

impl Ledger {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map(Self)
    }

    pub(super) fn read(&self) -> Option<Record> {
        let mut bytes = [0; LENGTH];
        #[cfg(unix)]
        std::os::unix::fs::FileExt::read_exact_at(&self.0, &mut bytes, 0).ok()?;
        #[cfg(not(unix))]
        {
            use std::io::Seek as _;
            let mut file = &self.0;
            file.seek(io::SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut bytes)).ok()?;
        }
        Record::decode(&bytes)
    }

    pub(super) fn write(&self, disk: &Disk, record: &Record) -> io::Result<()> {
        disk.overwrite(&self.0, &record.encode())
    }
}

/// FNV-1a: enough to tell a record from half a record.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_half_a_record_is_none() {
        let stamp = Some(Stamp { device: 1, inode: 2, size: 3, modified_ns: 4 });
        for phase in [Phase::Settled, Phase::Appending, Phase::Replacing] {
            for stamp in [stamp, None] {
                let record = Record { phase, chain: u64::MAX, stamp };
                let bytes = record.encode();
                assert_eq!(Record::decode(&bytes), Some(record));
                let torn: Vec<u8> = bytes.iter().enumerate().map(|(at, b)| if at < 20 { *b } else { b ^ 1 }).collect();
                assert_eq!(Record::decode(&torn), None);
                assert_eq!(Record::decode(&bytes[..LENGTH - 1]), None);
            }
        }
    }

    #[test]
    fn a_record_vouches_for_what_is_behind_it_only_while_something_is_added() {
        let stamp = Stamp { device: 1, inode: 2, size: 10, modified_ns: 4 };
        let grown = Stamp { size: 12, modified_ns: 5, ..stamp };
        let record = |phase| Record { phase, chain: 7, stamp: Some(stamp) };
        assert_eq!(record(Phase::Settled).vouches(&stamp), Some((7, 10)));
        assert_eq!(record(Phase::Settled).vouches(&grown), None);
        assert_eq!(record(Phase::Appending).vouches(&grown), Some((7, 10)));
        assert_eq!(record(Phase::Appending).vouches(&Stamp { size: 9, ..stamp }), None);
        assert_eq!(record(Phase::Appending).vouches(&Stamp { inode: 3, ..grown }), None);
        assert_eq!(record(Phase::Replacing).vouches(&grown), None);
    }
}
