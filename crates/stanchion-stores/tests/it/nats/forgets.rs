//! What the server itself forgets when it is killed, without a line of ours: row 134 of `docs/record.md`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use serde_json::Value;
use stanchion_testkit::engines::Nats;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::make_stream;

const KILLS: u64 = 300;
const WRITERS: usize = 16;
const KEYS: usize = 96;
/// Large enough that the server often rewrites its files.
const LENGTH: usize = 3000;

/// The highest sequence that was acknowledged for each key.
type Acknowledged = Arc<Mutex<BTreeMap<usize, u64>>>;

async fn ask(client: &Client, subject: String, body: String) -> Option<Value> {
    let reply = timeout(Duration::from_secs(1), client.request(subject, body.into())).await.ok()?.ok()?;
    serde_json::from_slice(&reply.payload).ok()
}

/// Until the server is gone.
async fn write(client: Client, writer: usize, acknowledged: Acknowledged) {
    for key in (writer..KEYS).step_by(WRITERS).cycle() {
        let answer = ask(&client, format!("$KV.raw.k{key}"), "x".repeat(LENGTH)).await;
        let Some(sequence) = answer.and_then(|answer| answer["seq"].as_u64()) else { return };
        acknowledged.lock().unwrap().insert(key, sequence);
    }
}

#[tokio::test]
#[ignore = "minutes, and it shows a fault of nats-server 2.9.10's: two of 150 kills lost keys"]
async fn a_bare_client_loses_acknowledged_keys_when_the_server_is_killed_often() {
    let server = Nats::start().await;
    make_stream(&server.url(), "raw", r#""storage":"file","max_msgs_per_subject":1,"discard":"new""#).await;
    let acknowledged = Acknowledged::default();
    for kill in 1..=KILLS {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let client = async_nats::connect(server.url()).await.unwrap();
            writers.spawn(write(client, writer, Arc::clone(&acknowledged)));
        }
        // No condition to wait for: it has to come in the middle of what the server does.
        sleep(Duration::from_millis(300 + kill * 37 % 500)).await;
        server.kill();
        writers.join_all().await;
        server.restart().await;
        let client = async_nats::connect(server.url()).await.unwrap();
        let expected = acknowledged.lock().unwrap().clone();
        for (key, sequence) in expected {
            let body = format!("{{\"last_by_subj\":\"$KV.raw.k{key}\"}}");
            let last = ask(&client, "$JS.API.STREAM.MSG.GET.KV_raw".into(), body).await.unwrap();
            let kept = last["message"]["seq"].as_u64();
            if kept.is_none_or(|kept| kept < sequence) {
                println!("after kill {kill}, key {key}: acknowledged as {sequence}, the server has {kept:?}");
                return;
            }
        }
    }
    panic!("{KILLS} kills lost nothing: this server is better than the one of the record");
}
