//! The race tester: how fast its checkers judge, and how fast real calls are raced: `cargo xtask bench race`.

mod calls;
mod histories;
mod report;
mod simulator;

use serde_json::json;

use self::report::{Line, Wish};
use crate::arguments::Options;
use crate::document::{self, Section};
use crate::engines::Engines;
use crate::target::Verdict;
use crate::{Outcome, machine, say};

const NAME: &str = "race";
/// Some seconds of them.
const WORLDS: u64 = 20_000;
const TITLE: &str = "The race tester";
const READING: &str = "Histories are made from a seed: ten clients that are always busy, each operation taking effect at a random moment of its time. The checkers' times are \
those of one core (`schedstat`), so that others at work on the machine do not count. Real calls are `create_entities` on two processes of a memory server on pipes, \
released at one moment, in ten rounds with fresh processes each; the time is from the start of the first process to the verdict, with the read-back of every \
round. The simulator plays worlds as the layer of the evidence does, others in each round; a broken promise fails the run. For the official server, *racing* is from the release to the last answer, in all rounds until the one that lost something; *the whole run* has in it the \
processes' start, the control, and the search for the smallest schedule.\n";

/// Measures. `false`: something failed.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let mut lines = lines();
    lines.retain(|line| options.only.is_empty() || options.only.iter().any(|only| line.name.contains(only.as_str())));
    if options.list {
        lines.iter().for_each(|line| say(line.name));
        return Ok(true);
    }
    for round in 1..=options.rounds {
        for line in lines.iter_mut().filter(|line| line.stopped.is_none()) {
            let said = match line.measure(options.peers.as_deref(), round) {
                Ok(value) => line.shown(value),
                Err(fault) => {
                    line.stopped = Some(fault.to_string());
                    format!("FAILED: {fault}")
                }
            };
            eprintln!("race round {round}/{}: {}: {said}", options.rounds, line.name);
        }
    }
    let verdicts: Vec<Verdict> = lines.iter().filter_map(Line::verdict).collect();
    let verdicts: String = verdicts.iter().map(|verdict| verdict.line() + "\n").collect();
    let section = format!("{}\n### Targets of the race tester\n\n{verdicts}", report::table(&lines));
    say(&section);
    let machine = machine::describe(&Engines::new()?, options.seconds, options.rounds);
    let heading = format!("{}\n\n{READING}", machine.lines().next().unwrap_or_default());
    let section = Section { name: NAME, title: TITLE, heading: &heading, body: &section };
    document::publish(options, &section, json!({ "lines": lines.iter().map(Line::record).collect::<Vec<_>>() }))?;
    Ok(lines.iter().all(|line| line.stopped.is_none()))
}

fn lines() -> Vec<Line> {
    let rate = Some(Wish::AtLeast(5_000_000.0));
    vec![
        Line::rate("simulator, worlds of all engines and faults on one core", "events", rate, |_, round| {
            simulator::events(WORLDS, round)
        }),
        Line::rate("order checker, 1 M operations on one key", "operations", rate, |_, _| {
            histories::order(1_000_000, 1)
        }),
        Line::rate("order checker, 5 M operations on 100 keys", "operations", rate, |_, _| {
            histories::order(5_000_000, 100)
        }),
        Line::time(
            "linearizable: register, 1 M operations of 10 clients on one key",
            Some(Wish::Below(15.0)),
            |_, _| histories::register(1_000_000, 10, 5),
        ),
        Line::time("linearizable: register, the same, every value once", Some(Wish::Below(15.0)), |_, _| {
            histories::register(1_000_000, 10, 1 << 40)
        }),
        Line::time("linearizable: counter, 1 M operations of 10 clients", Some(Wish::Below(15.0)), |_, _| {
            histories::counter(1_000_000, 10)
        }),
        Line::time("10,000 real MCP calls raced and judged", Some(Wish::Below(10.0)), |_, round| {
            calls::ours(10_000, round)
        }),
        Line::time("official memory server found to race: racing", Some(Wish::Below(1.0)), |peers, round| {
            Ok(calls::official(peers, round)?.0)
        }),
        Line::time("official memory server found to race: the whole run", None, |peers, round| {
            Ok(calls::official(peers, round)?.1)
        }),
    ]
}
