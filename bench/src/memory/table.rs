//! The tables, and one line of one of them in one round.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tempfile::TempDir;

use super::append::Append;
use super::call::{Call, Request};
use super::graph::Graph;
use super::results::{Column, Round, Standing};
use super::server::Server;
use super::subject::How;
use super::{crowd, one_core};
use crate::Outcome;
use crate::histogram::Histogram;

/// A table per size, by name.
pub(super) const SIZES: [(&str, u64); 4] =
    [("memory-0", 0), ("memory-1k", 1_000), ("memory-10k", 10_000), ("memory-50k", 50_000)];

#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) graph: Graph,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One server, one call at a time, every kind of call.
    Single,
    /// The same with `create_entities` alone, client and server on one core.
    OneCore,
    /// So many servers on one file, each with so many writes.
    Crowd { processes: u64, writes: u64 },
}

/// A table with its results.
pub(super) struct Measured {
    pub(super) table: Table,
    pub(super) standings: Vec<Standing>,
}

pub(super) fn tables() -> Vec<Table> {
    let single = |(name, size)| Table { name, about: SINGLE, graph: Graph { size }, kind: Kind::Single };
    let mut tables: Vec<_> = SIZES.map(single).into();
    let graph = Graph { size: 50_000 };
    tables.push(Table { name: "memory-50k-one-core", about: ONE_CORE, graph, kind: Kind::OneCore });
    let kind = Kind::Crowd { processes: 5, writes: 200 };
    tables.push(Table { name: "memory-5x200", about: CROWD, graph: Graph { size: 0 }, kind });
    tables
}

/// Some hundred times the scheduler's own period.
const SETTLE: Duration = Duration::from_millis(500);

const SINGLE: &str = "One server, one call at a time, on a fresh copy of the file.";
const ONE_CORE: &str = "`create_entities` with client and server on one core, where no wake-up crosses to another.";
const CROWD: &str = "5 servers on one file, each asked for 200 `create_entities`, one at a time, all at once. All 1,000 are \
acknowledged; **kept** is how many of them the file holds afterwards (the least of all rounds).";

impl Table {
    pub(super) fn columns(&self) -> Vec<Column> {
        match self.kind {
            Kind::Single => {
                let calls = Call::ALL.into_iter().filter(|call| call.times(self.graph).1 > 0).map(Column::Call);
                let first = (self.graph.size > 0).then_some(Column::First);
                [Some(Column::Start), first].into_iter().flatten().chain(calls).chain([Column::Memory]).collect()
            }
            Kind::OneCore => vec![Column::Call(Call::CreateEntities)],
            Kind::Crowd { .. } => vec![Column::Wall, Column::Call(Call::CreateEntities), Column::Kept],
        }
    }

    /// Is this line a part of the table?
    pub(super) fn has(&self, how: &How) -> bool {
        match self.kind {
            Kind::Single => true,
            Kind::OneCore => !matches!(how, How::Node(_)),
            Kind::Crowd { .. } => !matches!(how, How::InProcess),
        }
    }

    /// One line in one round. `seconds` bounds each kind of call.
    pub(super) fn measure(&self, how: &How, seconds: f64) -> Outcome<Round> {
        let folder = TempDir::with_prefix("stanchion-bench-")?;
        let file = folder.path().join("memory.jsonl");
        std::fs::write(&file, self.graph.text())?;
        let time = Duration::from_secs_f64(seconds);
        match self.kind {
            Kind::Single => single(how, &file, self.graph, &Call::ALL, time),
            Kind::OneCore => one_core(|| single(how, &file, self.graph, &[Call::CreateEntities], time)),
            Kind::Crowd { processes, writes } => crowd::measure(how, &file, self.graph, processes, writes),
        }
    }
}

fn single(how: &How, file: &Path, graph: Graph, calls: &[Call], most: Duration) -> Outcome<Round> {
    let mut round = Round::default();
    let mut request = Request { call: Call::CreateEntities, graph, process: 0, n: 0, made: 0 };
    let Some(command) = how.command(file) else {
        let mut append = Append::open(file)?;
        let times = sample(&mut request, most, |request| {
            let entity = request.arguments()["entities"][0].to_string();
            let asked = Instant::now();
            append.entity(&entity)?;
            Ok(asked.elapsed())
        })?;
        round.add(Call::CreateEntities, times);
        return kept_all(file, &request).map(|()| round);
    };
    let mut server = Server::start(command)?;
    round.numbers.insert(Column::Start, server.start.as_secs_f64() * 1e6);
    if graph.size > 0 && !how.only_creates() {
        request.call = Call::OpenNodes;
        let first = server.call(&request)?;
        round.numbers.insert(Column::First, first.as_secs_f64() * 1e6);
    }
    server.settle(SETTLE)?;
    for call in calls.iter().filter(|call| !how.only_creates() || **call == Call::CreateEntities) {
        (request.call, request.n) = (*call, 0);
        if call.times(graph).1 > 0 {
            round.add(*call, sample(&mut request, most, |request| server.call(request))?);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "memory of a process")]
    round.numbers.insert(Column::Memory, server.pss_kib()? as f64 * 1024.0 / 1e6);
    drop(server);
    kept_all(file, &request).map(|()| round)
}

/// Calls until there are enough samples or the time is over; at least one is measured.
fn sample(
    request: &mut Request,
    most: Duration,
    mut call: impl FnMut(&Request) -> Outcome<Duration>,
) -> Outcome<Histogram> {
    let (warm_up, wanted) = request.call.times(request.graph);
    let mut times = Histogram::default();
    for (count, most) in [(warm_up, most / 4), (wanted, most)] {
        let end = Instant::now() + most;
        // What was measured to warm up is dropped.
        times = Histogram::default();
        for _ in 0..count {
            times.record(call(request)?);
            request.n += 1;
            if request.call == Call::CreateEntities {
                request.made += 1;
            }
            if Instant::now() >= end {
                break;
            }
        }
    }
    Ok(times)
}

fn kept_all(file: &Path, request: &Request) -> Outcome {
    match kept(file)? {
        kept if kept == request.made => Ok(()),
        kept => Err(format!("error: {} entities were created, {kept} are in the file", request.made).into()),
    }
}

/// How many created entities the file holds. A line that does not parse is an error: the file is broken.
pub(super) fn kept(file: &Path) -> Outcome<u64> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        name: Option<std::borrow::Cow<'a, str>>,
    }
    let text = std::fs::read_to_string(file)?;
    let mut names = HashSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Line<'_> = serde_json::from_str(line)?;
        names.extend(line.name.filter(|name| name.starts_with("created-")));
    }
    Ok(names.len() as u64)
}
