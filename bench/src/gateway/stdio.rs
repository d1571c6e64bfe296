//! Over standard input and output: direct, through a bare relay, through `stanchion wrap`.

use super::ours::Ours;
use super::spec::{Call, Spec};
use super::table::{Kind, Line, Table};
use super::target::Target;

const DIRECT: &str = "direct";
const RELAY: &str = "bare relay, parses each line";
const READ: &str = "stanchion wrap, read-only";
const LOCK: &str = "stanchion wrap, lock";
const KEY: &str = "stanchion wrap, lock and fresh key";
const REPLAY: &str = "stanchion wrap, replay of one key";
const WRAP: &str = "stanchion wrap";
const FIRST: &str = "stanchion wrap, the first start ever";

const ABOUT: &str = "One call at a time. *Read-only* calls `echo`, which has `readOnlyHint`; the others call `write`, without a key \
(one lock per server), with a fresh key in each call, and with one and the same key, whose answer is replayed. Embedded store in a \
fresh folder, durability=process.";
const ONE_CORE: &str = "The same with all processes on one core, where no wake-up crosses to another.";
const MANY: &str = "32 calls in flight on one pipe. Calls under the server's lock run one after the other.";
const START: &str =
    "From the start of the process to the answer to `initialize`. The *first start ever* makes the store.";

pub(super) fn tables(ours: &Ours) -> Vec<Table> {
    vec![
        calls(ours, "gateway-stdio-1", ABOUT, Kind::Latency),
        on_one_core(calls(ours, "gateway-stdio-1-one-core", ONE_CORE, Kind::Latency)),
        calls(ours, "gateway-stdio-32", MANY, Kind::Throughput(32)),
        start(ours),
    ]
}

fn calls(ours: &Ours, name: &'static str, about: &'static str, kind: Kind) -> Table {
    let lines = vec![
        Line { label: DIRECT, spec: Ok(ours.direct(Call::Echo)) },
        Line { label: RELAY, spec: Ok(ours.relay(Call::Echo)) },
        Line { label: READ, spec: Ok(ours.wrap(Call::Echo)) },
        Line { label: LOCK, spec: Ok(ours.wrap(Call::Write)) },
        Line { label: KEY, spec: Ok(ours.wrap(Call::FreshKey)) },
        Line { label: REPLAY, spec: Ok(ours.wrap(Call::OneKey)) },
    ];
    let targets = match kind {
        Kind::Latency => {
            let guarded = [LOCK, KEY, REPLAY].map(|ours| Target::Adds { ours, base: DIRECT, below_us: 200.0 });
            let read = Target::AddsOf { ours: READ, other: RELAY, base: DIRECT, most: 1.5 };
            std::iter::once(read).chain(guarded).collect()
        }
        _ => vec![Target::RateOf { ours: READ, limit: RELAY, least: 0.5 }],
    };
    Table { name, about, kind, base: DIRECT, limit: RELAY, lines, targets }
}

fn on_one_core(mut table: Table) -> Table {
    for line in &mut table.lines {
        line.spec = line.spec.clone().map(|spec| Spec { one_core: true, ..spec });
    }
    table
}

fn start(ours: &Ours) -> Table {
    let lines = vec![
        Line { label: DIRECT, spec: Ok(ours.direct(Call::Echo)) },
        Line { label: RELAY, spec: Ok(ours.relay(Call::Echo)) },
        Line { label: WRAP, spec: Ok(ours.wrap_again(Call::Echo)) },
        Line { label: FIRST, spec: Ok(ours.wrap(Call::Echo)) },
    ];
    let targets = vec![Target::Adds { ours: WRAP, base: DIRECT, below_us: 20_000.0 }];
    Table { name: "gateway-stdio-start", about: START, kind: Kind::Start, base: DIRECT, limit: RELAY, lines, targets }
}
