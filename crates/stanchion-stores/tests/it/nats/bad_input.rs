//! What cannot work says so, with the next step, and leaves nothing behind.

use async_nats::jetstream;
use stanchion_core::{Cond, ErrorKind, Key, Owner, Page, Ran};
use stanchion_stores::{Durability, Grade, OpenOptions};
use stanchion_testkit::engines::Nats;

use super::{key, make_stream, open, refused, request};

/// JetStream with a bare client, so that the server is seen without our code.
async fn plain(url: &str) -> jetstream::Context {
    jetstream::new(async_nats::connect(url).await.unwrap())
}

#[tokio::test]
async fn wrong_credentials_are_denied_and_never_shown() {
    let server = Nats::options().login("app", "the-right-one").start().await;
    let port = server.port();
    for wrong in ["app:not-the-one@", "not-the-one@", ""] {
        let e = refused(&format!("nats://{wrong}127.0.0.1:{port}")).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{wrong}: {e}");
        let shown = format!("{e} {e:?}");
        assert!(!shown.contains("not-the-one") && shown.contains(&port.to_string()), "{shown}");
        assert!(e.next_step().unwrap().contains("creds="), "{e}");
    }
    let opened = open(&server.url()).await;
    assert!(!format!("{opened:?}").contains("the-right-one"));
}

#[tokio::test]
async fn a_token_logs_in_and_is_not_shown() {
    let server = Nats::options().config("authorization { token: \"s3cr3t\" }").start().await;
    let opened = open(&format!("nats://s3cr3t@127.0.0.1:{}", server.port())).await;
    assert!(!format!("{opened:?} {}", opened.shown).contains("s3cr3t"));
}

#[tokio::test]
async fn a_file_that_holds_no_credentials_is_invalid_and_not_repeated() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "s3cr3t and no credentials").unwrap();
    let e = refused(&format!("nats://127.0.0.1:4222/?creds={}", file.path().display())).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(!format!("{e} {e:?}").contains("s3cr3t"), "{e:?}");
}

#[tokio::test]
async fn nobody_listening_is_unavailable_and_the_next_server_is_tried() {
    let server = Nats::start().await;
    let (url, port) = (server.url(), server.port());
    open(&format!("nats://127.0.0.1:1,127.0.0.1:{port}")).await;
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
}

#[tokio::test]
async fn a_server_without_jetstream_says_what_to_switch_on() {
    let server = Nats::options().without_jetstream().start().await;
    let e = refused(&server.url()).await;
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    assert!(e.next_step().unwrap().contains("-js"), "{e}");
    let server = Nats::start().await;
    let e = refused(&format!("{}/?domain=elsewhere", server.url())).await;
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
}

#[tokio::test]
async fn unknown_options_and_promises_that_nats_cannot_keep_are_refused() {
    let server = Nats::start().await;
    let e = refused(&format!("{}/?buckett=a", server.url())).await;
    assert!(e.kind() == ErrorKind::Invalid && e.next_step().unwrap().contains("bucket"), "{e}");
    let power = OpenOptions::default().durability(Durability::Power);
    let e = stanchion_stores::open_with(&server.url(), power).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    let e = refused(&format!("{}/?replicas=3", server.url())).await;
    assert_eq!(e.kind(), ErrorKind::Unsupported, "one server has no replicas: {e}");
    assert!(e.next_step().unwrap().contains("cluster"), "{e}");
}

#[tokio::test]
async fn a_user_who_may_not_make_the_bucket_is_told_the_command() {
    let users = r#"authorization { users: [
        { user: "admin", password: "a" },
        { user: "app", password: "b", permissions: {
            publish: { allow: ["$KV.stanchion.>", "$JS.API.>"], deny: ["$JS.API.STREAM.CREATE.>"] },
            subscribe: ["_INBOX.>"] } },
        { user: "reader", password: "c", permissions: {
            publish: { allow: ["$JS.API.>"] }, subscribe: ["_INBOX.>"] } },
        { user: "deaf", password: "d", permissions: { publish: [">"], subscribe: ["nothing"] } }
    ] }"#;
    let server = Nats::options().config(users).start().await;
    let at = |login: &str| format!("nats://{login}@127.0.0.1:{}", server.port());
    let e = refused(&at("app:b")).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    assert!(e.next_step().unwrap().contains("nats kv add stanchion --history=1"), "{e}");

    open(&at("admin:a")).await;
    let app = open(&at("app:b")).await;
    let grant = app.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();

    let reader = open(&at("reader:c")).await;
    let e = reader.locks.try_acquire(&request("other"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "may not write: {e}");
    assert!(e.next_step().unwrap().contains("$KV."), "{e}");
    assert_eq!(reader.locks.list("", Page::first(9)).await.unwrap().len(), 1, "nothing stays of the refused one");
    app.locks.release(&grant).await.unwrap();

    let e = refused(&at("deaf:d")).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "may not hear the answers: {e}");
}

#[tokio::test]
async fn a_bucket_that_would_forget_is_refused() {
    let server = Nats::start().await;
    make_stream(&server.url(), "forgets", r#""storage":"file","max_age":60000000000,"discard":"new""#).await;
    let e = refused(&format!("{}/?bucket=forgets", server.url())).await;
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    assert!(e.to_string().contains("ttl") && e.next_step().unwrap().contains("nats kv add forgets"), "{e}");

    make_stream(&server.url(), "evicts", r#""storage":"file","max_bytes":1048576"#).await;
    let e = refused(&format!("{}/?bucket=evicts", server.url())).await;
    assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("discards"), "{e}");

    // Made by hand as `nats kv add --history=1` does, it is used.
    let settings = r#""max_msgs_per_subject":1,"discard":"new","allow_rollup_hdrs":true,"deny_delete":true,
        "storage":"file","allow_direct":true"#;
    make_stream(&server.url(), "ours", settings).await;
    let records = open(&format!("{}/?bucket=ours", server.url())).await.records.unwrap();
    records.put(&key("a b"), "v".into(), Cond::Absent, None).await.unwrap();
    let bare = plain(&server.url()).await.get_key_value("ours").await.unwrap();
    assert_eq!(bare.get("u.a=20b").await.unwrap().unwrap(), "v", "what others see is the value itself");
}

#[tokio::test]
async fn a_value_that_is_too_large_names_the_limit_and_a_long_key_fits() {
    let server = Nats::options().config("max_payload: 64KB").start().await;
    let records = open(&server.url()).await.records.unwrap();
    let e = records.put(&key("k"), vec![0; 65_000].into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.to_string().contains("64512") && e.next_step().unwrap().contains("max_payload"), "{e}");
    let long = Key::new("é".repeat(256)).unwrap();
    records.put(&long, vec![0; 64_512].into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&long).await.unwrap().unwrap().value.len(), 64_512);
    assert_eq!(records.scan("é", Page::first(9)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_full_engine_refuses_without_effect_and_reads_go_on() {
    let server = Nats::options().jetstream("max_file_store: 256KB").start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let ttl = Some(std::time::Duration::from_secs(600));
    records.put(&key("first"), "v".into(), Cond::Absent, ttl).await.unwrap();
    let mut full = None;
    for number in 0..100 {
        let name = key(&format!("k{number}"));
        match records.put(&name, vec![7; 16_000].into(), Cond::Absent, None).await {
            Ok(_) => {}
            Err(e) => {
                full = Some((name, e));
                break;
            }
        }
    }
    let (name, e) = full.expect("void: it never became full");
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("max_file_store"), "{e}");
    assert!(records.get(&name).await.unwrap().is_none(), "it was refused");
    assert_eq!(records.get(&key("first")).await.unwrap().unwrap().value, "v", "judging its ttl needs no room");
    assert_eq!(records.get(&key("k0")).await.unwrap().unwrap().value.len(), 16_000);
}

#[tokio::test]
async fn foreign_data_under_our_names_is_damage_not_a_guess() {
    let server = Nats::start().await;
    let records = open(&server.url()).await.records.unwrap();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Stanchion", "fence=high");
    let jetstream = plain(&server.url()).await;
    jetstream.publish_with_headers("$KV.stanchion.u.k", headers, "v".into()).await.unwrap().await.unwrap();
    let e = records.get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    let e = records.put(&key("k"), "w".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
}

#[tokio::test]
async fn the_doctor_says_what_weakens_the_promises() {
    let server = Nats::start().await;
    let findings = stanchion_stores::examine(&server.url(), OpenOptions::default()).await.unwrap();
    let about =
        |topic: &str| findings.iter().find(|finding| finding.topic == topic).unwrap_or_else(|| panic!("{topic}"));
    assert!(about("version").says.contains(server.version().trim_start_matches(|c: char| !c.is_ascii_digit())));
    assert_eq!(about("persistence").grade, Grade::Weak);
    assert!(about("persistence").fix.as_ref().unwrap().contains("sync_interval"));
    assert_eq!(about("replication").grade, Grade::Fine);
    assert!(findings.iter().all(|finding| finding.grade < Grade::Broken), "{findings:?}");
}
