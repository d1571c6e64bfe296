//! What the command finds in its environment.

use stanchion_core::{Grant, Key, Lease, Leases};
use stanchion_stores::OpenedLocks;

pub(super) fn environment(opened: &OpenedLocks, leases: &Leases) -> Vec<(String, String)> {
    let grants: Vec<_> = leases.iter().map(Lease::grant).collect();
    let lines = |of: fn(&Grant) -> String| grants.iter().map(|grant| of(grant)).collect::<Vec<_>>().join("\n");
    let mut env = vec![
        ("STANCHION_LOCK".to_owned(), lines(|grant| grant.key.to_string())),
        ("STANCHION_LEASE_ID".to_owned(), lines(|grant| grant.fence.lease_id())),
        ("STANCHION_BACKEND".to_owned(), opened.shown.clone()),
    ];
    // Those of the runs around us, and ours: a nested run must see all of them.
    let above = std::env::var(HELD).unwrap_or_default();
    let ours = lines(|grant| format!("{}\t{}", grant.fence.lease_id(), grant.key));
    let ours = ours.lines().map(|line| format!("{}\t{line}", opened.shown)).collect::<Vec<_>>().join("\n");
    env.push((HELD.to_owned(), if above.is_empty() { ours } else { format!("{above}\n{ours}") }));
    if let Some(first) = grants.first() {
        env.push(("STANCHION_FENCE".to_owned(), first.fence.number().to_string()));
    }
    for grant in grants {
        env.push((fence_variable(&grant.key), grant.fence.number().to_string()));
    }
    env
}

/// Where the command finds the fence of this lock.
pub(super) fn fence_variable(key: &Key) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("STANCHION_FENCE_{}", key.as_str().chars().map(upper).collect::<String>())
}

/// Lines of store, lease id and key. Ours alone: nobody else should read it.
const HELD: &str = "STANCHION_HELD";

/// The leases of this lock that the runs around us had, by lease id.
pub(super) fn held_above(store: &str, name: &Key) -> Vec<String> {
    let held = std::env::var(HELD).unwrap_or_default();
    let fields = held.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    fields.filter(|(at, _, key)| *at == store && *key == name.as_str()).map(|(_, id, _)| id.to_owned()).collect()
}
