//! A line of entries which the engine orders and which end with their client's session: etcd, ZooKeeper, Consul.
//!
//! A fence is made of the place in line, so it grows from one exclusive holder to the next. Of those who hold **together**
//! (`Shared`, `Slots`), one that came earlier may look later, and then gets its grant, with its lower fence, after the
//! other: among them a fence says who came first, not who was granted last.
//!
//! Pure: an engine brings the entries of one key in order, and is told who holds and what to wait for.

mod card;
mod deadlines;
mod lift;

use std::time::Duration;

use stanchion_core::{Holder, Identity, Key, LockInfo, Mode, Owner, Result, slots_disagree};

pub(crate) use self::card::Card;
pub(crate) use self::deadlines::Deadlines;
pub(crate) use self::lift::Lift;

/// One who holds or waits.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Grows with every entry of the store, for ever: a revision, a zxid, an index. The fence is made of it.
    pub(crate) order: u64,
    pub(crate) card: Card,
}

/// Where an owner stands.
#[derive(Debug)]
pub(crate) enum Standing<'l> {
    /// Not in line: it never was, or its session has ended.
    Absent,
    /// It holds the lock.
    Granted(&'l Entry),
    /// It waits; worth another look when `wake` happens. `first` is the first of those who hold.
    Behind { first: &'l Entry, wake: Wake },
}

/// What a waiter waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The entry with this order leaves.
    Leaves(u64),
    /// Anybody before us leaves.
    AnyLeaves,
}

/// Where `owner` stands in `line`, which is sorted by order.
///
/// An entry holds when everybody before it does, and may do so together with it. So nobody overtakes, and who holds once
/// goes on holding while others leave.
///
/// # If it fails
/// `Invalid` when those before it hold another number of slots than it asks for.
pub(crate) fn standing<'l>(key: &Key, line: &'l [Entry], owner: Owner) -> Result<Standing<'l>> {
    let Some(at) = line.iter().position(|entry| entry.card.owner == owner) else {
        return Ok(Standing::Absent);
    };
    let (before, own) = (&line[..at], &line[at]);
    let Some(first) = before.first() else { return Ok(Standing::Granted(own)) };
    let wake = match own.card.mode {
        Mode::Exclusive => before.last().map(|entry| Wake::Leaves(entry.order)),
        Mode::Shared => {
            before.iter().rfind(|entry| entry.card.mode != Mode::Shared).map(|entry| Wake::Leaves(entry.order))
        }
        Mode::Slots(asked) => {
            if let Mode::Slots(held) = first.card.mode
                && held != asked
            {
                return Err(slots_disagree(key, asked, held));
            }
            let together = before.iter().all(|entry| entry.card.mode == own.card.mode);
            let free = together && before.len() < usize::try_from(asked).unwrap_or(usize::MAX);
            (!free).then_some(Wake::AnyLeaves)
        }
    };
    Ok(wake.map_or(Standing::Granted(own), |wake| Standing::Behind { first, wake }))
}

/// The line as `stanchion lock ls` shows it.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) fn info(key: Key, line: &[Entry], lift: Lift) -> LockInfo {
    let mut info = LockInfo::new(key.clone());
    for entry in line {
        match standing(&key, line, entry.card.owner) {
            Ok(Standing::Granted(_)) => info.holders.push(holder(entry, lift)),
            _ => info.waiters.push((entry.card.identity.clone(), None::<Duration>)),
        }
    }
    info
}

/// A holder for display. When its session ends nobody but the engine knows, so no time is shown.
///
/// Nobody keeps with which lift it was granted: the fence is made of the present one. A holder from before a raise is shown
/// with a higher fence than it was granted.
pub(crate) fn holder(entry: &Entry, lift: Lift) -> Holder {
    let mut holder = Holder::new(Identity::clone(&entry.card.identity));
    (holder.mode, holder.fence) = (entry.card.mode, Some(lift.token(entry)));
    holder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(modes: &[Mode]) -> Vec<Entry> {
        let entry = |(n, mode): (u64, &Mode)| Entry { order: n + 10, card: card(n, *mode) };
        (0..).zip(modes).map(entry).collect()
    }

    fn card(n: u64, mode: Mode) -> Card {
        Card { owner: Owner::from_bits(n.into()), mode, identity: Identity::new("host", 1) }
    }

    /// `h` holds, `.` waits, with what wakes it.
    fn seen(modes: &[Mode]) -> Vec<Option<Wake>> {
        let line = line(modes);
        let key = Key::new("k").unwrap();
        let wake = |entry: &Entry| match standing(&key, &line, entry.card.owner).unwrap() {
            Standing::Granted(_) => None,
            Standing::Behind { wake, .. } => Some(wake),
            Standing::Absent => panic!("in line"),
        };
        line.iter().map(wake).collect()
    }

    #[test]
    fn the_first_exclusive_one_holds_and_each_other_waits_for_the_one_before_it() {
        let waits = [None, Some(Wake::Leaves(10)), Some(Wake::Leaves(11))];
        assert_eq!(seen(&[Mode::Exclusive; 3]), waits);
    }

    #[test]
    fn readers_hold_together_and_do_not_overtake_a_writer() {
        let (s, x) = (Mode::Shared, Mode::Exclusive);
        let waits = [None, None, Some(Wake::Leaves(11)), Some(Wake::Leaves(12)), Some(Wake::Leaves(12))];
        assert_eq!(seen(&[s, s, x, s, s]), waits);
    }

    #[test]
    fn so_many_slots_and_no_more() {
        let two = Mode::Slots(2);
        assert_eq!(seen(&[two, two, two]), [None, None, Some(Wake::AnyLeaves)]);
        assert_eq!(seen(&[Mode::Shared, two]), [None, Some(Wake::AnyLeaves)]);
        let mixed = line(&[two, Mode::Slots(3)]);
        let refused = standing(&Key::new("k").unwrap(), &mixed, Owner::from_bits(1)).unwrap_err();
        assert_eq!(refused.kind(), stanchion_core::ErrorKind::Invalid);
    }

    #[test]
    fn who_left_is_absent() {
        let absent = standing(&Key::new("k").unwrap(), &[], Owner::from_bits(9)).unwrap();
        assert!(matches!(absent, Standing::Absent));
    }
}
