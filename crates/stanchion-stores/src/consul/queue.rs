//! One key's line as the engine shows it, and what to do about those whose session has ended.

use stanchion_core::{Error, Key, LockInfo, Owner, Result};

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
    /// Of its entry: never that of another one, as a name may be.
    pub(super) order: u64,
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
                let (order, index) = (pair.create_index, pair.modify_index);
                let spot = Spot { name: pair.key, order, index, session, delay_ms: pair.flags };
                found.push((Entry { order, card }, spot));
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
        let mut before = self.spots.iter().take_while(|spot| spot.name != own).enumerate();
        let (at, spot) = before.find(|(_, spot)| spot.session.is_none())?;
        Some(if self.holds(key, at) { Orphan::Holder(spot.clone()) } else { Orphan::Waiter(spot.clone()) })
    }

    /// Leaves out what `owner` has in this line under another name than `own`: it has given that up, and it is on its way out. Its
    /// new entry holds only when it stands there itself.
    pub(super) fn only(&mut self, owner: Owner, own: &str) {
        let stays = |entry: &Entry, spot: &Spot| entry.card.owner != owner || spot.name == own;
        let both = std::mem::take(&mut self.entries).into_iter().zip(std::mem::take(&mut self.spots));
        (self.entries, self.spots) = both.filter(|(entry, spot)| stays(entry, spot)).unzip();
    }

    /// Whether the entry at this place holds the lock. Its owner may have another one in the same line, before or behind it.
    fn holds(&self, key: &Key, at: usize) -> bool {
        let owner = self.entries[at].card.owner;
        let others = |entry: &&Entry| entry.card.owner != owner;
        let line: Vec<Entry> = self.entries[..at].iter().filter(others).chain([&self.entries[at]]).cloned().collect();
        matches!(line::standing(key, &line, owner), Ok(Standing::Granted(_)))
    }

    /// Those who hold the lock.
    pub(super) fn holders(&self, key: &Key) -> Vec<&Spot> {
        self.spots.iter().enumerate().filter(|(at, _)| self.holds(key, *at)).map(|(_, spot)| spot).collect()
    }

    /// The line as `stanchion lock ls` shows it.
    pub(super) fn info(&self, key: &Key) -> LockInfo {
        let mut info = LockInfo::new(key.clone());
        for (at, entry) in self.entries.iter().enumerate() {
            match self.holds(key, at) {
                true => info.holders.push(line::holder(entry, self.lift)),
                false => info.waiters.push((entry.card.identity.clone(), None)),
            }
        }
        info
    }
}

/// Looks at a line.
pub(super) async fn look(http: &Http, names: &Names, key: &Key) -> Result<Line> {
    let (prefix, lift) = (names.line(key), names.lift());
    let pairs = http.read_all(&[Op::tree(&prefix), Op::tree(&lift)]).await;
    Line::read(http, names, key, pairs.map_err(|e: Error| e.with("key", key))?)
}

#[cfg(test)]
mod tests {
    use stanchion_core::{Identity, Mode};

    use super::*;

    /// Each entry: its owner, its name, whether its session lives.
    fn line(mode: Mode, entries: &[(u128, &str, bool)]) -> Line {
        let entry = |(order, (owner, name, lives)): (u64, &(u128, &str, bool))| {
            let card = Card { owner: Owner::from_bits(*owner), mode, identity: Identity::new("host", 1) };
            let session = lives.then(|| "s".to_owned());
            (Entry { order, card }, Spot { name: (*name).to_owned(), order, index: order, session, delay_ms: 0 })
        };
        let (entries, spots) = (10..).zip(entries).map(entry).unzip();
        Line { entries, spots, lift: Lift::default(), lift_index: None }
    }

    const O: u128 = 1;
    const X: u128 = 2;

    #[test]
    fn an_owner_that_stands_there_twice_does_not_hold_by_the_place_that_it_has_given_up() {
        let key = Key::new("k").unwrap();
        let whole = || line(Mode::Exclusive, &[(O, "n1", true), (X, "x", true), (O, "n2", true)]);
        let names = |line: &Line| line.holders(&key).iter().map(|spot| spot.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&whole()), ["n1"], "for all others the first one stands until it is deleted");
        let info = whole().info(&key);
        assert_eq!((info.holders.len(), info.waiters.len()), (1, 2));
        let mut seen = whole();
        seen.only(Owner::from_bits(O), "n2");
        let standing = line::standing(&key, &seen.entries, Owner::from_bits(O)).unwrap();
        assert!(matches!(standing, Standing::Behind { first, .. } if first.order == 11), "{standing:?}");
        // The control: this is what the whole line says, by owner.
        let (whole, owner) = (whole(), Owner::from_bits(O));
        assert!(matches!(line::standing(&key, &whole.entries, owner).unwrap(), Standing::Granted(_)), "void");
    }

    #[test]
    fn a_dead_entry_counts_by_where_it_stands_and_not_by_its_owner() {
        let key = Key::new("k").unwrap();
        let dead = line(Mode::Exclusive, &[(O, "n1", true), (X, "x", true), (O, "n2", false), (3, "own", true)]);
        assert!(matches!(dead.orphan(&key, "own"), Some(Orphan::Waiter(spot)) if spot.name == "n2"));
        let dead = line(Mode::Exclusive, &[(O, "n1", false), (X, "x", true), (O, "n2", true)]);
        assert!(matches!(dead.orphan(&key, "x"), Some(Orphan::Holder(spot)) if spot.name == "n1"));
    }
}
