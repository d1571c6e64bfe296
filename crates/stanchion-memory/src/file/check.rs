//! What is in a file, without touching it.

use std::path::{Path, PathBuf};

use stanchion_core::Result;

use super::place::{Place, trouble};
use super::view::{Kind, View};
use crate::Damaged;

/// What was found in a memory file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("memory.jsonl");
/// std::fs::write(&path, "{\"type\":\"entity\",\"na")?;
/// let checked = stanchion_memory::check(&path)?;
/// assert!(!checked.is_sound());
/// assert_eq!(checked.damaged[0].line, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The file itself.
    pub path: PathBuf,
    /// Whether it is there at all; a missing file is an empty graph.
    pub exists: bool,
    /// Its size.
    pub bytes: u64,
    /// How many entities it holds.
    pub entities: usize,
    /// How many relations it holds.
    pub relations: usize,
    /// Lines of other types, which are kept and not used.
    pub other: usize,
    /// What is no part of the graph.
    pub damaged: Vec<Damaged>,
    /// It is one document, not lines: the official server cannot read it.
    pub is_document: bool,
    /// It begins with a byte order mark: the official server cannot read it.
    pub has_byte_order_mark: bool,
    /// Where damaged pieces are put.
    pub side_file: PathBuf,
}

impl Checked {
    /// Nothing has to be repaired.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// assert!(stanchion_memory::check(folder.path().join("memory.jsonl"))?.is_sound());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && !self.is_document && !self.has_byte_order_mark
    }
}

/// Looks at a memory file and changes nothing. While somebody writes, an unfinished last line is no damage: look again.
///
/// # If it fails
/// As [`FileMemory::open`](crate::FileMemory::open).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// assert!(!stanchion_memory::check(folder.path().join("memory.jsonl"))?.exists);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Checked> {
    let place = Place::of(path.as_ref())?;
    let view = View::load(&place.file, None).map_err(|e| trouble("cannot read the memory file", &place.file, e))?;
    Ok(Checked {
        exists: view.stamp.is_some(),
        bytes: view.stamp.map_or(0, |stamp| stamp.size),
        entities: view.graph.entities().len(),
        relations: view.graph.relations().len(),
        other: view.spans.iter().filter(|span| span.kind == Kind::Other).count(),
        damaged: view.damaged,
        is_document: view.is_document,
        has_byte_order_mark: view.has_mark,
        side_file: place.damaged(),
        path: place.file,
    })
}
