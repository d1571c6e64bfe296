//! Reading without a lock: whoever writes, a reader sees the last state that was whole.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use stanchion_core::Result;

use super::Notices;
use super::place::{Place, trouble};
use super::record::{Record, Stamp};
use super::view::View;
use crate::Notice;

/// A reader that meets one writer after the other looks again so often before it reads everything.
const LOOKS: usize = 16;

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) place: Place,
    pub(super) view: Arc<RwLock<View>>,
    pub(super) notices: Arc<Notices>,
}

impl Reader {
    /// Whether it may be read at all.
    pub(super) fn check(&self) -> Result<()> {
        match std::fs::File::open(&self.place.file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.trouble(e)),
            _ => Ok(()),
        }
    }

    fn trouble(&self, e: io::Error) -> stanchion_core::Error {
        trouble("cannot read the memory file", &self.place.file, e)
    }

    /// Makes the view the file as it is now. Waits for no other process.
    pub(super) fn refresh(&self) -> Result<()> {
        let now = Stamp::at(&self.place.file).map_err(|e| self.trouble(e))?;
        if self.view.read().unwrap_or_else(PoisonError::into_inner).stamp == now {
            return Ok(());
        }
        for look in 1..=LOOKS {
            // From here on nobody in this process goes ahead: what is found below is at least as new as what was acknowledged.
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            if self.look(&mut view, look == LOOKS).map_err(|e| self.trouble(e))? {
                self.tell_of_damage(&view);
                break;
            }
        }
        Ok(())
    }

    /// One look. `false` if somebody was writing, and the next look is worth more; never at the last.
    fn look(&self, view: &mut View, is_last: bool) -> io::Result<bool> {
        let path = &self.place.file;
        let Some(now) = Stamp::at(path)? else {
            *view = View::default();
            return Ok(true);
        };
        if view.stamp == Some(now) {
            return Ok(true);
        }
        let record = Record::read(&self.place.state_folder().join("state"));
        let vouched = record.and_then(|record| record.vouches(&now));
        match vouched {
            // Only what is behind the part we know is new, and only as far as its writer has come to an end.
            Some((chain, whole)) if view.is_at(chain, whole) => {
                view.extend(Stamp { size: whole, ..now })?;
                return Ok(true);
            }
            // One writer has just finished, or is about to.
            None if !is_last && record.is_some_and(|record| view.chain == Some(record.chain)) => return Ok(false),
            _ => {}
        }
        let loaded = View::load(path, vouched.map(|(_, whole)| whole))?;
        let is_it = loaded.stamp.is_some_and(|stamp| stamp.is_same_file(&now));
        let steady = vouched.is_some() || Stamp::at(path)? == loaded.stamp;
        if !(is_last || is_it && steady) {
            return Ok(false);
        }
        let chain = vouched.map(|(chain, _)| chain).filter(|_| is_it);
        *view = View { chain, ..loaded };
        Ok(true)
    }

    /// A reader leaves damaged lines where they are, and says so. A last line that is not whole may just be being written.
    fn tell_of_damage(&self, view: &View) {
        let Some(first) = view.damaged.first().filter(|_| view.has_spoilt()) else { return };
        let text = format!(
            "{} has damaged lines (the first is line {}: {}); they are left out, and the next write puts them into {}",
            self.place.file.display(),
            first.line,
            first.reason,
            self.place.damaged().display()
        );
        self.notices.say_once(Notice { kind: "file_damaged", text });
    }
}
