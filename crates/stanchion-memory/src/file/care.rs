//! Before anything is written: is the file the one we know? What a dead writer or another program has left is set right here.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result, planted};
use stanchion_stores::Durability;

use super::change::inherit;
use super::place::trouble;
use super::record::{Phase, Record, Stamp, Vouched, piece};
use super::view::{Kind, View};
use super::writer::{Writer, new_chain};
use crate::{Damaged, Notice, Plan};

/// A foreign program that is in the middle of its write gets so long to come to its end.
const SETTLE: Duration = Duration::from_millis(50);
const SETTLE_TRIES: usize = 20;

impl Writer {
    /// Whether the file is as the last of us left it; then `view` is it. The lock is held.
    pub(super) fn knows_the_file(&self, view: &mut View) -> Result<bool> {
        if planted!("memory-written-from-an-old-read") && view.chain.is_some() {
            return Ok(true);
        }
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
        // A bad disk changes what is in a file and nothing about it.
        Ok(!view.needs_care())
    }

    /// Makes the view the file as it is, whoever was there. The lock is held.
    pub(super) fn know_the_file(&mut self) -> Result<()> {
        let known = self.knows_the_file(&mut self.view())?;
        if !known {
            // Readers go on with what they know meanwhile.
            let view = self.look_after_the_file()?;
            *self.view() = view;
        }
        Ok(())
    }

    fn look_after_the_file(&mut self) -> Result<View> {
        let path = self.place.file.clone();
        let fail = |e| trouble("cannot read the memory file", &path, e);
        let (now, record) = (Stamp::at(&path).map_err(fail)?, self.record());
        self.forget(&self.place.next()).map_err(fail)?;
        let mut view = View::load(&path, None).map_err(fail)?;
        let vouched = match (&record, &now) {
            (Some(record), Some(now)) => record.vouches(&path, now),
            _ => Vouched::No,
        };
        match (vouched, record.map(|record| record.phase)) {
            // One of us died in the middle, and what it had begun belongs to nobody.
            (Vouched::Whole { size, .. }, _) if now.is_some_and(|now| now.size > size) => {
                self.cut_off(&mut view, size)?
            }
            (Vouched::Whole { .. }, _) => {}
            // The first of us; or one of us died when its file had just taken the place of another.
            (Vouched::No, None | Some(Phase::Replacing)) => self.wait_for_strangers(&mut view)?,
            (Vouched::No, Some(_)) => {
                self.wait_for_strangers(&mut view)?;
                self.tell_of_strangers(&view);
            }
        }
        if view.needs_care() {
            self.set_right(&mut view)?;
        }
        let chain = new_chain();
        view.chain = Some(chain);
        self.note_settled(chain, view.stamp);
        Ok(view)
    }

    /// Takes away what was begun behind `size` and never acknowledged.
    fn cut_off(&self, view: &mut View, size: u64) -> Result<()> {
        let path = &self.place.file;
        let fail = |e| trouble("cannot undo an unfinished write", path, e);
        let was = view.stamp.map_or(size, |stamp| stamp.size);
        let bytes = piece(path, size, usize::try_from(was - size).unwrap_or(usize::MAX)).map_err(fail)?;
        let reason = "written by a process that ended before it had finished; it was never acknowledged".to_owned();
        let line = view.spans.iter().filter(|span| span.start < size).count() + 1;
        self.set_aside(&[Damaged { line, reason, bytes }])?;
        self.truncate(was, size).map_err(fail)?;
        *view = View::load(path, None).map_err(fail)?;
        Ok(())
    }

    /// Cuts a file that is as large as it was.
    fn truncate(&self, was: u64, size: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.place.file)?;
        if file.metadata()?.len() != was {
            return Err(io::Error::other("another program is writing it"));
        }
        self.disk.truncate(&file, size)?;
        if self.options.durability == Durability::Power { self.disk.sync(&file) } else { Ok(()) }
    }

    /// If it looks unfinished, it perhaps is.
    fn wait_for_strangers(&self, view: &mut View) -> Result<()> {
        let path = &self.place.file;
        for _ in 0..SETTLE_TRIES {
            if !view.needs_care() {
                break;
            }
            // Nobody wakes this thread before; and if somebody does, the next look is early.
            std::thread::park_timeout(SETTLE);
            let fail = |e| trouble("cannot read the memory file", path, e);
            if Stamp::at(path).map_err(fail)? == view.stamp {
                break;
            }
            *view = View::load(path, None).map_err(fail)?;
        }
        Ok(())
    }

    fn tell_of_strangers(&self, view: &View) {
        let shown = self.place.file.display();
        match view.stamp {
            Some(_) => self.notices.say_once("file_replaced", || Notice {
                kind: "file_replaced",
                text: format!("another program has changed {shown}; it was read again before writing"),
            }),
            None => self.notices.say_once("file_deleted", || self.place.was_deleted()),
        }
    }

    /// Puts what is no part of the graph aside, and leaves a file that anybody can read.
    fn set_right(&mut self, view: &mut View) -> Result<()> {
        let path = self.place.file.clone();
        let fail = |e| trouble("cannot repair the memory file", &path, e);
        let shown = path.display();
        self.set_aside(&std::mem::take(&mut view.damaged))?;
        if view.is_document {
            let original = self.keep_original().map_err(fail)?;
            let text = format!("{shown} was one document and is lines now; the document is in {}", original.display());
            self.notices.say(Notice { kind: "file_converted", text });
        }
        if view.has_mark {
            let text = format!("{shown} began with a byte order mark, which was removed");
            self.notices.say(Notice { kind: "file_damaged", text });
        }
        let in_the_middle =
            view.is_document || view.has_mark || view.spans.iter().any(|span| span.kind == Kind::Damaged);
        let done = match self.prepare(view, Plan::default())? {
            _ if !in_the_middle => {
                let was = view.stamp.map_or(0, |stamp| stamp.size);
                self.truncate(was, view.end).map_err(fail)?;
                true
            }
            Some(prepared) => self.replace(prepared)?,
            None => false,
        };
        if !done {
            let what = "another program is changing the memory file at this moment";
            return Err(Error::new(ErrorKind::Unavailable, what)
                .with("path", shown)
                .hint("nothing was written; call again"));
        }
        *view = View::load(&path, None).map_err(fail)?;
        Ok(())
    }

    /// Writes to the side file, and says so.
    pub(super) fn set_aside(&self, damaged: &[Damaged]) -> Result<()> {
        let Some(first) = damaged.first() else { return Ok(()) };
        let side = self.place.damaged();
        let mut text = Vec::new();
        for Damaged { line, reason, bytes } in damaged {
            text.extend_from_slice(format!("# line {line}: {reason}\n").as_bytes());
            text.extend_from_slice(bytes);
            text.push(b'\n');
        }
        self.add_to(&side, &text).map_err(|e| {
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

    /// Adds to a file beside the memory file, which is as private as that, unless it ends with the same already: whoever tries again
    /// after a failure has set it aside before.
    fn add_to(&self, side: &Path, text: &[u8]) -> io::Result<()> {
        let file = match self.disk.create(side, true) {
            Ok(file) => {
                inherit(&File::open(&self.place.file)?, &file)?;
                file
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                OpenOptions::new().read(true).append(true).open(side)?
            }
            Err(e) => return Err(e),
        };
        let size = file.metadata()?.len();
        if let Some(before) = size.checked_sub(text.len() as u64) {
            let mut end = Vec::new();
            (&file).seek(SeekFrom::Start(before))?;
            (&file).read_to_end(&mut end)?;
            if end == text {
                return Ok(());
            }
        }
        self.disk.write(&file, text)?;
        if self.options.durability == Durability::Power { self.disk.sync(&file) } else { Ok(()) }
    }

    /// Copies the document as it is, and returns where it is.
    fn keep_original(&self) -> io::Result<std::path::PathBuf> {
        let original = self.place.original();
        let file = self.disk.create(&original, true)?;
        let document = File::open(&self.place.file)?;
        inherit(&document, &file)?;
        self.disk.copy(&document, 0..document.metadata()?.len(), &file)?;
        if self.options.durability == Durability::Power {
            self.disk.sync(&file)?;
        }
        Ok(original)
    }
}

impl super::Notices {
    /// Says it to the next caller, and on standard error.
    pub(super) fn say(&self, notice: Notice) {
        tracing::warn!(kind = notice.kind, "{}", notice.text);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Says it, unless what goes by this word was said before.
    pub(super) fn say_once(&self, word: &str, notice: impl FnOnce() -> Notice) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(word.to_owned()) {
            self.say(notice());
        }
    }

    /// If it happens again, it is news.
    pub(super) fn may_say_again(&self, word: &str) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(word);
    }

    /// What has not been told yet.
    pub(super) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
