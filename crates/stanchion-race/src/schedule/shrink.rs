//! Smaller schedules: fewer instances, smaller delays, then fewer calls and fewer faults.

use super::{Fault, Schedule, Step};

/// What is made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shrink {
    Instances,
    Delays,
    Calls,
    Faults,
}

impl Shrink {
    /// First what brings calls closer together, while they are many: two that meet on one process meet again, two on two
    /// processes of a busy machine may not. At last the instances that dropped calls and faults no longer need.
    pub(crate) const ALL: [Self; 5] = [Self::Instances, Self::Delays, Self::Calls, Self::Faults, Self::Instances];
}

/// The next smaller schedules, the smallest first: whoever tries them in order is done soonest.
pub(crate) fn candidates(schedule: &Schedule, shrink: Shrink) -> Vec<Schedule> {
    let with = |steps: Vec<Step>| Schedule { steps, ..schedule.clone() };
    match shrink {
        Shrink::Calls => fewer_calls(schedule),
        Shrink::Faults => {
            let faulty = schedule.steps.iter().enumerate().filter(|(_, step)| step.fault.is_some());
            let all = with(schedule.steps.iter().map(|step| Step { fault: None, ..step.clone() }).collect());
            let one = faulty.clone().map(|(at, _)| {
                let mut steps = schedule.steps.clone();
                if let Some(step) = steps.get_mut(at) {
                    step.fault = None;
                }
                with(steps)
            });
            let several = (faulty.clone().count() > 1).then_some(all);
            several.into_iter().chain(one).collect()
        }
        Shrink::Instances => {
            let used = schedule.used_places();
            let to = if used.len() < schedule.instances { 1..used.len() + 1 } else { 1..used.len() };
            to.map(|to| on_fewer(schedule, &used, to)).collect()
        }
        Shrink::Delays => {
            let none = with(schedule.steps.iter().map(|step| Step { delay_us: 0, ..step.clone() }).collect());
            let half =
                with(schedule.steps.iter().map(|step| Step { delay_us: step.delay_us / 2, ..step.clone() }).collect());
            [none, half].into_iter().filter(|it| it != schedule).collect()
        }
    }
}

/// The first few, then halves, then quarters, down to all but one.
fn fewer_calls(schedule: &Schedule) -> Vec<Schedule> {
    let len = schedule.steps.len();
    let mut smaller = Vec::new();
    if len < 3 {
        return smaller;
    }
    let mut add = |steps: Vec<Step>| smaller.push(Schedule { steps, ..schedule.clone() });
    for few in [2, 3, 4, 8].into_iter().filter(|few| *few < len.div_ceil(2)) {
        add(schedule.steps.iter().take(few).cloned().collect());
    }
    let mut size = len.div_ceil(2);
    loop {
        for from in (0..len).step_by(size) {
            let rest = schedule.steps.iter().enumerate().filter(|(at, _)| !(from..from + size).contains(at));
            add(rest.map(|(_, step)| step.clone()).collect());
        }
        if size == 1 {
            return smaller;
        }
        size = size.div_ceil(2);
    }
}

fn on_fewer(schedule: &Schedule, used: &[usize], instances: usize) -> Schedule {
    let rank = |instance: usize| used.iter().position(|it| *it == instance).unwrap_or(0);
    let place = |instance: usize| rank(instance).checked_rem(instances).unwrap_or(0);
    let steps = schedule.steps.iter().map(|step| {
        let fault = step.fault.map(|fault| match fault {
            Fault::Duplicate { instance, after_us } => Fault::Duplicate { instance: place(instance), after_us },
            other => other,
        });
        Step { instance: place(step.instance), fault, ..step.clone() }
    });
    Schedule { instances, steps: steps.collect(), ..schedule.clone() }
}
