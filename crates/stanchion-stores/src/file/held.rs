//! Taking and giving back the kernel lock of one key: fence counter, holders, slots.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stanchion_core::{
    Acquire, Error, ErrorKind, FencingToken, Holder, Identity, Key, Mode, Owner, Result, slots_disagree,
};

use super::lockfile::{Dir, Lockfile, trouble};
use super::name;
use super::queue::{Patience, Queue};
use super::slip::{BLOCK, Damage, Slip, TABLE, Use, now_ms, read_at, write_at};

/// A lock that this process holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lock: Lockfile,
    slot: Option<Lockfile>,
    /// Our block in the table of those who share.
    block: Option<u64>,
    pub(super) fence: FencingToken,
    pub(super) mode: Mode,
    /// A child has the open file, too: closing is all we may do, for unlocking would unlock it for the child.
    pub(super) lent: bool,
}

impl Held {
    /// The open files that carry this lock.
    #[cfg(unix)]
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        [Some(&self.lock.file), self.slot.as_ref().map(|slot| &slot.file)].into_iter().flatten()
    }
}

/// The files of one key.
#[derive(Debug)]
pub(super) struct Files {
    dir: Arc<Dir>,
    pub(super) key: Key,
    pub(super) path: PathBuf,
    hashed: bool,
    pub(super) queue: Queue,
}

/// An attempt that did not fail.
pub(super) enum Tried<T> {
    Got(T),
    Busy(Option<Holder>),
}

impl Files {
    pub(super) fn new(dir: Arc<Dir>, key: Key) -> Self {
        let stem = name::stem(&key);
        let path = dir.path.join(format!("{stem}.lock"));
        let queue = Queue::new(dir.path.join(format!("{stem}.queue")));
        Self { hashed: name::is_hashed(&stem), dir, key, path, queue }
    }

    pub(super) fn open(&self) -> Result<Lockfile> {
        Lockfile::open(&self.path).map_err(|e| trouble("cannot open the lock file", &self.path, e))
    }

    /// One attempt at the kernel lock. `Got` holds the file that is under the name right now.
    pub(super) fn try_lock(
        &self,
        mut lock: Lockfile,
        alone: bool,
    ) -> Result<Result<Lockfile, (Lockfile, Option<Holder>)>> {
        let mut holder = None;
        // A refusal without a living holder in the file is the moment between somebody's lock and his
        // signature, or a look by `list`: both pass within microseconds.
        for _ in 0..32 {
            if lock.try_lock(alone).map_err(|e| self.trouble(e))? {
                if lock.is_current(&self.path).map_err(|e| self.trouble(e))? {
                    return Ok(Ok(lock));
                }
                lock = self.open()?;
                continue;
            }
            let found = self.holders(&lock.file);
            if let Some(alive) = found.iter().find(|holder| may_live(&holder.identity)) {
                return Ok(Err((lock, Some(alive.clone()))));
            }
            holder = found.into_iter().next().or(holder);
            std::thread::yield_now();
        }
        Ok(Err((lock, holder)))
    }

    /// Draws the next fence and signs the file. `lock` is locked alone.
    pub(super) fn sign_alone(&self, lock: Lockfile, req: &Acquire, owner: Owner) -> Result<Held> {
        let head = self.head(&lock.file)?;
        let fence = self.next_fence(&lock, head.as_ref(), req)?;
        self.write_head(&lock.file, head.as_ref(), &slip(Use::Alone, 0, fence, req, owner))?;
        self.sync(&lock)?;
        let fence = FencingToken::new(fence, owner);
        Ok(Held { lock, slot: None, block: None, fence, mode: req.mode, lent: false })
    }

    /// The same for those who share. `lock` is locked together; the queue's list serializes the counter.
    pub(super) fn sign_together(
        &self,
        lock: Lockfile,
        req: &Acquire,
        owner: Owner,
    ) -> Result<Tried<Held>, (Lockfile, Error)> {
        let slots = if let Mode::Slots(n) = req.mode { n } else { 0 };
        let signed = self.queue.exclusively(Patience::Bounded, || {
            let head = self.head(&lock.file)?;
            let fresh = head.as_ref().is_none_or(|head| head.usage != Use::Together);
            if fresh {
                // The table is older than the last exclusive holder.
                lock.file.set_len(TABLE * BLOCK as u64).map_err(|e| self.trouble(e))?;
            }
            let table = if fresh { Vec::new() } else { self.table(&lock.file) };
            let strange = table.iter().flatten().find(|s| s.slots != slots && may_live(&s.holder().identity));
            match strange {
                Some(other) if slots > 0 && other.slots > 0 => {
                    return Err(slots_disagree(&self.key, slots, other.slots));
                }
                Some(other) => return Ok(Tried::Busy(Some(other.holder()))),
                None => {}
            }
            let slot = if slots == 0 { None } else { self.free_slot(slots)? };
            if slots > 0 && slot.is_none() {
                let holder = table.iter().flatten().map(Slip::holder).find(|holder| may_live(&holder.identity));
                return Ok(Tried::Busy(holder));
            }
            let free = |s: &Option<Slip>| s.as_ref().is_none_or(|s| !may_live(&s.holder().identity));
            let block = TABLE + table.iter().position(free).unwrap_or(table.len()) as u64;
            let fence = self.next_fence(&lock, head.as_ref(), req)?;
            slip(Use::Together, slots, fence, req, owner).write(&lock.file, block).map_err(|e| self.trouble(e))?;
            let new = Slip { usage: Use::Together, ..Slip::free(fence) };
            self.write_head(&lock.file, head.as_ref(), &new)?;
            self.sync(&lock)?;
            Ok(Tried::Got((slot, block, FencingToken::new(fence, owner))))
        });
        match signed {
            Ok(Tried::Got((slot, block, fence))) => {
                Ok(Tried::Got(Held { lock, slot, block: Some(block), fence, mode: req.mode, lent: false }))
            }
            Ok(Tried::Busy(holder)) => {
                lock.unlock();
                Ok(Tried::Busy(holder))
            }
            Err(e) => Err((lock, e)),
        }
    }

    /// Draws a higher fence for a lock that is already ours.
    pub(super) fn lift(&self, held: Held, req: &Acquire, owner: Owner) -> Result<Held> {
        if held.fence.number() > req.floor {
            return Ok(held);
        }
        match held.block {
            None => self.sign_alone(held.lock, req, owner),
            Some(block) => {
                let fence = self.queue.exclusively(Patience::Bounded, || {
                    let head = self.head(&held.lock.file)?;
                    let fence = self.next_fence(&held.lock, head.as_ref(), req)?;
                    let slots = if let Mode::Slots(n) = req.mode { n } else { 0 };
                    slip(Use::Together, slots, fence, req, owner)
                        .write(&held.lock.file, block)
                        .map_err(|e| self.trouble(e))?;
                    let new = Slip { usage: Use::Together, ..Slip::free(fence) };
                    self.write_head(&held.lock.file, head.as_ref(), &new)?;
                    self.sync(&held.lock)?;
                    Ok(fence)
                })?;
                Ok(Held { fence: FencingToken::new(fence, owner), ..held })
            }
        }
    }

    /// Gives the kernel lock back. Returns the open file, unlocked, for the next time.
    ///
    /// Erasing our name may fail without harm: it is for display, and looked at with doubt.
    pub(super) fn release(&self, held: Held) -> Option<Lockfile> {
        if held.lent {
            return None;
        }
        match held.block {
            None => {
                Slip::free(held.fence.number()).write(&held.lock.file, 0).ok();
            }
            Some(block) => {
                // The slot first: the write to the table is what wakes those who wait for a slot.
                drop(held.slot);
                self.queue
                    .exclusively(Patience::Bounded, || {
                        write_at(&held.lock.file, &[0; BLOCK], block * BLOCK as u64).map_err(|e| self.trouble(e))
                    })
                    .ok();
            }
        }
        held.lock.unlock();
        Some(held.lock)
    }

    /// Who holds, according to the file: for display, by one who has seen that it is locked.
    pub(super) fn holders(&self, file: &File) -> Vec<Holder> {
        // Read without the lock, so a half-written block is no news; the next look will see it whole.
        match (0..8).find_map(|_| Slip::read(file, 0).ok()?.ok()).flatten() {
            Some(head) if head.usage == Use::Alone => vec![head.holder()],
            Some(head) if head.usage == Use::Together => self.table(file).iter().flatten().map(Slip::holder).collect(),
            _ => Vec::new(),
        }
    }

    fn table(&self, file: &File) -> Vec<Option<Slip>> {
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            bytes.resize(start + 16 * BLOCK, 0);
            let read = read_at(file, &mut bytes[start..], TABLE * BLOCK as u64 + start as u64).unwrap_or(0);
            bytes.truncate(start + read);
            if read < 16 * BLOCK {
                return bytes.chunks(BLOCK).map(|block| Slip::decode(block).unwrap_or(None)).collect();
            }
        }
    }

    fn free_slot(&self, slots: u32) -> Result<Option<Lockfile>> {
        for n in 0..slots {
            let path = self.path.with_extension(format!("slot-{n}"));
            let fail = |e| trouble("cannot open a slot of the lock", &path, e);
            let mut slot = Lockfile::open(&path).map_err(fail)?;
            while slot.try_lock(true).map_err(fail)? {
                if slot.is_current(&path).map_err(fail)? {
                    return Ok(Some(slot));
                }
                slot = Lockfile::open(&path).map_err(fail)?;
            }
        }
        Ok(None)
    }

    /// The counter. Read under the lock, so whatever is not readable is damage.
    fn head(&self, file: &File) -> Result<Option<Slip>> {
        let head = Slip::read(file, 0).map_err(|e| self.trouble(e))?.map_err(|Damage| self.damaged(&self.path))?;
        if self.hashed && head.is_some() {
            let (mut bytes, whole) = ([0; 3 * BLOCK], self.key.as_str().as_bytes());
            read_at(file, &mut bytes, BLOCK as u64).map_err(|e| self.trouble(e))?;
            if &bytes[..whole.len()] != whole || bytes[whole.len()] != 0 {
                return Err(self.damaged(&self.path).with("found", "the lock file of another key"));
            }
        }
        Ok(head)
    }

    /// What cannot be written whole, because the disk is full, leaves what was there: half a head is damage for ever.
    fn write_head(&self, file: &File, old: Option<&Slip>, new: &Slip) -> Result<()> {
        new.write(file, 0).map_err(|e| {
            // Neither needs room. If that fails as well, whoever comes next is told of the damage.
            match old {
                Some(old) => old.write(file, 0).ok(),
                None => file.set_len(0).ok(),
            };
            self.trouble(e)
        })
    }

    fn next_fence(&self, lock: &Lockfile, head: Option<&Slip>, req: &Acquire) -> Result<u64> {
        if head.is_none() && self.hashed {
            // Before the head, so that a file with a head always names its key.
            write_at(&lock.file, self.key.as_str().as_bytes(), BLOCK as u64).map_err(|e| self.trouble(e))?;
        }
        let last = head.map_or_else(first_fence, |head| head.fence);
        last.max(req.floor).checked_add(1).ok_or_else(|| self.damaged(&self.path).with("fence", u64::MAX))
    }

    fn sync(&self, lock: &Lockfile) -> Result<()> {
        if self.dir.sync {
            lock.file.sync_all().map_err(|e| self.trouble(e))?;
            #[cfg(unix)]
            File::open(&self.dir.path).and_then(|dir| dir.sync_all()).map_err(|e| self.trouble(e))?;
        }
        Ok(())
    }

    fn trouble(&self, e: std::io::Error) -> Error {
        trouble("cannot use the lock file", &self.path, e).with("key", &self.key)
    }

    fn damaged(&self, path: &Path) -> Error {
        Error::new(ErrorKind::Damaged, "the lock file is damaged, so the next fence is not known")
            .with("path", path.display())
            .with("key", &self.key)
            .hint("make sure that nobody holds this lock, then move the file away: the next fence starts from the clock, above all earlier ones")
    }
}

fn slip(usage: Use, slots: u32, fence: u64, req: &Acquire, owner: Owner) -> Slip {
    Slip { usage, slots, fence, nonce: owner.nonce(), since_ms: now_ms(), identity: req.identity.encode() }
}

/// Where a new file's counter begins: the wall clock in microseconds.
///
/// We never remove a lock file, because the counter is in it. If somebody else does, or an unsynced one is
/// empty after a power cut, a counter from zero would give old numbers again. The clock gives higher ones,
/// unless it was set back as well; and below a million grants per second the counter never runs ahead of it.
fn first_fence() -> u64 {
    super::wall_us()
}

/// Whether this process may be alive: certain only for one of this machine that is gone.
pub(super) fn may_live(identity: &Identity) -> bool {
    identity.host != Identity::current().host || runs(identity.pid)
}

#[cfg(unix)]
fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
const fn runs(_: u32) -> bool {
    true
}
