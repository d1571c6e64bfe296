//! `stanchion memory` beside the official memory server and a bare lock + append: `cargo xtask bench memory`.
//!
//! A round starts every subject on every size once, with a fresh copy of the file, speaks to it as an MCP client, checks
//! every answer and, afterwards, the file. Ratios are taken inside one round, and their medians over rounds are printed.

mod append;
mod call;
mod crowd;
mod graph;
mod report;
mod results;
mod server;
mod subject;
mod table;
mod target;

pub(crate) use self::append::main as append_server;

use std::time::Instant;

use serde_json::json;

use self::results::{Round, Standing};
use self::subject::Subject;
use self::table::{Measured, Table};
use crate::arguments::Options;
use crate::document::{self, Section};
use crate::engines::Engines;
use crate::{Fault, Outcome, machine, say};

const NAME: &str = "memory";
const TITLE: &str = "The memory server";
const READING: &str = "The name of a table says how many entities the file has: two or three observations each, about 150 bytes a line, and a \
relation for every fifth. A cell is the median over rounds of each round's p50, with the p99 of all calls in brackets; at most 200 writes, \
400 reads and 20 `read_graph` a round, and no kind of call longer than the seconds above. **start** is from the start of the process to the \
answer to `initialize`, **first call** an `open_nodes` that has to read the file, **PSS** proportional memory after all calls, in 10^6 bytes. \
The *bare* lines take a kernel lock, append the line, and give the lock back: nothing safe can do less. On an idle machine \
every message wakes a process on another core, which adds some 40 us to each call; where the other cores are busy, or in the table with one \
core, it does not. Every answer is checked, and in the end the file.\n";

/// Measures what was asked for. `false`: a line failed.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let tables = chosen(options)?;
    let subjects = subject::all(options.peers.as_deref())?;
    if options.list {
        for table in &tables {
            say(table.name);
            let lines = subjects.iter().filter(|s| s.how.as_ref().is_ok_and(|how| table.has(how)));
            lines.for_each(|subject| say(&format!("  {}", subject.label)));
        }
        return Ok(true);
    }
    let measured = measure(tables, &subjects, options);
    let targets = target::all();
    let mut sections: Vec<_> = measured.iter().map(report::section).collect();
    sections.push(report::targets(&targets, &measured));
    sections.iter().for_each(|section| say(section));
    let machine = machine::describe(&Engines::new()?, options.seconds, options.rounds);
    let versions = subject::versions(options.peers.as_deref(), &subjects).join(", ");
    let heading = format!("{machine}Memory servers: {versions}.\n\n{READING}");
    let record = |m: &Measured| {
        let lines: Vec<_> = m.standings.iter().map(Standing::record).collect();
        json!({ "name": m.table.name, "subjects": lines })
    };
    let verdicts: Vec<_> = targets.iter().map(|target| target.judge(&measured).line()).collect();
    let benchmarks: Vec<_> = measured.iter().map(record).collect();
    let section = Section { name: NAME, title: TITLE, heading: &heading, body: &sections.join("\n") };
    document::publish(options, &section, json!({ "benchmarks": benchmarks, "targets": verdicts }))?;
    if options.write {
        document::write_beside("memory.md", NAME, &report::summary(&measured))?;
        say("written to memory.md beside it");
    }
    Ok(!measured.iter().flat_map(|m| &m.standings).any(Standing::failed))
}

fn chosen(options: &Options) -> Outcome<Vec<Table>> {
    if options.write && !options.only.is_empty() {
        return Err("--write replaces the whole section, so it goes without --only".into());
    }
    let mut tables = table::tables();
    let all: Vec<_> = tables.iter().map(|table| table.name).collect();
    tables.retain(|t| options.only.is_empty() || options.only.iter().any(|name| t.name.contains(name.as_str())));
    if tables.is_empty() {
        return Err(format!("no benchmark has that in its name; there are {}", all.join(", ")).into());
    }
    Ok(tables)
}

/// Rounds are outermost: targets compare lines of different tables, and those should have met the same machine.
fn measure(tables: Vec<Table>, subjects: &[Subject], options: &Options) -> Vec<Measured> {
    let standings = |table: &Table| {
        let lines = subjects.iter().filter(|s| s.how.as_ref().map_or(true, |how| table.has(how)));
        let stopped = |s: &Subject| s.how.as_ref().err().map(|why| format!("SKIPPED: {why}"));
        lines.map(|s| Standing { label: s.label, rounds: Vec::new(), stopped: stopped(s) }).collect()
    };
    let mut all: Vec<_> =
        tables.into_iter().map(|table| Measured { standings: standings(&table), table }).collect::<Vec<Measured>>();
    for round in 1..=options.rounds {
        for Measured { table, standings } in &mut all {
            for standing in standings.iter_mut().filter(|standing| standing.stopped.is_none()) {
                let Some(Ok(how)) = subjects.iter().find(|s| s.label == standing.label).map(|s| &s.how) else {
                    continue;
                };
                let started = Instant::now();
                let said = match table.measure(how, options.seconds) {
                    Ok(numbers) => {
                        let said = summary(table, &numbers);
                        standing.rounds.push(numbers);
                        said
                    }
                    Err(fault) => {
                        standing.stopped = Some(format!("FAILED in round {round}: {fault}"));
                        format!("FAILED: {fault}")
                    }
                };
                let (name, rounds, label) = (table.name, options.rounds, standing.label);
                eprintln!("{name} round {round}/{rounds}: {label}: {said} ({:.1} s)", started.elapsed().as_secs_f32());
            }
        }
    }
    all
}

fn summary(table: &Table, round: &Round) -> String {
    let columns = table.columns().into_iter();
    let shown = columns.filter_map(|c| Some(format!("{} {}", c.name(), report::number(c, *round.numbers.get(&c)?))));
    shown.collect::<Vec<_>>().join(", ")
}

/// On the last core of those that we may use; what is started from there inherits it.
#[cfg(target_os = "linux")]
fn one_core<T: Send>(work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    // A thread of its own: the others go on as they are.
    let pinned = || {
        let allowed = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).ok_or("no core")?;
        let mut one = CpuSet::new();
        one.set(last);
        sched_setaffinity(None, &one)?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(pinned).join().map_err(|_| Fault::from("a thread panicked"))?)
}

#[cfg(not(target_os = "linux"))]
fn one_core<T: Send>(_work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    Err(Fault::from("only Linux can be told to use one core"))
}
