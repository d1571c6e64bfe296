//! What `stanchion doctor` says about the nodes.

use std::sync::Arc;
use std::time::Duration;

use ::redis::Value;
use futures_util::future::join_all;
use stanchion_core::redlock::quorum;
use stanchion_core::text;

use super::capability;
use super::locks::Shared;
use super::node::{Node, field};
use crate::Finding;
use crate::doctor::of_capability;
use crate::redis::fault::Fault;
use crate::redis::reply;

/// What one node says of itself.
struct Facts {
    info: String,
    settings: [Option<String>; 3],
    /// Its clock, in the middle of the question.
    time: Duration,
}

pub(super) async fn examine(shared: &Arc<Shared>) -> Vec<Finding> {
    let mut findings = of_capability(capability());
    let count = shared.nodes.len();
    let size = format!("{count} nodes, a quorum is {}: {} may fail", quorum(count), count - quorum(count));
    findings.push(match count {
        0..3 => Finding::weak("nodes", size).fix("use 3 or 5 independent nodes"),
        n if n % 2 == 0 => Finding::weak("nodes", size).fix("one node less tolerates as many failures, and asks fewer"),
        _ => Finding::fine("nodes", size),
    });
    findings.extend(quarantine(shared.quarantine, shared.max_ttl));
    let answers = join_all(shared.nodes.iter().map(ask)).await;
    let mut times = Vec::new();
    for (node, answer) in shared.nodes.iter().zip(answers) {
        match answer {
            Ok(facts) => {
                times.push((facts.time, node.name()));
                judge(node, &facts, &mut findings);
            }
            Err(fault) => {
                let error = fault.into_error(node.name(), false);
                findings.push(Finding::broken("node", error.to_string()).fix("start the node, or look at the network"));
            }
        }
    }
    if let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) {
        let apart = last.0.saturating_sub(first.0);
        let says = format!("the nodes' clocks are {} apart", text::duration(apart));
        findings.push(if apart < Duration::from_millis(500) {
            Finding::fine("clock", says)
        } else {
            Finding::weak("clock", format!("{says}: {} is behind {}", first.1, last.1))
                .fix("run NTP on every node and slew, never step: a clock that jumps ends leases early")
        });
    }
    findings
}

/// Zero is a choice that the options explain; between zero and the longest ttl a restart may make two holders.
fn quarantine(given: Duration, max_ttl: Duration) -> Option<Finding> {
    (!given.is_zero() && given < max_ttl).then(|| {
        let (given, longest) = (text::duration(given), text::duration(max_ttl));
        let says = format!("a restarted node votes again after {given}, and leases of up to {longest} may still run");
        Finding::weak("quarantine", says).fix("leave out quarantine=, or give at least max_ttl")
    })
}

async fn ask(node: &Arc<Node>) -> Result<Facts, Fault> {
    let mut pipe = ::redis::pipe();
    let sent = tokio::time::Instant::now();
    pipe.cmd("TIME").cmd("INFO");
    for setting in ["appendonly", "appendfsync", "maxmemory-policy"] {
        pipe.cmd("CONFIG").arg("GET").arg(setting);
    }
    let link = node.link().await?;
    drop(link);
    let answers = node.hub().send_both(&pipe).await?;
    let [time, info, settings @ ..] = answers.as_slice() else { return Err(Fault::Garbled) };
    let Value::Array(time) = time else { return Err(Fault::Garbled) };
    let number = |at: usize| time.get(at).and_then(reply::int).unwrap_or(0);
    let setting = |at: usize| match settings.get(at) {
        Some(Value::Array(pair)) => pair.get(1).and_then(reply::text).map(ToOwned::to_owned),
        _ => None,
    };
    Ok(Facts {
        info: reply::text(info).ok_or(Fault::Garbled)?.to_owned(),
        settings: [setting(0), setting(1), setting(2)],
        // Nodes are asked at the same time, but answer at different ones.
        time: (Duration::from_secs(number(0)) + Duration::from_micros(number(1))).saturating_sub(sent.elapsed() / 2),
    })
}

fn judge(node: &Arc<Node>, facts: &Facts, findings: &mut Vec<Finding>) {
    let name = node.name();
    let version = field(&facts.info, "redis_version").unwrap_or("unknown");
    findings.push(Finding::fine("version", format!("{name}: {version}")));
    if let Some((left, _)) = node.standing().filter(|(left, _)| !left.is_zero()) {
        let says = format!("{name} started lately and has no vote for {}", text::duration(left));
        findings
            .push(Finding::weak("quarantine", says).fix("wait; or keep data through restarts and give quarantine=0s"));
    }
    match &facts.settings {
        [Some(on), Some(sync), _] if on == "yes" && sync == "always" => {
            findings.push(Finding::fine("persistence", format!("{name} keeps its locks through a restart")));
        }
        [None, ..] => findings.push(
            Finding::weak("persistence", format!("{name} does not let us read how it keeps its data"))
                .fix("allow CONFIG GET to this user"),
        ),
        _ => findings.push(
            Finding::weak("persistence", format!("{name} forgets locks when it restarts; the quarantine covers that"))
                .fix("set appendonly yes and appendfsync always, or never start it sooner than max_ttl after a crash"),
        ),
    }
    if facts.settings[2].as_deref().is_some_and(|policy| policy != "noeviction") {
        let says = format!("{name} may evict locks when its memory is full");
        findings.push(Finding::broken("eviction", says).fix("set maxmemory-policy noeviction"));
    }
    if field(&facts.info, "role").is_some_and(|role| role != "master") {
        let says = format!("{name} is a replica: it cannot vote");
        findings.push(Finding::broken("replication", says).fix("give independent primaries"));
    } else if field(&facts.info, "connected_slaves").is_some_and(|n| n != "0") {
        let says = format!("{name} has replicas: a fail-over forgets locks and is not seen as a restart");
        findings.push(Finding::weak("replication", says).fix("do not fail over redlock nodes"));
    }
    if field(&facts.info, "cluster_enabled") == Some("1") {
        let says = format!("{name} is part of a cluster, its slots may move");
        findings.push(Finding::broken("replication", says).fix("give independent servers"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarantine_that_is_shorter_than_the_longest_ttl_is_told() {
        let told = |given| quarantine(Duration::from_secs(given), Duration::from_secs(60));
        assert!(told(0).is_none() && told(60).is_none() && told(90).is_none());
        let finding = told(59).unwrap();
        assert_eq!(finding.grade, crate::Grade::Weak);
        assert!(finding.says.contains("59") && finding.fix.is_some(), "{finding:?}");
    }
}
