//! First come, first served between processes, by a queue of ticket files.
//!
//! Each waiter holds a kernel lock on a ticket file of its own and waits for the ticket before it, so a
//! change wakes exactly one process and a dead waiter's ticket is freed by the kernel. `KEY.queue` lists
//! the numbers of the open tickets: eight bytes each, zero where the ticket is gone, empty when nobody
//! waits, so that a look at its size is enough for those who find the lock free.
//! Order is by number, never by position: a process killed in the middle of a compaction can leave a
//! number in the list twice, and that changes nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stanchion_core::{Error, ErrorKind, Identity};

use super::lockfile::{Lockfile, private, trouble};
use super::slip::{now_ms, read_at, since, write_at};

/// A list of this size is rewritten without its gaps: one page, so that a kill leaves the old or the new.
const COMPACT_AT: usize = 4096;

/// The most tickets that one key's queue can hold.
const TICKETS_MAX: usize = 8192;

/// How long a caller that must not block waits for the list. It is held for microseconds, except by a
/// process that was stopped in the middle.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Queue {
    path: PathBuf,
}

/// A place in the queue. Dropping it frees its lock, as the kernel does when the process dies; the number
/// stays in the list until somebody who looks strikes it.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    _lock: File,
}

/// The locked list, opened for this one use: the kernel lock belongs to the open file, so threads that shared one would need
/// a mutex beside it, and whoever may wait only so long would wait there behind one who waits for ever.
struct Open {
    list: Lockfile,
    numbers: Vec<u64>,
    /// As they stand in the file, gaps included.
    raw: Vec<u64>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.list.unlock();
    }
}

impl Queue {
    /// The queue whose list is `path`.
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn ticket_path(&self, number: u64) -> PathBuf {
        self.path.with_extension(format!("turn-{number}"))
    }

    /// Whether nobody has a ticket, not even a dead process. One system call.
    pub(super) fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |meta| meta.len() == 0)
    }

    /// Runs `work` while no other process touches the list; also serves as the mutex of a key's table.
    pub(super) fn exclusively<T>(
        &self,
        patience: Patience,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _open = self.enter(patience)?;
        work()
    }

    /// Draws the next number and takes its place.
    pub(super) fn join(&self, who: &Identity) -> Result<Ticket, Error> {
        let mut open = self.enter(Patience::Bounded)?;
        if open.numbers.len() >= TICKETS_MAX {
            return Err(
                Error::new(ErrorKind::Unavailable, "too many waiters for this lock").with("path", self.path.display())
            );
        }
        let number = open.numbers.last().map_or(1, |last| last + 1);
        let path = self.ticket_path(number);
        let fail = |e| trouble("cannot queue for the lock", &path, e);
        // Not in the list, so not in use: a leftover of a process that died before it got into the list.
        std::fs::remove_file(&path).ok();
        let file = private(OpenOptions::new().read(true).write(true).create_new(true)).open(&path).map_err(fail)?;
        file.lock().map_err(fail)?;
        write_at(&file, format!("{} {}", now_ms(), who.encode()).as_bytes(), 0).map_err(fail)?;
        self.append(&mut open, number).map_err(fail)?;
        Ok(Ticket { number, _lock: file })
    }

    /// Gives the place up. The next in line is woken.
    pub(super) fn leave(&self, ticket: Ticket, patience: Patience) {
        if let Ok(mut open) = self.enter(patience) {
            self.strike(&mut open, ticket.number).ok();
        }
        // Only now, for a number may be struck by its owner only while the owner holds the ticket: later it
        // could be somebody else's.
        drop(ticket);
    }

    /// Strikes what is over, if nobody waits any more. Else the next in line does it.
    pub(super) fn sweep(&self) {
        if let Ok(mut open) = self.enter(Patience::Endless) {
            let all = open.numbers.clone();
            // Left-over tickets are in nobody's way.
            self.last_live(&mut open, &all).ok();
        }
    }

    /// The live ticket right before `number`, opened; dead ones are struck off on the way.
    pub(super) fn predecessor(&self, number: u64) -> Result<Option<Lockfile>, Error> {
        let mut open = self.enter(Patience::Endless)?;
        let before: Vec<u64> = open.numbers.iter().copied().filter(|n| *n < number).collect();
        // The file is opened while the list is ours. Opened by name later, it could be another's.
        self.last_live(&mut open, &before)
    }

    /// Whether a live process waits; dead ones are struck off.
    ///
    /// Who must not wait for the list at all takes somebody who is at it for one who waits.
    pub(super) fn has_live(&self, patience: Patience) -> Result<bool, Error> {
        let mut open = match (self.open(patience)?, patience) {
            (Some(open), _) => open,
            (None, Patience::No) => return Ok(true),
            (None, _) => return Err(self.stuck()),
        };
        let all = open.numbers.clone();
        Ok(self.last_live(&mut open, &all)?.is_some())
    }

    /// Who waits, in order, and for how long.
    pub(super) fn waiters(&self) -> Result<Vec<(Identity, Option<Duration>)>, Error> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = self.enter(Patience::Bounded)?.numbers.clone();
        let mut waiters = Vec::new();
        for number in numbers {
            let Ok(file) = File::open(self.ticket_path(number)) else { continue };
            if file.try_lock_shared().is_ok() {
                continue;
            }
            let mut text = [0; 1024];
            let read = read_at(&file, &mut text, 0).unwrap_or(0);
            let text = String::from_utf8_lossy(&text[..read]);
            let (then, who) = text.split_once(' ').unwrap_or(("0", &text));
            waiters.push((Identity::decode(who), since(then.parse().unwrap_or(0))));
        }
        Ok(waiters)
    }

    fn last_live(&self, open: &mut Open, numbers: &[u64]) -> Result<Option<Lockfile>, Error> {
        for number in numbers.iter().rev() {
            let path = self.ticket_path(*number);
            match open_existing(&path) {
                // Free means that its owner has got the lock, or is dead.
                Ok(Some(ticket))
                    if !ticket.try_lock(false).map_err(|e| trouble("cannot look at a ticket", &path, e))? =>
                {
                    return Ok(Some(ticket));
                }
                Ok(_) => self.strike(open, *number).map_err(|e| trouble("cannot write the queue", &self.path, e))?,
                Err(e) => return Err(trouble("cannot open a ticket", &path, e)),
            }
        }
        Ok(None)
    }

    fn enter(&self, patience: Patience) -> Result<Open, Error> {
        self.open(patience)?.ok_or_else(|| self.stuck())
    }

    fn stuck(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "the lock's queue is held by a process that does not move")
            .with("path", self.path.display())
            .hint("look for a stopped process (state T) that uses this lock; continue or end it")
    }

    /// The locked list; `None` if somebody else had it for as long as there was patience.
    fn open(&self, patience: Patience) -> Result<Option<Open>, Error> {
        let fail = |e| trouble("cannot open the queue", &self.path, e);
        loop {
            let list = Lockfile::open(&self.path).map_err(fail)?;
            if !patience.lock(&list).map_err(fail)? {
                return Ok(None);
            }
            if list.is_current(&self.path).map_err(fail)? {
                let raw = read_numbers(&list.file).map_err(fail)?;
                let mut numbers: Vec<u64> = raw.iter().copied().filter(|n| *n != 0).collect();
                numbers.sort_unstable();
                numbers.dedup();
                return Ok(Some(Open { list, numbers, raw }));
            }
        }
    }

    fn append(&self, open: &mut Open, number: u64) -> io::Result<()> {
        if (open.raw.len() + 1) * 8 > COMPACT_AT && (open.numbers.len() + 1) * 8 <= COMPACT_AT {
            let kept: Vec<u64> = open.numbers.iter().copied().chain([number]).collect();
            let bytes: Vec<u8> = kept.iter().flat_map(|n| n.to_le_bytes()).collect();
            let list = &open.list.file;
            write_at(list, &bytes, 0)?;
            list.set_len(bytes.len() as u64)?;
            open.raw = kept;
        } else {
            let end = open.raw.len() as u64 * 8;
            write_at(&open.list.file, &number.to_le_bytes(), end)?;
            open.raw.push(number);
        }
        open.numbers.push(number);
        Ok(())
    }

    fn strike(&self, open: &mut Open, number: u64) -> io::Result<()> {
        open.numbers.retain(|n| *n != number);
        if open.numbers.is_empty() {
            open.list.file.set_len(0)?;
            open.raw.clear();
        } else {
            for place in 0..open.raw.len() {
                if open.raw[place] == number {
                    write_at(&open.list.file, &[0; 8], place as u64 * 8)?;
                    open.raw[place] = 0;
                }
            }
        }
        match std::fs::remove_file(self.ticket_path(number)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// How long the list may be waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// While somebody else must not be held up: not at all.
    No,
    /// On a thread of an async runtime: an error after a second.
    Bounded,
    /// On a thread of our own.
    Endless,
}

impl Patience {
    /// Whether it was got.
    fn lock(self, list: &Lockfile) -> io::Result<bool> {
        match self {
            Self::No => list.try_lock(true),
            Self::Endless => list.lock(true).map(|()| true),
            Self::Bounded => {
                let start = Instant::now();
                for round in 0u32.. {
                    if list.try_lock(true)? {
                        return Ok(true);
                    }
                    if start.elapsed() > PATIENCE {
                        break;
                    }
                    if round < 64 {
                        std::thread::yield_now();
                    } else {
                        std::thread::park_timeout(Duration::from_micros(200));
                    }
                }
                Ok(false)
            }
        }
    }
}

fn open_existing(path: &Path) -> io::Result<Option<Lockfile>> {
    if !path.exists() {
        return Ok(None);
    }
    Lockfile::open(path).map(Some)
}

fn read_numbers(list: &File) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; COMPACT_AT];
    let mut filled = 0;
    loop {
        let read = read_at(list, &mut bytes[filled..], filled as u64)?;
        if read == 0 {
            break;
        }
        filled += read;
        if filled == bytes.len() {
            bytes.resize(bytes.len() * 2, 0);
        }
    }
    let (whole, _) = bytes[..filled].as_chunks::<8>();
    Ok(whole.iter().map(|n| u64::from_le_bytes(*n)).collect())
}
