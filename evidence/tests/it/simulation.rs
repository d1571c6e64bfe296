use stanchion_evidence::simulation::Player;
use stanchion_evidence::simulation::controls::{CONTROLS, broken_worlds};
use stanchion_evidence::simulation::scenario::Scenario;

/// Few operations each: what a world needs before its first fault is the same, and faults meet in the first ones already.
fn small(seed: u64) -> Scenario {
    Scenario { operations: 12, ..Scenario::of(seed) }
}

#[test]
fn no_promise_is_broken_in_any_of_three_thousand_worlds() {
    let mut player = Player::default();
    let mut excused = 0;
    for seed in 0..3000 {
        let scenario = small(seed);
        let outcome = player.play(seed, &scenario);
        assert!(outcome.violations.is_empty(), "world {seed}, {scenario:?}: {:?}", outcome.violations);
        excused += outcome.excused.len();
    }
    assert!(excused > 100, "void: what is not promised held in every world");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let traces = || {
        let mut player = Player::default();
        (0..200).map(|seed| player.play(seed, &small(seed)).trace_hash).collect::<Vec<_>>()
    };
    let first = traces();
    assert_eq!(first, traces());
    assert!(first.windows(2).all(|two| two[0] != two[1]), "void: the trace does not depend on the seed");
}

#[test]
fn every_rule_that_is_broken_on_purpose_is_seen_to_be_broken() {
    let mut player = Player::default();
    for control in CONTROLS {
        let found = broken_worlds(&mut player, 1, 200, control).next();
        assert!(found.is_some(), "void: {control:?} was not seen in 200 worlds");
    }
}
