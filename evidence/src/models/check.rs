//! One check: every reachable state of a model, or the shortest way to break it.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker as _, Expectation, HasDiscoveries, Model};

/// A counter-example that takes more steps than this is not looked for.
const DEEPEST: usize = 30;

/// A model that knows whether a complete check of it proves anything.
pub trait Judged: Model {
    /// Interesting events that never happened in all the states visited.
    fn never_happened(&self) -> Vec<String>;
}

/// What a complete check came to.
#[derive(Debug, Clone)]
pub struct Held {
    pub states: usize,
    pub depth: usize,
    pub took: Duration,
    pub properties: Vec<&'static str>,
    pub broken: Vec<Broken>,
    pub void: Vec<String>,
}

/// A property that does not hold, and how to see that.
#[derive(Debug, Clone)]
pub struct Broken {
    pub property: &'static str,
    pub steps: Vec<String>,
}

/// A model that must hold in every state.
pub struct Case {
    pub model: &'static str,
    pub name: &'static str,
    pub clients: usize,
    /// With fewer states something is wrong with the model itself.
    pub least: usize,
    /// More than a test of every day should take.
    pub long: bool,
    check: Box<dyn Fn(usize) -> Held>,
}

/// A design or a bug that must be found.
pub struct Control {
    pub model: &'static str,
    pub name: &'static str,
    pub property: &'static str,
    find: Box<dyn Fn() -> Option<Broken>>,
}

impl Case {
    pub fn new<M>(model: &'static str, name: &'static str, clients: usize, least: usize, make: fn() -> M) -> Self
    where
        M: Judged + Send + Sync + 'static,
        M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
        M::Action: Clone + Debug + PartialEq + Send + Sync,
    {
        let check = move |threads| every_state(make, threads, least);
        Self { model, name, clients, least, long: false, check: Box::new(check) }
    }

    #[must_use]
    pub fn long(mut self) -> Self {
        self.long = true;
        self
    }

    #[must_use]
    pub fn check(&self, threads: usize) -> Held {
        (self.check)(threads)
    }
}

impl Control {
    pub fn new<M>(model: &'static str, name: &'static str, property: &'static str, make: fn() -> M) -> Self
    where
        M: Judged + Send + Sync + 'static,
        M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
        M::Action: Clone + Debug + PartialEq + Send + Sync,
    {
        Self { model, name, property, find: Box::new(move || shortest(make, property)) }
    }

    #[must_use]
    pub fn find(&self) -> Option<Broken> {
        (self.find)()
    }
}

/// In depth: a whole front of states, which breadth needs, would not fit into memory.
fn every_state<M>(make: fn() -> M, threads: usize, least: usize) -> Held
where
    M: Judged + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let (started, model) = (Instant::now(), make());
    let properties: Vec<_> = model.properties().into_iter().map(|p| (p.name, p.expectation)).collect();
    // Without this the check would end as soon as each property has an example or a counter-example.
    let checker = model.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_dfs().join();
    let (states, found) = (checker.unique_state_count(), checker.discoveries());
    let is_always = |expectation: &Expectation| matches!(expectation, Expectation::Always);
    let (always, sometimes): (Vec<_>, Vec<_>) = properties.into_iter().partition(|(_, e)| is_always(e));
    let broken: Vec<_> = always
        .iter()
        .filter_map(|(property, _)| {
            let path = found.get(property)?;
            let detour = || Broken { property, steps: in_words(path.clone().into_actions()) };
            Some(shortest(make, property).unwrap_or_else(detour))
        })
        .collect();
    let mut void = Vec::new();
    if broken.is_empty() {
        let never = sometimes.iter().filter(|(name, _)| !found.contains_key(name));
        void.extend(never.map(|(name, _)| format!("never happens: {name}")));
        void.extend(checker.model().never_happened());
        void.extend((states < least).then(|| format!("only {states} states")));
        void.extend((!checker.is_done()).then(|| "did not visit every state".to_owned()));
    }
    let properties = always.into_iter().map(|(name, _)| name).collect();
    Held { states, depth: checker.max_depth(), took: started.elapsed(), properties, broken, void }
}

/// One step deeper each time, so that nothing shorter is overlooked.
fn shortest<M>(make: fn() -> M, property: &'static str) -> Option<Broken>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    (1..=DEEPEST).find_map(|depth| {
        let found = HasDiscoveries::AnyOf([property].into());
        let checker = make().checker().threads(1).target_max_depth(depth).finish_when(found).spawn_bfs().join();
        let path = checker.discovery(property)?;
        Some(Broken { property, steps: in_words(path.into_actions()) })
    })
}

fn in_words<A: Debug>(steps: Vec<A>) -> Vec<String> {
    steps.into_iter().map(|step| format!("{step:?}")).collect()
}

impl Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Case({}: {})", self.model, self.name)
    }
}

impl Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Control({}: {})", self.model, self.name)
    }
}
