//! What `stanchion doctor` says about an etcd.

use stanchion_core::Capability;

use super::STATUS;
use super::link::{Hub, Link, encode};
use super::proto::{Member, Members, Nothing, Status};
use crate::{Finding, doctor};

const MEMBERS: &str = "/etcdserverpb.Cluster/MemberList";
/// The quota that etcd has unless it is told another one.
const QUOTA: i64 = 2 << 30;

/// Asks every endpoint of the URL, and the cluster for its members.
pub(super) async fn examine(hub: &Hub, capability: Capability) -> Vec<Finding> {
    let mut findings = doctor::of_capability(capability);
    let mut reached = Vec::new();
    for endpoint in hub.endpoints() {
        let host = endpoint.uri().authority().map_or_else(String::new, ToString::to_string);
        let asked = async {
            let (channel, token) = hub.open(endpoint).await?;
            hub.once::<Status>(&Link::alone(channel, token), STATUS, encode(&Nothing {})).await
        };
        match asked.await {
            Ok(status) => reached.push((host, status)),
            Err(fault) => findings.push(
                Finding::weak("member", format!("{host} does not answer: {}", fault.why()))
                    .fix("start it, or take it out of the store URL"),
            ),
        }
    }
    for (host, status) in &reached {
        findings.extend(member(host, status));
    }
    match hub.read::<Members>(MEMBERS, &Nothing {}).await {
        Ok(members) => findings.push(cluster(&members.members, hub.endpoints().len())),
        Err(fault) => findings.push(Finding::weak("cluster", format!("its members cannot be read: {}", fault.why()))),
    }
    if hub.options.tls.is_none() && hub.options.login.is_some() {
        findings.push(
            Finding::weak("secrecy", "the password travels in the clear")
                .fix("use etcds: and the server's certificate"),
        );
    }
    findings.push(Finding::fine("clock", "etcd shows no clock; its leader counts the leases"));
    findings
}

fn member(host: &str, status: &Status) -> Vec<Finding> {
    let mut findings = vec![Finding::fine("version", format!("{host} runs etcd {}", status.version))];
    if status.leader == 0 {
        findings.push(
            Finding::broken("leader", format!("{host} knows no leader, so it grants nothing"))
                .fix("see to it that a majority of the members runs and can talk"),
        );
    }
    if status.learner {
        findings.push(
            Finding::weak("learner", format!("{host} is a learner and answers no reads"))
                .fix("take it out of the store URL, or promote it: etcdctl member promote"),
        );
    }
    for error in &status.errors {
        findings.push(
            Finding::broken("alarm", format!("{host}: {error}"))
                .fix("etcdctl compaction, etcdctl defrag, then etcdctl alarm disarm"),
        );
    }
    if status.db_size > QUOTA / 10 * 8 {
        findings.push(
            Finding::weak("space", format!("{host} keeps {} MiB; the quota is 2 GiB by default", status.db_size >> 20))
                .fix("set --auto-compaction-retention, and defragment: etcdctl defrag"),
        );
    }
    findings
}

fn cluster(members: &[Member], given: usize) -> Finding {
    let voters = members.iter().filter(|member| !member.learner).count();
    match voters {
        0 | 1 => {
            Finding::weak("replication", "one member: when it is down nothing works, and its disk is the only copy")
                .fix("run three members")
        }
        2 => Finding::weak("replication", "two members: the loss of either stops everything").fix("add a third member"),
        _ if given < voters => Finding::weak("endpoints", format!("the store URL names {given} of {voters} members"))
            .fix("name all of them, so that the loss of one is not the loss of the store"),
        _ => Finding::fine("replication", format!("{voters} members; {} may be lost", (voters - 1) / 2)),
    }
}
