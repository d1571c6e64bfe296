//! A cluster of three that loses each of its servers in turn, the leader included.

use std::sync::OnceLock;
use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Owner, Version};
use stanchion_stores::{Grade, OpenOptions, Opened};
use stanchion_testkit::engines::NatsCluster;
use stanchion_testkit::eventually;

use super::{key, request};

/// Elections take seconds, on a busy machine tens of them.
const PATIENCE: Duration = Duration::from_secs(90);

async fn ready(url: &str) -> Opened {
    let opened = OnceLock::new();
    eventually(PATIENCE, "the cluster has a leader", || async {
        match stanchion_stores::open(url).await {
            Ok(store) => opened.set(store).is_ok(),
            Err(_) => false,
        }
    })
    .await;
    opened.into_inner().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_goes_on_without_any_one_of_its_servers_and_fences_grow() {
    let cluster = NatsCluster::start().await;
    let url = format!("{}/?replicas=3&timeout=2s", cluster.url());
    let store = ready(&url).await;
    let records = store.records.unwrap();
    assert!(store.locks.capability().weak.unwrap().contains("cluster"));
    let mut acknowledged: Vec<(String, Version)> = Vec::new();
    let mut highest = 0;
    for (round, server) in cluster.servers().iter().enumerate() {
        server.kill();
        let name = OnceLock::new();
        let tries = std::sync::atomic::AtomicU32::new(0);
        eventually(PATIENCE, "two of three write again", || async {
            let number = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let text = format!("round{round}/{number}");
            match records.put(&key(&text), "v".into(), Cond::Absent, None).await {
                Ok(version) => name.set((text, version)).is_ok(),
                Err(e) => {
                    assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}");
                    false
                }
            }
        })
        .await;
        acknowledged.push(name.into_inner().unwrap());
        let owner = Owner::random();
        let fence = OnceLock::new();
        eventually(PATIENCE, "the lock is granted", || async {
            store.locks.try_acquire(&request("k"), owner).await.is_ok_and(|grant| fence.set(grant).is_ok())
        })
        .await;
        let grant = fence.into_inner().unwrap();
        assert!(grant.fence.number() > highest, "round {round}");
        highest = grant.fence.number();
        eventually(PATIENCE, "it is given back", || async { store.locks.release(&grant).await.is_ok() }).await;
        server.restart().await;
        for (name, version) in &acknowledged {
            eventually(PATIENCE, "the record is read again", || async {
                match records.get(&key(name)).await {
                    Ok(found) => {
                        assert_eq!(found.map(|record| record.version), Some(*version), "{name}");
                        true
                    }
                    Err(_) => false,
                }
            })
            .await;
        }
        eventually(PATIENCE, "all three are current again", || async {
            let findings = stanchion_stores::examine(&url, OpenOptions::default()).await;
            findings.is_ok_and(|findings| {
                findings.iter().filter(|finding| finding.topic == "replication").all(|f| f.grade == Grade::Fine)
            })
        })
        .await;
    }
}
