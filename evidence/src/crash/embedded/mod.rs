//! The embedded store, SQLite and kernel locks: locks, fenced writes, optimistic updates, keyed calls and jobs in a worker that dies anywhere.

mod judge;
pub(super) mod naive;
pub(super) mod worker;

use std::io;
use std::path::Path;

use self::judge::Judge;
use super::points::{Harm, Scenario, Tried, Wrong};
use super::program::{Program, Talk};
use super::tracer::{self, Moment, Point};

/// The orders of the first life.
const SCRIPT: &[&str] = &[
    "count a",
    "add x",
    "call k1",
    "enqueue j1",
    "count a",
    "call k1",
    "call k2",
    "work",
    "add x",
    "enqueue j2",
    "count b",
    "enqueue j1",
    "both k3",
    "call k4",
    "count a",
];

/// A worker, by its name and the arguments behind its folder.
#[derive(Debug)]
pub struct Embedded {
    pub name: String,
    pub worker: &'static str,
    pub durability: &'static str,
}

impl Embedded {
    pub fn ours(durability: &'static str) -> Self {
        Self { name: format!("sqlite: and file locks, durability={durability}"), worker: "embedded", durability }
    }

    /// The control: a file that is written where it is, a lock that is a file, a key that is looked up before the effect and stored after it.
    pub fn naive() -> Self {
        Self {
            name: "control: lock by existence, store written in place".to_owned(),
            worker: "naive-store",
            durability: "",
        }
    }

    fn program(&self, folder: &Path) -> io::Result<Program> {
        Program::worker(self.worker, &[folder, Path::new(self.durability)])
    }
}

/// Says each order, and hears what comes of it; `None` from the one on that was not answered.
fn live(mut talk: Talk, orders: &[String]) -> Vec<(String, Option<String>)> {
    let mut lived = Vec::new();
    let ready = talk.hear();
    if ready.as_deref() != Some("ready") {
        return vec![("open".to_owned(), ready)];
    }
    for order in orders {
        let answer = if talk.say(order) { talk.hear() } else { None };
        let died = answer.is_none();
        lived.push((order.clone(), answer));
        if died {
            break;
        }
    }
    lived
}

impl Scenario for Embedded {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn at(&self, point: Option<Point>) -> io::Result<Tried> {
        let folder = tempfile::tempdir()?;
        let program = self.program(folder.path())?;
        let script: Vec<String> = SCRIPT.iter().map(|order| (*order).to_owned()).collect();
        let first = tracer::run(&program, point, |talk| live(talk, &script))?;
        let stuck = |what: &str| Wrong { property: "L1", harm: Harm::Stuck, what: what.to_owned() };
        let was_killed = point.is_some_and(|p| matches!(p.moment, Moment::Before | Moment::Torn | Moment::After));
        let mut judge = Judge::new(&first.told, was_killed, &folder.path().join(worker::EFFECTS));
        if first.hung {
            judge.wrong.push(stuck("the first life did not end"));
        }
        let second = program.run(|talk| live(talk, &judge.questions()))?;
        match second {
            Some(answers) => judge.compare(&answers, &folder.path().join(worker::EFFECTS)),
            None => judge.wrong.push(stuck("the second life did not end")),
        }
        Ok(Tried { calls: first.calls, hit: first.hit, acknowledged: judge.acknowledged, wrong: judge.wrong })
    }
}
