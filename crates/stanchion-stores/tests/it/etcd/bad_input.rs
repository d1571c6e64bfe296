//! What cannot work says so, and what to do.

use stanchion_core::{Cond, ErrorKind, Owner, Ran};
use stanchion_stores::Grade;
use stanchion_testkit::engines::Etcd;

use super::{key, open, refused, request};

/// `stanchion/` and the first name after everything below it, as etcd's JSON wants them.
const OURS: &str =
    r#"{"name":"app","perm":{"permType":"READWRITE","key":"c3RhbmNoaW9uLw==","range_end":"c3RhbmNoaW9uMA=="}}"#;

/// A server that knows `root` and `app`, which may nothing yet.
pub(super) async fn with_users() -> Etcd {
    let server = Etcd::start().await;
    for (path, json) in [
        ("user/add", r#"{"name":"root","password":"top-secret"}"#),
        ("user/add", r#"{"name":"app","password":"hunter2"}"#),
        ("role/add", r#"{"name":"root"}"#),
        ("role/add", r#"{"name":"app"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/grant", r#"{"user":"app","role":"app"}"#),
    ] {
        let answer = server.post(&format!("/v3/auth/{path}"), json).await.unwrap();
        assert!(!answer.contains("error"), "{path}: {answer}");
    }
    server
}

fn url(server: &Etcd, login: &str) -> String {
    format!("etcd://{login}@127.0.0.1:{}", server.port())
}

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = with_users().await;
    server.post("/v3/auth/enable", "{}").await.unwrap();
    for login in ["root:not-the-one", "nobody:not-the-one"] {
        let e = refused(&url(&server, login)).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
        assert!(e.next_step().unwrap().contains("password"), "{e}");
        assert!(!format!("{e} {e:?}").contains("not-the-one"), "{e}");
    }
    let e = refused(&server.url()).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "no login at all: {e}");
    let opened = open(&url(&server, "root:top-secret")).await;
    assert!(!format!("{opened:?}").contains("top-secret"));
}

#[tokio::test]
async fn a_user_without_rights_is_denied_with_the_command_that_helps() {
    let server = with_users().await;
    let other = server.post("/v3/auth/role/grant", OURS).await.unwrap();
    assert!(!other.contains("error"), "{other}");
    server.post("/v3/auth/enable", "{}").await.unwrap();
    let opened = open(&url(&server, "app:hunter2")).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
    let e = refused(&format!("{}?ns=elsewhere", url(&server, "app:hunter2"))).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    assert!(e.next_step().unwrap().contains("grant-permission"), "{e:?}");
}

/// Simple tokens live in the server's memory.
#[tokio::test]
async fn a_token_that_the_server_forgot_is_asked_for_again() {
    let server = with_users().await;
    server.post("/v3/auth/role/grant", OURS).await.unwrap();
    server.post("/v3/auth/enable", "{}").await.unwrap();
    let opened = open(&url(&server, "app:hunter2")).await;
    let records = opened.records.unwrap();
    let version = records.put(&key("r"), "1".into(), Cond::Absent, None).await.unwrap();
    server.kill();
    server.restart().await;
    let again = records.get(&key("r")).await.unwrap().unwrap();
    assert_eq!((again.value, again.version), ("1".into(), version));
    records.put(&key("r"), "2".into(), Cond::Version(version), None).await.unwrap();
}

#[tokio::test]
async fn nobody_listening_is_unavailable_and_names_the_host() {
    let server = Etcd::start().await;
    let url = server.url();
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.to_string().contains(&server.port().to_string()), "{e}");
    assert!(e.next_step().unwrap().contains("etcd runs"), "{e}");
    let e = refused(&format!("etcd://no-such-host.invalid:2379,127.0.0.1:{}", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
}

#[tokio::test]
async fn a_typo_in_the_url_is_refused() {
    for (url, said) in [
        ("etcd://127.0.0.1?tiemout=1s", "tiemout"),
        ("etcd://127.0.0.1/database", "database"),
        ("etcd://127.0.0.1?ns=a/b", "ns="),
        ("etcds://127.0.0.1?cert=/some/file", "key="),
    ] {
        let e = refused(url).await;
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
        assert!(e.to_string().contains(said) && e.next_step().is_some(), "{url}: {e}");
    }
}

#[tokio::test]
async fn a_value_too_large_is_invalid_and_names_the_limit() {
    let server = Etcd::start().await;
    let records = open(&server.url()).await.records.unwrap();
    for size in [1_600_000, 3_000_000, 17 << 20] {
        let e = records.put(&key("big"), vec![7; size].into(), Cond::Absent, None).await.unwrap_err();
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{size}: {e}");
        let said = format!("{e} {}", e.next_step().unwrap_or_default());
        assert!(said.contains("1.5 MiB") || said.contains("16 MiB"), "{size}: {said}");
    }
    let large = vec![7; 1_400_000];
    records.put(&key("big"), large.clone().into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&key("big")).await.unwrap().unwrap().value, large);
    let longest = "ä".repeat(256);
    records.put(&key(&longest), "v".into(), Cond::Absent, None).await.unwrap();
}

#[tokio::test]
async fn a_full_etcd_says_what_to_do_and_the_doctor_sees_it() {
    let server = Etcd::options().arg("--quota-backend-bytes").arg("2000000").start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let mut refusal = None;
    for n in 0..50 {
        if let Err(e) = records.put(&key(&format!("r{n}")), vec![7; 500_000].into(), Cond::Absent, None).await {
            refusal = Some(e);
            break;
        }
    }
    let e = refusal.expect("2 MB are full after 25 MB");
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    for command in ["compaction", "defrag", "alarm disarm"] {
        assert!(e.next_step().unwrap().contains(command), "{command}: {e:?}");
    }
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "nothing is granted: {e}");
    assert!(records.get(&key("r0")).await.unwrap().is_some(), "what was written can be read");
    let findings = stanchion_stores::examine(&server.url(), Default::default()).await.unwrap();
    let alarm = findings.iter().find(|finding| finding.topic == "alarm").expect("the alarm is seen");
    assert_eq!(alarm.grade, Grade::Broken);
    assert!(alarm.fix.as_ref().unwrap().contains("disarm"));
}

#[tokio::test]
async fn the_doctor_tells_version_and_members() {
    let server = Etcd::start().await;
    let findings = stanchion_stores::examine(&server.url(), Default::default()).await.unwrap();
    let said = |topic: &str| findings.iter().find(|finding| finding.topic == topic).unwrap();
    assert!(said("version").says.contains(server.version()), "{findings:?}");
    let replication = said("replication");
    assert_eq!(replication.grade, Grade::Weak, "one member");
    assert!(replication.fix.is_some());
    let beside = format!("{},127.0.0.1:1", server.url());
    let findings = stanchion_stores::examine(&beside, Default::default()).await.unwrap();
    assert!(findings.iter().any(|finding| finding.topic == "member" && finding.grade == Grade::Weak), "{findings:?}");
}

#[tokio::test]
async fn what_others_wrote_under_our_names_is_damage_not_a_guess() {
    let server = Etcd::start().await;
    let opened = open(&server.url()).await;
    // `stanchion/l/k⇥x` and `stanchion/f/k`, both with the value `mine`.
    for name in ["c3RhbmNoaW9uL2wvawl4", "c3RhbmNoaW9uL2Yvaw=="] {
        server.post("/v3/kv/put", &format!(r#"{{"key":"{name}","value":"bWluZQ=="}}"#)).await.unwrap();
    }
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    let e = opened.records.unwrap().get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
}
