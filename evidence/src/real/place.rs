//! What the holders of locks read and write: a number that grows by one, and who made it so.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use stanchion_core::{Cond, Error, ErrorKind, FencingToken, Record, RecordStore, Result};

use super::orders::{Chain, Orders, Protected};

/// A value in a file has this length, so that each write replaces all of the one before.
const WIDTH: usize = 64;

#[derive(Debug, Clone)]
pub(super) enum Place {
    Records(Arc<dyn RecordStore>),
    Files(PathBuf),
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) number: u64,
    /// Who wrote it; `-` before the first write.
    pub(super) who: String,
    pub(super) version: u64,
}

impl Place {
    pub(super) async fn open(orders: &Orders, records: Option<Arc<dyn RecordStore>>) -> Result<Self> {
        let missing = || Error::new(ErrorKind::Unsupported, "this store has no records");
        Ok(match &orders.protected {
            Protected::Records => Self::Records(records.ok_or_else(missing)?),
            Protected::Elsewhere(url) => Self::Records(stanchion_stores::open(url).await?.records.ok_or_else(missing)?),
            Protected::Files => Self::Files(orders.files()),
        })
    }

    /// Reads under a fence, which the read raises; without one, just reads.
    pub(super) async fn read(&self, orders: &Orders, chain: Chain, token: Option<&FencingToken>) -> Result<Seen> {
        match self {
            Self::Records(records) => {
                let key = orders.data(chain)?;
                let found = match token {
                    Some(token) => records.touch(&key, token).await?,
                    None => records.get(&key).await?,
                };
                found.as_ref().map_or_else(|| Ok(Seen::nothing()), of_record)
            }
            Self::Files(folder) => {
                let mut bytes = [0; WIDTH];
                let read = file(folder, chain).and_then(|file| file.read_at(&mut bytes, 0));
                match read.map_err(broken)? {
                    0 => Ok(Seen::nothing()),
                    length => {
                        let (number, who) = parse(&bytes[..length]).ok_or_else(damaged)?;
                        Ok(Seen { number, who, version: number })
                    }
                }
            }
        }
    }

    /// Writes the successor of what was seen, under the fence that has touched it.
    pub(super) async fn write(
        &self,
        orders: &Orders,
        chain: Chain,
        seen: &Seen,
        who: &str,
        token: &FencingToken,
    ) -> Result<u64> {
        match self {
            Self::Records(records) => {
                let key = orders.data(chain)?;
                let written = records.put(&key, next(seen, who), Cond::Fence(*token), None).await;
                written.map(stanchion_core::Version::get)
            }
            Self::Files(folder) => self.to_file(folder, chain, seen, who),
        }
    }

    /// Writes whatever is there now: the control's way. A store has no such write, so it is made of two requests.
    pub(super) async fn overwrite(&self, orders: &Orders, chain: Chain, seen: &Seen, who: &str) -> Result<u64> {
        let records = match self {
            Self::Records(records) => records,
            Self::Files(folder) => return self.to_file(folder, chain, seen, who),
        };
        let key = orders.data(chain)?;
        loop {
            let cond = records.get(&key).await?.map_or(Cond::Absent, |record| Cond::Version(record.version));
            match records.put(&key, next(seen, who), cond, None).await {
                Err(e) if e.kind() == ErrorKind::Conflict => {}
                written => return written.map(stanchion_core::Version::get),
            }
        }
    }

    fn to_file(&self, folder: &std::path::Path, chain: Chain, seen: &Seen, who: &str) -> Result<u64> {
        let mut bytes = next(seen, who).to_vec();
        bytes.resize(WIDTH, b' ');
        file(folder, chain).and_then(|file| file.write_all_at(&bytes, 0)).map_err(broken)?;
        Ok(seen.number + 1)
    }
}

impl Seen {
    fn nothing() -> Self {
        Self { number: 0, who: "-".to_owned(), version: 0 }
    }

    /// From a value alone.
    pub(super) fn of_value(value: Option<&[u8]>) -> Result<Self> {
        value.map_or_else(
            || Ok(Self::nothing()),
            |value| parse(value).map(|(number, who)| Self { number, who, version: 0 }).ok_or_else(damaged),
        )
    }
}

/// The value that follows `seen`.
pub(super) fn next(seen: &Seen, who: &str) -> Bytes {
    format!("{} {who}", seen.number + 1).into()
}

fn of_record(record: &Record) -> Result<Seen> {
    let (number, who) = parse(&record.value).ok_or_else(damaged)?;
    Ok(Seen { number, who, version: record.version.get() })
}

fn parse(value: &[u8]) -> Option<(u64, String)> {
    let mut words = std::str::from_utf8(value).ok()?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.to_owned()))
}

fn file(folder: &std::path::Path, chain: Chain) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(folder.join(chain.word()))
}

fn damaged() -> Error {
    Error::new(ErrorKind::Damaged, "not a number and its writer")
}

fn broken(e: std::io::Error) -> Error {
    Error::new(ErrorKind::Unexpected, "a protected file cannot be used").because(e)
}
