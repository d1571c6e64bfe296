use stanchion_evidence::simulation::Player;
use stanchion_evidence::simulation::scenario::{BACKENDS, Plant, Scenario, Work};

#[test]
fn no_promise_is_broken_on_any_engine() {
    let mut player = Player::default();
    for backend in BACKENDS {
        let (mut ops, mut ev, mut faults, mut excused) = (0, 0, 0, 0);
        for seed in 0..1000 {
            let scenario = Scenario::with(seed, backend, Work::Locks, Plant::Nothing);
            let outcome = player.play(seed, &scenario);
            if !outcome.violations.is_empty() {
                let names: Vec<_> = stanchion_evidence::simulation::fault::FAULTS.iter().filter(|f| scenario.has(**f)).collect();
                println!("{seed} {:?} {:?} {names:?} {}", outcome.violations[0], outcome.violations.len(), outcome.counts.events);
            }
            ops += outcome.counts.operations;
            ev += outcome.counts.events;
            faults += outcome.counts.faults_in_all();
            excused += outcome.excused.len();
        }
        println!("{backend:?}: {ops} operations, {ev} events, {faults} faults, {excused} excused");
    }
}
