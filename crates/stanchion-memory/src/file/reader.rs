//! Reading without a lock: whoever writes, a reader sees the last state that was whole.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use stanchion_core::Result;

use super::Notices;
use super::place::{Place, trouble};
use super::record::{Record, Stamp, Vouched};
use super::view::View;
use crate::Notice;

/// A reader that meets one writer after the other looks again so often before it reads everything.
const LOOKS: usize = 16;
/// Half a line at the end that is still the same after so long is not being written.
const PATIENCE: Duration = Duration::from_secs(1);

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
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        if view.stamp == now {
            self.tell_of_damage(&view);
            return Ok(());
        }
        drop(view);
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
            if view.stamp.is_some() {
                self.notices.say_once("file_deleted", || self.place.was_deleted());
            }
            *view = View::default();
            return Ok(true);
        };
        self.notices.may_say_again("file_deleted");
        if view.stamp == Some(now) {
            return Ok(true);
        }
        let record = Record::read(&self.place.state_folder().join("state"));
        let vouched = record.as_ref().map_or(Vouched::No, |record| record.vouches(path, &now));
        match vouched {
            // Only what is behind the part we know is new, and only as far as its writer has come.
            Vouched::Whole { chain, size } if view.is_at(chain, size) => {
                view.extend(Stamp { size, ..now })?;
                return Ok(true);
            }
            // One writer has just finished, or is about to.
            Vouched::No if !is_last && record.is_some_and(|record| view.chain == Some(record.chain)) => {
                return Ok(false);
            }
            _ => {}
        }
        let (chain, limit) = match vouched {
            Vouched::Whole { chain, size } if !is_last => (Some(chain), Some(size)),
            _ => (None, None),
        };
        let loaded = View::load(path, limit)?;
        let is_it = loaded.stamp.is_some_and(|stamp| stamp.is_same_file(&now));
        let steady = limit.is_some() || Stamp::at(path)? == loaded.stamp;
        if !(is_last || is_it && steady) {
            return Ok(false);
        }
        *view = View { chain, ..loaded };
        Ok(true)
    }

    /// A reader leaves what is damaged where it is, and says so. A last line that is not whole may just be being written.
    fn tell_of_damage(&self, view: &View) {
        let is_stale = view.since.is_some_and(|since| since.elapsed() > PATIENCE);
        let Some(first) = view.damaged.first().filter(|_| view.has_spoilt() || is_stale) else { return };
        let text = format!(
            "{} is damaged (line {}: {}); that is left out, and the next write puts it into {}",
            self.place.file.display(),
            first.line,
            first.reason,
            self.place.damaged().display()
        );
        self.notices.say_once(&text, || Notice { kind: "file_damaged", text: text.clone() });
    }
}
