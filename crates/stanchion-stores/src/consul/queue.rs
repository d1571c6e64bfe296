//! One key's line as the engine shows it, and what to do about those whose session has ended.

use stanchion_core::{Error, Key, Result};

use super::api::{Op, Pair};
use super::http::Http;
use super::name::Names;
use crate::line::{self, Card, Entry, Lift, Standing};

/// A line at one moment.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) entries: Vec<Entry>,
    /// Of the entry at the same place: where it is and what holds it.
    pub(super) spots: Vec<Spot>,
    pub(super) lift: Lift,
    /// Of the lift, if it was ever written.
    pub(super) lift_index: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) name: String,
    pub(super) index: u64,
    pub(super) session: Option<String>,
    /// The lock-delay of the session that held it, in milliseconds.
    pub(super) delay_ms: u64,
}

/// One whose session was ended under it.
#[derive(Debug, Clone)]
pub(super) enum Orphan {
    /// It only waited.
    Waiter(Spot),
    /// It held the lock, and may not know yet that it does not.
    Holder(Spot),
}

impl Line {
    /// From what a transaction read: everything under the line's prefix, and the lift.
    pub(super) fn read(http: &Http, names: &Names, key: &Key, pairs: Vec<Pair>) -> Result<Self> {
        let (prefix, lift_name) = (names.line(key), names.lift());
        let (mut lift, mut lift_index, mut found) = (Lift::default(), None, Vec::new());
        for pair in pairs {
            if pair.key == lift_name {
                let text = pair.bytes().and_then(|bytes| Lift::decode(&bytes));
                (lift, lift_index) = (text.ok_or_else(|| http.damaged(&pair.key))?, Some(pair.modify_index));
            } else if pair.key.starts_with(&prefix) {
                let card = pair.bytes().and_then(|bytes| Card::decode(&bytes));
                let card = card.ok_or_else(|| http.damaged(&pair.key))?;
                let session = pair.session.filter(|session| !session.is_empty());
                let spot = Spot { name: pair.key, index: pair.modify_index, session, delay_ms: pair.flags };
                found.push((Entry { order: pair.create_index, card }, spot));
            }
        }
        found.sort_by_key(|(entry, _)| entry.order);
        let (entries, spots) = found.into_iter().unzip();
        Ok(Self { entries, spots, lift, lift_index })
    }

    pub(super) fn at(&self, name: &str) -> Option<&Spot> {
        self.spots.iter().find(|spot| spot.name == name)
    }

    /// Where the entry with this order is.
    pub(super) fn with_order(&self, order: u64) -> Option<&Spot> {
        self.entries.iter().position(|entry| entry.order == order).and_then(|at| self.spots.get(at))
    }

    /// The newest index of all entries: what a question that blocks goes on from.
    pub(super) fn newest(&self) -> u64 {
        self.spots.iter().map(|spot| spot.index).max().unwrap_or(0)
    }

    /// The first orphan before the entry called `own`. One that is first in line counts as a holder, also if it was ended while it
    /// waited: nobody can tell what it had seen by then.
    pub(super) fn orphan(&self, key: &Key, own: &str) -> Option<Orphan> {
        let before = self.spots.iter().zip(&self.entries).take_while(|(spot, _)| spot.name != own);
        let (spot, entry) = { before }.find(|(spot, _)| spot.session.is_none())?;
        match line::standing(key, &self.entries, entry.card.owner) {
            Ok(Standing::Granted(_)) => Some(Orphan::Holder(spot.clone())),
            _ => Some(Orphan::Waiter(spot.clone())),
        }
    }

    /// Those who hold the lock.
    pub(super) fn holders(&self, key: &Key) -> Vec<&Spot> {
        let holds =
            |entry: &Entry| matches!(line::standing(key, &self.entries, entry.card.owner), Ok(Standing::Granted(_)));
        self.entries.iter().zip(&self.spots).filter(|(entry, _)| holds(entry)).map(|(_, spot)| spot).collect()
    }
}

/// Looks at a line.
pub(super) async fn look(http: &Http, names: &Names, key: &Key) -> Result<Line> {
    let (prefix, lift) = (names.line(key), names.lift());
    let pairs = http.read_all(&[Op::tree(&prefix), Op::tree(&lift)]).await;
    Line::read(http, names, key, pairs.map_err(|e: Error| e.with("key", key))?)
}
