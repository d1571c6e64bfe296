//! The system calls at which something on disk changes, is locked, or is told.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

const SECTOR: u64 = 512;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Write,
    Create,
    Rename,
    Sync,
    Cut,
    Remove,
    Lock,
    /// A write to standard output: somebody is told.
    Answer,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write",
            Self::Create => "create",
            Self::Rename => "rename",
            Self::Sync => "sync",
            Self::Cut => "cut",
            Self::Remove => "remove",
            Self::Lock => "lock",
            Self::Answer => "answer",
        })
    }
}

impl Kind {
    /// How a disk refuses it.
    pub fn errors(self) -> &'static [Errno] {
        match self {
            Self::Write | Self::Create => &[Errno::ENOSPC, Errno::EIO],
            Self::Rename => &[Errno::EIO, Errno::ENOSPC],
            Self::Sync | Self::Cut | Self::Remove => &[Errno::EIO],
            Self::Lock => &[Errno::ENOLCK],
            Self::Answer => &[],
        }
    }
}

/// A call that a program made.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    pub name: &'static str,
    /// The last part of the path.
    pub file: String,
    /// Whether a kill can leave half of it.
    pub tears: bool,
    /// Whether a full disk refuses it.
    pub takes_room: bool,
    /// Whether it gives a lock back, which no local disk refuses.
    pub unlocks: bool,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.file)
    }
}

/// The registers of a call that is about to begin.
pub type Registers = libc::user_regs_struct;

/// The call, if it is one of those.
pub fn of(pid: Pid, regs: &Registers) -> Option<Call> {
    let number = i64::try_from(regs.orig_rax).ok()?;
    let call = |kind, name, file: Option<String>| {
        let tears = kind == Kind::Write && tears(regs) && halve(&mut regs.clone());
        let (takes_room, unlocks) = (takes_room(pid, regs, kind), unlocks(pid, regs));
        file.map(|file| Call { kind, name, file, tears, takes_room, unlocks })
    };
    let opened = |fd| file_of(pid, fd);
    let named = |at| Some(last_part(&text_at(pid, at)));
    let creates = |flags: u64| flags & libc::O_CREAT as u64 != 0;
    match number {
        libc::SYS_write | libc::SYS_writev if tells(pid, regs.rdi) => {
            call(Kind::Answer, "write", Some("answer".to_owned()))
        }
        libc::SYS_write => call(Kind::Write, "write", opened(regs.rdi)),
        libc::SYS_pwrite64 => call(Kind::Write, "pwrite64", opened(regs.rdi)),
        libc::SYS_writev => call(Kind::Write, "writev", opened(regs.rdi)),
        libc::SYS_pwritev => call(Kind::Write, "pwritev", opened(regs.rdi)),
        libc::SYS_sendfile => call(Kind::Write, "sendfile", opened(regs.rdi)),
        libc::SYS_copy_file_range => call(Kind::Write, "copy_file_range", opened(regs.rdx)),
        libc::SYS_fallocate => call(Kind::Write, "fallocate", opened(regs.rdi)),
        libc::SYS_open if creates(regs.rsi) => call(Kind::Create, "open", named(regs.rdi)),
        libc::SYS_openat if creates(regs.rdx) => call(Kind::Create, "openat", named(regs.rsi)),
        libc::SYS_creat => call(Kind::Create, "creat", named(regs.rdi)),
        libc::SYS_mkdir => call(Kind::Create, "mkdir", named(regs.rdi)),
        libc::SYS_mkdirat => call(Kind::Create, "mkdirat", named(regs.rsi)),
        libc::SYS_link => call(Kind::Create, "link", named(regs.rsi)),
        libc::SYS_linkat => call(Kind::Create, "linkat", named(regs.r10)),
        libc::SYS_symlink => call(Kind::Create, "symlink", named(regs.rsi)),
        libc::SYS_rename => call(Kind::Rename, "rename", named(regs.rsi)),
        libc::SYS_renameat | libc::SYS_renameat2 => call(Kind::Rename, "renameat", named(regs.r10)),
        libc::SYS_fsync => call(Kind::Sync, "fsync", opened(regs.rdi)),
        libc::SYS_fdatasync => call(Kind::Sync, "fdatasync", opened(regs.rdi)),
        libc::SYS_ftruncate => call(Kind::Cut, "ftruncate", opened(regs.rdi)),
        libc::SYS_truncate => call(Kind::Cut, "truncate", named(regs.rdi)),
        libc::SYS_unlink => call(Kind::Remove, "unlink", named(regs.rdi)),
        libc::SYS_unlinkat => call(Kind::Remove, "unlinkat", named(regs.rsi)),
        libc::SYS_rmdir => call(Kind::Remove, "rmdir", named(regs.rdi)),
        libc::SYS_flock => call(Kind::Lock, "flock", opened(regs.rdi)),
        libc::SYS_fcntl if locks(regs.rsi) => call(Kind::Lock, "fcntl", opened(regs.rdi)),
        _ => None,
    }
}

/// What lies within a file is overwritten in its place.
fn takes_room(pid: Pid, regs: &Registers, kind: Kind) -> bool {
    let is_pwrite = i64::try_from(regs.orig_rax) == Ok(libc::SYS_pwrite64);
    let size = || std::fs::metadata(format!("/proc/{pid}/fd/{}", regs.rdi)).map_or(0, |meta| meta.len());
    match kind {
        Kind::Write if is_pwrite => regs.r10.saturating_add(regs.rdx) > size(),
        kind => matches!(kind, Kind::Write | Kind::Create),
    }
}

/// Makes a write a shorter one: whether it could be.
pub fn halve(regs: &mut Registers) -> bool {
    let length = match i64::try_from(regs.orig_rax) {
        Ok(libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev) => &mut regs.rdx,
        Ok(libc::SYS_sendfile) => &mut regs.r10,
        Ok(libc::SYS_copy_file_range) => &mut regs.r8,
        _ => return false,
    };
    let can = *length > 1;
    *length = length.div_ceil(2);
    can
}

/// What lies within one sector goes into the file whole or not at all.
fn tears(regs: &Registers) -> bool {
    let is_pwrite = i64::try_from(regs.orig_rax) == Ok(libc::SYS_pwrite64);
    let sector = |at: u64| at / SECTOR;
    !is_pwrite || sector(regs.r10) != sector(regs.r10.saturating_add(regs.rdx.saturating_sub(1)))
}

fn unlocks(pid: Pid, regs: &Registers) -> bool {
    match i64::try_from(regs.orig_rax) {
        Ok(libc::SYS_flock) => regs.rsi & libc::LOCK_UN as u64 != 0,
        // `struct flock` begins with the kind of the lock.
        Ok(libc::SYS_fcntl) if locks(regs.rsi) => {
            let mut kind = [0; 2];
            let read =
                File::open(format!("/proc/{pid}/mem")).and_then(|memory| memory.read_exact_at(&mut kind, regs.rdx));
            read.is_ok() && i32::from(i16::from_le_bytes(kind)) == libc::F_UNLCK
        }
        _ => false,
    }
}

fn locks(command: u64) -> bool {
    [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW].iter().any(|one| *one as u64 == command)
}

/// Whether it is the pipe to whoever asks; programs hold it under other numbers as well.
fn tells(pid: Pid, fd: u64) -> bool {
    let link = |fd| std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok();
    fd == 1 || link(fd).is_some_and(|path| path.to_string_lossy().starts_with("pipe:") && link(1) == Some(path))
}

/// The file behind a descriptor; `None` for what is no file: pipes, sockets, events, terminals.
fn file_of(pid: Pid, fd: u64) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    let path = path.to_str()?;
    (path.starts_with('/') && !path.starts_with("/dev/")).then(|| last_part(path))
}

fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The text that ends with a zero there.
fn text_at(pid: Pid, address: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(memory) = File::open(format!("/proc/{pid}/mem")) {
        let mut byte = [0];
        while bytes.len() < libc::PATH_MAX as usize
            && memory.read_exact_at(&mut byte, address + bytes.len() as u64).is_ok()
            && byte != [0]
        {
            bytes.push(byte[0]);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
