//! Random sequences of operations against a reference, shrunk when one differs.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// So many sequences unless `STANCHION_SEQUENCES` says otherwise: few, because every case of every backend is run
/// with every change.
const FEW: usize = 8;
const LONGEST: usize = 24;

fn how_many() -> usize {
    std::env::var("STANCHION_SEQUENCES").ok().and_then(|number| number.parse().ok()).unwrap_or(FEW)
}

/// The same sequences each time, each in names of its own: what fails once can be looked at again.
fn drawn<S: Strategy>(step: S) -> Vec<Vec<S::Value>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, b"sequences of steps, seed 1, 32 B");
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let sequences = vec(step, 1..=LONGEST);
    let draw = |_| sequences.new_tree(&mut runner).expect("nothing is filtered").current();
    (0..how_many()).map(draw).collect()
}

/// Runs sequences of `step` until one gives another answer than the reference; panics with the shortest one found.
pub(super) async fn compare<S, Run, Answered>(step: S, mut run: Run)
where
    S: Strategy,
    S::Value: Clone + Debug,
    Run: FnMut(Vec<S::Value>) -> Answered,
    Answered: Future<Output = Result<(), String>>,
{
    for steps in drawn(step) {
        let Err(mut difference) = run(steps.clone()).await else { continue };
        let mut shortest = steps;
        let mut at = shortest.len();
        // Without each step in turn, from the last one on: later steps depend on earlier ones more often.
        while let Some(before) = at.checked_sub(1) {
            at = before;
            let mut fewer = shortest.clone();
            fewer.remove(at);
            if let Err(found) = run(fewer.clone()).await {
                (shortest, difference) = (fewer, found);
                at = at.min(shortest.len());
            }
        }
        panic!("{difference}; the shortest sequence that shows it: {shortest:?}");
    }
}

/// The difference between two answers, in words.
pub(super) fn same<T: Debug + PartialEq>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} says {found:?}, and should say {expected:?}")) }
}
