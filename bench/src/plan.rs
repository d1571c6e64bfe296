//! What is measured: benchmarks, their subjects, and the rounds.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use crate::arguments::Options;
use crate::crew::{self, Program};
use crate::engines::Engines;
use crate::job::{Job, Tally};
use crate::results::{Round, Standing};
use crate::target::Target;
use crate::{Fault, Outcome};

/// How a benchmark's table looks, and what its ratio compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Operations per second; larger ratios are better.
    Rate,
    /// Time from one holder to the next; smaller ratios are better.
    HandOff,
    /// Time of a command.
    Spawn,
    /// Resident memory.
    Memory,
}

/// The engines beyond Redis and PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Mysql,
    Etcd,
    ZooKeeper,
    Consul,
    Nats,
    DynamoDb,
    /// Five nodes, the fence written back to a majority.
    Redlock,
    /// The same nodes, fences made of time.
    RedlockByTime,
}

/// Where a subject works.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The Redis server.
    Redis,
    /// The PostgreSQL server.
    Postgres,
    /// Another engine.
    Store(Store),
    /// A folder that is fresh in every round; the text stands before and behind its path.
    Folder(&'static str, &'static str),
    /// Fixed words.
    Words(Vec<String>),
}

/// One line of a table.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) label: &'static str,
    pub(crate) worker: &'static str,
    pub(crate) program: Result<Program, String>,
    pub(crate) place: Place,
    /// Stands behind the place: a durability.
    pub(crate) setting: Option<&'static str>,
    pub(crate) processes: usize,
    pub(crate) tasks: usize,
    /// The label of the line that this one is compared with.
    pub(crate) limit: Option<&'static str>,
}

/// One table.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: String,
    pub(crate) about: &'static str,
    pub(crate) kind: Kind,
    pub(crate) hold_us: u64,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) targets: Vec<Target>,
}

impl Bench {
    /// Runs every subject once per round. A subject that fails is left out from then on, and its reason kept.
    pub(crate) fn run(&self, options: &Options, engines: &Engines) -> Vec<Standing> {
        let mut standings: Vec<_> = self.subjects.iter().map(Standing::new).collect();
        for (subject, standing) in self.subjects.iter().zip(&mut standings) {
            let missing = match subject.place {
                Place::Redis => engines.redis().err(),
                Place::Postgres => engines.postgres().err(),
                Place::Store(store) => engines.store(store).err(),
                Place::Folder(..) | Place::Words(_) => None,
            };
            standing.stopped = standing.stopped.take().or(missing.map(|why| format!("SKIPPED: {why}")));
            if let Some(why) = &standing.stopped {
                eprintln!("{} {}: {why}", self.name, subject.label);
            }
        }
        for round in 0..options.rounds {
            for (subject, standing) in self.subjects.iter().zip(&mut standings) {
                let progress = format!("{} round {}/{}: {}", self.name, round + 1, options.rounds, subject.label);
                if standing.stopped.is_some() {
                    continue;
                }
                let started = Instant::now();
                show(&progress);
                match self.measure(subject, round, options, engines) {
                    Ok(tally) => standing.add(Round::new(&tally, options.seconds, subject, self.kind), &tally),
                    Err(fault) => standing.stopped = Some(format!("FAILED in round {}: {fault}", round + 1)),
                }
                done(&progress, started, standing);
            }
        }
        standings
    }

    fn measure(&self, subject: &Subject, round: u32, options: &Options, engines: &Engines) -> Outcome<Tally> {
        let program = subject.program.as_ref().map_err(|why| Fault::from(why.as_str()))?;
        let key = format!("bench-{}-{round}-{}", self.name, subject.worker);
        let key = subject.setting.map_or_else(|| key.clone(), |setting| format!("{key}-{setting}"));
        let mut place = match &subject.place {
            Place::Redis => vec![engines.redis()?.url()],
            Place::Postgres => vec![engines.postgres()?.url()],
            Place::Store(store) => vec![engines.store(*store)?],
            Place::Folder(before, behind) => {
                vec![format!("{before}{}{behind}", engines.fresh_folder(&key)?.display())]
            }
            Place::Words(words) => words.clone(),
        };
        place.extend(subject.setting.map(str::to_owned));
        let cell = if self.kind == Kind::HandOff { Some(engines.fresh_cell()?) } else { None };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0.05 to 600 seconds")]
        let measured_ms = (options.seconds * 1000.0) as u64;
        let job = Job {
            subject: subject.worker.to_owned(),
            place,
            key,
            process: 0,
            processes: subject.processes,
            tasks: subject.tasks,
            hold_us: self.hold_us,
            cell,
            // Long enough for connections, caches and an interpreter's own warm-up.
            warm_up_ms: (measured_ms / 4).clamp(50, 500),
            measured_ms,
        };
        crew::run(program, &job)
    }
}

/// One line that is overwritten on a terminal, and said once in a log.
fn show(progress: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{progress} ...");
        std::io::stderr().flush().ok();
    }
}

fn done(progress: &str, started: Instant, standing: &Standing) {
    let result = match (&standing.stopped, standing.rounds.last()) {
        (Some(why), _) => why.clone(),
        (None, Some(round)) => format!("{:.0}/s", round.rate),
        (None, None) => String::new(),
    };
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    eprintln!("{clear}{progress}: {result} ({:.1} s)", started.elapsed().as_secs_f32());
}
