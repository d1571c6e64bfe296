//! From files to hits.

mod places;
mod subjects;

use std::cmp::Reverse;
use std::collections::{BTreeMap, btree_map};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use self::subjects::Subjects;
use crate::copies::Copies;
use crate::engine::{Engine, Entry, Scope, Site};
use crate::error::Error;
use crate::models::Models;
use crate::program::Program;
use crate::rules::{Case, Facts, Hit, Learned, judge};
use crate::schema::Schema;
use crate::walk::Surface;

/// Interpreting follows calls into calls: deep, but bounded.
const STACK: usize = 64 << 20;

/// Threads with room for that.
pub(crate) fn threads() -> Result<ThreadPool, Error> {
    let pool = ThreadPoolBuilder::new().stack_size(STACK).build();
    pool.map_err(|e| Error::new(format!("no threads to work with: {e}")))
}

/// What is found in a program.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) found: Vec<Found>,
    pub(crate) subjects: Subjects,
    /// Entry points that were followed only in part, by file.
    pub(crate) partly: BTreeMap<usize, usize>,
    /// And other functions.
    pub(crate) loose: usize,
}

/// The size of a portion.
const FILES_MOST: usize = 64;
const LINES_ENOUGH: u32 = 16_000;

/// Tools that do the same at one place.
const SHARED_LEAST: usize = 3;

/// The entry points that lead to a hit, by name.
pub(crate) type Callers = BTreeMap<String, Entry>;

/// A hit with the entry points that lead to it.
pub(crate) type Found = (Hit, Callers);

/// Which hit it is: several tools may lead to the same two lines. And what it is about, and by which calls.
type Way = (Site, &'static str, Option<Site>, String, Vec<(Site, Site)>);

fn way(hit: &Hit) -> Way {
    (hit.write, hit.code, hit.read, hit.resource.clone(), hit.calls.clone())
}

/// All that is found in a program. Traces are judged as soon as they are there, because all of them together would need
/// too much memory; what a rule says of one may depend on what another does, which is decided in the end. `tell` hears how
/// many files are done.
pub(crate) fn hits_in(
    program: &Program,
    models: &Models,
    schema: &Schema,
    copies: &Copies,
    tell: &(dyn Fn(usize) + Sync),
) -> Hits {
    let done = AtomicUsize::new(0);
    let mut schema = schema.clone();
    (0..program.len()).for_each(|file| schema.add_code(program.module(file)));
    let schema = Arc::new(schema);
    let facts = copies.each().iter().map(|it| Facts::new(it.reach, &it.because, Arc::clone(&schema)));
    let facts: Vec<Facts> = facts.collect();
    let mut portions = portions(program);
    portions.sort_by_cached_key(|files| Reverse(weight(program, files)));
    // One by one, the heaviest first: else a thread would still be at one when the others have nothing left.
    let each = portions.into_iter().par_bridge().map(|files| {
        let (first, mut engine) = (files.start, Engine::new(program, models, files.clone()));
        let all: Vec<Judged> = files
            .map(|file| {
                let judged = facts.get(copies.of(file)).map(|facts| judged(&mut engine, program, models, file, facts));
                tell(done.fetch_add(1, Ordering::Relaxed) + 1);
                judged.unwrap_or_default()
            })
            .collect();
        (first, all)
    });
    let each: BTreeMap<usize, Vec<Judged>> = each.collect();
    let (mut learned, mut all) = (Learned::default(), Hits::default());
    for (file, judged) in each.into_values().flatten().enumerate() {
        learned.add(judged.learned);
        all.found.extend(judged.found);
        for (subject, sites) in judged.subjects {
            all.subjects.entry(subject).or_default().extend(sites);
        }
        all.loose += judged.loose;
        if judged.partly > 0 {
            all.partly.insert(file, judged.partly);
        }
    }
    all.found.retain_mut(|(hit, _)| learned.bears_out(hit, |file| is_test(program, file)));
    all.found.retain(|(hit, _)| !learned.is_covered(hit, program));
    all.found = places::placed(std::mem::take(&mut all.found));
    let doubtful = |hit: &Hit| hit.code == "RC407" && hit.sure == 0;
    let mut tools: BTreeMap<Site, usize> = BTreeMap::new();
    for (hit, _) in all.found.iter().filter(|(hit, _)| doubtful(hit)) {
        *tools.entry(hit.write).or_default() += 1;
    }
    // A line that several tools add at one place is a log, and a call that they all make is how they ask.
    let is_shared = |hit: &Hit| doubtful(hit) && tools.get(&hit.write).is_some_and(|count| *count >= SHARED_LEAST);
    all.found.retain(|(hit, _)| !is_shared(hit));
    all
}

/// The same for a program whose files are all run in one way.
pub(crate) fn hits(
    program: &Program,
    models: &Models,
    schema: &Schema,
    deployment: Scope,
    because: &str,
    tell: &(dyn Fn(usize) + Sync),
) -> Hits {
    hits_in(program, models, schema, &Copies::everywhere(deployment, because), tell)
}

/// What the traces of a file say, and what is wrong in them: the first hit of each kind, on each thing, by each way to it.
#[derive(Default)]
struct Judged {
    learned: Learned,
    found: Vec<Found>,
    subjects: Subjects,
    partly: usize,
    loose: usize,
}

fn is_test(program: &Program, file: usize) -> bool {
    Surface::of(program.path(file)) == Surface::Test
}

/// Files that one engine looks at: those that stand together, because they import the same ones; not more, because what
/// it has loaded stays in memory, and because several are looked at at one time. How many cores there are is not asked:
/// it must not matter to what is found.
fn portions(program: &Program) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut first, mut lines) = (0, 0_u32);
    for file in 0..program.len() {
        lines = lines.saturating_add(program.module(file).lines);
        if file + 1 - first == FILES_MOST || lines >= LINES_ENOUGH || file + 1 == program.len() {
            all.push(first..file + 1);
            (first, lines) = (file + 1, 0);
        }
    }
    all
}

/// About how long it takes.
fn weight(program: &Program, files: &Range<usize>) -> usize {
    files.clone().flat_map(|file| &program.module(file).functions).map(|function| function.body.len()).sum()
}

fn judged(engine: &mut Engine<'_>, program: &Program, models: &Models, file: usize, facts: &Facts) -> Judged {
    let mut all = Judged::default();
    let mut known: BTreeMap<Way, usize> = BTreeMap::new();
    engine.run(file, &mut |trace| {
        all.learned.learn(&trace, |file| is_test(program, file));
        subjects::of(&trace, &mut all.subjects);
        *(if trace.root.entry == Entry::Loose { &mut all.loose } else { &mut all.partly }) += usize::from(trace.cut);
        for hit in judge(&Case { trace: &trace, facts, program, models }) {
            let at = match known.entry(way(&hit)) {
                btree_map::Entry::Vacant(new) => {
                    all.found.push((hit, Callers::new()));
                    *new.insert(all.found.len() - 1)
                }
                btree_map::Entry::Occupied(old) => {
                    let at = *old.get();
                    all.found.get_mut(at).into_iter().for_each(|(known, _)| known.comes_also_by(&hit));
                    at
                }
            };
            if trace.root.entry != Entry::Loose
                && let Some((_, callers)) = all.found.get_mut(at)
            {
                callers.insert(trace.root.name.to_string(), trace.root.entry);
            }
        }
    });
    all
}

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod models_tests;
#[cfg(test)]
mod ways_tests;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::checklist::Subject;
    use crate::frontend::{Dialect, lower};
    use crate::program::Source;

    fn looked(path: &str, text: &str) -> Hits {
        looked_at(&[(path, text)])
    }

    fn looked_at(files: &[(&str, &str)]) -> Hits {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            module: lower(Dialect::of(path).unwrap(), text).unwrap(),
        };
        let program = Program::new(files.iter().map(source).collect(), &[]);
        let because = "it is an MCP server, one process per client";
        hits(&program, &Models::new(&[]).unwrap(), &Schema::default(), Scope::Host, because, &|_| {})
    }

    fn check(path: &str, text: &str) -> Vec<(&'static str, u32, u32)> {
        let hits = looked(path, text);
        hits.found.iter().map(|(hit, _)| (hit.code, hit.read.map_or(0, |r| r.span.line), hit.write.span.line)).collect()
    }

    #[test]
    fn what_one_file_does_changes_nothing_that_is_found_in_the_next() {
        let shared = "export const place = { file: '/data/a' };\nexport let mode = 'w';\n\
                      export function change(to) { place.file = to; mode = to; }\n";
        let first = "import { place, change } from './c';\n\
                     export async function g(id) { change('/data/' + id); place.other = id; }\n";
        let second = "import fs from 'node:fs/promises';\nimport { place } from './c';\n\
                      export async function f(text) {\nconst old = await fs.readFile(place.file, 'utf8');\n\
                      await fs.writeFile(place.file, old + text);\n}\n";
        let of_second = |hits: &Hits, file| {
            let found = hits.found.iter().filter(|(hit, _)| hit.write.file == file);
            found.map(|(hit, _)| (hit.code, hit.resource.clone(), hit.write.span)).collect::<Vec<_>>()
        };
        let alone = looked_at(&[("b.ts", second), ("c.ts", shared)]);
        let behind = looked_at(&[("a.ts", first), ("b.ts", second), ("c.ts", shared)]);
        assert!(
            of_second(&alone, 0).iter().any(|(code, resource, _)| *code == "RC101" && resource.contains("/data/a"))
        );
        assert_eq!(of_second(&behind, 1), of_second(&alone, 0));
    }

    #[test]
    fn a_portion_ends_with_enough_files_or_lines() {
        let program = |lines: &[usize]| {
            let source = |(n, lines): (usize, &usize)| {
                let module = lower(Dialect::of("a.py").unwrap(), &"x = 1\n".repeat(*lines)).unwrap();
                Source { path: format!("{n}.py"), module }
            };
            Program::new(lines.iter().enumerate().map(source).collect(), &[])
        };
        assert!(portions(&program(&[])).is_empty());
        assert_eq!(portions(&program(&[1; FILES_MOST + 2])), [0..FILES_MOST, FILES_MOST..FILES_MOST + 2]);
        let enough = LINES_ENOUGH as usize;
        assert_eq!(portions(&program(&[1, enough, 1, 1])), [0..2, 2..4]);
    }

    #[test]
    fn state_is_read_and_written_and_a_lock_is_no_record_of_what_was_done() {
        let about = |body: &str| {
            let text = format!(
                "import fs from 'node:fs/promises';\nimport {{ createClient }} from 'redis';\n\
                 const client = createClient();\nexport async function f(id, text) {{\n{body}\n}}\n"
            );
            looked("a.ts", &text).subjects.into_keys().collect::<BTreeSet<_>>()
        };
        assert!(!about("return await fs.readFile('/data/a', 'utf8');").contains(&Subject::State));
        assert!(!about("await fs.readFile('/data/a'); await fs.writeFile('/data/b', text);").contains(&Subject::State));
        assert!(
            about("const a = await fs.readFile('/data/a'); await fs.writeFile('/data/a', a + text);")
                .contains(&Subject::State)
        );
        assert!(about("await client.incr('hits');").contains(&Subject::State));
        let take = "if (!(await client.set('job', id, { NX: true, EX: 90 }))) return;";
        assert!(about(take).contains(&Subject::Key));
        assert!(
            !about(&format!("{take} try {{ await work(); }} finally {{ await client.del('job'); }}"))
                .contains(&Subject::Key)
        );
    }

    #[test]
    fn a_hit_knows_how_its_code_is_reached_whatever_the_callers_are_called() {
        let text = r#"
import fs from "node:fs/promises";
import express from "express";
const app = express();
const server = new McpServer({});
server.registerTool("a/b", {}, async ({ text }) => {
  const old = await fs.readFile("/data/a", "utf8");
  await fs.writeFile("/data/a", old + text);
});
app.post("/save", async (req, res) => {
  const old = await fs.readFile("/data/b", "utf8");
  await fs.writeFile("/data/b", old + req.body);
  res.end();
});
"#;
        let hits = looked("a.ts", text);
        let of = |line| {
            let found = hits.found.iter().find(|(hit, _)| hit.code == "RC101" && hit.write.span.line == line);
            found.map(|(_, callers)| callers.values().copied().collect::<Vec<_>>())
        };
        assert_eq!((of(8), of(12)), (Some(vec![Entry::Tool]), Some(vec![Entry::Route])));
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
    fn an_object_that_holds_itself_can_be_changed_under_a_condition() {
        let text = "export function f(x) { const o = {}; o.me = [o]; if (x) { o.me = [o, 1]; } return o; }";
        assert_eq!(check("a.ts", text), []);
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
