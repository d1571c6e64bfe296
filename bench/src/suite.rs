//! A family of benchmarks: chosen, run, reported, written down.

use serde_json::json;

use crate::arguments::Options;
use crate::crew::Program;
use crate::document::{self, Section};
use crate::engines::Engines;
use crate::plan::{Bench, Kind, Place, Subject};
use crate::{Fault, Outcome, machine, report, say};

/// A section of docs/benchmarks.md.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) benches: fn(&Options, &Engines) -> Outcome<Vec<Bench>>,
}

impl Suite {
    /// Measures what was asked for. `false`: a subject failed, or two held a lock at once.
    pub(crate) fn run(&self, options: &Options) -> Outcome<bool> {
        let engines = Engines::new()?;
        let benches = self.chosen(options, &engines)?;
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
        let body = sections.join("\n");
        let section = Section { name: self.name, title: self.title, heading: &heading, body: &body };
        document::publish(options, &section, json!({ "benchmarks": records }))?;
        Ok(sound)
    }

    fn chosen(&self, options: &Options, engines: &Engines) -> Outcome<Vec<Bench>> {
        if options.write && !options.only.is_empty() {
            return Err("--write replaces the whole section, so it goes without --only".into());
        }
        let mut benches = (self.benches)(options, engines)?;
        let all: Vec<_> = benches.iter().map(|bench| bench.name.clone()).collect();
        benches.retain(|b| options.only.is_empty() || options.only.iter().any(|name| b.name.contains(name.as_str())));
        if benches.is_empty() {
            return Err(Fault::from(format!("no benchmark has that in its name; there are {}", all.join(", "))));
        }
        Ok(benches)
    }
}

/// A subject that runs in this program, one process, one task, compared with nothing.
pub(crate) fn subject(label: &'static str, worker: &'static str, place: Place) -> Subject {
    Subject { label, worker, program: Ok(Program::Ours), place, setting: None, processes: 1, tasks: 1, limit: None }
}

impl Subject {
    pub(crate) fn setting(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    pub(crate) fn of(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(crate) fn tasks(self, tasks: usize) -> Self {
        Self { tasks, ..self }
    }

    /// 4 processes with 8 tasks each.
    pub(crate) fn crowd(self) -> Self {
        Self { processes: 4, tasks: 8, ..self }
    }

    /// Two processes that play ping-pong.
    pub(crate) fn pair(self) -> Self {
        Self { processes: 2, tasks: 1, ..self }
    }

    pub(crate) fn by(self, program: Result<Program, String>) -> Self {
        Self { program, ..self }
    }
}

pub(crate) fn bench(name: String, about: &'static str, kind: Kind, subjects: Vec<Subject>) -> Bench {
    Bench { name, about, kind, hold_us: 0, subjects, targets: Vec::new() }
}
