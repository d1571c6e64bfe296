//! `stanchion audit` beside semgrep and ast-grep on other people's code: `cargo xtask bench audit`.
//!
//! A round runs every subject once on the same tree. Ratios are taken inside one round; a subject that is slow runs in
//! the first round only, and is compared with what the others did there.

mod report;
mod run;
mod subject;
mod tree;

use std::time::Duration;

use serde_json::json;

use self::report::{Line, targets};
use self::run::Run;
use self::subject::Subject;
use self::tree::Size;
use crate::arguments::Options;
use crate::document::{self, Section};
use crate::engines::Engines;
use crate::{Outcome, machine, say};

const NAME: &str = "audit";
const TITLE: &str = "The analyser";
const READING: &str = "The tree is code of npm and PyPI packages as their authors wrote it, by name and version (`xtask/src/sources.rs`), MCP servers among \
them; nothing but TypeScript, JavaScript and Python is in it. **lines/s** counts all lines, blank ones and comments too, from the start of the \
process to its end. **memory** is the most that all processes of a subject had resident at one time. **files** is how many files the subject says it has \
looked at. ast-grep has sixteen rules (`bench/peers/audit`), as much of these races as a pattern can say; **semgrep, the patterns only** has the same sixteen, \
and **semgrep** a rule or more for each of ours, in both languages, which follow values (taint) where ours do. None of them follows calls into other files, so their findings are \
not comparable with ours, and theirs with each other only roughly. Every subject may use all \
cores, and none has a cache.\n";
/// Whoever needs longer than this runs in the first round only.
const LONG: Duration = Duration::from_secs(20);

/// Measures. `false`: a subject failed.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let subjects = subject::all(options.peers.as_deref())?;
    if options.list {
        subjects.iter().for_each(|subject| say(subject.label));
        return Ok(true);
    }
    let folder = tree::folder(options.peers.as_deref())?;
    let size = Size::of(&folder)?;
    let lines = measure(&subjects, &folder, size, options.rounds);
    let targets = targets(&lines);
    let table = report::table(&lines);
    let verdicts: String = targets.iter().map(|verdict| verdict.line() + "\n").collect();
    let section = format!("{table}\n### Targets of the analyser\n\n{verdicts}");
    say(&section);
    let machine = machine::describe(&Engines::new()?, options.seconds, options.rounds);
    let versions: Vec<_> = subjects.iter().filter_map(Subject::version).collect();
    let heading = format!("{}\nAnalysers: {}. Tree: {size}.\n\n{READING}", first_line(&machine), versions.join(", "));
    let section = Section { name: NAME, title: TITLE, heading: &heading, body: &section };
    document::publish(options, &section, json!({ "lines": lines.iter().map(Line::record).collect::<Vec<_>>() }))?;
    Ok(!lines.iter().any(Line::failed))
}

/// The machine without the servers: none takes part.
fn first_line(machine: &str) -> &str {
    machine.lines().next().unwrap_or_default()
}

fn measure(subjects: &[Subject], tree: &std::path::Path, size: Size, rounds: u32) -> Vec<Line> {
    let mut lines: Vec<Line> = subjects.iter().map(|subject| Line::new(subject, size)).collect();
    for round in 1..=rounds {
        for (line, subject) in lines.iter_mut().zip(subjects) {
            let slow = line.runs.first().is_some_and(|first| first.wall > LONG);
            let (Ok(how), None, false) = (&subject.how, &line.stopped, slow) else { continue };
            let said = match Run::of(how, tree) {
                Ok(run) => {
                    let said = format!("{:.2} s, {:.0} lines/s", run.wall.as_secs_f64(), run.rate(size));
                    line.runs.push(run);
                    said
                }
                Err(fault) => {
                    line.stopped = Some(format!("FAILED in round {round}: {fault}"));
                    format!("FAILED: {fault}")
                }
            };
            eprintln!("audit round {round}/{rounds}: {}: {said}", line.label);
        }
    }
    lines
}
