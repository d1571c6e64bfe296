//! Worlds in which a rule is broken on purpose. Each must be found, or the simulation could not have found anything.

use super::Player;
use super::fault::FAULTS;
use super::property::Property;
use super::rng::mix;
use super::scenario::{Backend, Plant, Scenario, Work};
use super::shrink::shrink;
use crate::report::Control;

/// A plant, where it is planted, and what it breaks.
pub const CONTROLS: [(Plant, Backend, Work, Property); 13] = [
    (Plant::NoLock, Backend::Postgres, Work::Locks, Property::S5),
    (Plant::NoFence, Backend::Redis, Work::Locks, Property::S5),
    (Plant::WriteOnlyFence, Backend::Redis, Work::Locks, Property::S5),
    (Plant::BlindHolder, Backend::Etcd, Work::Locks, Property::S5),
    (Plant::ConstantFence, Backend::Postgres, Work::Locks, Property::S3),
    (Plant::ReleaseWithoutOwner, Backend::Redis, Work::Locks, Property::S3),
    (Plant::RenewWithoutOwner, Backend::Redis, Work::Locks, Property::S3),
    (Plant::DeadlineFromAnswer, Backend::Postgres, Work::Locks, Property::L3),
    (Plant::LateGrantKept, Backend::Redis, Work::Locks, Property::L1),
    (Plant::GoesOnAfterDoubt, Backend::Postgres, Work::Locks, Property::S5),
    (Plant::DeleteOnFailure, Backend::Postgres, Work::Calls, Property::S4),
    (Plant::CheckThenAct, Backend::Redis, Work::Calls, Property::S4),
    (Plant::RerunAfterLapse, Backend::Etcd, Work::Calls, Property::S4),
];

/// Worlds for one control, at most, and how many broken ones are enough: some rules are rarely missed.
const WORLDS: u64 = 10_000;
const ENOUGH: usize = 20;

/// The worlds in which `plant` breaks `property`: their places and seeds.
pub fn broken_worlds(
    player: &mut Player,
    run: u64,
    worlds: u64,
    (plant, backend, work, property): (Plant, Backend, Work, Property),
) -> impl Iterator<Item = (u64, u64)> {
    let breaks = move |(_, seed): &(u64, u64)| {
        let outcome = player.play(*seed, &Scenario::with(*seed, backend, work, plant));
        outcome.violations.iter().any(|breach| breach.property == property)
    };
    (0..worlds).map(move |index| (index, mix(run ^ mix(index)))).filter(breaks)
}

/// Runs all of them.
#[must_use]
pub fn run(run: u64) -> Vec<Control> {
    let mut player = Player::default();
    let mut control = |planted: (Plant, Backend, Work, Property)| {
        let (plant, backend, work, property) = planted;
        let broken: Vec<_> = broken_worlds(&mut player, run, WORLDS, planted).take(ENOUGH).collect();
        let looked_at = broken.last().filter(|_| broken.len() == ENOUGH).map_or(WORLDS, |(index, _)| index + 1);
        let mut detail = format!("{property:?} broken in {} of {looked_at} worlds on {backend:?}", broken.len());
        if let Some((_, first)) = broken.first() {
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
