//! The MCP gateway beside direct calls, a bare relay and other bridges: `cargo xtask bench gateway`.
//!
//! A worker starts the program under test, speaks to it as an MCP client, and checks every answer. Differences and
//! ratios are taken inside one round, and their medians over rounds are printed.

pub(crate) mod echo;
mod http;
mod message;
mod ours;
mod peers;
mod pipe;
pub(crate) mod relay;
mod report;
mod server;
mod spec;
mod stdio;
mod table;
mod target;
mod tree;
mod web;

use serde_json::json;

use self::ours::Ours;
use self::spec::{Spec, Transport};
use self::table::Table;
use crate::arguments::Options;
use crate::document::{self, Section};
use crate::engines::Engines;
use crate::job::{Job, Tally};
use crate::{Outcome, machine, say};

const NAME: &str = "gateway";
const TITLE: &str = "The MCP gateway";
const READING: &str = "Here **p50** and **p99** are medians over rounds of each round's own; **added** is the median over rounds of the \
difference to the direct line *in the same round*, **ratio** that of the calls per second to the limit's. **PSS** is proportional \
memory at the end of a round, of all processes between client and server. Every answer is checked: its id, its text, and that \
a replayed one did not run again.\n";

/// One process of a line.
pub(crate) fn work(job: &Job) -> Outcome<Tally> {
    let spec = Spec::of(job)?;
    match (job.subject.as_str(), &spec.transport) {
        ("mcp-calls", Transport::Stdio) => pipe::calls(job, &spec),
        ("mcp-calls", Transport::Http(_)) => web::calls(job, &spec),
        ("mcp-start", Transport::Stdio) => pipe::start(job, &spec),
        ("mcp-start", Transport::Http(_)) => web::start(job, &spec),
        (unknown, _) => Err(format!("no subject {unknown}").into()),
    }
}

/// Measures what was asked for. `false`: a line failed.
pub(crate) fn run(options: &Options) -> Outcome<bool> {
    let ours = Ours::find()?;
    let tables = chosen(options, &ours)?;
    if options.list {
        for table in &tables {
            say(table.name);
            table.lines.iter().for_each(|line| say(&format!("  {}", line.label)));
        }
        return Ok(true);
    }
    let (mut sections, mut records, mut sound) = (Vec::new(), Vec::new(), true);
    for table in &tables {
        let standings = table.run(options);
        let section = report::section(table, &standings);
        say(&section);
        sections.push(section);
        sound &= !standings.iter().any(table::Standing::failed);
        let verdicts: Vec<_> = table.targets.iter().map(|target| target.judge(&standings).line()).collect();
        records.push(json!({ "name": table.name, "subjects": standings, "targets": verdicts }));
    }
    let gateways = std::iter::once(ours.version()).chain(peers::versions(options.peers.as_deref()));
    let gateways = gateways.collect::<Vec<_>>().join(", ");
    let machine = machine::describe(&Engines::new()?, options.seconds, options.rounds);
    let heading = format!("{machine}Gateways: {gateways}.\n\n{READING}");
    let section = Section { name: NAME, title: TITLE, heading: &heading, body: &sections.join("\n") };
    document::publish(options, &section, json!({ "benchmarks": records }))?;
    Ok(sound)
}

fn chosen(options: &Options, ours: &Ours) -> Outcome<Vec<Table>> {
    if options.write && !options.only.is_empty() {
        return Err("--write replaces the whole section, so it goes without --only".into());
    }
    let mut tables = stdio::tables(ours);
    tables.extend(http::tables(ours, options.peers.as_deref()));
    let all: Vec<_> = tables.iter().map(|table| table.name).collect();
    tables.retain(|t| options.only.is_empty() || options.only.iter().any(|name| t.name.contains(name.as_str())));
    if tables.is_empty() {
        return Err(format!("no benchmark has that in its name; there are {}", all.join(", ")).into());
    }
    Ok(tables)
}
