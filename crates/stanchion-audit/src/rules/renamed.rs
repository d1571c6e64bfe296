//! RC101, where a file is found by going through its folder, or by a name that was given, and written back under the name that
//! its content says.

use super::folders::{ending, is_deep, is_found_in};
use super::lost::by_locks;
use super::{Case, Hit};
use crate::engine::{Event, Kind, Mark, What, Write};

/// Reads of one write that are looked at.
const READS_MOST: usize = 8;

/// RC101: what was read of a file is changed, and written to its folder by what it says itself.
pub(super) fn back_elsewhere(case: &Case<'_>, hits: &mut Vec<Hit>) {
    let is_list = |e: &&Event| matches!(e.what, What::List) && !e.early;
    let lists: Vec<&Event> = case.events().iter().filter(is_list).take(READS_MOST).collect();
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let plain = how.whole && !how.creates && !how.deletes && !how.constant && !write.handler;
        if !plain || hits.iter().any(|hit| hit.code == "RC101" && hit.write == write.site) {
            continue;
        }
        // A loop in between goes through the parts of what was read, and makes a file of each.
        let reads = write.deps.iter().rev().take(READS_MOST).filter_map(|id| case.trace.event(id)).filter(|read| {
            matches!(read.what, What::Read { .. })
                && !read.early
                && how.named.contains(read.id)
                && read.loops.starts_with(&write.loops)
                && read.meets(write)
        });
        let found = reads.filter(|read| {
            let list = lists.iter().find(|list| is_found_in(list, read));
            let is_it = |list: &&Event| is_put_beside(list, write) || is_moved(case, list, read, write);
            list.map_or_else(|| is_named_alike(read, write), is_it)
        });
        if let Some(read) = found.into_iter().next() {
            hits.extend(by_locks(case, "RC101", read, write, "a file"));
        }
    }
}

/// What the path has behind the folder.
fn inside<'a>(list: &Event, of: &'a Event) -> Option<&'a str> {
    let path = of.resource.as_ref().filter(|r| r.kind == Kind::File)?;
    path.name.strip_prefix(&*list.resource.as_ref()?.name)?.strip_prefix('/')
}

/// It is one of the files that are found there the next time: in the same folder, or in any that was looked through, with the
/// same ending, and not with a name that nobody has had.
fn is_put_beside(list: &Event, write: &Event) -> bool {
    let pattern = list.resource.as_ref().and_then(|r| r.part.as_deref()).unwrap_or_default();
    let is_asked = |name: &&str| !name.contains('/') || is_deep(pattern);
    let Some(name) = inside(list, write).filter(|name| is_asked(name) && !Mark::Unique.is_in(name)) else {
        return false;
    };
    let asked = ending(pattern);
    ending(name).is_some_and(|ending| asked.is_none_or(|asked| asked == ending))
}

/// The one that was found, or what it was called, is removed: it has come from there.
fn is_moved(case: &Case<'_>, list: &Event, read: &Event, write: &Event) -> bool {
    let of_it = |how: &Write| how.named.contains(read.id) || how.named.contains(list.id);
    inside(list, write).is_some()
        && case.events().iter().any(|e| {
            matches!(&e.what, What::Write(how) if how.deletes && of_it(how))
                && e.id > read.id
                && e.resource.as_ref().is_some_and(|r| r.kind == Kind::File)
                && e.meets(write)
        })
}

/// The one was asked for by a name that was given, and the other has what its content says in the place of that.
fn is_named_alike(read: &Event, write: &Event) -> bool {
    let path = |e: &Event| e.resource.as_ref().filter(|r| r.kind == Kind::File).map(|r| r.name.to_string());
    let Some((from, to)) = path(read).zip(path(write)).filter(|(from, to)| from != to) else { return false };
    // What was given for the one is in the other only as a part of where its content is from.
    let to = to.replace(&from, "");
    let ((before, given), (after, said)) = (form(&from), form(&to));
    before == after && !said.is_empty() && given.contains('$') && !said.contains('$') && !Mark::Unique.is_in(&said)
}

/// A path without what its holes are filled with, and what that is.
fn form(path: &str) -> (String, String) {
    let (mut plain, mut filled, mut depth) = (String::new(), String::new(), 0_u32);
    let mut before = '/';
    for c in path.chars() {
        match c {
            '{' if before == '$' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            plain.push(c)
        } else {
            filled.push(c)
        }
        before = c;
    }
    (plain, filled)
}
