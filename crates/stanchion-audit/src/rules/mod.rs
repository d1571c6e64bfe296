//! The rules: each judges a trace.

mod content;
mod fencing;
mod files;
mod given_back;
mod handlers;
mod inserts;
mod joint;
mod locks;
mod lost;
mod mutexes;
mod parts;
mod repeated;
mod retries;
mod rows;
mod saved;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{Event, EventId, Kind, Made, Mark, Scope, Site, Trace, What, Write};
use crate::hir::Language;
use crate::program::Program;
use crate::schema::Schema;

/// What is known about a package beforehand.
#[derive(Debug)]
pub(crate) struct Facts {
    /// How far the copies of it reach that run at one time.
    pub(crate) deployment: Scope,
    /// It is known that there is one process only.
    pub(crate) alone: bool,
    /// Why, in words.
    pub(crate) because: String,
    /// Keys that the database enforces.
    pub(crate) schema: Arc<Schema>,
}

/// A deployment of which nothing is known: one process as far as locks go, but nobody says that it is alone.
pub(crate) const UNKNOWN: Scope = Scope::Thread;

impl Facts {
    pub(crate) fn new(deployment: Scope, because: &str, schema: Arc<Schema>) -> Self {
        let alone = deployment == Scope::Process;
        Self { deployment: deployment.max(Scope::Process), alone, because: because.to_owned(), schema }
    }
}

/// What all traces together say; it is known only when the last one has been judged.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Files that something reads.
    read: BTreeSet<(Option<usize>, String)>,
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
}

impl Learned {
    /// What a trace says to others.
    pub(crate) fn learn(&mut self, trace: &Trace, is_test: impl Fn(usize) -> bool) {
        for event in trace.events() {
            match &event.what {
                What::Acquire(lock) if lock.tries => drop(self.locks.insert(like(&lock.lock))),
                What::Release { lock, .. } | What::Renew { lock, .. } => drop(self.released.insert(like(lock))),
                _ => {}
            }
            let Some(r) = event.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
            let name = known_in(&r.name, event.site.file);
            if let What::Write(how) = &event.what {
                let same = how.is_same() && event.deps.is_empty();
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
        self.tested.extend(other.tested);
        for (name, sites) in other.written {
            self.written.entry(name).or_default().extend(sites);
        }
        self.locks.extend(other.locks);
        self.released.extend(other.released);
        for (fields, read) in other.kept {
            self.kept.entry(fields).or_insert(read);
        }
    }

    /// Whether a hit of a rule stands that depends on what the rest of the program does.
    pub(crate) fn bears_out(&self, hit: &mut Hit, is_test: impl Fn(usize) -> bool) -> bool {
        match hit.code {
            "RC107" if hit.read.is_none() => {
                let mut kept = hit.memory.iter();
                hit.read = kept.find_map(|memory| self.kept.get(&(hit.resource.clone(), memory.clone()))).copied();
                hit.read.is_some()
            }
            // What nobody gives back is a mark that is meant to stay.
            "RC203" => self.released.contains(&like(&hit.resource)),
            "RC204" => self.locks.contains(&like(&hit.resource)),
            // Nobody sees half of what nobody reads.
            "RC108" | "RC302" => {
                let names = || {
                    let family = filled(&hit.resource, hit.write.file);
                    std::iter::once(known_in(&hit.resource, hit.write.file)).chain(family)
                };
                names().any(|name| self.read.contains(&name))
                    || is_test(hit.write.file) && names().any(|name| self.tested.contains(&name))
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

/// Something that a rule found.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) code: &'static str,
    pub(crate) read: Option<Site>,
    pub(crate) window: Option<Site>,
    pub(crate) write: Site,
    pub(crate) resource: String,
    pub(crate) scope: Scope,
    /// 0 low, 1 medium, 2 high.
    pub(crate) sure: u8,
    pub(crate) message: String,
    pub(crate) why: String,
    /// Where the two are put together, if not where they stand: the calls that lead to the read and to the write.
    pub(crate) calls: Vec<(Site, Site)>,
    /// Calls on the ways from there to the read and to the write.
    pub(crate) frames: BTreeSet<Site>,
    /// Other lines that the same calls come to: of the read and of the write.
    pub(crate) others: Vec<(Option<Site>, Site)>,
    /// Where it is told.
    pub(crate) at: Site,
    /// Things in memory that were written, if it depends on where they come from.
    pub(crate) memory: Vec<String>,
    /// The files with the functions from outside that lead to it.
    pub(crate) by: BTreeSet<usize>,
    /// What is written there is the same each time.
    pub(crate) same: bool,
}

impl Hit {
    /// The lines that read, in the order in which they are come to: where the read is called, then where it is done.
    pub(crate) fn reads(&self) -> Vec<Site> {
        let done = self.read.into_iter().chain(self.others.iter().filter_map(|(read, _)| *read));
        each_once(self.calls.iter().map(|(read, _)| *read).chain(done))
    }

    /// And those that write.
    pub(crate) fn writes(&self) -> Vec<Site> {
        let done = std::iter::once(self.write).chain(self.others.iter().map(|(_, write)| *write));
        each_once(self.calls.iter().map(|(_, write)| *write).chain(done))
    }

    /// Another way to the same two lines.
    pub(crate) fn comes_also_by(&mut self, frames: BTreeSet<Site>, by: &BTreeSet<usize>) {
        self.by.extend(by);
        for frame in frames {
            if self.frames.len() == FRAMES_MOST {
                return;
            }
            self.frames.insert(frame);
        }
    }
}

fn each_once(sites: impl Iterator<Item = Site>) -> Vec<Site> {
    let mut seen = BTreeSet::new();
    sites.filter(|site| seen.insert(*site)).collect()
}

/// Calls between that a hit knows: code that calls itself has any number.
const FRAMES_MOST: usize = 64;

type Rule = fn(&Case<'_>, &mut Vec<Hit>);

/// All rules, one line each.
const RULES: &[Rule] = &[
    content::file,
    content::emptied,
    rows::row,
    lost::key,
    lost::memory,
    lost::split,
    content::of_its_maker,
    saved::snapshot,
    files::check_then_act,
    files::non_atomic_write,
    files::fixed_temp_name,
    files::error_as_empty,
    locks::without_ttl,
    locks::not_released,
    locks::per_call,
    locks::in_a_pool,
    locks::for_update_outside,
    mutexes::await_once,
    mutexes::stale_unlink,
    mutexes::fail_open,
    fencing::release_without_token,
    fencing::stale_release,
    fencing::renew_without_token,
    inserts::check_then_insert,
    inserts::put_anew,
    retries::effect_in_retry,
    retries::without_backoff,
    retries::key_deleted,
    retries::short_window,
    handlers::timer_without_leader,
    handlers::hints_contradict,
];

/// A trace, and what it is judged by.
pub(crate) struct Case<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) facts: &'a Facts,
    pub(crate) program: &'a Program,
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

/// All that is wrong in a trace, if [`Learned::bears_out`] says so in the end.
pub(crate) fn judge(case: &Case<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for rule in RULES {
        rule(case, &mut hits);
    }
    hits.retain(|hit| !is_private(hit));
    hits
}

/// A file in a folder that was made for this call: nobody else knows it.
fn is_private(hit: &Hit) -> bool {
    let of_files = ["RC101", "RC105", "RC301", "RC302", "RC304"];
    of_files.contains(&hit.code)
        && (Mark::Unique.begins(&hit.resource) || hit.resource.contains(&format!("({}", Mark::Unique)))
}

impl Case<'_> {
    fn events(&self) -> &[Event] {
        self.trace.events()
    }

    /// A hit where something happens: about what happens there, as far as that is shared, of medium certainty.
    fn hit(&self, code: &'static str, at: &Event, (message, why): (impl Into<String>, impl Into<String>)) -> Hit {
        let resource = at.resource.as_ref();
        Hit {
            code,
            read: None,
            window: None,
            write: at.site,
            resource: resource.map_or_else(|| "?".into(), |r| r.name.to_string()),
            scope: resource.map_or(Scope::Process, |r| self.needed(r.scope)),
            sure: 1,
            message: message.into(),
            why: why.into(),
            calls: Vec::new(),
            frames: BTreeSet::new(),
            others: Vec::new(),
            at: at.site,
            memory: Vec::new(),
            by: BTreeSet::from([self.trace.root.handles().0]),
            same: false,
        }
    }

    /// A hit where something happens because of what was seen before.
    fn pair(
        &self,
        code: &'static str,
        read: &Event,
        write: &Event,
        text: (impl Into<String>, impl Into<String>),
    ) -> Hit {
        let (window, calls) = (self.window(read, write), self.put_together(read, write).into_iter().collect());
        let frames = frames(read, write);
        Hit { read: Some(read.site), window, calls, frames, ..self.hit(code, write, text) }
    }

    /// The function that does both, by what it calls: the two places where the ways to them part.
    fn put_together(&self, read: &Event, write: &Event) -> Option<(Site, Site)> {
        let (one, other) = if read.early {
            (place_at(read, read.stack.len().saturating_sub(1)), place_at(write, self.changed_at(write)))
        } else {
            let same = common(read, write);
            (place_at(read, same), place_at(write, same))
        };
        ((one, other) != (read.site, write.site)).then_some((one, other))
    }

    /// What was read at the start was read by somebody else: how deep the function is called that changes what is kept and has
    /// it written. Where nothing says so, it is whoever calls the one that writes.
    fn changed_at(&self, write: &Event) -> usize {
        let changes = self.between(0, write.id).iter().filter(|e| {
            let of_memory = e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory);
            of_memory && matches!(e.what, What::Write(_)) && write.stack.starts_with(&e.stack)
        });
        changes.map(|e| e.stack.len()).max().unwrap_or(write.stack.len().saturating_sub(1))
    }

    /// Those from one number up to another: an event's number is its place. What was early is before all of them.
    fn between(&self, from: EventId, to: EventId) -> &[Event] {
        self.events().get(from as usize..self.events().len().min(to as usize)).unwrap_or_default()
    }

    fn language(&self, event: &Event) -> Language {
        self.program.module(event.site.file).language
    }

    /// A point between the two where others can run, if there is one inside this process.
    fn window(&self, from: &Event, to: &Event) -> Option<Site> {
        let between = self.between(from.id.saturating_add(1), to.id.saturating_add(1)).iter();
        let pauses = |e: &&Event| {
            matches!(e.what, What::Suspend)
                && e.meets(to)
                // Of something that goes on by itself only its own pauses count.
                && (!e.detached || e.path.iter().all(|arm| to.path.contains(arm)))
        };
        between.filter(pauses).map(|e| e.site).next()
    }

    /// Whether calls of one process run at the same time by themselves.
    fn is_parallel(&self, event: &Event) -> bool {
        matches!(self.language(event), Language::Go | Language::Rust)
    }

    /// Whether the lock is given back by whatever ends the function: Rust drops its guard.
    fn is_dropped(&self, event: &Event, scope: Scope) -> bool {
        self.language(event) == Language::Rust && scope <= Scope::Process
    }

    /// Whether the call has given the lock to tasks of its own, which run beside it.
    fn is_shared_with_own(&self, lock: &str) -> bool {
        let takes = |e: &&Event| matches!(&e.what, What::Acquire(taken) if *taken.lock == *lock);
        self.events().iter().filter(takes).any(|e| e.detached)
    }

    /// Whether a write is done only if nobody has changed what was read.
    fn compares(&self, how: &Write, write: &Event) -> bool {
        let table = write.resource.as_ref().map_or("", |r| &*r.name);
        let expected: Vec<String> = how.expected.iter().map(ToString::to_string).collect();
        how.compares || !expected.is_empty() && !self.facts.schema.is_within_key(table, &expected)
    }

    /// How far a lock has to reach to protect this.
    fn needed(&self, shared: Scope) -> Scope {
        shared.min(self.facts.deployment)
    }
}

/// The place in the function at this depth from where something is come to.
fn place_at(event: &Event, depth: usize) -> Site {
    let mut way = event.stack.iter().skip(depth).chain([&event.site]).copied();
    let first = way.next().unwrap_or(event.site);
    // What a function given to a call does stands in the call, and is seen there.
    way.try_fold(first, |at, next| if at.holds(next) { Ok(next) } else { Err(at) }).unwrap_or_else(|at| at)
}

/// The calls that lead to both.
fn common(read: &Event, write: &Event) -> usize {
    // What was read at the start was read on a way of its own.
    if read.early {
        return 0;
    }
    read.stack.iter().zip(write.stack.iter()).take_while(|(one, other)| one == other).count()
}

/// The calls on the ways to the two, from where they part: the nearest ones, if there are too many.
fn frames(read: &Event, write: &Event) -> BTreeSet<Site> {
    let same = common(read, write);
    let way =
        |event: &Event| -> Vec<Site> { event.stack.iter().skip(same).rev().take(FRAMES_MOST / 2).copied().collect() };
    way(read).into_iter().chain(way(write)).collect()
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
