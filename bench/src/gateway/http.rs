//! Over Streamable HTTP, in front of the same stdio server: `stanchion serve` beside other bridges.

use std::path::Path;

use super::ours::Ours;
use super::peers;
use super::table::{Kind, Line, Table};
use super::target::{Measure, Target};

const DIRECT: &str = "direct, the server speaks HTTP";
const OURS: &str = "stanchion serve";

const ABOUT: &str = "One call of `echo` at a time over one kept-alive connection, in one session (2025-06-18). *Direct* is the echo \
server as an HTTP server, with nothing behind it; all others bridge to the same server over stdio. Memory is that of the bridge's \
processes without the echo server.";
const MANY: &str = "32 calls in flight on 32 kept-alive connections, in one session.";
const START: &str = "From the start of the process to the answer to `initialize`, asked for every half millisecond.";

pub(super) fn tables(ours: &Ours, folder: Option<&Path>) -> Vec<Table> {
    let table = |name, about, kind, measures: &[Measure], memory: bool| {
        let mut lines =
            vec![Line { label: DIRECT, spec: Ok(ours.direct_http()) }, Line { label: OURS, spec: Ok(ours.serve()) }];
        lines.extend(peers::lines(folder, ours.server()));
        let ahead = |at: &Measure| peers::ALL.map(|peer| Target::Ahead { ours: OURS, peer, at: *at });
        let mut targets: Vec<_> = measures.iter().flat_map(ahead).collect();
        targets.extend(memory.then_some(Target::Memory { ours: OURS, below_mib: 10.0 }));
        Table { name, about, kind, base: DIRECT, limit: DIRECT, lines, targets }
    };
    vec![
        table("gateway-http-1", ABOUT, Kind::Latency, &[Measure::Latency, Measure::Memory], true),
        table("gateway-http-32", MANY, Kind::Throughput(32), &[Measure::Rate, Measure::Memory], true),
        table("gateway-http-start", START, Kind::Start, &[Measure::Start], false),
    ]
}
