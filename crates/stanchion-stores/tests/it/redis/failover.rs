//! A primary dies, and a replica that has missed its last writes takes its place: what one Redis cannot promise, what
//! `wait=` changes about it, and what a protected store that checks fences keeps all the same.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use stanchion_core::{Cond, ErrorKind, FencingToken, Key, Owner, RecordStore, Released};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{PATIENCE, key, open, plain, request};

/// The name under which clients know the primary, whoever that is: connections break when it changes.
struct Name {
    port: u16,
    now: Arc<Mutex<(SocketAddr, JoinSet<()>)>>,
    listener: tokio::task::AbortHandle,
}

impl Drop for Name {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Name {
    async fn of(server: &Redis) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let now = Arc::new(Mutex::new((server.addr(), JoinSet::new())));
        let shared = Arc::clone(&now);
        let listener = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut shared = shared.lock().unwrap();
                let to = shared.0;
                shared.1.spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(to).await {
                        drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                    }
                });
            }
        });
        Self { port, now, listener: listener.abort_handle() }
    }

    fn url(&self, options: &str) -> String {
        format!("redis://127.0.0.1:{}/0?{options}", self.port)
    }

    async fn moves_to(&self, server: &Redis) {
        let mut old = {
            let mut now = self.now.lock().unwrap();
            now.0 = server.addr();
            std::mem::take(&mut now.1)
        };
        old.shutdown().await;
    }
}

async fn replica_of(primary: &Redis) -> Redis {
    let replica = Redis::options().arg("--replicaof").arg("127.0.0.1").arg(primary.port().to_string()).start().await;
    eventually(PATIENCE, "the replica has everything so far", || async {
        says(&replica, "master_link_status:up").await
    })
    .await;
    replica
}

async fn says(server: &Redis, line: &str) -> bool {
    match plain(server, &["INFO", "replication"]).await {
        redis::Value::BulkString(text) => String::from_utf8_lossy(&text).contains(line),
        _ => false,
    }
}

/// The replica goes on by itself: from here on it misses what the primary acknowledges.
async fn misses_the_rest(replica: &Redis) {
    plain(replica, &["REPLICAOF", "NO", "ONE"]).await;
    assert!(says(replica, "role:master").await);
}

#[tokio::test]
async fn a_fail_over_that_loses_the_last_writes_makes_two_holders_and_forgets_a_record() {
    let primary = Redis::start().await;
    let replica = replica_of(&primary).await;
    let name = Name::of(&primary).await;
    let (a, b) = (open(&name.url("ns=a")).await, open(&name.url("ns=a")).await);
    assert!(a.locks.capability().weak.is_some(), "it says so beforehand");
    misses_the_rest(&replica).await;
    let held = a.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    a.records.as_ref().unwrap().put(&key("r"), "paid".into(), Cond::Absent, None).await.unwrap();
    primary.kill();
    name.moves_to(&replica).await;

    let mut second = None;
    for _ in 0..3 {
        // The first attempt may find the broken connection.
        second = second.or(b.locks.try_acquire(&request("k"), Owner::random()).await.ok());
    }
    let second = second.expect("the replica knows nothing of the holder: two holders");
    assert_ne!(second.owner, held.owner);
    assert!(second.fence.number() > held.fence.number(), "the counter is lost, but time keeps the fence above");
    let record = b.records.unwrap().get(&key("r")).await.unwrap();
    assert_eq!(record.map(|record| record.value), None, "the acknowledged record is forgotten");
}

#[tokio::test]
async fn waiting_for_a_replica_narrows_it_to_the_replicas_that_were_not_waited_for() {
    let primary = Redis::start().await;
    let (first, other) = (replica_of(&primary).await, replica_of(&primary).await);
    let name = Name::of(&primary).await;
    let url = name.url("wait=1&timeout=1s");
    let (a, b) = (open(&url).await.locks, open(&name.url("")).await.locks);
    misses_the_rest(&other).await;
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    // No replica that can confirm: no grant, and nothing stays behind.
    misses_the_rest(&first).await;
    eventually(PATIENCE, "the primary has lost its replicas", || says(&primary, "connected_slaves:0")).await;
    let e = a.try_acquire(&request("unconfirmed"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    let free = b.try_acquire(&request("unconfirmed"), Owner::random()).await.unwrap();
    assert_eq!(b.release(&free).await.unwrap(), Released::Released);

    primary.kill();
    name.moves_to(&first).await;
    let mut refusal = None;
    for _ in 0..3 {
        let answer = b.try_acquire(&request("k"), Owner::random()).await;
        refusal = Some(answer.map(|grant| grant.owner).unwrap_err().kind());
    }
    assert_eq!(refusal, Some(ErrorKind::Contended), "the replica that confirmed still knows the holder {held:?}");
    name.moves_to(&other).await;
    let mut second = None;
    for _ in 0..3 {
        second = second.or(b.try_acquire(&request("k"), Owner::random()).await.ok());
    }
    assert!(second.is_some(), "fail-over to a replica that was not waited for: two holders again");
}

/// How a holder writes to the protected store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The read raises the fence.
    FirstTouch,
    Unfenced,
}

async fn read(store: &Arc<dyn RecordStore>, counter: &Key, way: Way, fence: &FencingToken) -> u32 {
    let record = match way {
        Way::FirstTouch => store.touch(counter, fence).await.unwrap(),
        Way::Unfenced => store.get(counter).await.unwrap(),
    };
    std::str::from_utf8(&record.unwrap().value).unwrap().parse().unwrap()
}

/// Whether it was acknowledged.
async fn write(store: &Arc<dyn RecordStore>, counter: &Key, way: Way, fence: FencingToken, value: u32) -> bool {
    let cond = match way {
        Way::FirstTouch => Cond::Fence(fence),
        Way::Unfenced => Cond::Version(store.get(counter).await.unwrap().unwrap().version),
    };
    match store.put(counter, value.to_string().into(), cond, None).await {
        Ok(_) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::FenceRejected, "{e}");
            false
        }
    }
}

/// Two holders after a fail-over increment the same counter in another store; the first one writes last.
async fn increments(protected: &str, way: Way) -> (u32, u32) {
    let store = open(protected).await.records.unwrap();
    let counter = key("counter");
    store.put(&counter, "0".into(), Cond::Absent, None).await.unwrap();

    let primary = Redis::start().await;
    let replica = replica_of(&primary).await;
    let name = Name::of(&primary).await;
    let (a, b) = (open(&name.url("")).await.locks, open(&name.url("")).await.locks);
    misses_the_rest(&replica).await;
    let old = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let seen_by_old = read(&store, &counter, way, &old.fence).await;
    primary.kill();
    name.moves_to(&replica).await;
    let mut new = None;
    for _ in 0..3 {
        new = new.or(b.try_acquire(&request("k"), Owner::random()).await.ok());
    }
    let new = new.expect("two holders");
    let seen_by_new = read(&store, &counter, way, &new.fence).await;
    let mut acknowledged = 0;
    for (fence, seen) in [(new.fence, seen_by_new), (old.fence, seen_by_old)] {
        acknowledged += u32::from(write(&store, &counter, way, fence, seen + 1).await);
    }
    let kept = store.get(&counter).await.unwrap().unwrap();
    (acknowledged, std::str::from_utf8(&kept.value).unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_protected_store_with_fences_keeps_every_acknowledged_increment_through_a_fail_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut stores = vec![["memory:".to_owned(), "memory:".to_owned()]];
    if cfg!(feature = "sqlite") {
        stores.push(["fenced.db", "unfenced.db"].map(|file| format!("sqlite:{}", folder.path().join(file).display())));
    }
    for [fenced, unfenced] in stores {
        let (acknowledged, kept) = increments(&fenced, Way::FirstTouch).await;
        assert_eq!(kept, acknowledged, "{fenced}: every acknowledged increment is there, and no other");
        assert_eq!(acknowledged, 1, "{fenced}: void: the newer one was refused");
        let (acknowledged, kept) = increments(&unfenced, Way::Unfenced).await;
        assert!(kept < acknowledged, "void: without the fence {kept} of {acknowledged} were kept as well");
    }
}
