//! What weakens the promises here, and how to mend it.

use stanchion_core::Result;

use super::http::Http;
use super::strength::Facts;
use crate::Finding;

pub(super) async fn findings(http: &Http, facts: &Facts) -> Result<Vec<Finding>> {
    let mut findings = vec![match &facts.version {
        Some(version) => Finding::fine("version", format!("Consul {version}")),
        None => {
            Finding::weak("version", "the token does not let us read it").fix("give the token agent_prefix \"\" read")
        }
    }];
    let cluster = match facts.peers {
        0 => {
            Finding::broken("cluster", "there is no leader, and no server votes").fix("start a majority of the servers")
        }
        1 => Finding::weak("cluster", "one server: nothing can be locked or written while it is down")
            .fix("run three or five servers"),
        even if even.is_multiple_of(2) => {
            Finding::weak("cluster", format!("{even} servers survive no more failures than {}", even - 1))
                .fix("run an odd number of servers")
        }
        odd => Finding::fine("cluster", format!("{odd} servers, {} may fail", (odd - 1) / 2)),
    };
    findings.push(cluster);
    if facts.peers > 1
        && let Some(health) = http.fact("/v1/operator/autopilot/health").await.unwrap_or(None)
    {
        let healthy = health.get("Healthy").and_then(serde_json::Value::as_bool);
        let spare = health.get("FailureTolerance").and_then(serde_json::Value::as_u64).unwrap_or(0);
        findings.push(match (healthy, spare) {
            (Some(true), 1..) => Finding::fine("health", format!("all servers are healthy, {spare} may fail now")),
            (Some(true), _) => Finding::weak("health", "no server may fail now").fix("bring the missing servers back"),
            _ => Finding::weak("health", "a server is not healthy").fix("see `consul operator raft list-peers`"),
        });
    }
    findings.push(match &http.options.node {
        Some(node) => Finding::fine("node", format!("sessions hang on the node {node}")),
        None => Finding::weak(
            "node",
            "sessions hang on the agent's own node: when it leaves the cluster, our locks and all records with a ttl end early",
        )
        .fix("register a node that never leaves (PUT /v1/catalog/register) and name it as node="),
    });
    if http.options.lock_delay.is_zero() {
        findings.push(
            Finding::weak("lock_delay", "0s: after a session is ended under its holder, the next one follows at once")
                .fix("leave lock_delay= at 15s where what you protect does not check fences"),
        );
    }
    if http.options.tls.is_none()
        && http.options.token.is_some()
        && !["127.0.0.1", "::1", "localhost"].contains(&http.options.agent.host.as_str())
    {
        findings.push(Finding::weak("tls", "the token goes over the network in the clear").fix("use consuls:"));
    }
    Ok(findings)
}
