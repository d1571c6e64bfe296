//! The two ways in which a file is changed: something is added at the end, or another file takes its place.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Result, planted};
use stanchion_stores::Durability;

use super::lines::{Batch, Next, Piece};
use super::place::trouble;
use super::record::{Phase, Record, Stamp, piece};
use super::view::View;
use super::writer::{Writer, new_chain};
use crate::Plan;

/// Something that was added, and is not yet sure to last.
pub(super) struct Appended {
    file: Arc<File>,
    chain: u64,
    /// `None` if a stranger has added something at the same moment: then nobody vouches for the file.
    stamp: Option<Stamp>,
    is_new: bool,
}

/// A file that is to take the place of the present one.
pub(super) struct Prepared {
    next: Next,
    plan: Plan,
    old: Option<File>,
    stamp: Option<Stamp>,
    chain: u64,
}

impl Writer {
    /// Adds lines at the end. `None` if they did not come into the file under its name.
    pub(super) fn append(&mut self, view: &mut View, batch: Batch) -> Result<Option<Appended>> {
        let path = self.place.file.clone();
        let fail = |e| trouble("cannot write the memory file", &path, e);
        let Some((before, file)) = self.open_end(view).map_err(fail)? else { return Ok(None) };
        let (chain, is_new) = (view.chain.unwrap_or_else(new_chain), view.stamp.is_none());
        let Batch { bytes, spans } = batch.placed(before.size, view.is_open);
        let record = Record { phase: Phase::Appending, chain, stamp: Some(before), added: bytes };
        self.note(&record)?;
        let bytes = record.added;
        if let Err(e) = self.disk.write(&file, &bytes) {
            // Nobody has counted it: what is a part of what the record holds belongs to nobody.
            if self.disk.truncate(&file, before.size).is_ok() {
                self.note_settled(new_chain(), Stamp::at(&path).ok().flatten());
            }
            return Err(fail(e));
        }
        let after = Stamp::at(&path).map_err(|e| in_doubt(&path, e))?;
        // Else it went into a file that has no name any more.
        let Some(after) = after.filter(|after| after.is_same_file(&before)) else { return Ok(None) };
        if after.size != before.size + bytes.len() as u64 {
            let apart = self.is_apart(&file, &bytes, before.size, after.size).map_err(|e| in_doubt(&path, e))?;
            *view = View::default();
            return Ok(apart.then_some(Appended { file, chain, stamp: None, is_new }));
        }
        if is_new {
            self.notices.may_say_again("file_deleted");
        }
        if view.file.is_none() {
            view.file = Some(File::open(&path).map_err(|e| in_doubt(&path, e))?);
        }
        (view.stamp, view.chain, view.end, view.is_open) = (Some(after), Some(chain), after.size, false);
        view.spans.extend(spans);
        Ok(Some(Appended { file, chain, stamp: Some(after), is_new }))
    }

    /// A stranger has added something at the same moment. If it ended in the middle of a line, ours would be a part of that line: then it
    /// is taken away again.
    fn is_apart(&self, file: &File, ours: &[u8], from: u64, to: u64) -> io::Result<bool> {
        let all = piece(&self.place.file, from, usize::try_from(to - from).unwrap_or(usize::MAX))?;
        let Some(at) = memchr::memmem::rfind(&all, ours) else { return Ok(false) };
        let is_apart = ours.starts_with(b"\n") || at == 0 || all[at - 1] == b'\n';
        if !is_apart && at + ours.len() == all.len() && file.metadata()?.len() == to {
            self.disk.truncate(file, from + at as u64)?;
        }
        Ok(is_apart)
    }

    /// The file, open at its end, and how it is. `None` if it is not the one that is known.
    fn open_end(&mut self, view: &View) -> io::Result<Option<(Stamp, Arc<File>)>> {
        if let (Some(known), Some((stamp, file))) = (view.stamp, &self.end)
            && stamp.is_same_file(&known)
        {
            return Ok(Some((known, Arc::clone(file))));
        }
        let file = Arc::new(OpenOptions::new().append(true).create(true).open(&self.place.file)?);
        let now = Stamp::of(&file.metadata()?);
        self.end = Some((now, Arc::clone(&file)));
        let is_known = view.stamp.map_or(now.size == 0, |known| known == now);
        Ok(is_known.then_some((now, file)))
    }

    /// Makes sure that it lasts. Readers need not wait for that.
    pub(super) fn settle(&self, appended: Appended) -> Result<()> {
        let Appended { file, chain, stamp, is_new } = appended;
        let path = &self.place.file;
        if self.options.durability == Durability::Power {
            self.disk.sync(&file).map_err(|e| in_doubt(path, e))?;
            if is_new {
                self.disk.sync_folder(&self.place.folder).map_err(|e| in_doubt(path, e))?;
            }
        }
        if stamp.is_some() {
            self.note_settled(chain, stamp);
        }
        Ok(())
    }

    /// Works out the next file. `None` if the present one is not the one that is known.
    pub(super) fn prepare(&self, view: &View, plan: Plan) -> Result<Option<Prepared>> {
        let fail = |e| trouble("cannot read the memory file", &self.place.file, e);
        // Opened anew: readers move about in the one that they share.
        let old = match view.stamp {
            Some(stamp) => {
                let old = File::open(&self.place.file).map_err(fail)?;
                if Stamp::of(&old.metadata().map_err(fail)?) != stamp && !planted!("memory-written-from-an-old-read") {
                    return Ok(None);
                }
                Some(old)
            }
            None => None,
        };
        let next = match &old {
            Some(old) if !view.is_document => Next::of(view, old, &plan).map_err(fail)?,
            _ => Next::whole(view, &plan),
        };
        let chain = view.chain.unwrap_or_else(new_chain);
        Ok(Some(Prepared { next, plan, old, stamp: view.stamp, chain }))
    }

    /// Puts another file in the place of this one, in one step. `false` if somebody else was faster.
    pub(super) fn replace(&mut self, prepared: Prepared) -> Result<bool> {
        let Prepared { next, plan, old, stamp, chain } = prepared;
        let (path, new) = (self.place.file.clone(), self.place.next());
        let fail = |e| trouble("cannot replace the memory file", &path, e);
        self.note(&Record { phase: Phase::Replacing, chain, stamp, added: Vec::new() })?;
        self.forget(&new).map_err(fail)?;
        let file = match self.write_next(&next, old.as_ref(), &new) {
            Ok(file) => file,
            Err(e) => {
                // It is nobody's: if it cannot be removed now, the next writer does.
                self.forget(&new).ok();
                return Err(fail(e));
            }
        };
        if Stamp::at(&path).map_err(fail)? != stamp && !planted!("memory-written-from-an-old-read") {
            self.forget(&new).map_err(fail)?;
            return Ok(false);
        }
        self.disk.rename(&new, &path).map_err(fail)?;
        let (now, chain) = (Stamp::of(&file.metadata().map_err(|e| in_doubt(&path, e))?), new_chain());
        let mut view = self.view();
        let known = view.stamp == stamp;
        let mut graph = std::mem::take(&mut view.graph);
        *view = View::default();
        // A reader may have seen the new one already: then what it knows is of that.
        if known {
            graph.apply(plan);
            let Next { spans, size, .. } = next;
            *view = View {
                file: Some(file),
                stamp: Some(now),
                chain: Some(chain),
                graph,
                spans,
                end: size,
                ..View::default()
            };
        }
        drop(view);
        if self.options.durability == Durability::Power {
            self.disk.sync_folder(&self.place.folder).map_err(|e| in_doubt(&path, e))?;
        }
        self.note_settled(chain, Some(now));
        Ok(true)
    }

    fn write_next(&self, next: &Next, old: Option<&File>, path: &Path) -> io::Result<File> {
        let file = self.disk.create(path, old.is_some())?;
        for piece in &next.pieces {
            match (piece, old) {
                (Piece::Old(range), Some(old)) => {
                    self.disk.copy(old, range.clone(), &file)?;
                    self.disk.write(&file, b"\n")?;
                }
                (Piece::New(bytes), _) => self.disk.write(&file, bytes)?,
                (Piece::Old(_), None) => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        if let Some(old) = old {
            inherit(old, &file)?;
        }
        if self.options.durability == Durability::Power {
            self.disk.sync(&file)?;
        }
        Ok(file)
    }
}

/// Who may read the old file may read the new one.
pub(super) fn inherit(old: &File, new: &File) -> io::Result<()> {
    let meta = old.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = new.metadata()?;
        // Only root may give a file away; whoever else replaces it becomes its owner. Its group must not lose it.
        let kept = meta.uid() == own.uid() || fchown(new, Some(meta.uid()), None).is_ok();
        if meta.gid() != own.gid() {
            fchown(new, None, Some(meta.gid()))?;
        }
        tracing::debug!(kept, "the owner of the memory file");
    }
    new.set_permissions(meta.permissions())
}

/// It is written, and may not last.
fn in_doubt(path: &Path, e: io::Error) -> Error {
    Error::new(ErrorKind::OutcomeUnknown, "the memory file was written, and could not be made to last")
        .with("path", path.display())
        .with("reason", &e)
        .hint("look whether it is there before you call again")
        .because(e)
}
