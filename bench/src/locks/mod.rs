//! The benchmarks of locks, one file each.

mod command_line;
mod contended_embedded;
mod contended_postgres;
mod contended_redis;
mod embedded;
pub(crate) mod peers;
mod postgres;
mod redis;
mod sqlite;

use serde_json::json;

use crate::arguments::Options;
use crate::crew::Program;
use crate::engines::Engines;
use crate::plan::{Bench, Kind, Place, Subject};
use crate::{Fault, Outcome, document, machine, report, say};

/// The holds of the contended benchmarks, with their names.
const HOLDS: [(&str, u64); 2] = [("0ms", 0), ("1ms", 1000)];

/// Measures what was asked for. `false`: a subject failed, or two held a lock at once.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let engines = Engines::new()?;
    let benches = chosen(options, &engines)?;
    if options.list {
        for bench in &benches {
            say(&bench.name);
            bench.subjects.iter().for_each(|subject| say(&format!("  {}", subject.label)));
        }
        return Ok(true);
    }
    let (mut sections, mut records, mut sound) = (Vec::new(), Vec::new(), true);
    for bench in &benches {
        let standings = bench.run(options, &engines);
        let section = report::section(bench, &standings);
        say(&section);
        sections.push(section);
        let failed = standings.iter().any(|s| s.stopped.as_ref().is_some_and(|why| why.starts_with("FAILED")));
        let overlapped = standings.iter().any(|s| s.overlaps() > 0);
        sound &= !failed && !overlapped;
        let verdicts: Vec<_> = bench.targets.iter().map(|t| t.judge(bench.kind, &standings).line()).collect();
        records.push(json!({ "name": bench.name, "subjects": standings, "targets": verdicts }));
    }
    let heading = machine::describe(&engines, options.seconds, options.rounds);
    say(&heading);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_string_pretty(&json!({ "machine": heading, "benchmarks": records }))?)?;
    }
    if options.write {
        let path = document::write("locks", &format!("## Locks\n\n{heading}\n{}", sections.join("\n")))?;
        say(&format!("written to {}", path.display()));
    }
    Ok(sound)
}

fn chosen(options: &Options, engines: &Engines) -> Outcome<Vec<Bench>> {
    if options.write && !options.only.is_empty() {
        return Err("--write replaces the whole section, so it goes without --only".into());
    }
    let folder = options.peers.as_deref();
    let mut benches = Vec::new();
    benches.extend(redis::benches(folder));
    benches.extend(contended_redis::benches(folder));
    benches.extend(postgres::benches());
    benches.extend(contended_postgres::benches());
    benches.extend(embedded::benches());
    benches.extend(contended_embedded::benches());
    benches.extend(sqlite::benches());
    benches.extend(command_line::benches(engines)?);
    let all: Vec<_> = benches.iter().map(|bench| bench.name.clone()).collect();
    benches.retain(|b| options.only.is_empty() || options.only.iter().any(|name| b.name.contains(name.as_str())));
    if benches.is_empty() {
        return Err(Fault::from(format!("no benchmark has that in its name; there are {}", all.join(", "))));
    }
    Ok(benches)
}

/// A subject that runs in this program, one process, one task, compared with nothing.
fn subject(label: &'static str, worker: &'static str, place: Place) -> Subject {
    Subject { label, worker, program: Ok(Program::Ours), place, setting: None, processes: 1, tasks: 1, limit: None }
}

impl Subject {
    fn setting(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    fn of(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    fn tasks(self, tasks: usize) -> Self {
        Self { tasks, ..self }
    }

    /// 4 processes with 8 tasks each.
    fn crowd(self) -> Self {
        Self { processes: 4, tasks: 8, ..self }
    }

    /// Two processes that play ping-pong.
    fn pair(self) -> Self {
        Self { processes: 2, tasks: 1, ..self }
    }

    fn by(self, program: Result<Program, String>) -> Self {
        Self { program, ..self }
    }
}

fn bench(name: String, about: &'static str, kind: Kind, subjects: Vec<Subject>) -> Bench {
    Bench { name, about, kind, hold_us: 0, subjects, targets: Vec::new() }
}
