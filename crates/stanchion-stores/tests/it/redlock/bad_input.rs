//! What cannot work is refused with the next step, and leaves nothing behind.

use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, Mode, Owner, Purpose, Ran, Wait};
use stanchion_stores::{Durability, Grade, OpenOptions, examine};
use stanchion_testkit::engines::Redis;

use super::{Nodes, key, open, plain, refused, request};

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Redis::options().password("the-right-one").start().await);
    }
    let nodes = Nodes { servers, proxies: Vec::new() };
    let url = nodes.url("quarantine=0s");
    let e = refused(&url.replace("//", "//:not-the-one@")).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
    assert!(!format!("{e} {e:?}").contains("not-the-one"), "{e}");
    assert!(e.next_step().is_some(), "{e}");
    let opened = open(&url.replace("//", "//:the-right-one@")).await;
    assert!(!format!("{opened:?}").contains("the-right-one"));
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
}

#[tokio::test]
async fn unknown_options_and_impossible_urls_are_refused() {
    for url in ["redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/?tpyo=1", "redlock://", "redlock://a,a,b/"] {
        assert_eq!(refused(url).await.kind(), ErrorKind::Invalid, "{url}");
    }
    let power = OpenOptions::default().durability(Durability::Power);
    let e = stanchion_stores::open_with("redlock://a,b,c/", power).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let nodes = Nodes::start(3).await;
    nodes.servers[0].kill();
    nodes.servers[1].kill();
    let e = refused(&nodes.url("quarantine=0s&node_timeout=300ms")).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.to_string().contains("2 of 3"), "{e}");
}

#[tokio::test]
async fn one_server_under_two_names_is_refused() {
    let nodes = Nodes::start(2).await;
    let (one, two) = (nodes.servers[0].port(), nodes.servers[1].port());
    let e = refused(&format!("redlock://127.0.0.1:{one},localhost:{one},127.0.0.1:{two}/?quarantine=0s")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(e.next_step().unwrap().contains("once"), "{e}");
}

#[tokio::test]
async fn a_ttl_above_the_longest_is_refused() {
    let nodes = Nodes::start(3).await;
    let locks = open(&nodes.url("quarantine=0s&max_ttl=20s")).await.locks;
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("max_ttl"), "{e}");
    let fits = request("k").ttl(Duration::from_secs(20)).unwrap();
    locks.try_acquire(&fits, Owner::random()).await.unwrap();
}

#[tokio::test]
async fn slots_are_unsupported_and_the_purpose_is_efficiency() {
    let nodes = Nodes::start(3).await;
    let opened = open(&nodes.url("quarantine=0s")).await;
    let slots = Acquire::new(key("pool")).mode(Mode::Slots(2)).unwrap().wait(Wait::No);
    let e = opened.locks.try_acquire(&slots, Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    assert!(opened.records.is_none());
    let capability = opened.locks.capability();
    assert_eq!((capability.purpose, capability.fair), (Purpose::Efficiency, false));
    assert!(capability.weak.is_some());
}

#[tokio::test]
async fn a_replica_or_a_full_node_has_no_vote_but_two_others_have() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.open().await;
    plain(&nodes.servers[0], &["REPLICAOF", "127.0.0.1", "1"]).await;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();
    plain(&nodes.servers[1], &["CONFIG", "SET", "maxmemory", "1"]).await;
    let e = locks.try_acquire(&request("full"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().is_some(), "{e}");
    plain(&nodes.servers[1], &["CONFIG", "SET", "maxmemory", "0"]).await;
    locks.try_acquire(&request("full"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn foreign_data_under_our_names_is_no_vote() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.open().await;
    for server in &nodes.servers[..2] {
        plain(server, &["RPUSH", "{stanchion}:redlock:k", "mine"]).await;
    }
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
}

/// A fence that cannot be drawn is refused, and the lock that was taken for it is given back in the same step.
#[tokio::test]
async fn a_counter_at_its_end_or_of_another_kind_is_refused_and_leaves_no_lock() {
    for (words, kind) in
        [(["SET", "9007199254740990"], ErrorKind::Unsupported), (["RPUSH", "mine"], ErrorKind::Damaged)]
    {
        let nodes = Nodes::start(3).await;
        let locks = nodes.open().await;
        for server in &nodes.servers {
            for shard in 0..64 {
                plain(server, &[words[0], &format!("{{stanchion}}:redlock-fence:{shard}"), words[1]]).await;
            }
        }
        let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        for server in &nodes.servers {
            assert_eq!(plain(server, &["EXISTS", "{stanchion}:redlock:k"]).await, redis::Value::Int(0), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn the_doctor_names_what_is_weak_and_how_to_mend_it() {
    let nodes = Nodes::start(4).await;
    plain(&nodes.servers[2], &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    nodes.servers[3].kill();
    let findings = examine(&nodes.url("node_timeout=10s"), OpenOptions::default()).await.unwrap();
    let graded = |topic: &str| findings.iter().filter(|f| f.topic == topic).map(|f| f.grade).max();
    assert_eq!(graded("nodes"), Some(Grade::Weak), "an even number");
    assert_eq!(graded("quarantine"), Some(Grade::Weak), "they are young");
    assert_eq!(graded("eviction"), Some(Grade::Broken));
    assert_eq!(graded("node"), Some(Grade::Broken), "one is away");
    assert_eq!(graded("purpose"), Some(Grade::Weak));
    assert_eq!(graded("clock"), Some(Grade::Fine));
    assert!(findings.iter().all(|f| f.grade == Grade::Fine || f.fix.is_some() || f.topic == "forgetting"));
}
