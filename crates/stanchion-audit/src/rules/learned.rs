//! What one trace says that another one is judged by.

use std::collections::{BTreeMap, BTreeSet};

use super::Hit;
use super::around::Around;
use super::folders::Folders;
use super::hit::Rests;
use super::marks::Marks;
use crate::engine::{Event, Kind, Made, Site, Trace, What};
use crate::program::Program;

/// What all traces together say; it is known only when the last one has been judged.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Files that something reads.
    read: BTreeSet<(Option<usize>, String)>,
    /// And those whose paths a library is given, and that are written with what it gave.
    given: BTreeSet<(Option<usize>, String)>,
    /// And folders whose files something reads.
    folders: Folders,
    /// Names, as [`like`] has them, of keys that are set only if they are not there.
    locks: BTreeSet<String>,
    /// And of locks that are given back or prolonged somewhere.
    released: BTreeSet<String>,
    /// What tests read: nobody reads it while it is written.
    tested: BTreeSet<(Option<usize>, String)>,
    /// How files are written or removed: the place, if it writes the same each time.
    written: BTreeMap<(Option<usize>, String), BTreeSet<Option<Site>>>,
    /// Fields of one object: the path of a file, and what was read from it when the object was made.
    kept: BTreeMap<(String, String), Site>,
    /// Columns that are set in rows, and those that new rows have something in.
    updated: BTreeSet<(String, String)>,
    filled: BTreeSet<(String, String)>,
    /// How much of what was done at the start is known.
    loaded: usize,
    marks: Marks,
    /// What is held around functions.
    around: Around,
}

impl Learned {
    /// What a trace says to others.
    pub(crate) fn learn(&mut self, trace: &Trace, is_test: impl Fn(usize) -> bool) {
        // What is read at the start is read by whoever starts meanwhile.
        for event in trace.loaded().get(self.loaded..).unwrap_or_default() {
            let file = event.resource.as_ref().filter(|r| r.kind == Kind::File);
            if let (What::Read { .. }, Some(r)) = (&event.what, file) {
                let read = if is_test(event.site.file) { &mut self.tested } else { &mut self.read };
                read.insert(known_in(&r.name, event.site.file));
            }
        }
        self.loaded = trace.loaded().len();
        self.folders.learn(trace, &is_test);
        self.around.learn(trace);
        self.marks.learn(trace);
        for event in trace.events() {
            match &event.what {
                What::Acquire(lock) if lock.tries => drop(self.locks.insert(like(&lock.lock))),
                What::Release { lock, .. } | What::Renew { lock, .. } => drop(self.released.insert(like(lock))),
                _ => {}
            }
            if let (What::Write(how), Some(r)) = (&event.what, &event.resource)
                && r.kind == Kind::Table
                && !is_test(event.site.file)
            {
                let all = if how.inserts { &mut self.filled } else { &mut self.updated };
                all.extend(how.columns.iter().map(|column| (r.name.to_string(), column.to_string())));
            }
            let Some(r) = event.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
            let name = known_in(&r.name, event.site.file);
            if let What::Write(how) = &event.what {
                let same = how.is_same() && event.deps.is_empty();
                let given = |e: &Event| matches!(e.what, What::Given) && e.resource == event.resource;
                if event.deps.iter().filter_map(|id| trace.event(id)).any(given) && !is_test(event.site.file) {
                    self.given.insert(name.clone());
                }
                self.written.entry(name).or_default().insert(same.then_some(event.site));
            } else if matches!(event.what, What::Read { .. }) {
                let read = if is_test(event.site.file) { &mut self.tested } else { &mut self.read };
                read.insert(name);
                read.extend(filled(&r.name, event.site.file));
                trace.made.iter().for_each(|made| self.learn_made(made, event, &r.name));
            }
        }
    }

    /// Whoever makes an object with the path of a file that he has read: the object's methods know the file by its field.
    fn learn_made(&mut self, made: &Made, read: &Event, path: &str) {
        for (field, value) in made {
            // The path itself, or a part of the settings that the maker was given.
            let given = value.name.starts_with('$') || value.object().is_some_and(|object| object.class.is_some());
            let is_part = |rest: &&str| rest.is_empty() || given && rest.starts_with('.');
            let Some(rest) = path.strip_prefix(&*value.name).filter(is_part) else { continue };
            let file = format!("{field}{rest}");
            for (content, _) in made.iter().filter(|(_, value)| value.deep_origins().contains(read.id)) {
                self.kept.entry((file.clone(), content.to_string())).or_insert(read.site);
            }
            self.read.insert((None, file));
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.read.extend(other.read);
        self.given.extend(other.given);
        self.folders.add(other.folders);
        self.around.add(other.around);
        self.marks.add(other.marks);
        self.tested.extend(other.tested);
        self.updated.extend(other.updated);
        self.filled.extend(other.filled);
        for (name, sites) in other.written {
            self.written.entry(name).or_default().extend(sites);
        }
        self.locks.extend(other.locks);
        self.released.extend(other.released);
        for (fields, read) in other.kept {
            self.kept.entry(fields).or_insert(read);
        }
    }

    /// Whether something sets one of the columns on which a change of a row rests.
    fn is_moved(&self, table: &str, rests: &Rests) -> bool {
        let columns = rests.columns.iter().map(|column| (table.to_owned(), column.clone()));
        let mut set = columns.filter(|column| self.updated.contains(column));
        set.any(|column| !rests.filled || self.filled.contains(&column))
    }

    /// Whether only functions lead to a hit that are called with what protects it.
    pub(crate) fn is_covered(&self, hit: &Hit, program: &Program) -> bool {
        self.around.covers(hit, program)
    }

    /// Whether a hit of a rule stands that depends on what the rest of the program does.
    pub(crate) fn bears_out(&self, hit: &mut Hit, is_test: impl Fn(usize) -> bool) -> bool {
        if hit.rests.as_ref().is_some_and(|rests| !self.is_moved(&hit.resource, rests)) {
            return false;
        }
        match hit.code {
            "RC107" if hit.read.is_none() => {
                let mut kept = hit.memory.iter();
                hit.read = kept.find_map(|memory| self.kept.get(&(hit.resource.clone(), memory.clone()))).copied();
                hit.read.is_some()
            }
            "RC208" if hit.marked => self.marks.has(hit),
            // What nobody gives back is a mark that is meant to stay.
            "RC203" => self.released.contains(&like(&hit.resource)),
            "RC204" => self.locks.contains(&like(&hit.resource)),
            // Nobody sees half of what nobody reads.
            "RC108" | "RC302" => {
                let names = || {
                    let family = filled(&hit.resource, hit.write.file);
                    std::iter::once(known_in(&hit.resource, hit.write.file)).chain(family)
                };
                let known = names().any(|name| self.read.contains(&name))
                    || self.folders.has(&hit.resource, hit.write.file)
                    || is_test(hit.write.file) && names().any(|name| self.tested.contains(&name));
                let given = || names().any(|name| self.given.contains(&name));
                if !known && given() {
                    hit.sure = hit.sure.min(1);
                    return true;
                }
                known
            }
            // Whoever comes second writes the same, and nobody has written anything else or works with it. What was given
            // may be anybody's.
            "RC301" if hit.same => {
                let name = known_in(&hit.resource, hit.write.file);
                let elsewhere = |sites: &BTreeSet<Option<Site>>| sites.iter().any(|site| *site != Some(hit.write));
                name.0.is_some() || self.read.contains(&name) || self.written.get(&name).is_some_and(elsewhere)
            }
            _ => true,
        }
    }
}

/// Where a name means one thing: a parameter's name says something in its own file only.
pub(crate) fn known_in(name: &str, file: usize) -> (Option<usize>, String) {
    let bytes = name.as_bytes();
    let mut params = name.match_indices('$').filter(|(at, _)| {
        let after = bytes.get(at + 1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'_');
        after && at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'.')
    });
    (params.next().map(|_| file), name.to_owned())
}

/// A name with holes, whatever is put into them: one file reads and writes the same family of files.
pub(crate) fn filled(name: &str, file: usize) -> Option<(Option<usize>, String)> {
    let short = name.contains('{').then(|| like(name))?;
    short.contains('/').then_some((Some(file), short))
}

/// A name without what is put into it: the same in every function.
pub(crate) fn like(name: &str) -> String {
    let (mut short, mut depth) = (String::new(), 0_u32);
    for c in name.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push(c),
            _ => {}
        }
    }
    if short.starts_with('$') && !name.contains('{') { "$".to_owned() } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_whatever_is_put_into_it() {
        assert_eq!(like("lock:${$name}"), like("lock:${$job.id}"));
        assert_eq!(like("$key"), like("$k"));
        assert_ne!(like("lock:${$name}"), like("session:${$name}"));
        assert_eq!(like("a}b{c"), "ab");
    }

    #[test]
    fn a_parameter_names_a_file_in_its_own_file_only() {
        let known = |name: &str| known_in(name, 3).0;
        assert_eq!(known("$path"), Some(3));
        assert_eq!(known("/data/${$name}.json"), Some(3));
        assert_eq!(known("Store.$path"), None);
        assert_eq!(known("/data/notes.json"), None);
        assert_eq!(known("costs $"), None);
    }
}
