//! The guard that others use without our code: `guards/nats`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, context, kv};
use async_nats::{Client, HeaderMap};
use stanchion_core::{FencingToken, Owner};
use stanchion_testkit::engines::Nats;
use stanchion_testkit::eventually;

use super::{PATIENCE, make_stream, open, request};
use crate::common::example::assert_examples;

async fn accounts(server: &Nats) {
    make_stream(
        &server.url(),
        "accounts",
        r#""max_msgs_per_subject":1,"discard":"new","storage":"file","allow_rollup_hdrs":true"#,
    )
    .await;
}

#[tokio::test]
async fn the_examples_in_other_languages_run_and_are_refused() {
    let server = Nats::start().await;
    accounts(&server).await;
    assert_examples("nats", &[("python3", "guard.py"), ("node", "guard.mjs")], |command, file| {
        command.args(["127.0.0.1", &server.port().to_string(), "accounts", &file.replace('.', "-")]);
    });
}

/// The recipe in Rust, over a bare client.
struct Bare {
    client: Client,
    bucket: kv::Store,
}

const KEY: &str = "$KV.accounts.seven";

impl Bare {
    /// Value, revision and fence.
    async fn last(&self) -> (u64, u64, Option<FencingToken>) {
        let Some(entry) = self.bucket.stream.get_last_raw_message_by_subject(KEY).await.ok() else {
            return (0, 0, None);
        };
        let fence = entry.headers.get("Fence").map(|fence| fence.as_str().parse().unwrap());
        (String::from_utf8_lossy(&entry.payload).parse().unwrap_or(0), entry.sequence, fence)
    }

    /// `None`: something else stands there.
    async fn replace(&self, revision: u64, token: FencingToken, value: u64) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", revision.to_string());
        headers.insert("Fence", token.to_string());
        let context = jetstream::new(self.client.clone());
        let stored = context.publish_with_headers(KEY, headers, value.to_string().into()).await.unwrap().await;
        match stored {
            Ok(stored) => Some(stored.sequence),
            Err(e) if e.kind() == context::PublishErrorKind::WrongLastSequence => None,
            Err(e) => panic!("{e}"),
        }
    }

    /// Raises the fence and reads: value and revision.
    async fn touch(&self, token: FencingToken) -> Option<(u64, u64)> {
        loop {
            let (value, revision, fence) = self.last().await;
            if !token.supersedes(fence.as_ref()) {
                return None;
            }
            if let Some(revision) = self.replace(revision, token, value).await {
                return Some((value, revision));
            }
        }
    }

    /// A fence that only writes are checked against: what most texts describe. It lives here and nowhere else.
    async fn write_only(&self, token: FencingToken, value: u64) -> bool {
        loop {
            let (_, revision, fence) = self.last().await;
            if !token.supersedes(fence.as_ref()) {
                return false;
            }
            if self.replace(revision, token, value).await.is_some() {
                return true;
            }
        }
    }
}

/// Seven steps: A locks, A reads, A's lease ends, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn write_only_fence_loses_an_update_and_first_touch_does_not() {
    let server = Nats::start().await;
    accounts(&server).await;
    let locks = open(&server.url()).await.locks;
    let short = request("k").ttl(Duration::from_millis(50)).unwrap();
    let a = locks.try_acquire(&short, Owner::random()).await.unwrap().fence;
    let (second, owner) = (AtomicU64::new(0), Owner::random());
    eventually(PATIENCE, "the first lease ends and the second begins", || async {
        let grant = locks.try_acquire(&request("k"), owner).await;
        grant.map(|grant| second.store(grant.fence.number(), Ordering::Relaxed)).is_ok()
    })
    .await;
    let b = FencingToken::new(second.into_inner(), owner);
    let client = async_nats::connect(server.url()).await.unwrap();
    let bucket = jetstream::new(client.clone()).get_key_value("accounts").await.unwrap();
    let bare = Bare { client, bucket };

    let (seen_by_a, seen_by_b) = (bare.last().await.0, bare.last().await.0);
    assert!(bare.write_only(a, seen_by_a + 1).await && bare.write_only(b, seen_by_b + 1).await);
    assert_eq!(bare.last().await.0, 1, "void: two acknowledged increments, and both were kept");

    bare.bucket.purge("seven").await.unwrap();
    let (seen_by_a, touched_by_a) = bare.touch(a).await.unwrap();
    let (seen_by_b, touched_by_b) = bare.touch(b).await.unwrap();
    assert_eq!(bare.replace(touched_by_a, a, seen_by_a + 1).await, None, "the late write is refused");
    assert_eq!(bare.touch(a).await, None, "and so is a late read");
    assert!(bare.replace(touched_by_b, b, seen_by_b + 1).await.is_some());
    assert_eq!(bare.last().await.0, 1, "one acknowledged increment, one kept");
}
