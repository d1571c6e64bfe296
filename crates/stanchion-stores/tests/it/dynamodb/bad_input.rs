//! What cannot work is refused with its reason and the next step, and leaves nothing behind.

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use stanchion_core::{Cond, ErrorKind, Owner, Ran};
use stanchion_stores::{Durability, Grade, OpenOptions};
use stanchion_testkit::process::{self, Child};

use super::front::{Front, error};
use super::{PATIENCE, key, open, plain, refused, request, server};

#[tokio::test]
async fn wrong_credentials_are_denied_and_never_shown() {
    let server = server().await;
    for code in ["UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"] {
        let front = Front::start(server.addr(), move |_, _| error(400, code)).await;
        let url = front.url().replace("test:test@", "AKIDEXAMPLE:not-the-one@");
        let e = refused(&url).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{code}: {e}");
        assert!(e.next_step().is_some(), "{e:?}");
        let shown = format!("{e} {e:?}");
        assert!(!shown.contains("not-the-one") && shown.contains("AKIDEXAMPLE:***@"), "{shown}");
    }
    let opened = open(&server.url().replace("test:test@", "id:not-the-one@")).await;
    assert!(!format!("{opened:?}").contains("not-the-one"));
}

#[tokio::test]
async fn a_role_without_rights_is_told_which_it_needs() {
    let server = server().await;
    let front = Front::start(server.addr(), |operation, _| match operation {
        "UpdateItem" => error(400, "AccessDeniedException"),
        _ => None,
    })
    .await;
    let opened = open(&front.url()).await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("UpdateItem"), "{e:?}");
}

#[tokio::test]
async fn a_missing_table_is_made_or_the_command_is_named() {
    let server = server().await;
    let e = refused(&format!("{}&create=false&region=eu-central-1", server.url())).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    let command = e.next_step().unwrap();
    for part in ["aws dynamodb create-table --table-name stanchion ", "PAY_PER_REQUEST", "--region eu-central-1"] {
        assert!(command.contains(part), "{command}");
    }
    assert!(plain(&server).list_tables().send().await.unwrap().table_names().is_empty(), "something was made");
    open(&server.url()).await;
    open(&format!("{}&create=false", server.url())).await;
    let table = plain(&server).describe_table().table_name("stanchion").send().await.unwrap().table.unwrap();
    assert_eq!(table.billing_mode_summary().unwrap().billing_mode(), Some(&BillingMode::PayPerRequest));
}

#[tokio::test]
async fn clients_that_make_the_table_at_once_all_get_it() {
    let server = server().await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let url = server.url();
        opening.spawn(async move { open(&url).await.records.unwrap() });
    }
    let records = opening.join_all().await;
    records[0].put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records[7].get(&key("k")).await.unwrap().unwrap().value, "v");
}

#[tokio::test]
async fn a_table_of_another_program_is_left_alone() {
    let server = server().await;
    let attribute = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let create = plain(&server).create_table().table_name("stanchion").billing_mode(BillingMode::PayPerRequest);
    let create = create.attribute_definitions(attribute.build().unwrap());
    let element = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    create.key_schema(element.build().unwrap()).send().await.unwrap();
    let e = refused(&server.url()).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(e.to_string().contains("another program") && e.next_step().is_some(), "{e:?}");
}

#[tokio::test]
async fn foreign_data_in_our_table_is_damage_not_a_guess() {
    let server = server().await;
    let opened = open(&server.url()).await;
    let put = plain(&server).put_item().table_name("stanchion");
    let foreign = aws_sdk_dynamodb::types::AttributeValue::S("theirs".to_owned());
    let name = aws_sdk_dynamodb::types::AttributeValue::S("k".to_owned());
    put.item("k", name).item("ver", foreign).send().await.unwrap();
    let e = opened.records.unwrap().get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert!(e.next_step().unwrap().contains("another program"), "{e:?}");
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_refused_with_the_limit() {
    let server = server().await;
    let records = open(&server.url()).await.records.unwrap();
    let e = records.put(&key("k"), vec![7; 390_001].into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{e}");
    assert!(e.to_string().contains("390000") && e.next_step().unwrap().contains("S3"), "{e:?}");
    assert_eq!(records.get(&key("k")).await.unwrap(), None);
    // The largest value under the longest key fits.
    let longest = key(&"x".repeat(512));
    records.put(&longest, vec![7; 390_000].into(), Cond::Absent, Some(Duration::from_secs(60))).await.unwrap();
    assert_eq!(records.get(&longest).await.unwrap().unwrap().value.len(), 390_000);
    let endless = records.put(&key("k"), "v".into(), Cond::Absent, Some(Duration::MAX)).await.unwrap_err();
    assert_eq!(endless.kind(), ErrorKind::Invalid, "{endless}");
}

#[tokio::test]
async fn bad_urls_are_refused_before_anything_is_asked() {
    for (url, word) in [
        ("dynamodb://locks?endpoint=http://127.0.0.1:1&tpyo=1", "tpyo"),
        ("dynamodb://id:s@lo?endpoint=http://127.0.0.1:1", "name"),
        (&format!("dynamodb://id:s@{}", "x".repeat(256)), "name"),
        ("dynamodb://id:s@locks", "region"),
    ] {
        let e = refused(url).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "{url}: {e}");
        assert!(e.to_string().contains(word) && e.next_step().is_some(), "{url}: {e:?}");
    }
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let server = server().await;
    let url = server.url();
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.to_string().contains(&server.port().to_string()), "{e}");
    let e = refused("dynamodb://id:s@locks?endpoint=http://no-such-host.invalid").await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
}

/// Nothing, and no signature either, goes over a connection that is not what the URL says.
#[tokio::test]
async fn https_to_a_server_without_tls_is_unavailable() {
    let server = server().await;
    let e = refused(&server.url().replace("http://", "https://")).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(plain(&server).list_tables().send().await.unwrap().table_names().is_empty());
}

#[tokio::test]
async fn an_account_without_room_for_a_table_names_the_command() {
    let server = server().await;
    let front = Front::start(server.addr(), |operation, _| match operation {
        "CreateTable" => error(400, "LimitExceededException"),
        _ => None,
    })
    .await;
    let e = refused(&front.url()).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.to_string().contains("create-table") && e.next_step().unwrap().contains("limit"), "{e:?}");
}

/// The environment is the helper's own, so that the machine's does not count.
#[tokio::test]
async fn without_an_access_key_in_the_url_the_usual_chain_is_asked() {
    if process::is_helper() {
        match stanchion_stores::open(&std::env::var("URL").unwrap()).await {
            Ok(_) => println!("OPENED fine"),
            Err(e) => println!("REFUSED {:?} {} {}", e.kind(), e, e.next_step().unwrap_or_default()),
        }
        return;
    }
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    std::fs::write(&credentials, "[ci]\naws_access_key_id = id\naws_secret_access_key = s\n").unwrap();
    let url = format!("dynamodb://stanchion?endpoint=http://127.0.0.1:{}", server.port());
    let (files, config) = (credentials.to_str().unwrap(), folder.path().join("config"));
    let run = |url: String, key_id: &'static str| {
        let variables = [
            ("URL", url.as_str()),
            ("AWS_ACCESS_KEY_ID", key_id),
            ("AWS_SECRET_ACCESS_KEY", key_id),
            ("AWS_SHARED_CREDENTIALS_FILE", files),
            ("AWS_CONFIG_FILE", config.to_str().unwrap()),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        Child::rerun_this_test_with(&variables)
    };
    run(url.clone(), "from-the-environment").expect_line("OPENED", PATIENCE).await;
    run(format!("{url}&profile=ci"), "").expect_line("OPENED", PATIENCE).await;
    let said = run(url, "").expect_line("REFUSED", PATIENCE).await;
    assert!(said.starts_with("Denied") && said.contains("AWS_ACCESS_KEY_ID"), "{said}");
}

#[tokio::test]
async fn only_amazon_is_believed_to_survive_a_power_cut() {
    let server = server().await;
    let power = OpenOptions::default().durability(Durability::Power);
    let e = stanchion_stores::open_with(&server.url(), power).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    assert!(e.next_step().unwrap().contains("durability=process"));
}

#[tokio::test]
async fn the_doctor_sees_the_emulator_and_a_global_table() {
    let server = server().await;
    let findings = stanchion_stores::examine(&server.url(), OpenOptions::default()).await.unwrap();
    let grade = |topic: &str| findings.iter().find(|finding| finding.topic == topic).map(|finding| finding.grade);
    assert_eq!(grade("engine"), Some(Grade::Weak), "{findings:?}");
    for topic in ["durability", "table", "billing", "replication", "clock"] {
        assert_eq!(grade(topic), Some(Grade::Fine), "{topic}: {findings:?}");
    }

    let front = Front::start(server.addr(), |operation, _| {
        let table = r#"{"TableName":"stanchion","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],
            "ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":3},
            "Replicas":[{"RegionName":"eu-west-1"}]}"#;
        let ttl = r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ends"}}"#;
        match operation {
            "DescribeTable" => Some((200, format!(r#"{{"Table":{table}}}"#))),
            "DescribeTimeToLive" => Some((200, ttl.to_owned())),
            _ => None,
        }
    })
    .await;
    let findings = stanchion_stores::examine(&front.url(), OpenOptions::default()).await.unwrap();
    for (topic, grade, fix) in [
        ("replication", Grade::Broken, "one region"),
        ("ttl", Grade::Broken, "update-time-to-live"),
        ("billing", Grade::Weak, "PAY_PER_REQUEST"),
    ] {
        let finding = findings.iter().find(|finding| finding.topic == topic).unwrap();
        assert_eq!(finding.grade, grade, "{finding:?}");
        assert!(finding.fix.as_ref().unwrap().contains(fix), "{finding:?}");
    }
    assert!(open(&front.url()).await.locks.capability().weak.unwrap().contains("last writer"));
}
