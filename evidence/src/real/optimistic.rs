//! Changes without a lock, by compare-and-swap; the control just overwrites.

use stanchion_core::{Result, Versioned};

use super::dice::Dice;
use super::journal::{Line, Outcome, now};
use super::locked::{bare, end};
use super::orders::Chain;
use super::place::{Seen, next};
use super::worker::Worker;

/// Adds one, and says how many calls were acknowledged.
pub(super) async fn update(worker: &Worker, values: &Versioned, dice: &mut Dice, op: &str, chain: Chain) -> u64 {
    if !worker.orders.guarded {
        return bare(worker, dice, op, chain).await;
    }
    let call = now();
    let updated = match worker.orders.data(chain) {
        Ok(key) => {
            let change = |old: Option<&[u8]>| {
                let seen = Seen::of_value(old)?;
                worker.journal.line(&Line::tries(chain, op, &seen, 0, (call, now())));
                Ok(next(&seen, op))
            };
            values.update(&key, change).await
        }
        Err(e) => Err(e),
    };
    let outcome = match &updated {
        // 0: written, and replaced before anybody could tell as which version.
        Ok(updated) => Outcome::Ok(updated.version.map_or(0, stanchion_core::Version::get).to_string()),
        Err(e) => Outcome::of(e),
    };
    end(worker, op, chain, outcome, (call, now()))
}

/// What is there now.
pub(super) async fn look(worker: &Worker, chain: Chain) -> Result<Seen> {
    let Some((values, _)) = &worker.records else { return Seen::of_value(None) };
    let found = values.get(&worker.orders.data(chain)?).await?;
    Seen::of_value(found.as_ref().map(|(value, _)| &value[..]))
}
