//! RC301 - RC304: files.

use super::learned::like;
use super::{Case, Hit};
use crate::engine::{Event, Held, Instead, Kind, Mark, Origins, Resource, Scope, What, Write};

/// RC301: asked first, then done.
pub(super) fn check_then_act(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
        // Who finds it removed already has what he wanted; for locks see RC208.
        // What is moved into place replaces what is there, unless it was to be there for the first time.
        let replaces = how.publishes && !is_moved(case, write, how);
        // What is cut off is written anew behind that.
        if how.creates || how.relative || how.deletes || how.empties || is_of_new_row(case, how) {
            continue;
        }
        if let Some(look) = free_name(case, write, how) {
            let text = (
                "a name is looked for that no file has, and it is written later",
                "another process or task can find the same name free in between: the second one overwrites the first",
            );
            hits.push(case.pair("RC301", look, write, text));
            continue;
        }
        if let Some(listed) = next_name(case, write, how) {
            let text = (
                "a file is named by what its folder holds, and written later",
                "another process or task can find the same name free in between: the second one overwrites the first",
            );
            hits.push(case.pair("RC301", listed, write, text));
            continue;
        }
        if replaces && !write.handler {
            continue;
        }
        // A handler puts it into place because the look has failed; whoever looks in a handler is not told by that.
        let Some(check) = look(case, write, resource).filter(|check| !(replaces && check.handler)) else { continue };
        // Whoever asks in order to read has a change to lose, which is RC101; not so whoever only looks whose it is, and
        // writes something of his own.
        let is_read = case.events().iter().any(|e| {
            matches!(e.what, What::Read { .. })
                && (check.id..write.id).contains(&e.id)
                && e.resource.as_ref().is_some_and(|r| r.is(resource))
                && e.meets(write)
                && !write.deps.is_empty()
        });
        // Whoever has made it since then, and could not have if it had been there, writes what is his.
        let is_own = case.between(check.id, write.id).iter().any(|e| {
            e.is_made_file() && e.resource.as_ref().is_some_and(|r| r.is(resource)) && !e.handler && e.meets(write)
        });
        if is_read
            || is_own
            || check.covered_with(write, case.needed(Scope::Host))
            // What only its maker can tell may come to nothing.
            || hits.iter().any(|hit| hit.write == write.site && hit.memory.is_empty())
        {
            continue;
        }
        let text = (
            "whether a file is there is asked first, and acted upon later",
            "another process or task can create or remove it in between",
        );
        let same = how.is_same() && write.deps.is_empty();
        hits.push(Hit { same, ..case.pair("RC301", check, write, text) });
    }
}

/// It has the number that a new row was given: nobody else has that.
fn is_of_new_row(case: &Case<'_>, how: &Write) -> bool {
    let mut from = how.named.iter().filter_map(|id| case.trace.event(id));
    from.any(|e| matches!(&e.what, What::Write(how) if how.inserts && how.replaces.is_none()))
}

/// The names in the folder of which the file has the next one: it may be nobody's only for a moment.
fn next_name<'a>(case: &'a Case<'_>, write: &Event, how: &Write) -> Option<&'a Event> {
    let events = || how.named.iter().filter_map(|id| case.trace.event(id)).filter(|e| e.meets(write));
    let next = events().find(|e| matches!(e.what, What::Next))?;
    let path = &write.resource.as_ref()?.name;
    let lists = |e: &&Event| matches!(e.what, What::List) && next.deps.contains(e.id);
    let listed = events().filter(|e| lists(e) && e.loops.len() >= write.loops.len()).find(|e| {
        let folder = e.resource.as_ref().map_or("", |r| &*r.name);
        let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| is_one_name(name) && !Mark::Unique.is_in(name))
    })?;
    // Whoever has made it, or a folder for it, and could not have if it had been there, is alone with it.
    let is_made = |e: &Event| e.is_made_file() && e.resource.as_ref().is_some_and(|r| path.starts_with(&*r.name));
    let alone =
        case.between(listed.id, write.id).iter().any(is_made) || listed.covered_with(write, case.needed(Scope::Host));
    (!alone).then_some(listed)
}

/// The look that has found the name free, or had another one taken instead.
fn free_name<'a>(case: &'a Case<'_>, write: &Event, how: &Write) -> Option<&'a Event> {
    let events = || how.named.iter().filter_map(|id| case.trace.event(id)).filter(|e| e.meets(write));
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let path = &write.resource.as_ref()?.name;
    let beside = |e: &Event| e.resource.as_ref().is_some_and(|r| folder(&r.name) == folder(path));
    let looks = events().filter(|e| matches!(e.what, What::Next)).flat_map(|next| next.deps.iter());
    let look = looks.filter_map(|id| case.trace.event(id)).find(|e| matches!(e.what, What::Check) && beside(e))?;
    let is_made = |e: &Event| e.is_made_file() && e.resource.as_ref().is_some_and(|r| path.starts_with(&*r.name));
    let alone =
        case.between(look.id, write.id).iter().any(is_made) || look.covered_with(write, case.needed(Scope::Host));
    (!alone).then_some(look)
}

/// No folder in it, whatever its parts were computed from.
fn is_one_name(name: &str) -> bool {
    let mut depth = 0_u32;
    name.chars().all(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c != '/' || depth > 0
    })
}

/// The question whether a file is there, because of whose answer it is written.
fn look<'a>(case: &'a Case<'_>, write: &Event, resource: &Resource) -> Option<&'a Event> {
    let of_it = |e: &&Event| e.resource.as_ref().is_some_and(|r| r.is(resource)) && e.meets(write);
    // One who goes through the names in a folder mostly wants to know that it is there.
    let by_name = |e: &Event| e.deps.is_empty() || write.absent.contains(e.id);
    let is_check = |e: &&Event| matches!(e.what, What::Check) && of_it(e) && by_name(e);
    let direct = write.guards.iter().rev().filter_map(|id| case.trace.event(id)).find(is_check);
    // Whoever was given nothing, because it was not there to be read.
    let by_content = || {
        let mut missed = write.absent.iter().rev().filter_map(|id| case.trace.event(id));
        let read = missed.find(|e| matches!(e.what, What::Read { .. }) && of_it(e))?;
        read.guards.iter().rev().filter_map(|id| case.trace.event(id)).find(is_check)
    };
    // Nothing was there to be read, and an identity is made that from then on is the one.
    let by_failure = || {
        let What::Write(Write { random: true, .. }) = &write.what else { return None };
        let mut missed = write.absent.iter().rev().filter_map(|id| case.trace.event(id));
        missed.find(|e| matches!(e.what, What::Read { .. }) && of_it(e) && !e.early && !write.deps.contains(e.id))
    };
    direct.or_else(by_content).or_else(by_failure)
}

/// A file that was there before gets another name: nobody wrote it in order to put it into place.
fn is_moved(case: &Case<'_>, write: &Event, how: &Write) -> bool {
    let Some(from) = how.from.as_ref().filter(|from| !Mark::Unique.is_in(from)) else { return false };
    let of_it = |e: &&Event| e.resource.as_ref().is_some_and(|r| r.kind == Kind::File && r.name == *from);
    let mut before = case.between(0, write.id).iter().filter(of_it).peekable();
    let to = write.resource.as_ref().map_or("", |r| &*r.name);
    // Of two names that are made in the same way neither is for a moment only.
    let is_alike = || from.contains("${") && like(from) == like(to) && **from != *to;
    (is_given(from) || is_alike() || before.peek().is_some()) && before.all(|e| !matches!(e.what, What::Write(_)))
}

/// The file's own name was given, wherever its folder is: `$from`, `/data/$body.from`.
fn is_given(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.strip_prefix('$').is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || "_.".contains(c)))
}

/// RC302: whoever reads meanwhile, or finds it after a crash, sees half of it.
pub(super) fn non_atomic_write(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
        // What is named anew for each call is nobody else's.
        let own = Mark::Unique.begins(&resource.name);
        // Whoever locks the file itself while he writes has readers who lock it, too.
        let own_lock = |held: &Held| held.lock == resource.name && held.scope >= case.needed(Scope::Host);
        let locked = how.keeps && write.held.iter().any(own_lock);
        if removed_first(case, write, how) {
            let text = (
                "a file is removed before the new one is moved into its place",
                "a reader in between finds none, and a crash leaves none",
            );
            hits.push(Hit { sure: 2, ..case.hit("RC302", write, text) });
            continue;
        }
        if !how.whole || how.publishes || how.creates || write.early || own || locked {
            continue;
        }
        let is_moved = case
            .events()
            .iter()
            .any(|event| matches!(&event.what, What::Write(w) if w.from.as_ref() == Some(&resource.name)));
        // Several writes to one open file are one.
        let again = case.events().iter().take_while(|e| e.id < write.id).any(|e| {
            matches!(&e.what, What::Write(w) if w.whole)
                && e.resource == write.resource
                && e.stack == write.stack
                && e.meets(write)
        });
        if is_moved || again {
            continue;
        }
        let text = (
            "a file that others read is overwritten in place",
            "a reader in between, or a crash, sees an empty or half-written file",
        );
        hits.push(Hit { sure: 2, ..case.hit("RC302", write, text) });
    }
}

/// What is moved there would have replaced what was there in one step.
fn removed_first(case: &Case<'_>, write: &Event, how: &Write) -> bool {
    let Some(from) = how.from.as_ref().filter(|_| !write.early && !write.handler) else { return false };
    let of_it = |e: &&Event| e.resource == write.resource && e.meets(write) && !e.handler;
    let last = case.between(0, write.id).iter().rev().filter(of_it).find(|e| matches!(e.what, What::Write(_)));
    // Only what was made in order to take its place.
    let is_made = |e: &Event| {
        matches!(&e.what, What::Write(made) if made.whole && made.from.is_none())
            && e.resource.as_ref().is_some_and(|r| r.name == *from)
            && e.meets(write)
    };
    last.is_some_and(|last| matches!(&last.what, What::Write(how) if how.deletes))
        && case.between(0, write.id).iter().any(is_made)
}

/// The file itself is put aside, under its own name with something behind it, or under one that nobody has had.
fn moved_away(case: &Case<'_>, write: &Event, from: &str) -> bool {
    let Some(to) = write.resource.as_ref().map(|r| &*r.name) else { return false };
    let is_read =
        |e: &Event| matches!(e.what, What::Read { .. }) && e.resource.as_ref().is_some_and(|r| *r.name == *from);
    to.strip_prefix(from).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        || Mark::Unique.is_in(to) && case.events().iter().any(is_read)
}

/// A database that is built anew and then moved: whatever was there before is removed first, or it has the name of what it
/// will be, with something behind it. Any other is put away with what it holds.
fn is_scratch(case: &Case<'_>, write: &Event, from: &str, opened: &Event) -> bool {
    let is_left = |e: &Event| {
        matches!(&e.what, What::Write(how) if how.deletes)
            && e.resource.as_ref().is_some_and(|r| *r.name == *from)
            && e.meets(opened)
    };
    let named = write.resource.as_ref().and_then(|r| from.strip_prefix(&*r.name));
    named.is_some_and(|rest| !rest.is_empty()) || case.between(0, opened.id).iter().any(is_left)
}

/// RC303: two writers share one temporary file.
pub(super) fn fixed_temp_name(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(from) = &how.from else { continue };
        let written = case.between(0, write.id).iter().rev().find(|event| {
            event.meets(write)
                && event.resource.as_ref().is_some_and(|r| r.name == *from)
                && match &event.what {
                    // What fails if it is there is not shared: it may be a lock that is moved away.
                    What::Write(how) => how.whole && !how.creates,
                    What::Opens => is_scratch(case, write, from, event),
                    _ => false,
                }
        });
        let Some(written) = written else { continue };
        if Mark::Unique.is_in(from)
            || moved_away(case, write, from)
            || written.covered_with(write, case.needed(Scope::Host))
        {
            continue;
        }
        let inside = case.window(written, write).is_some() || case.is_parallel(write);
        if !inside && case.is_ours_alone(Scope::Host) {
            continue;
        }
        let text = (
            "all writers use the same temporary file",
            "one writer's content can be moved into place by another, or be missing when it is moved",
        );
        hits.push(Hit { sure: 2, ..case.pair("RC303", written, write, text) });
    }
}

/// RC304: what was only unreadable is overwritten.
pub(super) fn error_as_empty(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| matches!(r.kind, Kind::File | Kind::Key)) else {
            continue;
        };
        let is_read = |e: &Event| matches!(e.what, What::Read { .. }) && e.resource == write.resource;
        let adds = || write.deps.iter().filter_map(|id| case.trace.event(id)).any(is_read);
        // Which process is at work now: nothing else was stored there.
        if !how.whole || how.owner && !adds() {
            continue;
        }
        // Where the read fails, what stands behind it in the same `try` is not reached. Of a file that only a part of it was not
        // understood, the rest is still what it was.
        let goes_on = |read: &Event, instead: Instead, from: &Origins| {
            read.swallowed.is_some_and(|how| {
                how.instead == instead
                    && (read.early || how.from <= write.id && how.mark.is_none_or(|mark| from.contains(mark)))
            })
        };
        // Whoever has read it again later knows what is there.
        let read_by = |from: &Origins, instead: Instead| {
            let reads = from.iter().filter_map(|id| case.trace.event(id)).filter(|read| {
                matches!(read.what, What::Read { .. })
                    && read.resource.as_ref().is_some_and(|r| r.is(resource))
                    && read.meets(write)
            });
            // Where something had to be in it, it was not empty.
            let latest =
                reads.max_by_key(|read| (!read.early, read.id)).filter(|read| !write.present.contains(read.id));
            latest.filter(|read| goes_on(read, instead, from))
        };
        // What is fetched anew where there is nothing can be fetched again.
        let fetched = || {
            let mut from = write.deps.iter().filter_map(|id| case.trace.event(id));
            from.any(|e| matches!(e.what, What::Effect(_)))
        };
        let by_absence = || read_by(&write.absent, Instead::Nothing).filter(|_| !fetched());
        let Some(read) = read_by(&write.deps, Instead::Empty).or_else(by_absence) else { continue };
        // Nothing is lost if what could not be read was put aside.
        let mut since = (read.id..).map_while(|id| case.trace.event(id)).take_while(|e| e.id != write.id);
        let aside = |how: &Write| how.from.as_ref() == Some(&resource.name);
        if since.any(|e| e.handler && !e.told && matches!(&e.what, What::Write(how) if aside(how))) {
            continue;
        }
        let text = (
            "if it cannot be read, something empty is changed and saved instead",
            "an error that lasts a moment, or a half-written file, costs all that was stored",
        );
        // To be mended where it is read, once for all who call that.
        hits.push(Hit { calls: Vec::new(), ..case.pair("RC304", read, write, text) });
    }
}
