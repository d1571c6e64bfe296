//! The rules: each judges a trace.

mod around;
mod aside;
mod chosen;
mod content;
mod ended;
mod fencing;
mod files;
mod folders;
mod given_back;
mod handlers;
mod hit;
mod inserts;
mod joint;
mod learned;
mod locks;
mod lost;
mod marks;
mod mutexes;
mod parts;
mod renamed;
mod repeated;
mod retries;
mod rows;
mod saved;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::hit::FRAMES_MOST;
pub(crate) use self::hit::Hit;
pub(crate) use self::learned::Learned;
use crate::engine::{Entry, Event, EventId, Kind, Mark, Scope, Site, Trace, What, Write};
use crate::hir::Language;
use crate::models::Models;
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

type Rule = fn(&Case<'_>, &mut Vec<Hit>);

/// All rules, one line each.
const RULES: &[Rule] = &[
    content::file,
    renamed::back_elsewhere,
    content::emptied,
    content::swapped,
    rows::row,
    rows::uncounted,
    rows::put_back,
    chosen::compared,
    chosen::found,
    lost::key,
    lost::memory,
    ended::of_another,
    lost::split,
    content::of_its_maker,
    saved::snapshot,
    files::check_then_act,
    aside::rotated,
    files::non_atomic_write,
    files::fixed_temp_name,
    aside::scratch,
    files::error_as_empty,
    locks::without_ttl,
    locks::not_released,
    locks::per_call,
    locks::in_a_pool,
    locks::for_update_outside,
    mutexes::await_once,
    mutexes::stale_unlink,
    marks::mark_removed,
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
    pub(crate) models: &'a Models,
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
        let (resource, root) = (at.resource.as_ref(), &self.trace.root);
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
            by: BTreeSet::from([root.handles().0]),
            same: false,
            rests: None,
            marked: false,
            loose: (root.entry == Entry::Loose).then(|| BTreeSet::from([root.handles()])),
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
                && (e.meets(from) || from.early)
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
        how.compares
            || how.saves && self.facts.schema.is_versioned(table)
            || !expected.is_empty() && !self.facts.schema.is_within_key(table, &expected)
    }

    /// How far a lock has to reach to protect this.
    fn needed(&self, shared: Scope) -> Scope {
        shared.min(self.facts.deployment)
    }

    /// Whether no other process has what is shared so far.
    fn is_ours_alone(&self, shared: Scope) -> bool {
        shared <= Scope::Process || self.facts.alone && self.needed(shared) <= Scope::Process
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
