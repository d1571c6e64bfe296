//! What the command finds in its environment.

use stanchion_core::{Grant, Lease, Leases};
use stanchion_stores::OpenedLocks;

pub(super) fn environment(opened: &OpenedLocks, leases: &Leases) -> Vec<(String, String)> {
    let grants: Vec<_> = leases.iter().map(Lease::grant).collect();
    let lines = |of: fn(&Grant) -> String| grants.iter().map(|grant| of(grant)).collect::<Vec<_>>().join("\n");
    let mut env = vec![
        ("STANCHION_LOCK".to_owned(), lines(|grant| grant.key.to_string())),
        ("STANCHION_LEASE_ID".to_owned(), lines(|grant| grant.fence.lease_id())),
        ("STANCHION_BACKEND".to_owned(), opened.shown.clone()),
    ];
    if let Some(first) = grants.first() {
        env.push(("STANCHION_FENCE".to_owned(), first.fence.number().to_string()));
    }
    for grant in grants {
        let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = grant.key.as_str().chars().map(upper).collect();
        env.push((format!("STANCHION_FENCE_{name}"), grant.fence.number().to_string()));
    }
    env
}
