//! What cannot work, and what is said then.

use stanchion_core::{Cond, ErrorKind, Owner, Ran, Survives};
use stanchion_stores::Grade;
use stanchion_testkit::engines::MariaDb;

use super::{key, open, refused, request};

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = MariaDb::start().await;
    let e = refused(&server.url_for("secret_user", "hunter2-not-it")).await;
    assert_eq!(e.kind(), ErrorKind::Denied);
    let all = format!("{e} {e:?} {:?} {:?}", e.next_step(), std::error::Error::source(&e));
    assert!(!all.contains("hunter2") && all.contains(&server.port().to_string()), "{all}");
}

#[tokio::test]
async fn a_user_that_may_not_create_is_told_what_to_run_and_can_use_it_then() {
    let server = MariaDb::start().await;
    let e = refused(&server.url_for("reader", "secret")).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    let hint = e.next_step().unwrap();
    let script = hint.split_once('\n').unwrap().1;
    server.ask(script).unwrap();
    let store = open(&server.url_for("reader", "secret")).await;
    let grant = store.locks.try_acquire(&request("k").floor(5_000_000_000), Owner::random()).await.unwrap();
    assert!(grant.fence.number() > 5_000_000_000);
}

#[tokio::test]
async fn nobody_there_and_no_such_database_are_told_apart() {
    let e = refused("mysql://root@127.0.0.1:1/app").await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    let server = MariaDb::start().await;
    let e = refused(&format!("mysql://root@127.0.0.1:{}/nowhere", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(e.next_step().unwrap().contains("create it"));
    let e = refused(&format!("{}?ssl-mode=required", server.url())).await;
    assert!(e.next_step().unwrap().contains("ssl-mode"), "{e}");
}

#[tokio::test]
async fn bad_options_are_refused_with_a_next_step() {
    for (url, word) in [
        ("mysql://h/d?tiemout=3s", "timeout"),
        ("mysql://h/d?prefix=a;drop", "a-z"),
        ("mysql://h/d?mode=wild", "session"),
        ("mysql://h/d?ssl-mode=maybe", "verify_identity"),
        ("mariadb://h", "database"),
    ] {
        let e = refused(url).await;
        assert_eq!(e.kind(), ErrorKind::Invalid, "{url}");
        assert!(e.next_step().unwrap().contains(word), "{url}: {:?}", e.next_step());
    }
}

#[tokio::test]
async fn a_server_that_only_reads_is_refused() {
    // `root` may write to a read-only server; that does not make it a primary.
    let server = MariaDb::options().setting("read-only=1").start().await;
    let e = refused(&server.url()).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(e.next_step().unwrap().contains("primary"));
}

#[tokio::test]
async fn a_log_of_statements_is_refused_with_the_setting_to_change() {
    let server = MariaDb::options().setting("log-bin").setting("binlog-format=STATEMENT").start().await;
    let e = refused(&server.url()).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unsupported, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("binlog_format"), "{e}");
}

#[tokio::test]
async fn the_doctor_does_not_claim_what_the_user_may_not_see() {
    let server = MariaDb::options().setting("log-bin").setting("binlog-format=ROW").start().await;
    let found = async |url: String| {
        let findings = stanchion_stores::examine(&url, Default::default()).await.unwrap();
        findings.into_iter().find(|finding| finding.topic == "replication").unwrap()
    };
    assert_eq!(found(server.url()).await.grade, Grade::Fine, "root sees that there is none");
    let unseen = found(server.url_for("secret_user", "secret")).await;
    assert_eq!(unseen.grade, Grade::Weak);
    assert!(unseen.says.contains("not known") && unseen.fix.unwrap().contains("GRANT PROCESS"), "{}", unseen.says);
    server.ask("GRANT PROCESS ON *.* TO 'secret_user'@'127.0.0.1'").unwrap();
    assert_eq!(found(server.url_for("secret_user", "secret")).await.grade, Grade::Fine);
}

#[tokio::test]
async fn a_value_that_does_not_fit_names_the_limit_and_the_longest_key_fits() {
    let server = MariaDb::options().setting("max-allowed-packet=1M").start().await;
    let records = open(&server.url()).await.records.unwrap();
    let long = key(&"k".repeat(stanchion_core::KEY_MAX_BYTES));
    let e = records.put(&long, vec![0; 1 << 20].into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.to_string().contains("1048576") && e.next_step().unwrap().contains("max_allowed_packet"), "{e}");
    let every: Vec<u8> = (0..=255).cycle().take(500_000).collect();
    records.put(&long, every.clone().into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&long).await.unwrap().unwrap().value, every, "all bytes come back");
}

#[tokio::test]
async fn a_full_server_says_so_and_keeps_what_it_had() {
    let full = MariaDb::options().setting("innodb-file-per-table=0");
    let server = full.setting("innodb-data-file-path=ibdata1:1M:autoextend:max:24M").start().await;
    let records = open(&server.url()).await.records.unwrap();
    let mut stored = Vec::new();
    let e = loop {
        let name = key(&format!("r{}", stored.len()));
        match records.put(&name, vec![7; 1 << 20].into(), Cond::Absent, None).await {
            Ok(version) => stored.push((name, version)),
            Err(e) => break e,
        }
        assert!(stored.len() < 40, "void: it never fills");
    };
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("free some"), "{e}");
    for (name, version) in &stored {
        assert_eq!(records.get(name).await.unwrap().unwrap().version, *version);
    }
    assert!(!stored.is_empty() && records.get(&key(&format!("r{}", stored.len()))).await.unwrap().is_none());
}

#[tokio::test]
async fn a_row_that_a_stranger_holds_is_given_up_and_nothing_ran() {
    let server = std::sync::Arc::new(MariaDb::start().await);
    let store = open(&format!("{}?timeout=4s", server.url())).await;
    let grant = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    store.locks.release(&grant).await.unwrap();
    let stranger = {
        let server = std::sync::Arc::clone(&server);
        let hold = "BEGIN; SELECT * FROM stanchion_locks FOR UPDATE; SELECT GET_LOCK('here', 0), SLEEP(60)";
        tokio::task::spawn_blocking(move || server.ask(hold))
    };
    stanchion_testkit::eventually(super::PATIENCE, "the stranger holds the row", || async {
        server.ask("SELECT IS_USED_LOCK('here') > 0").is_ok_and(|used| used.trim() == "1")
    })
    .await;
    let e = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("innodb_trx"), "{e}");
    server.ask("SET @c = IS_USED_LOCK('here'); KILL @c").unwrap();
    stranger.await.unwrap().unwrap_err();
    store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn the_capability_and_the_doctor_say_what_the_server_is_set_to() {
    let server = MariaDb::options().fsync(true).start().await;
    let power = open(&server.url()).await.locks.capability();
    assert_eq!((power.survives, power.weak, power.fair, power.clock), (Survives::PowerLoss, None, true, true));
    let fine = stanchion_stores::examine(&server.url(), Default::default()).await.unwrap();
    let grade =
        |findings: &[stanchion_stores::Finding], topic| findings.iter().find(|f| f.topic == topic).unwrap().grade;
    assert_eq!((grade(&fine, "version"), grade(&fine, "persistence")), (Grade::Fine, Grade::Fine));
    assert_eq!((grade(&fine, "replication"), grade(&fine, "clock")), (Grade::Fine, Grade::Fine));
    server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0").unwrap();
    let weak = open(&server.url()).await.locks.capability();
    assert!(weak.weak.unwrap().contains("innodb_flush_log_at_trx_commit"), "{weak:?}");
    assert_eq!(weak.survives, Survives::ProcessCrash);
    let found = stanchion_stores::examine(&server.url(), Default::default()).await.unwrap();
    let bad = found.iter().find(|f| f.topic == "persistence").unwrap();
    assert_eq!((bad.grade, bad.fix.is_some()), (Grade::Weak, true));
}
