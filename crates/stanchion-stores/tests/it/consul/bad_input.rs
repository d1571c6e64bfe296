//! What cannot be: the kind of error, and the next step.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, FencingToken, Owner, Ran, Survives};
use stanchion_stores::{Durability, Grade, OpenOptions};
use stanchion_testkit::engines::Consul;

use super::{key, open, plain, refused, request};

const TOKEN: &str = "5f0c1d2e-0000-4000-8000-00000000cafe";

#[tokio::test]
async fn a_wrong_token_is_denied_and_never_shown() {
    let server = Consul::options().token(TOKEN).start().await;
    let wrong = "deadbeef-0000-4000-8000-000000000001";
    for url in
        [format!("consul://{wrong}@127.0.0.1:{}/", server.port()), format!("consul://127.0.0.1:{}/", server.port())]
    {
        let e = refused(&url).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
        assert!(e.next_step().unwrap().contains("CONSUL_HTTP_TOKEN"), "{:?}", e.next_step());
        let shown = format!("{e} {e:?}");
        assert!(!shown.contains(wrong) && shown.contains(&server.port().to_string()), "{shown}");
    }
    let opened = open(&server.url()).await;
    assert!(!format!("{opened:?}").contains(TOKEN) && !opened.shown.contains(TOKEN), "{opened:?}");
    opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.records.unwrap().put(&key("k"), "v".into(), Cond::Absent, Some(Duration::from_secs(9))).await.unwrap();
}

#[tokio::test]
async fn a_token_without_rights_to_write_is_denied() {
    let server = Consul::options().token(TOKEN).start().await;
    let reader = reader(&server).await;
    let opened = open(&format!("consul://{reader}@127.0.0.1:{}/", server.port())).await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
    let records = opened.records.unwrap();
    let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
    let e = records.touch(&key("k"), &FencingToken::from_parts(1, 1)).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    assert!(opened.locks.capability().weak.is_some(), "this token may not ask how the server keeps its data");
}

/// A token that may only read our keys.
async fn reader(server: &Consul) -> String {
    let rules = r#"{"Name":"reader","Rules":"key_prefix \"stanchion/\" { policy = \"read\" }"}"#;
    plain(server, "PUT", &format!("/v1/acl/policy?token={TOKEN}"), rules).await;
    let body = r#"{"Policies":[{"Name":"reader"}]}"#;
    let made = plain(server, "PUT", &format!("/v1/acl/token?token={TOKEN}"), body).await;
    made.split("\"SecretID\":").nth(1).unwrap().split('"').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
    for (url, says) in [
        ("consul://127.0.0.1:1/?tpyo=1", "knows ns, dc"),
        ("consul://127.0.0.1:1/some/path", "ns="),
        ("consul://127.0.0.1:1/?lock_delay=2m", "consul://"),
        ("consul://127.0.0.1:1/?ns=a//b", "consul://"),
        ("consul://127.0.0.1:1/?ca=/nowhere", "encrypted"),
    ] {
        let e = refused(url).await;
        assert_eq!(e.kind(), ErrorKind::Invalid, "{url}: {e}");
        assert!(format!("{e} {}", e.next_step().unwrap()).contains(says), "{url}: {e}, {:?}", e.next_step());
    }
    let e = refused("consuls://127.0.0.1:1/?ca=/nowhere/at/all.pem").await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}

#[tokio::test]
async fn nobody_listening_and_no_such_datacenter_are_unavailable() {
    let server = Consul::start().await;
    let e = refused(&format!("{}?dc=elsewhere", server.url())).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    let url = server.url();
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("agent"), "{e}");
}

#[tokio::test]
async fn a_value_that_is_too_long_is_invalid_and_the_longest_one_is_kept() {
    let server = Consul::start().await;
    let records = open(&server.url()).await.records.unwrap();
    let most = 375 * 1024;
    // With the longest key there is, every byte of which is escaped.
    let long = key(&"é".repeat(256));
    let e = records.put(&long, vec![7; most + 1].into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.to_string().contains(&most.to_string()), "the limit: {e}");
    let hour = Some(Duration::from_secs(3600));
    let version = records.put(&long, vec![7; most].into(), Cond::Absent, hour).await.unwrap();
    records
        .put(&long, vec![8; most].into(), Cond::Version(version), Some(Duration::from_secs(72 * 3600)))
        .await
        .unwrap();
    assert_eq!(records.get(&long).await.unwrap().unwrap().value.len(), most);
    let locks = open(&server.url()).await.locks;
    let grant = locks.try_acquire(&stanchion_core::Acquire::new(long), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();
}

#[tokio::test]
async fn foreign_data_under_our_names_is_damage_not_a_guess() {
    let server = Consul::start().await;
    let opened = open(&server.url()).await;
    plain(&server, "PUT", "/v1/kv/stanchion/f/k~", "not a token").await;
    let e = opened.records.unwrap().get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    plain(&server, "PUT", "/v1/kv/stanchion/l/k~/mine", "not a card").await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert!(e.next_step().unwrap().contains("ns="), "{e}");
    let left = plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "").await;
    assert!(!left.contains('.'), "our own entry must not stay behind: {left}");
}

#[tokio::test]
async fn the_agent_decides_how_short_a_session_may_be() {
    let server = Consul::options().setting(r#"session_ttl_min = "10s""#).start().await;
    let opened = open(&server.url()).await;
    let short = request("k").ttl(Duration::from_millis(300)).unwrap();
    let grant = opened.locks.try_acquire(&short, Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
    let records = opened.records.unwrap();
    records.put(&key("k"), "v".into(), Cond::Absent, Some(Duration::from_millis(300))).await.unwrap();
    let listed = plain(&server, "GET", "/v1/session/list", "").await;
    assert!(listed.matches("10000ms").count() + listed.matches("10s").count() >= 2, "{listed}");
}

#[tokio::test]
async fn how_the_server_keeps_its_data_decides_what_is_promised() {
    let memory = Consul::start().await;
    let capability = open(&memory.url()).await.locks.capability();
    assert_eq!(capability.survives, Survives::ProcessCrash);
    assert!(capability.weak.unwrap().contains("dev mode"), "{capability:?}");
    let power = OpenOptions::default().durability(Durability::Power);
    let e = stanchion_stores::open_with(&memory.url(), power).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");

    let disk = Consul::options().disk(true).start().await;
    let capability = stanchion_stores::open_with(&disk.url(), power).await.unwrap().locks.capability();
    assert_eq!((capability.survives, capability.weak), (Survives::PowerLoss, None));

    let findings =
        stanchion_stores::examine(&format!("{}?lock_delay=0s", memory.url()), OpenOptions::default()).await.unwrap();
    let grade = |topic: &str| findings.iter().find(|finding| finding.topic == topic).map(|finding| finding.grade);
    assert_eq!(grade("version"), Some(Grade::Fine), "{findings:?}");
    for topic in ["forgetting", "cluster", "lock_delay", "node"] {
        assert_eq!(grade(topic), Some(Grade::Weak), "{topic}: {findings:?}");
    }
    assert!(
        findings
            .iter()
            .all(|finding| finding.grade == Grade::Fine || finding.fix.is_some() || finding.topic == "forgetting")
    );
}

#[tokio::test]
async fn a_node_that_nobody_registered_is_named_with_the_command_that_does() {
    let server = Consul::start().await;
    let opened = open(&format!("{}?node=nobody", server.url())).await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains(r#"{"Node":"nobody""#), "{:?}", e.next_step());
}
