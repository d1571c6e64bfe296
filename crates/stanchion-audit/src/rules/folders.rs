//! Files that are read by going through their folder.

use std::collections::{BTreeMap, BTreeSet};

use super::learned::known_in;
use crate::engine::{Event, Kind, Trace, What};

/// Folders of one trace that are looked at.
const LISTS_MOST: usize = 8;

/// A folder, and the file in which its name means that.
type Folder = (Option<usize>, String);

/// Folders whose files are read: in all folders inside as well, or not, and those with this ending, or all.
#[derive(Debug, Default)]
pub(super) struct Folders(BTreeMap<Folder, BTreeSet<(bool, Option<String>)>>);

impl Folders {
    pub(super) fn learn(&mut self, trace: &Trace, is_test: impl Fn(usize) -> bool) {
        let is_list = |e: &&Event| matches!(e.what, What::List) && !is_test(e.site.file);
        for list in trace.events().iter().filter(is_list).take(LISTS_MOST) {
            let is_read = |e: &Event| matches!(e.what, What::Read { .. }) && is_found_in(list, e);
            let Some(folder) = list.resource.as_ref().filter(|_| trace.events().iter().any(is_read)) else { continue };
            let pattern = folder.part.as_deref().unwrap_or_default();
            let asked = (is_deep(pattern), ending(pattern).map(ToOwned::to_owned));
            self.0.entry(known_in(&folder.name, list.site.file)).or_default().insert(asked);
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        for (folder, asked) in other.0 {
            self.0.entry(folder).or_default().extend(asked);
        }
    }

    /// Whether a file of this name is among those that are read so.
    pub(super) fn has(&self, path: &str, file: usize) -> bool {
        let ends = ending(path);
        let cuts = cuts(path);
        cuts.iter().enumerate().any(|(at, cut)| {
            let Some(asked) = path.get(..*cut).and_then(|folder| self.0.get(&known_in(folder, file))) else {
                return false;
            };
            let is_last = at + 1 == cuts.len();
            asked.iter().any(|(deep, ending)| (is_last || *deep) && (ending.is_none() || ending.as_deref() == ends))
        })
    }
}

/// Where the folders of a path end, whatever its parts were computed from.
fn cuts(path: &str) -> Vec<usize> {
    let mut depth = 0_u32;
    let mut all = Vec::new();
    for (at, c) in path.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '/' if depth == 0 && at > 0 => all.push(at),
            _ => {}
        }
    }
    all
}

/// The file has the name of one of those that the folder was found to hold.
pub(super) fn is_found_in(list: &Event, read: &Event) -> bool {
    let names = list.resource.as_ref().and_then(|r| r.part.as_ref());
    let of_file = read.resource.as_ref().filter(|r| r.kind == Kind::File && read.id > list.id);
    names.zip(of_file).is_some_and(|(names, file)| file.name.contains(&**names))
}

/// Whether a pattern is for all folders inside as well.
pub(super) fn is_deep(pattern: &str) -> bool {
    pattern.contains("**")
}

/// The ending of a file's name, or of a pattern for names, which stands in brackets.
pub(super) fn ending(name: &str) -> Option<&str> {
    let (_, ending) = name.trim_end_matches(')').rsplit_once('.')?;
    (!ending.is_empty() && ending.chars().all(char::is_alphanumeric)).then_some(ending)
}
