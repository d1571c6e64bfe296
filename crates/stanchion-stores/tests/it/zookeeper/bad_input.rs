//! What cannot work is refused with the reason and the next step, and leaves nothing behind.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Owner, Page, Ran};
use stanchion_testkit::engines::ZooKeeper;
use zookeeper_client::{Acls, Client, CreateMode};

use super::{key, open, refused, request};

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = ZooKeeper::start().await;
    let url = |login: &str| format!("zookeeper://{login}127.0.0.1:{}", server.port());
    let opened = open(&url("app:the-right-one@")).await;
    opened.records.as_ref().unwrap().put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    assert!(!format!("{opened:?} {}", opened.shown).contains("the-right-one"));
    for login in ["app:not-the-one@", "other:not-the-one@", ""] {
        let e = refused(&url(login)).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{login}: {e}");
        let shown = format!("{e} {e:?}");
        assert!(!shown.contains("not-the-one") && shown.contains(&server.port().to_string()), "{shown}");
        assert!(e.next_step().unwrap().contains("password"));
    }
    // Another namespace of the same server is free for everybody.
    open(&format!("{}?ns=mine", url("other:not-the-one@"))).await;
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let server = ZooKeeper::start().await;
    let url = server.url();
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("servers run"), "{e}");
    let e = refused("zookeeper://127.0.0.1:1,127.0.0.1:2").await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
}

#[tokio::test]
async fn an_unknown_option_is_refused_by_name() {
    let e = refused("zookeeper://127.0.0.1?tpyo=1").await;
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.to_string().contains("tpyo") && e.next_step().unwrap().contains("tidy"), "{e}");
}

#[tokio::test]
async fn a_chroot_is_made_on_demand() {
    let server = ZooKeeper::start().await;
    let records = open(&format!("{}/apps/one?ns=x", server.url())).await.records.unwrap();
    records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    assert_eq!(plain.list_children("/apps/one/x/records").await.unwrap(), ["k"]);
}

#[tokio::test]
async fn a_value_that_zookeeper_cannot_take_is_refused_before_it_is_sent() {
    let server = ZooKeeper::start().await;
    let records = open(&server.url()).await.records.unwrap();
    let e = records.put(&key("k"), vec![7; 1_000_001].into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No));
    assert!(e.to_string().contains("1000000") && e.next_step().unwrap().contains("jute.maxbuffer"), "{e}");
    // The longest one is taken, under the longest key, with all its signs escaped.
    let longest = key(&"/".repeat(512));
    records.put(&longest, vec![7; 1_000_000].into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&longest).await.unwrap().unwrap().value.len(), 1_000_000);
}

#[tokio::test]
async fn a_ttl_that_no_session_can_keep_is_refused_and_nothing_stays_behind() {
    let server = ZooKeeper::options().line("maxSessionTimeout=2000").start().await;
    let locks = open(&server.url()).await.locks;
    let long = request("k").ttl(Duration::from_secs(60)).unwrap();
    let e = locks.try_acquire(&long, Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.to_string().contains("600ms") && e.next_step().unwrap().contains("maxSessionTimeout"), "{e}");
    assert!(locks.list("", Page::first(10)).await.unwrap().is_empty());
    let short = request("k").ttl(Duration::from_millis(900)).unwrap();
    locks.try_acquire(&short, Owner::random()).await.unwrap();
}

#[tokio::test]
async fn foreign_data_under_our_names_is_damage_not_a_guess() {
    let server = ZooKeeper::start().await;
    let records = open(&server.url()).await.records.unwrap();
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    plain.create("/stanchion/records/k", b"mine", &options).await.unwrap();
    let e = records.get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert_eq!(plain.get_data("/stanchion/records/k").await.unwrap().0, b"mine");
}

#[tokio::test]
async fn nodes_that_somebody_deleted_are_made_again() {
    let server = ZooKeeper::start().await;
    let opened = open(&server.url()).await;
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    for node in ["records", "locks", "epoch", "lift", "clock"] {
        plain.delete(&format!("/stanchion/{node}"), None).await.unwrap();
    }
    opened.records.unwrap().put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
}

/// A quota is how an ensemble is kept from filling up.
#[tokio::test]
async fn a_full_quota_is_unavailable_and_says_what_to_do() {
    let server = ZooKeeper::options().line("enforceQuota=true").start().await;
    let records = open(&server.url()).await.records.unwrap();
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let (limits, stats) = (b"count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=8", b"count=6,bytes=0");
    plain.create("/zookeeper/quota/stanchion", b"", &options).await.unwrap();
    plain.create("/zookeeper/quota/stanchion/zookeeper_limits", limits, &options).await.unwrap();
    plain.create("/zookeeper/quota/stanchion/zookeeper_stats", stats, &options).await.unwrap();
    let mut refusal = None;
    for n in 0..10 {
        match records.put(&key(&format!("k{n}")), "v".into(), Cond::Absent, None).await {
            Ok(_) => {}
            Err(e) => refusal = Some(e),
        }
    }
    let e = refusal.expect("void: the quota was never reached");
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("setquota"), "{e}");
}

#[tokio::test]
async fn the_doctor_tells_version_replication_sessions_and_clock() {
    let server = ZooKeeper::start().await;
    let found = stanchion_stores::examine(&server.url(), Default::default()).await.unwrap();
    for topic in ["durability", "persistence", "version", "replication", "sessions", "clock", "tls"] {
        assert!(found.iter().any(|finding| finding.topic == topic), "{topic}: {found:?}");
    }
    let weak = |topic: &str| found.iter().any(|finding| finding.topic == topic && finding.fix.is_some());
    assert!(weak("replication"), "one server alone: {found:?}");
    assert!(found.iter().any(|finding| finding.says.contains(server.version())), "{found:?}");
}
