//! Who holds what, seen on all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::redis::Value;
use futures_util::future::join_all;
use stanchion_core::redlock::quorum;
use stanchion_core::{FencingToken, Holder, Key, LockInfo, Page, Result};
use tokio::time::sleep;

use super::locks::Shared;
use super::names::LIST;
use super::node::Node;
use super::reply::{self, Shown};
use crate::redis::fault::Fault;
use crate::redis::reply::{int, text};

/// Pauses before a further look where the nodes have different numbers for one holder: its fence is on its way to them.
const PAUSES: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(30), Duration::from_millis(60)];

/// What the nodes show of each lock.
type Found = BTreeMap<Key, Vec<Shown>>;

/// What is needed to judge what the nodes show.
#[derive(Debug, Clone, Copy)]
struct Judge {
    quorum: usize,
    /// Nodes without an answer.
    away: usize,
    /// Whether a fence counts only if a quorum has it.
    write_back: bool,
}

/// Locks that a quorum has; a node that is away counts as one that may have them.
pub(super) async fn list(shared: &Arc<Shared>, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let (found, judge) = look(shared, prefix).await?;
        let (mut infos, mut differ) = (Vec::new(), false);
        for (key, shown) in found {
            if page.after.as_ref().is_some_and(|after| key <= *after) {
                continue;
            }
            let mut info = LockInfo::new(key);
            for (holder, differs) in judge.holders(&shown) {
                info.holders.push(holder);
                differ |= differs;
            }
            if !info.holders.is_empty() {
                infos.push(info);
            }
            if infos.len() == page.limit {
                break;
            }
        }
        match pauses.next() {
            Some(pause) if differ => sleep(pause).await,
            _ => return Ok(infos),
        }
    }
}

/// What all nodes show.
async fn look(shared: &Arc<Shared>, prefix: &str) -> Result<(Found, Judge)> {
    let answers = join_all(shared.nodes.iter().map(|node| walk(shared, node, prefix))).await;
    let (mut found, mut faults) = (Found::new(), Vec::new());
    for (node, answer) in shared.nodes.iter().zip(answers) {
        match answer {
            Ok(rows) => {
                for (key, shown) in rows {
                    found.entry(key).or_default().push(shown);
                }
            }
            Err(fault) => faults.push((node.name().to_owned(), fault)),
        }
    }
    let (nodes, away) = (shared.nodes.len(), faults.len());
    let judge = Judge { quorum: quorum(nodes), away, write_back: shared.write_back };
    if away >= judge.quorum {
        return Err(reply::failed("no quorum of nodes", faults, nodes, false).with("store", &shared.shown));
    }
    Ok((found, judge))
}

impl Judge {
    /// The holders among what the nodes show of one lock, each node of an owner once. And whether the fence of one is not
    /// known because the nodes have different numbers.
    fn holders(self, shown: &[Shown]) -> Vec<(Holder, bool)> {
        let names: BTreeSet<&str> = shown.iter().map(Shown::name).collect();
        let mut holders = Vec::new();
        for name in names {
            let traces: Vec<&Shown> = shown.iter().filter(|one| one.name() == name).collect();
            let of = |one: &Shown| traces.iter().copied().filter(|other| other.belongs_to(one)).collect::<Vec<_>>();
            let Some(held) = traces.iter().map(|one| of(one)).max_by_key(Vec::len) else { continue };
            let Some(first) = held.first().filter(|_| held.len() + self.away >= self.quorum) else { continue };
            let mut holder = first.holder.clone();
            holder.fence = self.fence(&held);
            let differs = holder.fence.is_none() && held.iter().any(|one| one.mark != first.mark);
            holders.push((holder, differs));
        }
        holders
    }

    /// The fence of an acquisition, if it follows from what the nodes have.
    ///
    /// Agreed, it is the number of a quorum. Otherwise it is the highest number of that quorum which answered first, and
    /// nobody else knows which one that was: it follows where every quorum has the same highest one.
    fn fence(self, held: &[&Shown]) -> Option<FencingToken> {
        let mut fences: Vec<FencingToken> = held.iter().filter_map(|one| one.holder.fence).collect();
        fences.sort_unstable_by_key(|fence| fence.number());
        if self.write_back {
            let count = |fence: &FencingToken| fences.iter().filter(|other| *other == fence).count();
            return fences.iter().copied().find(|fence| count(fence) + self.away >= self.quorum);
        }
        fences.get(self.quorum - 1).copied().filter(|least| fences.last() == Some(least))
    }
}

async fn walk(shared: &Shared, node: &Arc<Node>, prefix: &str) -> Result<Vec<(Key, Shown)>, Fault> {
    let pattern = shared.names.pattern(prefix);
    let (mut cursor, mut rows) = ("0".to_owned(), BTreeMap::new());
    loop {
        let mut command = LIST.on(&[], (2, 64));
        command.arg(&cursor).arg(&pattern);
        let Value::Array(parts) = node.ask(&LIST, &command).await? else {
            return Err(Fault::Garbled);
        };
        let [next, now, holders @ ..] = parts.as_slice() else { return Err(Fault::Garbled) };
        let now = int(now).ok_or(Fault::Garbled)?;
        for entry in holders.chunks_exact(3) {
            let [name, line, left] = entry else { return Err(Fault::Garbled) };
            let Some(key) = text(name).and_then(|name| shared.names.key(name)) else { continue };
            let left = Duration::from_millis(int(left).unwrap_or(0));
            let Some(shown) = text(line).and_then(|line| Shown::read(line, now, left)) else { continue };
            // A walk may meet a name twice, and the fence may have been written meanwhile.
            rows.insert((key, shown.name().to_owned()), shown);
        }
        cursor = text(next).ok_or(Fault::Garbled)?.to_owned();
        if cursor == "0" {
            return Ok(rows.into_iter().map(|((key, _), shown)| (key, shown)).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a node shows of owner 7, whose attempt came with `ask`.
    fn shown(number: u64, ask: u64) -> Shown {
        let line = format!("x{:032x}{number:016}{}{ask:016}\tweb-1 42 ", 7, 1_800_000_000_000_u64);
        Shown::read(&line, 1_800_000_000_500, Duration::from_secs(3)).unwrap()
    }

    /// Of five nodes, those that have something, as number and ask: the fences of the holders.
    fn seen(write_back: bool, away: usize, nodes: &[(u64, u64)]) -> Vec<Option<u64>> {
        let shown: Vec<Shown> = nodes.iter().map(|(number, ask)| shown(*number, *ask)).collect();
        let holders = Judge { quorum: 3, away, write_back }.holders(&shown);
        holders.into_iter().map(|(holder, _)| holder.fence.map(|fence| fence.number())).collect()
    }

    #[test]
    fn a_holder_is_shown_whatever_numbers_the_nodes_have_drawn() {
        assert_eq!(seen(false, 0, &[(11, 10), (12, 10), (13, 10), (14, 10), (15, 10)]), [None]);
        assert_eq!(seen(false, 0, &[(11, 10), (12, 10), (13, 10)]), [Some(13)], "there is one quorum");
        assert_eq!(seen(false, 0, &[(10, 10), (10, 10), (10, 10), (12, 10)]), [None], "10 or 12");
        assert_eq!(seen(false, 0, &[(12, 10), (10, 10), (12, 10), (11, 10)]), [Some(12)], "each quorum has 12");
        assert_eq!(seen(false, 0, &[(12, 10), (11, 10), (12, 12)]), [Some(12)], "one has forgotten it and was healed");
        assert_eq!(seen(false, 1, &[(12, 10), (12, 10)]), [None], "the one that is away may have a higher number");
        assert_eq!(seen(true, 0, &[(12, 10), (12, 10), (12, 10), (15, 10)]), [Some(12)], "it was agreed");
        assert_eq!(seen(true, 1, &[(12, 10), (12, 10)]), [Some(12)]);
        assert_eq!(seen(true, 0, &[(10, 10), (11, 10), (12, 10)]), [None], "not yet agreed");
    }

    #[test]
    fn what_is_left_of_two_attempts_makes_no_holder() {
        for write_back in [false, true] {
            assert_eq!(seen(write_back, 0, &[(10, 10), (11, 10), (20, 20), (21, 20)]), [None; 0]);
            assert_eq!(seen(write_back, 0, &[(10, 10), (20, 20)]), [None; 0]);
        }
    }
}
