//! Records on a shared file system, by compare-and-swap on file **names**.
//!
//! Each key has a folder; each change is a new file in it, named by its revision; the highest revision is
//! the state. Revision n+1 is made complete under a name of its own and then *linked* to its place.
//!
//! Why two never win: `link` fails on the server if the name exists, so of all who saw revision n exactly
//! one makes n+1, however old the view is that their caches showed them. Old revisions are removed, but the
//! newest [`KEPT`] stay, so whoever was paused that long and links into the cleaned-up past finds a
//! revision far above its own afterwards, and says that it does not know. Readers never see such a file:
//! only the highest counts.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Hold, Key, Owner, Page, Purpose, Record, RecordStore, Result,
    Survives, Version, refused,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lockfile::{Dir, private, trouble};
use super::name;
use super::slip::checksum;

/// How many revisions of a key stay.
const KEPT: u64 = 64;

/// How often a waiter looks: there is no bell on a network file system.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

#[derive(Debug, Clone)]
pub(super) struct Versions {
    dir: Arc<Dir>,
}

/// What a revision says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    /// The version of the value; the revision itself also moves when only the fence does.
    version: u64,
    fence: Option<FencingToken>,
    value: Option<Bytes>,
}

impl Versions {
    pub(super) fn open(folder: &Path, sync: bool) -> Result<Self> {
        let this = Self { dir: Arc::new(Dir::open(folder, sync)?) };
        this.check_links()?;
        Ok(this)
    }

    /// Everything here rests on `link`, so better no store than one on a file system without it.
    fn check_links(&self) -> Result<()> {
        let mark = Owner::random().to_hex();
        let (from, to) = (self.dir.path.join(format!(".probe-{mark}")), self.dir.path.join(format!(".link-{mark}")));
        let linked =
            File::create_new(&from).and_then(|_| std::fs::hard_link(&from, &to)).and_then(
                |()| match std::fs::hard_link(&from, &to) {
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    Err(e) => Err(e),
                    Ok(()) => Err(io::Error::other("a link replaced another file")),
                },
            );
        std::fs::remove_file(&from).ok();
        std::fs::remove_file(&to).ok();
        linked.map_err(|e| {
            Error::new(ErrorKind::Unsupported, "this file system has no exclusive hard links, so it cannot keep locks")
                .with("path", self.dir.path.display())
                .hint("use a local disk, or a server such as redis: or postgres:")
                .because(e)
        })
    }

    fn folder(&self, key: &Key) -> PathBuf {
        self.dir.path.join(format!("{}.beat", name::stem(key)))
    }

    /// The highest revision, 0 if there is none, and what it says.
    fn load(&self, key: &Key) -> Result<(u64, State)> {
        let folder = self.folder(key);
        for _ in 0..100 {
            let Some(revision) = highest(&folder)? else { return Ok((0, State::default())) };
            let path = folder.join(file_name(revision));
            match std::fs::read(&path) {
                Ok(bytes) => {
                    return State::decode(key, &bytes).map(|state| (revision, state)).ok_or_else(|| damaged(&path));
                }
                // Removed since we listed: there are newer ones.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(trouble("cannot read a lock's revision", &path, e)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the lock's revisions change faster than they can be read")
            .with("path", folder.display()))
    }

    /// Makes `state` the revision after `seen`. `false` if somebody else was first.
    fn store(&self, key: &Key, seen: u64, state: &State) -> Result<bool> {
        let folder = self.folder(key);
        let fail = |e| trouble("cannot write a lock's revision", &folder, e);
        match std::fs::create_dir(&folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(fail(e)),
            _ => {}
        }
        let draft = folder.join(format!("draft-{}", Owner::random().to_hex()));
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&draft).map_err(fail)?;
        let written =
            file.write_all(&state.encode(key)).and_then(|()| if self.dir.sync { file.sync_all() } else { Ok(()) });
        drop(file);
        if let Err(e) = written {
            std::fs::remove_file(&draft).ok();
            return Err(fail(e));
        }
        let target = folder.join(file_name(seen + 1));
        let linked = match std::fs::hard_link(&draft, &target) {
            // A server that answers twice, after a lost reply, says "exists" about our own success. The
            // number of links of our draft tells.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => links(&draft).map(|n| n > 1),
            other => other.map(|()| true),
        };
        std::fs::remove_file(&draft).ok();
        let won = linked.map_err(|e| {
            Error::new(ErrorKind::OutcomeUnknown, "the answer to a change of the lock is lost")
                .with("path", target.display())
                .because(e)
        })?;
        if !won {
            return Ok(false);
        }
        let top = highest(&folder)?.unwrap_or(0);
        if top > seen + KEPT {
            return Err(Error::new(
                ErrorKind::OutcomeUnknown,
                "this process was away while the lock changed many times",
            )
            .with("path", target.display()));
        }
        self.clean_up(&folder, seen + 1);
        Ok(true)
    }

    fn clean_up(&self, folder: &Path, newest: u64) {
        // One each time is enough. What cannot be removed costs space, not correctness.
        if let Some(old) = newest.checked_sub(KEPT).filter(|old| *old > 0) {
            std::fs::remove_file(folder.join(file_name(old))).ok();
        }
    }

    /// Reads, decides, and stores by compare-and-swap until nobody came in between.
    fn change<T>(&self, key: &Key, decide: impl Fn(u64, &State) -> Result<(State, T)>) -> Result<T> {
        for _ in 0..1000 {
            let (revision, state) = self.load(key)?;
            let (next, answer) = decide(revision, &state)?;
            if next == state || self.store(key, revision, &next)? {
                return Ok(answer);
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "too many others change this lock").with("key", key))
    }

    fn list(&self, prefix: &str, page: &Page) -> Result<Vec<(Key, Record)>> {
        let fail = |e| trouble("cannot list the lock folder", &self.dir.path, e);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.dir.path).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let Some(stem) = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".beat")) else {
                continue;
            };
            let key = match name::is_hashed(stem) {
                true => highest(&path)?.and_then(|n| key_inside(&std::fs::read(path.join(file_name(n))).ok()?)),
                false => name::key_of(stem),
            };
            found.extend(
                key.filter(|key| key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > after)),
            );
        }
        found.sort_unstable();
        let mut records = Vec::new();
        for key in found {
            if records.len() >= page.limit {
                break;
            }
            records.extend(self.load(&key)?.1.record().map(|record| (key, record)));
        }
        Ok(records)
    }
}

/// Runs `work` on a thread of its own: a network file system can hang, and must not hang the runtime with it.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (answer, done) = oneshot::channel();
    std::thread::Builder::new()
        .name("stanchion-file".into())
        .spawn(move || answer.send(work()).ok())
        .map_err(|e| Error::new(ErrorKind::Unavailable, "cannot start a thread to read the lock folder").because(e))?;
    done.await.map_err(|_| Error::new(ErrorKind::Unexpected, "the thread for the lock folder has ended"))?
}

#[async_trait]
impl RecordStore for Versions {
    fn capability(&self) -> Capability {
        Capability {
            backend: "file",
            hold: Hold::Lease,
            clock: false,
            fair: false,
            shared_between_processes: true,
            survives: if self.dir.sync { Survives::PowerLoss } else { Survives::ProcessCrash },
            purpose: Purpose::Correctness,
            weak: Some("a network file system's server decides what its clients still see after a failure"),
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let (this, key) = (self.clone(), key.clone());
        aside(move || Ok(this.load(&key)?.1.record())).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let (this, key, token) = (self.clone(), key.clone(), *token);
        aside(move || {
            this.change(&key, |_, state| {
                if !token.supersedes(state.fence.as_ref()) {
                    return Err(refused(&key, token, state.fence));
                }
                let next = State { fence: Some(token), ..state.clone() };
                let record = next.record();
                Ok((next, record))
            })
        })
        .await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if ttl.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "there is no clock to judge a ttl by"));
        }
        let (this, key) = (self.clone(), key.clone());
        aside(move || {
            this.change(&key, |revision, state| {
                state.check(&key, cond)?;
                let version = revision + 1;
                Ok((State { version, fence: state.fence, value: Some(value.clone()) }, Version::new(version)))
            })
        })
        .await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let (this, key) = (self.clone(), key.clone());
        aside(move || {
            this.change(&key, |revision, state| {
                state.check(&key, cond)?;
                if state.value.is_none() {
                    return Err(conflict(&key, state));
                }
                // The revision stays as the key's memory: its number, and the fence.
                Ok((State { version: revision + 1, fence: state.fence, value: None }, ()))
            })
        })
        .await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let (this, prefix) = (self.clone(), prefix.to_owned());
        aside(move || this.list(&prefix, &page)).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let mut pause = LOOK.0;
        loop {
            let version = self.get(key).await?.map(|record| record.version);
            let now = Instant::now();
            if version != since || now >= until {
                return Ok(());
            }
            tokio::time::sleep_until(until.min(now + pause)).await;
            pause = (pause * 2).min(LOOK.1);
        }
    }
}

impl State {
    fn record(&self) -> Option<Record> {
        let value = self.value.clone()?;
        Some(Record { value, version: Version::new(self.version), fence: self.fence, times: None })
    }

    fn check(&self, key: &Key, cond: Cond) -> Result<()> {
        match cond {
            Cond::Absent if self.value.is_none() => Ok(()),
            Cond::Version(version) if self.value.is_some() && version.get() == self.version => Ok(()),
            Cond::Absent | Cond::Version(_) => Err(conflict(key, self)),
            Cond::Fence(token) if self.fence == Some(token) => Ok(()),
            Cond::Fence(token) => Err(refused(key, token, self.fence)),
        }
    }

    /// `version fence|- live|gone keylength` on one line, then the key, then the value; and a checksum last.
    fn encode(&self, key: &Key) -> Vec<u8> {
        let fence = self.fence.map_or_else(|| "-".to_owned(), |fence| fence.to_string());
        let live = if self.value.is_some() { "live" } else { "gone" };
        let mut out = format!("{} {fence} {live} {}\n{key}", self.version, key.as_str().len()).into_bytes();
        out.extend_from_slice(self.value.as_deref().unwrap_or_default());
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    fn decode(key: &Key, bytes: &[u8]) -> Option<Self> {
        let (whole, sum) = bytes.split_last_chunk::<8>()?;
        let (head, rest) = split(whole)?;
        let mut words = head.split(' ');
        let version = words.next()?.parse().ok()?;
        let fence = match words.next()? {
            "-" => None,
            token => Some(token.parse().ok()?),
        };
        let live = words.next()? == "live";
        let (found, value) = rest.split_at_checked(words.next()?.parse().ok()?)?;
        let ours = found == key.as_str().as_bytes() && checksum(whole) == u64::from_le_bytes(*sum);
        ours.then(|| Self { version, fence, value: live.then(|| Bytes::copy_from_slice(value)) })
    }
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

fn key_inside(bytes: &[u8]) -> Option<Key> {
    let (head, rest) = split(bytes)?;
    let text = rest.get(..head.rsplit(' ').next()?.parse().ok()?)?;
    Key::from_store(std::str::from_utf8(text).ok()?).ok()
}

fn file_name(revision: u64) -> String {
    format!("{revision:020}")
}

fn highest(folder: &Path) -> Result<Option<u64>> {
    let fail = |e| trouble("cannot list a lock's revisions", folder, e);
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(fail)?,
    };
    let mut top = None;
    for entry in entries {
        top = top.max(entry.map_err(fail)?.file_name().to_str().and_then(|name| name.parse().ok()));
    }
    Ok(top)
}

#[cfg(unix)]
fn links(path: &Path) -> io::Result<u64> {
    std::fs::metadata(path).map(|meta| std::os::unix::fs::MetadataExt::nlink(&meta))
}

#[cfg(not(unix))]
fn links(_: &Path) -> io::Result<u64> {
    Ok(1)
}

fn conflict(key: &Key, state: &State) -> Error {
    let found = state.value.as_ref().map_or_else(|| "absent".to_owned(), |_| state.version.to_string());
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key).with("found", found)
}

fn damaged(path: &Path) -> Error {
    Error::new(ErrorKind::Damaged, "a lock's revision is damaged")
        .with("path", path.display())
        .hint("make sure that nobody holds this lock, then remove this one file: the revision before it counts again")
}
