//! The search for an order: Wing and Gong's, with Lowe's cache, over configurations instead of whole sets of operations.
//!
//! An operation is put in order only when it must be, at its return, together with those that have to go before it. So a
//! configuration is small (see [`Config`]), and a cache of those before one return finds every repetition. Two ways
//! through the same configurations: depth first, which is quick when there is an order, and breadth first, which needs
//! little memory and finds the first return that has no place.

use super::budget::{Budget, Unknown};
use super::layer::{Config, Kinds, Layer};
use super::mask::Mask;
use super::track::{Event, Item, Track};
use crate::check::model::Model;

/// Layers that the search in depth can go back. A wrong choice is noticed after a few returns.
const WINDOW: usize = 512;

/// Layers that the search in breadth keeps, for the explanation.
pub(super) const KEPT: usize = 48;

pub(super) struct Search<'a, M: Model, const N: usize> {
    model: &'a M,
    track: &'a Track,
    budget: &'a mut Budget,
    /// The return before which the search stands.
    place: usize,
    /// The item in each slot; it has a meaning only for slots that are under way.
    items: Vec<u32>,
    kinds: Kinds<N>,
}

/// How the search in breadth ended.
pub(super) enum Wave<S, const N: usize> {
    Ordered,
    /// No configuration gets past the return at `place`. With the last layers, and how many configurations of each were
    /// given by the one before.
    Stuck {
        place: usize,
        layers: Vec<(Layer<S, N>, usize)>,
    },
}

enum Follow<S, const N: usize> {
    Next(Config<S, N>),
    More,
    Over,
}

impl<'a, M: Model, const N: usize> Search<'a, M, N> {
    pub(super) fn new(model: &'a M, track: &'a Track, budget: &'a mut Budget) -> Self {
        let kinds = Kinds { under_way: Mask::EMPTY, reads: Mask::EMPTY, open: Mask::EMPTY, returning: 0 };
        let mut search = Self { model, track, budget, place: 0, items: vec![0; track.slots], kinds };
        for event in search.calls(0) {
            search.begin(*event);
        }
        search.aim();
        search
    }

    /// The configuration before all operations.
    pub(super) fn start(&self) -> Config<M::State, N> {
        Config { done: Mask::EMPTY, state: self.model.start() }
    }

    /// Whether there is an order; `false` says nothing.
    pub(super) fn depth_first(&mut self) -> Result<bool, Unknown> {
        let total = self.track.returns.len();
        let mut layers: Vec<Layer<M::State, N>> = (0..WINDOW.min(total)).map(|_| Layer::new()).collect();
        // Configurations in all layers together, or a little more.
        let (mut deepest, mut held) = (0, 1usize);
        let mut config = self.start();
        self.read(&mut config)?;
        if let Some(layer) = layers.first_mut() {
            layer.add(config, &self.kinds);
        }
        while let Some(layer) = ring(&mut layers, self.place) {
            let before = layer.configs.len();
            let follow = self.follow(layer)?;
            held = held.saturating_add(layer.configs.len().saturating_sub(before));
            match follow {
                _ if held > self.budget.configurations => return Ok(false),
                Follow::More => {}
                Follow::Over if self.place == 0 || self.place + WINDOW <= deepest + 1 => return Ok(false),
                Follow::Over => self.backward(),
                Follow::Next(_) if self.place + 1 == total => return Ok(true),
                Follow::Next(mut config) => {
                    self.forward();
                    self.settle(&mut config)?;
                    let Some(layer) = ring(&mut layers, self.place) else { break };
                    if self.place > deepest {
                        deepest = self.place;
                        held = held.saturating_sub(layer.configs.len());
                        layer.clear();
                    }
                    if layer.add(config, &self.kinds) {
                        held = held.saturating_add(1);
                    } else {
                        self.backward();
                    }
                }
            }
        }
        // Without any return there is nothing to explain.
        Ok(total == 0)
    }

    /// Follows all configurations at once, from these.
    pub(super) fn breadth_first(&mut self, seeds: Vec<Config<M::State, N>>) -> Result<Wave<M::State, N>, Unknown> {
        let total = self.track.returns.len();
        let mut layers: Vec<(Layer<M::State, N>, usize)> = (0..KEPT).map(|_| (Layer::new(), 0)).collect();
        let mut next = seeds;
        for config in &mut next {
            self.read(config)?;
        }
        while self.place < total {
            let Some((layer, given)) = ring(&mut layers, self.place) else { break };
            layer.clear();
            for config in next.drain(..) {
                layer.add(config, &self.kinds);
            }
            *given = layer.configs.len();
            self.budget.look()?;
            loop {
                match self.follow(layer)? {
                    Follow::Next(config) => next.push(config),
                    Follow::More if layer.configs.len() > self.budget.configurations => {
                        return Err(Unknown::Configurations);
                    }
                    Follow::More => {}
                    Follow::Over => break,
                }
            }
            if next.is_empty() {
                return Ok(Wave::Stuck { place: self.place, layers });
            }
            if self.place + 1 == total {
                break;
            }
            self.forward();
            for config in &mut next {
                self.settle(config)?;
            }
        }
        Ok(Wave::Ordered)
    }

    /// Goes back to the layer before an earlier return.
    pub(super) fn rewind(&mut self, place: usize) {
        while self.place > place {
            self.backward();
        }
    }

    /// The items under way, with their slots.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, &'a Item)> {
        self.kinds.under_way.slots().filter_map(|slot| Some((slot, self.item(slot)?)))
    }

    /// One unit of work in the layer before the next return. The operation that returns is tried first, by itself; only
    /// then the others that could go before it.
    fn follow(&mut self, layer: &mut Layer<M::State, N>) -> Result<Follow<M::State, N>, Unknown> {
        if let Some(config) = layer.ready.pop().and_then(|at| layer.configs.get(at as usize)) {
            return Ok(Follow::Next(config.clone()));
        }
        let Some(config) = layer.configs.get(layer.cursor) else { return Ok(Follow::Over) };
        let slot = self.kinds.returning;
        if config.done.has(slot) {
            layer.cursor += 1;
            return Ok(Follow::More);
        }
        if !layer.tried {
            layer.tried = true;
            // One that only reads would have been done if it could.
            let next = if self.kinds.reads.has(slot) { None } else { self.after(config, slot)? };
            return Ok(next.map_or(Follow::More, Follow::Next));
        }
        let config = config.clone();
        layer.tried = false;
        layer.cursor += 1;
        let waiting = self.kinds.under_way.without(&config.done);
        let mut useful = if M::COMMUTES { self.related(slot, &waiting) } else { waiting }.without(&self.kinds.reads);
        useful.clear(slot);
        for other in useful.slots() {
            let twin = self.item(other).and_then(Item::twin);
            if twin.is_none_or(|twin| config.done.has(twin))
                && let Some(next) = self.after(&config, other)?
            {
                layer.add(next, &self.kinds);
            }
        }
        Ok(Follow::More)
    }

    /// The operations that are connected with this one by a chain of operations that cannot be exchanged. All others
    /// lose nothing by waiting.
    fn related(&self, slot: usize, waiting: &Mask<N>) -> Mask<N> {
        let mut related = Mask::EMPTY;
        related.set(slot);
        let mut fresh = vec![slot];
        while let Some(one) = fresh.pop().and_then(|one| self.item(one)) {
            for other in waiting.without(&related).slots() {
                if self.item(other).is_some_and(|other| !self.model.commute(&one.operation, &other.operation)) {
                    related.set(other);
                    fresh.push(other);
                }
            }
        }
        related
    }

    /// The configuration after one more operation, and after all that only read and now can.
    fn after(&mut self, config: &Config<M::State, N>, slot: usize) -> Result<Option<Config<M::State, N>>, Unknown> {
        self.budget.step()?;
        let Some(item) = self.item(slot) else { return Ok(None) };
        let Some(state) = self.model.step(&config.state, &item.operation) else { return Ok(None) };
        let mut next = Config { done: config.done, state };
        next.done.set(slot);
        self.read(&mut next)?;
        Ok(Some(next))
    }

    /// Does all operations that only read and can be done now: they cannot be in the way of anything.
    fn read(&mut self, config: &mut Config<M::State, N>) -> Result<(), Unknown> {
        for slot in self.kinds.reads.without(&config.done).slots() {
            self.read_one(config, slot)?;
        }
        Ok(())
    }

    fn read_one(&mut self, config: &mut Config<M::State, N>, slot: usize) -> Result<(), Unknown> {
        self.budget.step()?;
        if self.item(slot).is_some_and(|item| self.model.step(&config.state, &item.operation).is_some()) {
            config.done.set(slot);
        }
        Ok(())
    }

    /// Takes a configuration from the layer before into this one.
    fn settle(&mut self, config: &mut Config<M::State, N>) -> Result<(), Unknown> {
        if let Some(event) = self.place.checked_sub(1).and_then(|place| self.event_of(place)) {
            config.done.clear(usize::from(event.slot));
        }
        for event in self.calls(self.place) {
            let slot = usize::from(event.slot);
            if self.kinds.reads.has(slot) {
                self.read_one(config, slot)?;
            }
        }
        Ok(())
    }

    fn forward(&mut self) {
        if let Some(event) = self.returning() {
            self.end(event);
        }
        self.place += 1;
        for event in self.calls(self.place) {
            self.begin(*event);
        }
        self.aim();
    }

    fn aim(&mut self) {
        self.kinds.returning = self.returning().map_or(usize::MAX, |event| usize::from(event.slot));
    }

    fn backward(&mut self) {
        for event in self.calls(self.place) {
            self.end(*event);
        }
        self.place = self.place.saturating_sub(1);
        if let Some(event) = self.returning() {
            self.begin(event);
        }
        self.aim();
    }

    fn begin(&mut self, event: Event) {
        let slot = usize::from(event.slot);
        let Some(place) = self.items.get_mut(slot) else { return };
        *place = event.item;
        self.kinds.under_way.set(slot);
        let Some(item) = self.item(slot) else { return };
        if item.reads_only {
            self.kinds.reads.set(slot);
        }
        if item.operation.is_open() {
            self.kinds.open.set(slot);
        }
    }

    fn end(&mut self, event: Event) {
        let slot = usize::from(event.slot);
        for kind in [&mut self.kinds.under_way, &mut self.kinds.reads, &mut self.kinds.open] {
            kind.clear(slot);
        }
    }

    fn item(&self, slot: usize) -> Option<&'a Item> {
        self.track.items.get(*self.items.get(slot)? as usize)
    }

    fn returning(&self) -> Option<Event> {
        self.event_of(self.place)
    }

    fn event_of(&self, place: usize) -> Option<Event> {
        self.track.events.get(*self.track.returns.get(place)? as usize).copied()
    }

    /// The calls between the return at `place` and the one before it.
    fn calls(&self, place: usize) -> &'a [Event] {
        let at = |place: usize| self.track.returns.get(place).map(|at| *at as usize);
        let start = place.checked_sub(1).and_then(at).map_or(0, |at| at.saturating_add(1));
        at(place).and_then(|end| self.track.events.get(start..end)).unwrap_or_default()
    }
}

fn ring<T>(all: &mut [T], place: usize) -> Option<&mut T> {
    let at = place.checked_rem(all.len())?;
    all.get_mut(at)
}
