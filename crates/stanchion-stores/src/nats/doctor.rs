//! What `stanchion doctor` says about a NATS.

use serde::Deserialize;
use stanchion_core::{RecordStore as _, Result};

use super::api::Api;
use super::bucket::{self, Stream};
use super::records::NatsStore;
use crate::{Finding, doctor};

#[derive(Deserialize)]
struct Account {
    storage: u64,
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    max_storage: i64,
}

pub(super) async fn examine(store: &NatsStore, api: &Api) -> Result<Vec<Finding>> {
    let mut findings = doctor::of_capability(store.capability());
    let link = api.hub.link().await.map_err(|fault| api.error(fault, false))?;
    let server = link.client.server_info();
    findings.push(Finding::fine("version", format!("nats-server {}", server.version)));
    let stream = bucket::look(api).await.map_err(|fault| api.error(fault, false))?;
    findings.extend(of_bucket(&stream));
    findings.extend(of_replicas(&stream));
    findings.push(
        Finding::weak(
            "persistence",
            "NATS answers before it syncs to disk: a crash of the machine may lose the newest writes (by default those \
             of two minutes), and a kill of the server alone was seen to bring back older ones (2.9.10)",
        )
        .fix(
            "set `sync_interval: always` in the jetstream block (2.10 or later); NATS does not show whether it is set",
        ),
    );
    if stream.config.num_replicas > 1 {
        findings.push(Finding::fine(
            "reads",
            "the leader answers reads by itself: one that lost its cluster may answer with old data for a while; \
             writes and locks are checked by the cluster",
        ));
    }
    findings.push(Finding::fine("clock", "locks use none of the server's; the ttl of records follows it"));
    if let Ok(account) = api.account().await
        && let Ok(account) = serde_json::from_slice::<Account>(&account)
    {
        findings.push(room("account", account.storage, account.limits.max_storage));
    }
    Ok(findings)
}

fn of_bucket(stream: &Stream) -> Vec<Finding> {
    let config = &stream.config;
    let mut findings = vec![room("bucket", stream.state.bytes, config.max_bytes)];
    findings.push(Finding::fine("records", format!("{} messages, locks and marks included", stream.state.messages)));
    if config.max_msgs_per_subject != 1 {
        findings.push(
            Finding::weak("history", "the bucket keeps older values of each key, which only takes room")
                .fix("make it with --history=1"),
        );
    }
    if !bucket::removable(config) {
        findings.push(
            Finding::weak("marks", "the marks of deleted keys cannot be removed one by one, so the bucket only grows")
                .fix("run `nats kv compact` now and then, or delete the bucket and let stanchion make it"),
        );
    }
    findings
}

fn room(topic: &'static str, used: u64, most: i64) -> Finding {
    match u64::try_from(most) {
        Ok(most) if most > 0 && used >= most / 10 * 9 => {
            Finding::weak(topic, format!("{used} of {most} bytes are used")).fix("raise the limit before writes fail")
        }
        Ok(most) if most > 0 => Finding::fine(topic, format!("{used} of {most} bytes are used")),
        _ => Finding::fine(topic, format!("{used} bytes are used, without a limit")),
    }
}

fn of_replicas(stream: &Stream) -> Vec<Finding> {
    let Some(cluster) = &stream.cluster else {
        return vec![Finding::fine(
            "replication",
            "one server, no replicas: while it is away nothing works, and nothing is lost",
        )];
    };
    let mut findings = Vec::new();
    match &cluster.leader {
        Some(leader) => findings.push(Finding::fine("leader", leader.clone())),
        None => findings.push(Finding::broken("leader", "the bucket has none").fix("start the missing servers")),
    }
    for replica in &cluster.replicas {
        let state = match (replica.offline, replica.current) {
            (true, _) => "is offline",
            (false, false) => "lags behind",
            (false, true) => continue,
        };
        findings.push(
            Finding::weak("replication", format!("{} {state}", replica.name)).fix("start it, or look at its log"),
        );
    }
    if findings.iter().all(|finding| finding.grade == crate::Grade::Fine) {
        findings.push(Finding::fine("replication", format!("{} replicas, all current", stream.config.num_replicas)));
    }
    findings
}
