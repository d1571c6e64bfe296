//! Worlds in which a rule is broken on purpose. Each must be found, or the simulation could not have found anything.

use super::Player;
use super::fault::FAULTS;
use super::property::Property;
use super::rng::mix;
use super::scenario::{Backend, Plant, Scenario, Work};
use super::shrink::shrink;
use crate::report::Control;

/// A plant, where it is planted, and what it breaks.
pub const CONTROLS: [(Plant, Backend, Work, Property); 12] = [
    (Plant::NoLock, Backend::Postgres, Work::Locks, Property::S5),
    (Plant::NoFence, Backend::Redis, Work::Locks, Property::S5),
    (Plant::WriteOnlyFence, Backend::Redis, Work::Locks, Property::S5),
    (Plant::BlindHolder, Backend::Etcd, Work::Locks, Property::S5),
    (Plant::ConstantFence, Backend::Postgres, Work::Locks, Property::S3),
    (Plant::ReleaseWithoutOwner, Backend::Redis, Work::Locks, Property::S3),
    (Plant::RenewWithoutOwner, Backend::Redis, Work::Locks, Property::S3),
    (Plant::DeadlineFromAnswer, Backend::Postgres, Work::Locks, Property::L3),
    (Plant::LateGrantKept, Backend::Redis, Work::Locks, Property::L1),
    (Plant::DeleteOnFailure, Backend::Postgres, Work::Calls, Property::S4),
    (Plant::CheckThenAct, Backend::Redis, Work::Calls, Property::S4),
    (Plant::RerunAfterLapse, Backend::Etcd, Work::Calls, Property::S4),
];

/// Worlds for one control.
const WORLDS: u64 = 500;

/// The seeds of the worlds in which `plant` breaks `property`.
pub fn broken_worlds(
    player: &mut Player,
    run: u64,
    worlds: u64,
    (plant, backend, work, property): (Plant, Backend, Work, Property),
) -> impl Iterator<Item = u64> {
    let breaks = move |seed: &u64| {
        let outcome = player.play(*seed, &Scenario::with(*seed, backend, work, plant));
        outcome.violations.iter().any(|breach| breach.property == property)
    };
    (0..worlds).map(move |index| mix(run ^ mix(index))).filter(breaks)
}

/// Runs all of them.
#[must_use]
pub fn run(run: u64) -> Vec<Control> {
    let mut player = Player::default();
    let mut control = |planted: (Plant, Backend, Work, Property)| {
        let (plant, backend, work, property) = planted;
        let broken: Vec<_> = broken_worlds(&mut player, run, WORLDS, planted).collect();
        let mut detail = format!("{property:?} broken in {} of {WORLDS} worlds on {backend:?}", broken.len());
        if let Some(first) = broken.first() {
            let small = shrink(&mut player, *first, &Scenario::with(*first, backend, work, plant), property);
            let kinds: Vec<_> = FAULTS.iter().filter(|fault| small.has(**fault)).collect();
            detail += &format!(
                "; in small: {} clients, {} operations, at most {} faults of {kinds:?}",
                small.clients, small.operations, small.faults_max
            );
        }
        Control { name: format!("{plant:?}"), failed: !broken.is_empty(), detail }
    };
    CONTROLS.into_iter().map(&mut control).collect()
}
