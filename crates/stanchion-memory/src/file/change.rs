//! The two ways in which a file is changed: something is added at the end, or another file takes its place.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_stores::Durability;

use super::lines::{Batch, Next, Piece};
use super::place::trouble;
use super::record::{Phase, Stamp};
use super::view::View;
use super::writer::{Writer, new_chain};
use crate::Plan;

/// How far writing came.
pub(super) enum Written {
    Yes,
    /// Somebody else has changed the file meanwhile: it has to be read again.
    No,
}

impl Writer {
    /// Adds lines at the end.
    pub(super) fn append(&mut self, view: &mut View, batch: Batch) -> Result<Written> {
        let path = self.place.file.clone();
        let fail = |e| trouble("cannot write the memory file", &path, e);
        let Some((before, file)) = self.open_end(view).map_err(fail)? else { return Ok(Written::No) };
        let chain = view.chain.unwrap_or_else(new_chain);
        let batch = batch.placed(before.size, view.is_open);
        self.note(Phase::Appending, chain, Some(before))?;
        if let Err(e) = self.disk.write(&file, &batch.bytes) {
            // Nobody has counted it: until the record says otherwise, readers stop where it began.
            if self.disk.truncate(&file, before.size).is_ok() {
                self.note(Phase::Settled, new_chain(), Stamp::at(&path).ok().flatten())?;
            }
            return Err(fail(e));
        }
        if self.options.durability == Durability::Power {
            self.disk.sync(&file).map_err(|e| in_doubt(&path, e))?;
            if view.stamp.is_none() {
                self.disk.sync_folder(&self.place.folder).map_err(|e| in_doubt(&path, e))?;
            }
        }
        let after = Stamp::at(&path).map_err(|e| in_doubt(&path, e))?;
        // Else it went into a file that has no name any more.
        let Some(after) = after.filter(|after| after.is_same_file(&before)) else { return Ok(Written::No) };
        self.note(Phase::Settled, chain, Some(after))?;
        if after.size != before.size + batch.bytes.len() as u64 {
            // A foreign program has added something at the same moment; both are there.
            *view = View::default();
            return Ok(Written::Yes);
        }
        if view.file.is_none() {
            view.file = Some(File::open(&path).map_err(|e| in_doubt(&path, e))?);
        }
        (view.stamp, view.chain, view.end, view.is_open) = (Some(after), Some(chain), after.size, false);
        view.spans.extend(batch.spans);
        Ok(Written::Yes)
    }

    /// The file, open at its end, and how it is. `None` if it is not the one that is known. What somebody else adds after this look
    /// is before what we add.
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

    /// Puts another file in the place of this one, in one step.
    pub(super) fn replace(&mut self, view: &mut View, plan: Plan) -> Result<Written> {
        let (path, new) = (self.place.file.clone(), self.place.next());
        let fail = |e| trouble("cannot replace the memory file", &path, e);
        let whole = view.is_document || view.file.is_none();
        let next = if whole { Next::whole(view, &plan) } else { Next::of(view, &plan).map_err(fail)? };
        self.note(Phase::Replacing, view.chain.unwrap_or_else(new_chain), view.stamp)?;
        self.forget(&new).map_err(fail)?;
        let written = self.write_next(view, &next, &new);
        let file = match written {
            Ok(file) => file,
            Err(e) => {
                // It is nobody's: if it cannot be removed now, the next writer does.
                self.forget(&new).ok();
                return Err(fail(e));
            }
        };
        if Stamp::at(&path).map_err(fail)? != view.stamp {
            self.forget(&new).map_err(fail)?;
            return Ok(Written::No);
        }
        self.disk.rename(&new, &path).map_err(fail)?;
        if self.options.durability == Durability::Power {
            self.disk.sync_folder(&self.place.folder).map_err(|e| in_doubt(&path, e))?;
        }
        let (stamp, chain) = (Stamp::of(&file.metadata().map_err(|e| in_doubt(&path, e))?), new_chain());
        self.note(Phase::Settled, chain, Some(stamp))?;
        let Next { spans, size, .. } = next;
        let mut graph = std::mem::take(&mut view.graph);
        graph.apply(plan);
        *view = View {
            file: Some(file),
            stamp: Some(stamp),
            chain: Some(chain),
            graph,
            spans,
            end: size,
            ..View::default()
        };
        Ok(Written::Yes)
    }

    fn write_next(&self, view: &View, next: &Next, path: &Path) -> io::Result<File> {
        let file = self.disk.create(path)?;
        if let Some(old) = &view.file {
            inherit(old, &file)?;
        }
        for piece in &next.pieces {
            match (piece, &view.file) {
                (Piece::Old(range), Some(old)) => {
                    self.disk.copy(old, range.clone(), &file)?;
                    self.disk.write(&file, b"\n")?;
                }
                (Piece::New(bytes), _) => self.disk.write(&file, bytes)?,
                (Piece::Old(_), None) => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        if self.options.durability == Durability::Power {
            self.disk.sync(&file)?;
        }
        Ok(file)
    }
}

/// Who may read the old file may read the new one.
fn inherit(old: &File, new: &File) -> io::Result<()> {
    let meta = old.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = new.metadata()?;
        if (meta.uid(), meta.gid()) != (own.uid(), own.gid()) {
            // Only root may give a file away; whoever else replaces the file becomes its owner.
            fchown(new, Some(meta.uid()), Some(meta.gid())).ok();
        }
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
