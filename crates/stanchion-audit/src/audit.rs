//! From files to hits.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::engine::{Engine, Entry, Kind, Scope, Site, Trace, What};
use crate::error::Error;
use crate::models::Models;
use crate::program::Program;
use crate::rules::{Case, Facts, Hit, filled, judge, known_in, like};
use crate::schema::Schema;

/// Interpreting follows calls into calls: deep, but bounded.
const STACK: usize = 64 << 20;

/// Threads with room for that.
pub(crate) fn threads() -> Result<ThreadPool, Error> {
    let pool = ThreadPoolBuilder::new().stack_size(STACK).build();
    pool.map_err(|e| Error::new(format!("no threads to work with: {e}")))
}

/// Tools that do the same at one place.
const SHARED_LEAST: usize = 3;

/// A hit with the names of the entry points that lead to it.
pub(crate) type Found = (Hit, BTreeSet<String>);

/// Where a hit is, and which: several tools may lead to the same two lines.
type Key = (Site, &'static str, Option<Site>);

/// All that is found in a program. Every file is interpreted twice: what a rule says of one may depend on what another
/// does, and all traces together would need too much memory.
pub(crate) fn hits(
    program: &Program,
    models: &Models,
    schema: &Schema,
    deployment: Scope,
    because: &str,
) -> Vec<Found> {
    let nothing = || Facts::new(deployment, because);
    let files = || (0..program.len()).into_par_iter();
    let each = files().map(|file| {
        let mut facts = nothing();
        Engine::new(program, models).run(file).iter().for_each(|trace| learn(&mut facts, trace));
        facts
    });
    let mut facts = each.collect::<Vec<_>>().into_iter().fold(nothing(), |mut all, one| {
        all.read.extend(one.read);
        all.locks.extend(one.locks);
        all.released.extend(one.released);
        all
    });
    facts.schema = schema.clone();
    let each = files().map(|file| judged(program, models, file, &facts));
    let mut found: BTreeMap<Key, Found> = BTreeMap::new();
    for (key, (hit, callers)) in each.collect::<Vec<_>>().into_iter().flatten() {
        found.entry(key).or_insert_with(|| (hit, BTreeSet::new())).1.extend(callers);
    }
    let doubtful: Vec<Site> =
        found.values().filter(|(hit, _)| hit.code == "RC407" && hit.sure == 0).map(|(hit, _)| hit.write).collect();
    // A line that several tools add at one place is a log, and a call that they all make is how they ask.
    let is_shared = |hit: &Hit| {
        hit.code == "RC407" && hit.sure == 0 && doubtful.iter().filter(|at| **at == hit.write).count() >= SHARED_LEAST
    };
    found.into_values().filter(|(hit, _)| !is_shared(hit)).collect()
}

/// What a trace says to others.
fn learn(facts: &mut Facts, trace: &Trace) {
    for event in trace.events() {
        match &event.what {
            What::Acquire(lock) if lock.tries => drop(facts.locks.insert(like(&lock.lock))),
            What::Release { lock, .. } | What::Renew { lock, .. } => drop(facts.released.insert(like(lock))),
            _ => {}
        }
        if let (What::Read { .. }, Some(r)) = (&event.what, &event.resource)
            && r.kind == Kind::File
        {
            facts.read.insert(known_in(&r.name, event.site.file));
            facts.read.extend(filled(&r.name, event.site.file));
        }
    }
}

fn judged(program: &Program, models: &Models, file: usize, facts: &Facts) -> BTreeMap<Key, Found> {
    let mut found: BTreeMap<Key, Found> = BTreeMap::new();
    for trace in &Engine::new(program, models).run(file) {
        for hit in judge(&Case { trace, facts, program }) {
            let key = (hit.write, hit.code, hit.read);
            let (_, callers) = found.entry(key).or_insert_with(|| (hit, BTreeSet::new()));
            if trace.root.entry != Entry::Loose {
                callers.insert(trace.root.name.to_string());
            }
        }
    }
    found
}

#[cfg(test)]
mod models_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{Dialect, lower};
    use crate::program::Source;

    fn check(path: &str, text: &str) -> Vec<(&'static str, u32, u32)> {
        let module = lower(Dialect::of(path).unwrap(), text).unwrap();
        let program = Program::new(vec![Source { path: path.to_owned(), module }], &[]);
        let models = Models::new(&[]).unwrap();
        let hits =
            hits(&program, &models, &Schema::default(), Scope::Host, "it is an MCP server, one process per client");
        hits.iter().map(|(hit, _)| (hit.code, hit.read.map_or(0, |r| r.span.line), hit.write.span.line)).collect()
    }

    #[test]
    fn a_file_that_is_read_changed_and_written_back_is_found_through_helpers_of_any_name() {
        let text = r#"
import { promises as fs } from "fs";
import path from "path";
const FILE = path.join(process.cwd(), "notes.json");
async function foo() {
  try { return JSON.parse(await fs.readFile(FILE, "utf8")); } catch { return []; }
}
async function bar(x) { await fs.writeFile(FILE, JSON.stringify(x)); }
server.registerTool("add", {}, async ({ note }) => {
  const all = await foo();
  all.push(note);
  await bar(all);
  return { content: [] };
});
"#;
        assert_eq!(check("a.ts", text), [("RC101", 6, 8), ("RC302", 0, 8), ("RC304", 6, 8)]);
    }

    #[test]
    fn a_lock_of_the_machine_around_both_protects() {
        let text = r#"
import fs from "node:fs/promises";
import lockfile from "proper-lockfile";
const FILE = "/data/notes.json";
export async function add(note) {
  const release = await lockfile.lock(FILE);
  try {
    const all = JSON.parse(await fs.readFile(FILE, "utf8"));
    all.push(note);
    await fs.writeFile(FILE, JSON.stringify(all));
  } finally { await release(); }
}
"#;
        assert_eq!(check("a.ts", text), [("RC302", 0, 10)]);
    }

    #[test]
    fn a_mutex_of_the_process_is_too_small_for_several_processes() {
        let text = r#"
import fs from "node:fs/promises";
import { Mutex } from "async-mutex";
const FILE = "/data/notes.json";
const mutex = new Mutex();
export async function add(note) {
  await mutex.runExclusive(async () => {
    const all = JSON.parse(await fs.readFile(FILE, "utf8"));
    all.push(note);
    await fs.writeFile(FILE + ".tmp", JSON.stringify(all));
    await fs.rename(FILE + ".tmp", FILE);
  });
}
"#;
        assert_eq!(check("a.ts", text), [("RC201", 8, 11), ("RC303", 10, 11)]);
    }
}
