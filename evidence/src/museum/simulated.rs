//! The simulator as a second pair of eyes: what does it see of the bugs that stand in the cores it runs?

use std::time::{Duration, Instant};

use super::exhibit::Exhibit;
use crate::report::Table;
use crate::simulation::Player;
use crate::simulation::scenario::Scenario;

/// The files that the simulator runs as they are.
const CORES: [&str; 7] = [
    "crates/stanchion-core/src/lease_machine.rs",
    "crates/stanchion-core/src/fence.rs",
    "crates/stanchion-core/src/redlock/attempt.rs",
    "crates/stanchion-core/src/redlock/trust.rs",
    "crates/stanchion-core/src/claim/ask.rs",
    "crates/stanchion-core/src/claim/step.rs",
    "crates/stanchion-core/src/claim/response.rs",
];

/// Plays worlds with each of them, for at most so long each. Not seeing one is no failure: another finder has found it.
pub(super) fn seen(exhibits: &[Exhibit], seed: u64, time: Duration) -> Table {
    let mut rows = Vec::new();
    for exhibit in exhibits.iter().filter(|exhibit| CORES.contains(&exhibit.place)) {
        super::plant(exhibit.name);
        let (start, mut player, mut worlds) = (Instant::now(), Player::default(), 0);
        let broken = loop {
            let of = seed + worlds;
            worlds += 1;
            if let Some(breach) = player.play(of, &Scenario::of(of)).violations.first() {
                break Some((of, *breach));
            }
            if start.elapsed() > time {
                break None;
            }
        };
        let took = format!("{:.0} ms", start.elapsed().as_secs_f64() * 1000.0);
        super::plant("");
        let (property, what) = match broken {
            Some((seed, breach)) => {
                (format!("{:?}", breach.property), format!("{}, in the world of seed {seed}", breach.what))
            }
            None => ("-".to_owned(), "not seen".to_owned()),
        };
        rows.push(vec![exhibit.name.to_owned(), property, worlds.to_string(), took, what]);
    }
    let columns = ["bug", "property", "worlds", "time", "seen as"].map(str::to_owned).to_vec();
    Table { heading: "What the simulator sees of the planted bugs in the cores it runs".to_owned(), columns, rows }
}
