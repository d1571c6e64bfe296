//! The simulator as a second pair of eyes: what does it see of the bugs that stand in the cores it runs?

use std::time::{Duration, Instant};

use super::exhibit::Exhibit;
use crate::report::Table;
use crate::simulation::Player;
use crate::simulation::scenario::{Backend, Plant, Scenario, Work};

/// The files that the simulator runs as they are, and where in its worlds they matter.
const CORES: [(&str, Backend, Work); 7] = [
    ("crates/stanchion-core/src/lease_machine.rs", Backend::Redis, Work::Locks),
    ("crates/stanchion-core/src/fence.rs", Backend::Redis, Work::Locks),
    ("crates/stanchion-core/src/redlock/attempt.rs", Backend::Redlock, Work::Locks),
    ("crates/stanchion-core/src/redlock/trust.rs", Backend::Redlock, Work::Locks),
    ("crates/stanchion-core/src/claim/ask.rs", Backend::Postgres, Work::Calls),
    ("crates/stanchion-core/src/claim/step.rs", Backend::Postgres, Work::Calls),
    ("crates/stanchion-core/src/claim/response.rs", Backend::Postgres, Work::Calls),
];

/// Plays worlds with each of them, for at most so long each. Not seeing one is no failure: another finder has found it.
pub(super) fn seen(exhibits: &[Exhibit], seed: u64, time: Duration) -> Table {
    let mut rows = Vec::new();
    let simulated = |exhibit: &Exhibit| CORES.into_iter().find(|(place, ..)| *place == exhibit.place);
    for (exhibit, (_, backend, work)) in exhibits.iter().filter_map(|exhibit| Some((exhibit, simulated(exhibit)?))) {
        let world = |of: u64| Scenario::with(of, backend, work, Plant::Nothing);
        super::plant(exhibit.name);
        let (start, mut player, mut worlds) = (Instant::now(), Player::default(), 0);
        let broken = loop {
            let of = seed + worlds;
            worlds += 1;
            if let Some(breach) = player.play(of, &world(of)).violations.first() {
                break Some((of, *breach));
            }
            if start.elapsed() > time {
                break None;
            }
        };
        let took = format!("{:.0} ms", start.elapsed().as_secs_f64() * 1000.0);
        super::plant("");
        let (property, what) = match broken {
            // The same world with nothing planted: else it was not the bug that was seen.
            Some((of, breach)) if player.play(of, &world(of)).violations.is_empty() => {
                (format!("{:?}", breach.property), format!("{}, in the world of seed {of}", breach.what))
            }
            Some((of, _)) => ("-".to_owned(), format!("the world of seed {of} is broken without it as well")),
            None => ("-".to_owned(), "not seen".to_owned()),
        };
        rows.push(vec![exhibit.name.to_owned(), property, worlds.to_string(), took, what]);
    }
    let columns = ["bug", "property", "worlds", "time", "seen as"].map(str::to_owned).to_vec();
    Table { heading: "What the simulator sees of the planted bugs in the cores it runs".to_owned(), columns, rows }
}
