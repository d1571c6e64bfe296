//! All schedules up to a cost, cheapest first.

use std::time::{Duration, Instant};

use super::{Broken, Limits, Room, Step, World};

/// How many turns a runtime gets for everybody to come to rest.
const ROUNDS: usize = 12;
/// While nobody has a request, but somebody waits for a timer.
const NAP: Duration = Duration::from_millis(250);
const NAPS: usize = 200;

/// What a search has seen.
#[derive(Debug)]
pub struct Explored {
    pub schedules: u64,
    /// Whether all of them were tried.
    pub complete: bool,
    pub found: Option<(Broken, Vec<String>)>,
}

/// A choice that was made: what there was to choose from, with the cost of each, and what was chosen.
struct Decision {
    costs: Vec<usize>,
    chosen: usize,
}

/// Visits the room with every schedule within the limits, until one breaks something or the time is up.
pub fn explore(room: Room, limits: &Limits, time: Duration) -> Explored {
    let start = Instant::now();
    let mut explored = Explored { schedules: 0, complete: true, found: None };
    for budget in 0..=limits.cost {
        let mut prefix: Vec<usize> = Vec::new();
        loop {
            let (decisions, told, broken) = visit(room, limits, &prefix);
            explored.schedules += 1;
            if let Some(broken) = broken {
                explored.found = Some((broken, told));
                return explored;
            }
            if start.elapsed() > time {
                explored.complete = false;
                return explored;
            }
            match next(&decisions, budget) {
                Some(following) => prefix = following,
                None => break,
            }
        }
    }
    explored
}

/// The next prefix in depth-first order.
fn next(decisions: &[Decision], budget: usize) -> Option<Vec<usize>> {
    let mut spent: Vec<usize> = vec![0];
    for decision in decisions {
        let before = spent.last().copied().unwrap_or(0);
        spent.push(before + decision.costs[decision.chosen]);
    }
    for (place, decision) in decisions.iter().enumerate().rev() {
        let affordable = |option: &usize| spent[place] + decision.costs[*option] <= budget;
        if let Some(option) = (decision.chosen + 1..decision.costs.len()).find(affordable) {
            let chosen = decisions[..place].iter().map(|decision| decision.chosen);
            return Some(chosen.chain([option]).collect());
        }
    }
    None
}

/// One visit: follows the prefix, then takes what costs nothing.
fn visit(room: Room, limits: &Limits, prefix: &[usize]) -> (Vec<Decision>, Vec<String>, Option<Broken>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime needs no more than memory");
    runtime.block_on(async {
        let world = World::new(limits);
        let visit = room(&world);
        let tasks: Vec<_> = visit.clients.into_iter().map(tokio::spawn).collect();
        let (mut decisions, mut last, mut naps) = (Vec::new(), None, 0);
        let mut used = Used::default();
        loop {
            rest().await;
            if (visit.is_broken)() {
                break;
            }
            let options = options(&world, limits, last, &used);
            if options.is_empty() {
                let open = tasks.iter().enumerate().any(|(i, task)| !task.is_finished() && !world.board.is_dead(i));
                if !open || naps == NAPS {
                    break;
                }
                naps += 1;
                world.clock.advance(NAP);
                tokio::time::sleep(NAP).await;
                continue;
            }
            let chosen = prefix.get(decisions.len()).copied().unwrap_or(0).min(options.len() - 1);
            let step = options[chosen].0;
            decisions.push(Decision { costs: options.iter().map(|(_, cost)| *cost).collect(), chosen });
            used.count(step);
            if let Step::Pass(client) | Step::Lose(client) = step {
                last = Some(client);
            }
            world.apply(step);
            if let Step::Tick(time) = step {
                tokio::time::advance(time).await;
            }
        }
        let broken = visit.judge.await;
        (decisions, world.board.told(), broken)
    })
}

async fn rest() {
    for _ in 0..ROUNDS {
        tokio::task::yield_now().await;
    }
}

#[derive(Default)]
struct Used {
    losses: usize,
    deaths: usize,
    ticks: usize,
    forgets: usize,
}

impl Used {
    fn count(&mut self, step: Step) {
        match step {
            Step::Pass(_) => {}
            Step::Lose(_) => self.losses += 1,
            Step::Kill(_) => self.deaths += 1,
            Step::Tick(_) => self.ticks += 1,
            Step::Forget => self.forgets += 1,
        }
    }
}

/// What may happen next, the cheapest first.
fn options(world: &World, limits: &Limits, last: Option<usize>, used: &Used) -> Vec<(Step, usize)> {
    let waiting = world.board.waiting();
    let goes_on = waiting.iter().any(|(client, _)| Some(*client) == last);
    let switch = |client: usize| usize::from(goes_on && Some(client) != last);
    let mut options: Vec<(Step, usize)> =
        waiting.iter().map(|(client, _)| (Step::Pass(*client), switch(*client))).collect();
    options.sort_by_key(|(_, cost)| *cost);
    if waiting.is_empty() {
        return options;
    }
    if used.ticks < limits.ticks {
        options.push((Step::Tick(limits.tick), 1));
    }
    if used.forgets < limits.forgets {
        options.push((Step::Forget, 1));
    }
    for (client, may_be_lost) in &waiting {
        if *may_be_lost && used.losses < limits.losses {
            options.push((Step::Lose(*client), 1 + switch(*client)));
        }
        if used.deaths < limits.deaths {
            options.push((Step::Kill(*client), 1));
        }
    }
    options
}
