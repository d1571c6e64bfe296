//! Who holds what, seen on all nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::redis::Value;
use futures_util::future::join_all;
use stanchion_core::redlock::quorum;
use stanchion_core::{Key, LockInfo, Page, Result};
use std::time::Duration;

use super::locks::Shared;
use super::names::LIST;
use super::node::Node;
use super::reply::{self, Shown};
use crate::redis::fault::Fault;
use crate::redis::reply::{int, text};

/// The holders of each lock, and on how many nodes each is seen.
type Found = BTreeMap<Key, BTreeMap<String, (usize, Shown)>>;

/// Locks that a quorum has; a node that is away counts as one that may have them.
pub(super) async fn list(shared: &Arc<Shared>, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
    let answers = join_all(shared.nodes.iter().map(|node| walk(shared, node, prefix))).await;
    let (mut found, mut faults) = (Found::new(), Vec::new());
    for (node, answer) in shared.nodes.iter().zip(answers) {
        match answer {
            Ok(rows) => {
                for (key, shown) in rows {
                    let holders = found.entry(key).or_default();
                    holders.entry(shown.mark.clone()).or_insert((0, shown)).0 += 1;
                }
            }
            Err(fault) => faults.push((node.name().to_owned(), fault)),
        }
    }
    let (nodes, away) = (shared.nodes.len(), faults.len());
    if away >= quorum(nodes) {
        return Err(reply::failed("no quorum of nodes", faults, nodes, false).with("store", &shared.shown));
    }
    let mut infos = Vec::new();
    for (key, holders) in found {
        if page.after.as_ref().is_some_and(|after| key <= *after) {
            continue;
        }
        let mut info = LockInfo::new(key);
        let seen = holders.into_values().filter(|(count, _)| count + away >= quorum(nodes));
        info.holders.extend(seen.map(|(_, shown)| shown.holder));
        if !info.holders.is_empty() {
            infos.push(info);
        }
        if infos.len() == page.limit {
            break;
        }
    }
    Ok(infos)
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
            // A walk may meet a name twice.
            rows.insert((key, shown.mark.clone()), shown);
        }
        cursor = text(next).ok_or(Fault::Garbled)?.to_owned();
        if cursor == "0" {
            return Ok(rows.into_iter().map(|((key, _), shown)| (key, shown)).collect());
        }
    }
}
