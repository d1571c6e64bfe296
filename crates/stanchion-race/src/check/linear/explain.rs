//! Which operations cannot be ordered: as few of them as are enough.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::budget::{Budget, Limits, Unknown};
use super::layer::{Config, Layer};
use super::mask::Mask;
use super::search::{KEPT, Search, Wave};
use super::track::Track;
use crate::check::{History, OPEN, Operation, model::Model};

/// Operations on one key that cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The key, by its place in the history.
    pub key: u32,
    /// How many operations returned before the failing one. All of them can be ordered.
    pub prefix: usize,
    /// The operation that has no place, by its place in the history.
    pub failing: usize,
    /// Operations, by their places, that cannot be ordered in any state of `before`, whatever the others did and
    /// answered afterwards; by their call, the failing one included.
    pub core: Vec<usize>,
    /// What could be the state before them, in words; at most four.
    pub before: Vec<String>,
}

impl Violation {
    /// The violation in a few lines, for a person.
    #[must_use]
    pub fn story(&self, history: &History) -> String {
        let show =
            |at: &usize| history.operations().get(*at).map_or(String::new(), |one| history.show(one).to_string());
        let many = if self.core.len() == 1 { "This operation" } else { "These operations" };
        let mut text = format!("key {:?}: {many} cannot be ordered:\n", history.name(self.key));
        for at in &self.core {
            let mark = if *at == self.failing { "   <- no place for this answer" } else { "" };
            text.push_str(&format!("  {}{mark}\n", show(at)));
        }
        let before = self.before.join(", or ");
        text.push_str(&format!("Before: {before}. {} operations that returned earlier can be ordered.\n", self.prefix));
        text
    }
}

/// Time for making an explanation short.
const TIME: Duration = Duration::from_secs(1);

/// Steps for one try at it.
const STEPS: u64 = 200_000;

pub(super) fn explain<M: Model, const N: usize>(
    model: &M,
    history: &History,
    track: &Track,
    mut search: Search<'_, M, N>,
    place: usize,
    layers: Vec<(Layer<M::State, N>, usize)>,
) -> Violation {
    let item = |at: u32| track.items.get(track.events.get(at as usize)?.item as usize);
    let failing = track.returns.get(place).and_then(|at| item(*at));
    let (failing, key) = failing.map_or((0, 0), |item| (item.at, item.operation.key));
    let base = place.saturating_sub(KEPT - 1);
    search.rewind(base);
    let mut operations: Vec<(usize, Operation)> =
        search.under_way().map(|(_, item)| (item.at, item.operation)).collect();
    // At the start nothing is done yet, not even what only reads: as an open operation it may do more than that.
    let seeds = if base == 0 { vec![(HashSet::new(), model.start())] } else { seeds(&search, &layers, base) };
    let (start, end) = (track.returns.get(base).copied(), track.returns.get(place).copied());
    let between = track.events.get(start.unwrap_or(0) as usize..end.unwrap_or(0) as usize).unwrap_or_default();
    for event in between.iter().filter(|event| !event.returns) {
        operations.extend(track.items.get(event.item as usize).map(|item| (item.at, item.operation)));
    }
    operations.sort_by_key(|(at, operation)| (operation.call, *at));
    let mut problem = Problem { operations, seeds, failing, weak: HashSet::new() };
    let mut budget = Budget::new(Limits { time: TIME, steps: STEPS, ..Limits::default() });
    problem.shrink(model, &mut budget);
    let mut before: Vec<String> = Vec::new();
    for (_, state) in &problem.seeds {
        let words = model.words(state, history);
        if before.len() < 4 && !before.contains(&words) {
            before.push(words);
        }
    }
    let core = problem.operations.iter().map(|(at, _)| *at).filter(|at| !problem.weak.contains(at)).collect();
    Violation { key, prefix: place, failing, core, before }
}

/// The configurations that the layer before gave, with the operations that they have done.
fn seeds<M: Model, const N: usize>(
    search: &Search<'_, M, N>,
    layers: &[(Layer<M::State, N>, usize)],
    base: usize,
) -> Vec<(HashSet<usize>, M::State)> {
    let Some((layer, given)) = base.checked_rem(layers.len()).and_then(|at| layers.get(at)) else { return Vec::new() };
    let done = |config: &Config<M::State, N>| {
        search.under_way().filter(|(slot, _)| config.done.has(*slot)).map(|(_, item)| item.at).collect()
    };
    layer.configs.iter().take(*given).map(|config| (done(config), config.state.clone())).collect()
}

/// The end of a history: it starts in one of the seeds, and does not get past the return of the failing operation.
struct Problem<S> {
    operations: Vec<(usize, Operation)>,
    seeds: Vec<(HashSet<usize>, S)>,
    failing: usize,
    /// Operations that are taken as open: they may have happened at any time, with any answer, or never. What still
    /// cannot be ordered then is not their fault.
    weak: HashSet<usize>,
}

impl<S: Clone> Problem<S> {
    fn shrink<M: Model<State = S>>(&mut self, model: &M, budget: &mut Budget) {
        let all: Vec<usize> = self.operations.iter().map(|(at, _)| *at).filter(|at| *at != self.failing).collect();
        let open = |(_, operation): &&(usize, Operation)| operation.is_open();
        self.weak.extend(self.operations.iter().filter(open).map(|(at, _)| *at));
        // Large groups first: most operations have nothing to do with it, and the fewer returns are left, the quicker.
        let mut size = all.len();
        while size > 0 {
            for group in all.chunks(size) {
                let group: Vec<usize> = group.iter().copied().filter(|at| self.weak.insert(*at)).collect();
                budget.refill();
                if !group.is_empty() && !matches!(self.is_stuck(model, budget), Ok(true)) {
                    self.weak.retain(|at| !group.contains(at));
                }
            }
            size /= 2;
        }
    }

    fn is_stuck<M: Model<State = S>>(&self, model: &M, budget: &mut Budget) -> Result<bool, Unknown> {
        let loosened = self.operations.iter().map(|(at, operation)| {
            let ret = if self.weak.contains(at) { OPEN } else { operation.ret };
            (*at, Operation { ret, ..*operation })
        });
        let mut track = Track::new(model, loosened).map_err(|_| Unknown::Width)?;
        let is_last = |at: &u32| {
            let event = track.events.get(*at as usize);
            event.and_then(|event| track.items.get(event.item as usize)).is_some_and(|item| item.at == self.failing)
        };
        // What returned after the failing operation only has its answer, not its return.
        let last = track.returns.iter().position(is_last).map_or(0, |last| last.saturating_add(1));
        track.returns.truncate(last);
        if track.slots > 64 * WORDS || track.left_out > 0 {
            return Err(Unknown::Width);
        }
        let mut search = Search::<M, WORDS>::new(model, &track, budget);
        let slots: HashMap<usize, usize> = search.under_way().map(|(slot, item)| (item.at, slot)).collect();
        let configs = self.seeds.iter().map(|(done, state)| {
            let mut mask = Mask::EMPTY;
            done.iter().filter_map(|at| slots.get(at)).for_each(|slot| mask.set(*slot));
            Config { done: mask, state: state.clone() }
        });
        let configs = configs.collect();
        Ok(matches!(search.breadth_first(configs)?, Wave::Stuck { place, .. } if place + 1 == last))
    }
}

/// Words of the sets in a problem; explanations of wider ones are not made shorter.
const WORDS: usize = 4;
