//! Before anything is written: is the file the one we know? What a dead writer or another program has left is set right here.

use std::io::Write as _;
use std::sync::PoisonError;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_stores::Durability;

use super::change::Written;
use super::place::trouble;
use super::record::{Phase, Record, Stamp};
use super::view::{Kind, View};
use super::writer::{Writer, new_chain};
use crate::{Damaged, Notice, Plan};

/// A foreign program that is in the middle of its write gets so long to come to its end.
const SETTLE: Duration = Duration::from_millis(50);
const SETTLE_TRIES: usize = 20;

/// Who was there before us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nobody, or one of us who left everything in order.
    Us,
    /// One of us who died, and what it had begun behind this place belongs to nobody.
    Dead(Option<u64>),
    Stranger,
}

impl Writer {
    /// Whether the file is as the last of us left it; then `view` is it. The lock is held.
    pub(super) fn knows_the_file(&self, view: &mut View) -> Result<bool> {
        let path = &self.place.file;
        let fail = |e| trouble("cannot read the memory file", path, e);
        let now = Stamp::at(path).map_err(fail)?;
        let settled = self.record().filter(|record| record.phase == Phase::Settled && record.stamp == now);
        let Some(Record { chain, .. }) = settled else { return Ok(false) };
        match now {
            _ if view.stamp == now && view.chain == Some(chain) => {}
            Some(now) if view.is_at(chain, now.size) => view.extend(now).map_err(fail)?,
            _ => *view = View { chain: Some(chain), ..View::load(path, None).map_err(fail)? },
        }
        Ok(true)
    }

    /// Makes `view` the file as it is, whoever was there. The lock is held.
    pub(super) fn know_the_file(&mut self, view: &mut View) -> Result<()> {
        if self.knows_the_file(view)? {
            return Ok(());
        }
        let path = &self.place.file;
        let fail = |e| trouble("cannot read the memory file", path, e);
        let (now, record) = (Stamp::at(path).map_err(fail)?, self.record());
        let before = match record {
            None => Before::Us,
            Some(Record { phase: Phase::Appending, stamp: Some(stamp), .. })
                if now.is_some_and(|now| now.is_same_file(&stamp)) =>
            {
                Before::Dead(now.filter(|now| now.size > stamp.size).map(|_| stamp.size))
            }
            Some(Record { phase: Phase::Appending, stamp: Some(_), .. }) => Before::Stranger,
            Some(Record { phase: Phase::Settled, .. }) => Before::Stranger,
            Some(_) => Before::Dead(None),
        };
        self.forget(&self.place.next()).map_err(fail)?;
        *view = View::load(path, None).map_err(fail)?;
        match before {
            Before::Us => {}
            Before::Dead(Some(size)) => self.cut_off(view, size)?,
            Before::Dead(None) => {}
            Before::Stranger => self.meet_stranger(view)?,
        }
        if view.needs_care() {
            self.set_right(view)?;
        }
        let chain = new_chain();
        view.chain = Some(chain);
        self.note(Phase::Settled, chain, view.stamp)
    }

    /// Takes away what was begun behind `size` and never acknowledged.
    fn cut_off(&self, view: &mut View, size: u64) -> Result<()> {
        let path = &self.place.file;
        let fail = |e| trouble("cannot undo an unfinished write", path, e);
        let bytes = std::fs::read(path).map_err(fail)?;
        let tail = usize::try_from(size).ok().and_then(|size| bytes.get(size..)).unwrap_or_default();
        let reason = "written by a process that ended before it had finished; it was never acknowledged".to_owned();
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..bytes.len() - tail.len()]).count();
        self.set_aside(&[Damaged { line, reason, bytes: tail.to_vec() }])?;
        self.truncate(size)?;
        *view = View::load(path, None).map_err(fail)?;
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<()> {
        let path = &self.place.file;
        let open = || std::fs::OpenOptions::new().write(true).open(path);
        let cut = open().and_then(|file| {
            self.disk.truncate(&file, size)?;
            if self.options.durability == Durability::Power { self.disk.sync(&file) } else { Ok(()) }
        });
        cut.map_err(|e| trouble("cannot undo an unfinished write", path, e))
    }

    /// Somebody else has changed the file. If it looks unfinished, it perhaps is.
    fn meet_stranger(&self, view: &mut View) -> Result<()> {
        let path = &self.place.file;
        for _ in 0..SETTLE_TRIES {
            if !view.needs_care() {
                break;
            }
            // Nobody wakes this thread before; and if somebody does, the next look is early.
            std::thread::park_timeout(SETTLE);
            let now = Stamp::at(path).map_err(|e| trouble("cannot read the memory file", path, e))?;
            if now == view.stamp {
                break;
            }
            *view = View::load(path, None).map_err(|e| trouble("cannot read the memory file", path, e))?;
        }
        let shown = path.display();
        let (kind, text) = match view.stamp {
            Some(_) => {
                ("file_replaced", format!("another program has changed {shown}; it was read again before writing"))
            }
            None => ("file_deleted", format!("{shown} was deleted by somebody else; the graph begins anew")),
        };
        self.notices.say_once(Notice { kind, text });
        Ok(())
    }

    /// Puts what is no part of the graph aside, and leaves a file that anybody can read.
    fn set_right(&mut self, view: &mut View) -> Result<()> {
        let (damaged, shown) = (std::mem::take(&mut view.damaged), self.place.file.display().to_string());
        self.set_aside(&damaged)?;
        if view.is_document {
            self.keep_original(view)?;
            let original = self.place.original();
            let text = format!("{shown} was one document and is lines now; the document is in {}", original.display());
            self.notices.say(Notice { kind: "file_converted", text });
        }
        if view.has_mark {
            let text = format!("{shown} began with a byte order mark, which was removed");
            self.notices.say(Notice { kind: "file_damaged", text });
        }
        let only_the_tail =
            !view.is_document && !view.has_mark && !view.spans.iter().any(|span| span.kind == Kind::Damaged);
        if only_the_tail {
            self.truncate(view.end)?;
            *view = View::load(&self.place.file, None)
                .map_err(|e| trouble("cannot read the memory file", &self.place.file, e))?;
            return Ok(());
        }
        match self.replace(view, Plan::default())? {
            Written::Yes => Ok(()),
            Written::No => {
                Err(Error::new(ErrorKind::Unavailable, "another program is changing the memory file at this moment")
                    .with("path", shown)
                    .hint("nothing was written; call again"))
            }
        }
    }

    /// Writes to the side file, and says so.
    fn set_aside(&self, damaged: &[Damaged]) -> Result<()> {
        let Some(first) = damaged.first() else { return Ok(()) };
        let side = self.place.damaged();
        let mut text = Vec::new();
        for Damaged { line, reason, bytes } in damaged {
            text.extend_from_slice(format!("# line {line}: {reason}\n").as_bytes());
            text.extend_from_slice(bytes);
            text.push(b'\n');
        }
        let written = std::fs::OpenOptions::new().append(true).create(true).open(&side).and_then(|mut file| {
            file.write_all(&text)?;
            if self.options.durability == Durability::Power { file.sync_data() } else { Ok(()) }
        });
        written.map_err(|e| {
            Error::new(ErrorKind::Damaged, "the memory file is damaged, and what is damaged cannot be set aside")
                .with("path", self.place.file.display())
                .with("line", first.line)
                .with("reason", &e)
                .hint(format!("nothing was written; make room for {}, or run `stanchion memory check`", side.display()))
                .because(e)
        })?;
        let (count, file) = (damaged.len(), self.place.file.display());
        let what = if count == 1 { "1 damaged piece".to_owned() } else { format!("{count} damaged pieces") };
        let text = format!(
            "{what} of {file} (line {}: {}) went to {}; everything else is untouched",
            first.line,
            first.reason,
            side.display()
        );
        self.notices.say(Notice { kind: "file_damaged", text });
        Ok(())
    }

    fn keep_original(&self, view: &View) -> Result<()> {
        let original = self.place.original();
        let fail = |e| trouble("cannot keep the original document", &original, e);
        match std::fs::hard_link(&self.place.file, &original) {
            // Somebody has kept one before: what is there first is the original.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(_) => std::fs::copy(&self.place.file, &original).map(drop).map_err(fail),
            Ok(()) => Ok(()),
        }?;
        debug_assert!(view.is_document);
        Ok(())
    }
}

impl super::Notices {
    /// Says it to the next caller, and on standard error.
    pub(super) fn say(&self, notice: Notice) {
        tracing::warn!(kind = notice.kind, "{}", notice.text);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Says it, unless something of this kind was said before.
    pub(super) fn say_once(&self, notice: Notice) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(notice.kind) {
            self.say(notice);
        }
    }

    /// What has not been told yet.
    pub(super) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
