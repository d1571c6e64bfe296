//! The guard that others use without our code: `guards/consul`.

use std::process::Command;

use stanchion_core::Owner;
use stanchion_testkit::engines::Consul;

use super::{end_sessions, open, plain, request};
use crate::common::example::{NEW, OLD, TWIN, Token, assert_examples, guards, text};

fn agent(server: &Consul) -> String {
    format!("http://127.0.0.1:{}", server.port())
}

fn run(server: &Consul, script: &str, token: Token<'_>, words: &[&str]) -> (String, i32) {
    let mut command = Command::new("sh");
    command.arg(guards("consul").join(script)).args(words).env("CONSUL_HTTP_ADDR", agent(server));
    command.env("STANCHION_FENCE", token[0]).env("STANCHION_LEASE_ID", token[1]);
    let output = command.output().unwrap();
    (text(&output), output.status.code().unwrap())
}

/// The guard and the value.
fn touch(server: &Consul, token: Token<'_>) -> (String, String) {
    let (said, status) = run(server, "touch.sh", token, &["account/7"]);
    assert_eq!(status, 0, "{said}");
    let (guard, value) = said.split_once(' ').unwrap();
    (guard.to_owned(), value.to_owned())
}

fn write(server: &Consul, guard: &str, value: &str) -> (String, i32) {
    run(server, "write.sh", OLD, &["account/7", guard, value])
}

fn said(words: &str, status: i32) -> (String, i32) {
    (words.to_owned(), status)
}

#[tokio::test]
async fn a_stale_token_is_refused_from_the_shell() {
    let server = Consul::start().await;
    assert_eq!(write(&server, "1", "1"), said("refused", 3), "a write without a touch");
    let (old, value) = touch(&server, OLD);
    assert_eq!(value, "");
    assert_eq!(touch(&server, OLD).0, old, "the same token again changes nothing");
    assert_eq!(write(&server, &old, "100 and \"more\""), said("written", 0));
    let (new, value) = touch(&server, NEW);
    assert_eq!(value, "100 and \"more\"");
    assert_eq!(write(&server, &old, "666"), said("refused", 3));
    assert_eq!(run(&server, "touch.sh", OLD, &["account/7"]), said(&format!("refused {}", NEW[0]), 3));
    assert_eq!(run(&server, "touch.sh", TWIN, &["account/7"]), said(&format!("refused {}", NEW[0]), 3));
    assert_eq!(write(&server, &new, "90"), said("written", 0));
    assert_eq!(touch(&server, NEW), (new, "90".to_owned()));
}

#[tokio::test]
async fn what_is_no_token_raises_nothing() {
    let server = Consul::start().await;
    let (guard, _) = touch(&server, NEW);
    let ended = |script: &str, [fence, lease]: Token<'_>, words: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(guards("consul").join(script)).args(words).env("CONSUL_HTTP_ADDR", agent(&server));
        let output = command.env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let lease = OLD[1];
    for token in [
        ["a5", lease],
        ["", lease],
        ["-1", lease],
        ["5 ", lease],
        ["18446744073709551616", lease],
        ["9", ""],
        ["9", "aa"],
        ["9", "00000000000000aaa"],
        ["9", "00000000000000ag"],
    ] {
        assert_eq!(ended("touch.sh", token, &["account/7"]), (Some(2), String::new()), "{token:?}");
    }
    for no_guard in ["", "1,2", "x"] {
        assert_eq!(ended("write.sh", NEW, &["account/7", no_guard, "v"]), (Some(2), String::new()), "{no_guard:?}");
    }
    assert_eq!(touch(&server, NEW).0, guard, "nothing has been raised");
}

#[tokio::test]
async fn the_examples_in_other_languages_run_and_are_refused() {
    let server = Consul::start().await;
    assert_examples("consul", &[("python3", "guard.py"), ("sh", "guard.sh")], |command, file| {
        command.args([&agent(&server), file]);
    });
}

/// A fence that only writes are checked against: what most texts describe. It lives here and nowhere else.
async fn write_only(server: &Consul, token: u64, value: &str) -> bool {
    let seen = plain(server, "GET", "/v1/kv/naive/seen?raw", "").await.parse().unwrap_or(0);
    if token < seen {
        return false;
    }
    plain(server, "PUT", "/v1/kv/naive/seen", &token.to_string()).await;
    plain(server, "PUT", "/v1/kv/naive/count", value).await.contains("true")
}

/// Seven steps: A locks, A reads, A's session is ended, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn write_only_fence_loses_an_update_and_first_touch_does_not() {
    let server = Consul::start().await;
    let locks = open(&format!("{}?lock_delay=0s", server.url())).await.locks;
    let a = locks.try_acquire(&request("k"), Owner::random()).await.unwrap().fence;
    end_sessions(&server).await;
    let b = locks.try_acquire(&request("k"), Owner::random()).await.unwrap().fence;

    let read = || async { plain(&server, "GET", "/v1/kv/naive/count?raw", "").await.parse::<u32>().unwrap_or(0) };
    let (seen_by_a, seen_by_b) = (read().await, read().await);
    assert!(write_only(&server, a.number(), &(seen_by_a + 1).to_string()).await);
    assert!(write_only(&server, b.number(), &(seen_by_b + 1).to_string()).await);
    assert_eq!(read().await, 1, "two acknowledged increments, one kept: the recipe's bug");

    let (a_number, a_lease, b_number, b_lease) =
        (a.number().to_string(), a.lease_id(), b.number().to_string(), b.lease_id());
    let (a_guard, _) = touch(&server, [&a_number, &a_lease]);
    let (b_guard, _) = touch(&server, [&b_number, &b_lease]);
    assert_eq!(write(&server, &a_guard, "1"), said("refused", 3), "the late write, so it was not acknowledged");
    assert_eq!(write(&server, &b_guard, "1"), said("written", 0));
    assert_eq!(touch(&server, [&b_number, &b_lease]).1, "1", "one acknowledged increment, one kept");
}
