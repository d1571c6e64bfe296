//! How fast the evidence's simulator plays its worlds.

use stanchion_evidence::simulation::scenario::Scenario;
use stanchion_evidence::simulation::{Player, world_seed};

use super::histories::timed;
use crate::Outcome;

/// Events of `worlds` worlds in a second of a core.
pub(super) fn events(worlds: u64, round: u32) -> Outcome<f64> {
    let run = u64::from(round);
    let mut player = Player::default();
    let (played, seconds) = timed(|| {
        (0..worlds).try_fold(0, |events, index| {
            let seed = world_seed(run, index);
            let outcome = player.play(seed, &Scenario::of(seed));
            if outcome.violations.is_empty() { Ok(events + outcome.counts.events) } else { Err(seed) }
        })
    });
    let events: u64 = played.map_err(|seed| format!("the world of seed {seed} breaks a promise"))?;
    #[expect(clippy::cast_precision_loss, reason = "events of a benchmark")]
    let events = events as f64;
    Ok(events / seconds)
}
