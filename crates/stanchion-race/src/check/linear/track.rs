//! The operations of one part as a list of calls and returns, each operation with a slot while it is under way.

use std::collections::HashMap;

use crate::check::{Operation, model::Model};

/// One operation on a track.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Its place in the history.
    pub(super) at: usize,
    pub(super) operation: Operation,
    pub(super) reads_only: bool,
    /// The slot of the last open operation before this one that asks for the same; only if this one is open, too. The
    /// later one has no use before the earlier one: they can be exchanged.
    twin: Option<u16>,
}

/// The call or the return of an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) item: u32,
    pub(super) slot: u16,
    pub(super) returns: bool,
}

#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) items: Vec<Item>,
    pub(super) events: Vec<Event>,
    /// The places of the returns in `events`.
    pub(super) returns: Vec<u32>,
    pub(super) slots: usize,
    /// Open operations that were left out because there were too many: "not linearizable" then means nothing.
    pub(super) left_out: usize,
}

/// More operations are under way at once than the search can tell apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooWide;

impl Item {
    pub(super) fn twin(&self) -> Option<usize> {
        self.twin.map(usize::from)
    }
}

/// The most operations that can be under way at once.
pub(super) const SLOTS_MAX: usize = 1024;

/// The most slots that open operations may take; they keep them for ever.
const OPEN_MAX: usize = 512;

impl Track {
    /// Puts operations, given with their places in the history, on a track. Operations that overlap only in one instant
    /// count as concurrent.
    pub(super) fn new<M: Model>(
        model: &M,
        operations: impl Iterator<Item = (usize, Operation)>,
    ) -> Result<Self, TooWide> {
        let mut track = Track::default();
        let mut all: Vec<Item> = operations
            .map(|(at, mut operation)| {
                // Nothing returns before its call, whatever the clocks say.
                operation.ret = operation.ret.max(operation.call);
                Item { at, operation, reads_only: model.reads_only(&operation), twin: None }
            })
            .collect();
        let last = all.iter().map(|item| item.operation).filter(|one| !one.is_open()).map(|one| one.ret).max();
        // An open operation that only reads explains nothing; nor does one that was called after the last answer.
        all.retain(|item| !item.operation.is_open() || (!item.reads_only && Some(item.operation.call) <= last));
        all.sort_by_key(|item| (item.operation.call, item.operation.ret, item.at));
        let mut returns: Vec<(u64, u32)> = Vec::with_capacity(all.len());
        for (at, item) in (0u32..).zip(&all) {
            if !item.operation.is_open() {
                returns.push((item.operation.ret, at));
            }
        }
        returns.sort_unstable();
        track.lay(model, all, &returns)?;
        Ok(track)
    }

    fn lay<M: Model>(&mut self, _: &M, mut all: Vec<Item>, returns: &[(u64, u32)]) -> Result<(), TooWide> {
        let mut free: Vec<u16> = Vec::new();
        let mut slot_of: Vec<u16> = vec![0; all.len()];
        let mut twins = HashMap::new();
        let mut opens = 0;
        let mut returns = returns.iter().peekable();
        self.events.reserve(all.len().saturating_mul(2));
        let mut give_back = |events: &mut Vec<Event>, free: &mut Vec<u16>, slot_of: &[u16], before: u64| {
            while let Some((_, item)) = returns.next_if(|(ret, _)| *ret < before) {
                let slot = usize::try_from(*item).ok().and_then(|item| slot_of.get(item)).copied().unwrap_or(0);
                events.push(Event { item: *item, slot, returns: true });
                free.push(slot);
            }
        };
        for (at, item) in (0u32..).zip(&mut all) {
            give_back(&mut self.events, &mut free, &slot_of, item.operation.call);
            if item.operation.is_open() {
                if opens == OPEN_MAX {
                    self.left_out = self.left_out.saturating_add(1);
                    continue;
                }
                opens += 1;
            }
            let slot = match free.pop() {
                Some(slot) => slot,
                None if self.slots < SLOTS_MAX => {
                    self.slots += 1;
                    u16::try_from(self.slots - 1).map_err(|_| TooWide)?
                }
                None => return Err(TooWide),
            };
            if item.operation.is_open() {
                let client = if M::BY_CLIENT { item.operation.client } else { 0 };
                item.twin = twins.insert((item.operation.input, client), slot);
            }
            if let Some(place) = usize::try_from(at).ok().and_then(|at| slot_of.get_mut(at)) {
                *place = slot;
            }
            self.events.push(Event { item: at, slot, returns: false });
        }
        give_back(&mut self.events, &mut free, &slot_of, u64::MAX);
        self.items = all;
        self.returns = (0u32..).zip(&self.events).filter(|(_, event)| event.returns).map(|(at, _)| at).collect();
        Ok(())
    }
}
