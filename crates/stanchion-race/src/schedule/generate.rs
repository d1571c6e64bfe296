//! A schedule from a seed.

use super::random::Random;
use super::{Fault, Schedule, Step, round_seed};
use crate::spec::{FaultKind, Spec};

/// Every second round is spread over one of these times, because a window that opens late is missed by calls that all come
/// at once. Timers have a grain of 1 ms.
const SPREADS_US: [u64; 4] = [1000, 3000, 8000, 20_000];
/// Faults that follow a request come this soon after it.
const SOON_US: u64 = 5000;

impl Schedule {
    /// The schedule of one round.
    ///
    /// ```
    /// # use stanchion_race::{Schedule, Spec};
    /// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = Spec::parse(text, "probe.toml").unwrap();
    /// assert_ne!(Schedule::generate(&spec, 1, 0).steps, Schedule::generate(&spec, 2, 1).steps);
    /// ```
    #[must_use]
    pub fn generate(spec: &Spec, seed: u64, round: u64) -> Self {
        let mut random = Random::new(round_seed(seed, round));
        let instances = spec.target.instances.max(1);
        let spread = (round % 2 == 1).then(|| SPREADS_US.get(random.index(SPREADS_US.len())).copied()).flatten();
        let mut kinds: Vec<usize> =
            spec.calls.iter().enumerate().flat_map(|(kind, call)| std::iter::repeat_n(kind, call.times)).collect();
        for last in (1..kinds.len()).rev() {
            kinds.swap(last, random.index(last + 1));
        }
        let first = random.index(instances);
        // A process that is stopped or killed twice in a round takes long, and shows no more.
        let mut disturbed = vec![false; instances];
        let steps = kinds.into_iter().enumerate().map(|(n, call)| {
            let instance = if spread.is_none() { (first + n) % instances } else { random.index(instances) };
            let delay_us = spread.map_or(0, |spread| random.below(spread));
            let allowed = spec.calls.get(call).map_or(&[][..], |call| &call.faults);
            let mut fault = None;
            if !allowed.is_empty() && random.chance(spec.faults.chance) {
                let kind = allowed.get(random.index(allowed.len())).copied();
                fault = kind.map(|kind| draw(kind, spec, instances, &mut random));
                let disturbs = matches!(fault, Some(Fault::Pause { .. } | Fault::Kill { .. }));
                if let Some(disturbed) = disturbed.get_mut(instance).filter(|_| disturbs) {
                    fault = fault.filter(|_| !*disturbed);
                    *disturbed = true;
                }
            }
            Step { n, call, instance, delay_us, fault }
        });
        Self { version: 1, seed, round, instances, steps: steps.collect() }
    }

    /// The calls one after the other on one instance: what must hold even then.
    pub(crate) fn control(spec: &Spec, seed: u64, round: u64) -> Self {
        let times = |times: usize| if spec.expect.is_fixed() { times } else { 1 };
        let kinds = spec.calls.iter().enumerate();
        let kinds = kinds.flat_map(|(kind, call)| std::iter::repeat_n(kind, times(call.times)));
        let steps = kinds.enumerate().map(|(n, call)| Step { n, call, instance: 0, delay_us: 0, fault: None });
        Self { version: 1, seed, round, instances: 1, steps: steps.collect() }
    }

    /// The same calls one after the other, each where it is made, without faults; of very many the first.
    pub(crate) fn one_by_one(&self, most: usize) -> Self {
        let steps = self.steps.iter().take(most).map(|step| Step { delay_us: 0, fault: None, ..step.clone() });
        Self { steps: steps.collect(), ..self.clone() }
    }

    /// The same on one instance.
    pub(crate) fn on_one(&self) -> Self {
        let steps = self.steps.iter().map(|step| Step { instance: 0, ..step.clone() });
        Self { instances: 1, steps: steps.collect(), ..self.clone() }
    }
}

fn draw(kind: FaultKind, spec: &Spec, instances: usize, random: &mut Random) -> Fault {
    let after_us = random.below(SOON_US);
    match kind {
        FaultKind::Delay => {
            let (from, to) = spec.faults.delay_ms;
            let us = from * 1000 + random.below((to - from) * 1000 + 1);
            if random.chance(0.5) {
                Fault::Delay { before_us: us, after_us: 0 }
            } else {
                Fault::Delay { before_us: 0, after_us: us }
            }
        }
        FaultKind::LostReply => Fault::LostReply,
        FaultKind::Duplicate => {
            Fault::Duplicate { instance: random.index(instances), after_us: after_us * random.below(2) }
        }
        FaultKind::Reset => Fault::Reset { after_us },
        FaultKind::Pause => Fault::Pause { after_us, ms: spec.faults.pause_ms },
        FaultKind::Kill => Fault::Kill { after_us, restart_ms: spec.faults.restart_ms },
    }
}
