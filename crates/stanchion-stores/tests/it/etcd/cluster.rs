//! Three members, and what happens when some of them are gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stanchion_core::{Cond, ErrorKind, Grant, LockBackend, Owner, RecordStore, Released, Renewal};
use stanchion_stores::Grade;
use stanchion_testkit::engines::EtcdCluster;
use stanchion_testkit::eventually;
use tokio::task::JoinSet;

use super::bad_input::with_users;
use super::{PATIENCE, key, open, request, waiting};

const TTL: Duration = Duration::from_secs(30);

/// What the workers were told, and what they saw.
#[derive(Default)]
struct Told {
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    inside: AtomicBool,
    enough: AtomicBool,
}

/// The whole URL, impatient enough for a test.
fn url(cluster: &EtcdCluster) -> String {
    format!("{}?timeout=2s&connect_timeout=1s", cluster.url())
}

async fn obtain(locks: &Arc<dyn LockBackend>, told: &Told) -> Option<Grant> {
    let (owner, req) = (Owner::random(), waiting("k"));
    while !told.enough.load(Ordering::Acquire) {
        match locks.try_acquire(&req, owner).await {
            Ok(grant) => return Some(grant),
            Err(e) if e.kind() == ErrorKind::Contended => {
                drop(locks.wait(&req, owner, tokio::time::Instant::now() + Duration::from_secs(2)).await);
            }
            // The same owner asks again, so a grant whose answer was lost is found.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    locks.withdraw(&req, owner).await;
    None
}

/// Adds one to the counter again and again: lock, touch, read, write under the fence.
async fn count(locks: Arc<dyn LockBackend>, records: Arc<dyn RecordStore>, told: Arc<Told>) {
    while let Some(grant) = obtain(&locks, &told).await {
        assert!(!told.inside.swap(true, Ordering::AcqRel), "two holders");
        if let Ok(Some(record)) = records.touch(&key("counter"), &grant.fence).await {
            let next = String::from_utf8_lossy(&record.value).parse::<u64>().unwrap() + 1;
            match records.put(&key("counter"), next.to_string().into(), Cond::Fence(grant.fence), None).await {
                Ok(_) => told.acknowledged.fetch_add(1, Ordering::AcqRel),
                Err(e) if e.kind() == ErrorKind::OutcomeUnknown => told.unknown.fetch_add(1, Ordering::AcqRel),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
                    0
                }
            };
        }
        told.inside.store(false, Ordering::Release);
        while locks.release(&grant).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Workers count while `fault` happens; they must go on after it, and nothing acknowledged may be missing.
async fn counted_through(cluster: &EtcdCluster, fault: impl AsyncFnOnce()) {
    let told = Arc::new(Told::default());
    let first = open(&url(cluster)).await;
    let (locks, records) = (first.locks, first.records.unwrap());
    records.put(&key("counter"), "0".into(), Cond::Absent, None).await.unwrap();
    let kept = records.put(&key("before"), "kept".into(), Cond::Absent, None).await.unwrap();
    let held = locks.try_acquire(&request("held"), Owner::random()).await.unwrap();
    let mut workers = JoinSet::new();
    for _ in 0..3 {
        let opened = open(&url(cluster)).await;
        workers.spawn(count(opened.locks, opened.records.unwrap(), Arc::clone(&told)));
    }
    let reached =
        |goal: u64| {
            let told = &told;
            eventually(PATIENCE, "the workers go on", move || async move {
                told.acknowledged.load(Ordering::Acquire) >= goal
            })
        };
    reached(20).await;
    fault().await;
    let start = Instant::now();
    let before = told.acknowledged.load(Ordering::Acquire);
    reached(before + 20).await;
    eprintln!("20 more after {:?}", start.elapsed());
    told.enough.store(true, Ordering::Release);
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    let (acknowledged, unknown) = (told.acknowledged.load(Ordering::Acquire), told.unknown.load(Ordering::Acquire));
    let counter = records.get(&key("counter")).await.unwrap().unwrap().value;
    let counter: u64 = String::from_utf8_lossy(&counter).parse().unwrap();
    eprintln!("{acknowledged} acknowledged, {unknown} unknown, {counter} counted");
    assert!((acknowledged..=acknowledged + unknown).contains(&counter), "{acknowledged} + {unknown} gave {counter}");
    let record = records.get(&key("before")).await.unwrap().unwrap();
    assert_eq!((record.value, record.version), ("kept".into(), kept));
    let e = locks.try_acquire(&request("held"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "a lock held through the fault: {e}");
    eventually(PATIENCE, "it is renewed", || async { matches!(locks.renew(&held, TTL).await, Renewal::Renewed) }).await;
    assert_eq!(locks.release(&held).await.unwrap(), Released::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_leader_costs_nothing_acknowledged_and_no_second_grant() {
    let cluster = EtcdCluster::start().await;
    counted_through(&cluster, async || {
        let leader = cluster.leader().await;
        cluster[leader].kill();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_leader_costs_nothing_acknowledged_and_no_second_grant() {
    let cluster = EtcdCluster::start().await;
    let leader = cluster.leader().await;
    counted_through(&cluster, async || cluster[leader].pause()).await;
    cluster[leader].resume();
}

/// The one that was away comes back with an old log, and nothing it believes counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_comes_back_changes_nothing() {
    let cluster = EtcdCluster::start().await;
    counted_through(&cluster, async || {
        let leader = cluster.leader().await;
        cluster[leader].pause();
        eventually(PATIENCE, "another one leads", || async { cluster.leader().await != leader }).await;
        cluster[leader].resume();
    })
    .await;
}

#[tokio::test]
async fn without_a_majority_nothing_is_granted_and_every_answer_is_soon() {
    let cluster = EtcdCluster::start().await;
    let opened = open(&url(&cluster)).await;
    let (locks, records) = (opened.locks, opened.records.unwrap());
    let version = records.put(&key("r"), "1".into(), Cond::Absent, None).await.unwrap();
    let held = locks.try_acquire(&request("held"), Owner::random()).await.unwrap();
    let leader = cluster.leader().await;
    let other = (leader + 1) % 3;
    cluster[leader].kill();
    cluster[other].kill();
    for round in 0..3 {
        let start = Instant::now();
        let e = locks.try_acquire(&request(&format!("k{round}")), Owner::random()).await.unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}");
        let e = records.put(&key("r"), "2".into(), Cond::Version(version), None).await.unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}");
        let e = records.get(&key("r")).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unavailable, "a read of the past would be a lie: {e}");
        assert!(matches!(locks.renew(&held, TTL).await, Renewal::Unknown(_)));
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    }
    tokio::join!(cluster[leader].restart(), cluster[other].restart());
    eventually(PATIENCE, "the majority is back", || async {
        matches!(locks.renew(&held, TTL).await, Renewal::Renewed)
    })
    .await;
    let record = records.get(&key("r")).await.unwrap().unwrap();
    assert!(record.version >= version);
    assert_eq!(locks.release(&held).await.unwrap(), Released::Released);
    let findings = stanchion_stores::examine(&cluster.url(), Default::default()).await.unwrap();
    let replication = findings.iter().find(|finding| finding.topic == "replication").unwrap();
    assert_eq!((replication.grade, replication.says.contains("3 members")), (Grade::Fine, true), "{findings:?}");
}

/// A login is refused by such a member before anything else, with an answer that other members would not give.
#[tokio::test]
async fn a_member_without_a_leader_does_not_keep_a_login_from_the_others() {
    let server = with_users().await;
    server.post("/v3/auth/enable", "{}").await.unwrap();
    let cluster = EtcdCluster::start().await;
    let leader = cluster.leader().await;
    let [alone, other] = [(leader + 1) % 3, (leader + 2) % 3];
    cluster[leader].kill();
    cluster[other].kill();
    eventually(PATIENCE, "it knows no leader", || async {
        let status = cluster[alone].post("/v3/maintenance/status", "{}").await.unwrap_or_default();
        status.contains("version") && !status.contains("\"leader\":")
    })
    .await;
    let alone = cluster[alone].port();
    let e = super::refused(&format!("etcd://root:top-secret@127.0.0.1:{alone}/?timeout=2s")).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "void: {e}");
    let url = format!("etcd://root:top-secret@127.0.0.1:{alone},127.0.0.1:{}/?timeout=2s", server.port());
    let opened = open(&url).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(opened.locks.release(&grant).await.unwrap(), Released::Released);
}
