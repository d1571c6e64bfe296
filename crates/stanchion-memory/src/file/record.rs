//! What the last writer left to be known: which file it was, how far it was whole, and what was going on.
//!
//! Whoever finds the file as the record says knows that only our own writers have touched it, and in which way. Everybody else
//! reads it anew. Before something is added, the record holds what: a file that ends with a part of exactly that was left by a writer
//! that died, and the part belongs to nobody; a file that ends with all of it is whole; and any other was changed by a stranger, or has
//! outlived the record.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) phase: Phase,
    /// Two states with the same number differ only by what was added at the end.
    pub(super) chain: u64,
    /// `None`: there was no file.
    pub(super) stamp: Option<Stamp>,
    /// What is being added behind `stamp.size`.
    pub(super) added: Vec<u8>,
}

/// What a record says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vouched {
    /// It is whole up to here; what is behind that is a part of what is being added.
    Whole { chain: u64, size: u64 },
    /// It is another file, or was changed by somebody else.
    No,
}

const MAGIC: &[u8; 4] = b"stm2";
const HEAD: usize = 4 + 4 + 8 * 8;

impl Record {
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEAD];
        out[..4].copy_from_slice(MAGIC);
        out[4] = self.phase as u8;
        out[5] = u8::from(self.stamp.is_some());
        let Stamp { device, inode, size, modified_ns } = self.stamp.unwrap_or_default();
        let (length, sum) = (self.added.len() as u64, checksum(&self.added));
        for (nth, number) in [self.chain, device, inode, size, modified_ns, length, sum].into_iter().enumerate() {
            out[8 + nth * 8..16 + nth * 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&out[..HEAD - 8]);
        out[HEAD - 8..].copy_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&self.added);
        out
    }

    /// `None` if it is none, or was not written to its end.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD] = bytes.first_chunk()?;
        let number = |nth: usize| head[8 + nth * 8..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        if !head.starts_with(MAGIC) || number(7)? != checksum(&head[..HEAD - 8]) {
            return None;
        }
        let phase = match head[4] {
            0 => Phase::Settled,
            1 => Phase::Appending,
            _ => Phase::Replacing,
        };
        let added = bytes[HEAD..].get(..usize::try_from(number(5)?).ok()?)?.to_vec();
        if checksum(&added) != number(6)? {
            return None;
        }
        let stamp = Stamp { device: number(1)?, inode: number(2)?, size: number(3)?, modified_ns: number(4)? };
        Some(Self { phase, chain: number(0)?, stamp: (head[5] == 1).then_some(stamp), added })
    }

    /// The record in this file. `None` if there is none, or it is being written at this moment.
    pub(super) fn read(path: &Path) -> Option<Self> {
        Self::decode(&std::fs::read(path).ok()?)
    }

    /// What it says of the file as it is now.
    pub(super) fn vouches(&self, path: &Path, now: &Stamp) -> Vouched {
        let Some(stamp) = &self.stamp else { return Vouched::No };
        let whole = |size| Vouched::Whole { chain: self.chain, size };
        match self.phase {
            Phase::Settled | Phase::Replacing if stamp == now => whole(stamp.size),
            Phase::Appending if stamp.is_same_file(now) && now.size >= stamp.size => {
                let behind = usize::try_from(now.size - stamp.size).unwrap_or(usize::MAX);
                match self.added.get(..behind) {
                    Some(part) if piece(path, stamp.size, behind).is_ok_and(|tail| tail == part) => {
                        whole(if behind == self.added.len() { now.size } else { stamp.size })
                    }
                    _ => Vouched::No,
                }
            }
            _ => Vouched::No,
        }
    }
}

/// A piece of a file.
pub(super) fn piece(path: &Path, from: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::with_capacity(length);
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where the record is written.
#[derive(Debug)]
pub(super) struct Ledger(File);

impl Ledger {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map(Self)
    }

    pub(super) fn read(&self) -> Option<Record> {
        let mut head = [0; HEAD];
        self.read_at(&mut head, 0)?;
        // Nearly always that is all.
        if let Some(record) = Record::decode(&head) {
            return Some(record);
        }
        let mut bytes = vec![0; usize::try_from(self.0.metadata().ok()?.len()).ok()?];
        self.read_at(&mut bytes, 0)?;
        Record::decode(&bytes)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Option<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, at).ok();
        #[cfg(not(unix))]
        {
            let mut file = &self.0;
            file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes)).ok()
        }
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
            for (stamp, added) in [(stamp, vec![]), (None, vec![]), (stamp, b"what is added".to_vec())] {
                let record = Record { phase, chain: u64::MAX, stamp, added };
                let bytes = record.encode();
                assert_eq!(Record::decode(&bytes), Some(record));
                for cut in 0..bytes.len() {
                    assert_eq!(Record::decode(&bytes[..cut]), None, "{cut}");
                    let mut torn = bytes.clone();
                    torn[cut] ^= 1;
                    // The two bytes that stand for nothing are covered, too.
                    assert_eq!(Record::decode(&torn), None, "{cut}");
                }
            }
        }
    }

    #[test]
    fn a_record_vouches_for_a_part_of_what_is_added_for_all_of_it_and_for_nothing_else() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let now = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Stamp::at(file.path()).unwrap().unwrap()
        };
        let stamp = now("before\n");
        let record = |phase| Record { phase, chain: 7, stamp: Some(stamp), added: b"added\n".to_vec() };
        let says = |phase, now: &Stamp| record(phase).vouches(file.path(), now);
        let whole = |size| Vouched::Whole { chain: 7, size };
        assert_eq!(says(Phase::Settled, &stamp), whole(7));
        assert_eq!(says(Phase::Appending, &stamp), whole(7));
        for (text, vouched) in [
            ("before\nadd", whole(7)),
            ("before\nadded\n", whole(13)),
            ("before\nadded\nmore", Vouched::No),
            ("before\nothers", Vouched::No),
            ("befor", Vouched::No),
        ] {
            let now = now(text);
            assert_eq!(says(Phase::Appending, &now), vouched, "{text}");
            assert_eq!(says(Phase::Settled, &now), Vouched::No, "{text}");
            assert_eq!(says(Phase::Replacing, &now), Vouched::No, "{text}");
            assert_eq!(says(Phase::Appending, &Stamp { inode: 1, ..now }), Vouched::No, "{text}");
        }
    }
}
