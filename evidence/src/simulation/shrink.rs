//! From a world in which something went wrong to a small one in which it still does.

use super::Player;
use super::fault::FAULTS;
use super::property::Property;
use super::scenario::Scenario;

/// Tries fewer clients, keys, operations, kinds of faults and faults, for as long as `property` stays broken.
#[must_use]
pub fn shrink(player: &mut Player, seed: u64, scenario: &Scenario, property: Property) -> Scenario {
    let mut best = scenario.clone();
    let happened = player.play(seed, scenario).counts.faults_in_all();
    best.faults_max = u32::try_from(happened).unwrap_or(u32::MAX).min(scenario.faults_max);
    let mut still_broken =
        |candidate: &Scenario| player.play(seed, candidate).violations.iter().any(|breach| breach.property == property);
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| still_broken(candidate));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// The largest steps first.
fn candidates(of: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut propose = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = of.clone();
        change(&mut candidate);
        all.push(candidate);
    };
    for operations in [of.operations / 2, of.operations * 3 / 4, of.operations - 1] {
        if operations > 0 && operations < of.operations {
            propose(&|scenario| scenario.operations = operations);
        }
    }
    if of.clients > 2 {
        propose(&|scenario| scenario.clients = 2);
        propose(&|scenario| scenario.clients -= 1);
    }
    if of.keys > 1 {
        propose(&|scenario| scenario.keys = 1);
    }
    for fault in FAULTS.iter().filter(|fault| of.has(**fault)) {
        propose(&|scenario| scenario.faults &= !fault.bit());
    }
    for most in [0, of.faults_max / 2, of.faults_max / 8 * 7, of.faults_max.saturating_sub(1)] {
        if most < of.faults_max {
            propose(&|scenario| scenario.faults_max = most);
        }
    }
    all
}
