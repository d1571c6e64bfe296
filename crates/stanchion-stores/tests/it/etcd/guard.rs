//! The guard that others use without our code: `guards/etcd`.

use std::process::{Command, Output};

use stanchion_core::Owner;
use stanchion_testkit::engines::{Etcd, Skip};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

use super::{open, request};
use crate::common::example::guards;

type Token = (String, String);

fn token(number: u64, lease: &str) -> Token {
    (number.to_string(), lease.to_owned())
}

/// The exit code and what was printed.
fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn shell(server: &Etcd, token: &Token, words: &[&str]) -> (Option<i32>, String) {
    said(&shell_at(server.port(), token, words))
}

fn shell_at(port: u16, (fence, lease): &Token, words: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg(guards("etcd").join("guard.sh")).args(words);
    command.env("ETCD", format!("http://127.0.0.1:{port}"));
    command.env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease).output().unwrap()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |part: &[u8]| {
        let bits = part.iter().chain(&[0, 0]).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let digit = |at: usize| match at <= part.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    };
    text.as_bytes().chunks(3).map(digits).collect()
}

const DONE: Option<i32> = Some(0);
const REFUSED: Option<i32> = Some(3);

#[tokio::test]
async fn a_stale_token_is_refused_from_the_shell() {
    let server = Etcd::start().await;
    let (old, new) = (token(5, "00000000000000aa"), token(1_837_810_000_000_000, "00000000000000bb"));
    let twin = token(1_837_810_000_000_000, "00000000000000cc");
    let run = |token: &Token, words: &[&str]| shell(&server, token, words);
    let touched = |value: &str| (DONE, value.to_owned());
    assert_eq!(run(&old, &["write", "account", "1"]).0, REFUSED, "a write without a touch");
    assert_eq!(run(&old, &["touch", "account"]), touched(""));
    assert_eq!(run(&old, &["write", "account", "100"]).0, DONE);
    assert_eq!(run(&old, &["touch", "account"]), touched("100"), "its own token again");
    assert_eq!(run(&new, &["touch", "account"]), touched("100"));
    assert_eq!(run(&old, &["write", "account", "666"]).0, REFUSED);
    assert_eq!(run(&old, &["touch", "account"]).0, REFUSED);
    assert_eq!(run(&twin, &["touch", "account"]).0, REFUSED, "an equal number of another owner");
    assert_eq!(run(&new, &["write", "account", "90"]).0, DONE);
    assert_eq!(run(&new, &["touch", "account"]), touched("90"));
    assert_eq!(run(&old, &["touch", "another"]), touched(""), "each key has its own fence");
    server.kill();
    assert_eq!(run(&new, &["touch", "account"]).0, Some(1), "nobody answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_is_lost_is_said_to_be_unknown() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let ours = token(5, "00000000000000aa");
    assert_eq!(shell(&server, &ours, &["touch", "account"]).0, DONE);
    proxy.set_plan(Plan::nth(0, Fault::LoseReply));
    let lost = shell_at(proxy.port(), &ours, &["write", "account", "7"]);
    assert_eq!(lost.status.code(), Some(4), "{lost:?}");
    assert!(String::from_utf8_lossy(&lost.stderr).contains("may have run"), "{lost:?}");
    assert_eq!(proxy.counts().lost_replies, 1, "void");
    assert_eq!(shell(&server, &ours, &["touch", "account"]), (DONE, "7".to_owned()), "it had run");
}

#[tokio::test]
async fn the_python_example_runs_and_is_refused() {
    let server = Etcd::start().await;
    let run = |(fence, lease): Token| {
        let mut command = Command::new("python3");
        command.arg(guards("etcd").join("examples/guard.py"));
        command.args([format!("http://127.0.0.1:{}", server.port()), "account".to_owned()]);
        command.env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease).output()
    };
    let (old, new) = (token(5, "00000000000000aa"), token(7, "00000000000000bb"));
    let Ok(first) = run(old.clone()) else {
        return Skip::new("python3 is not installed").report();
    };
    assert_eq!(said(&first), (DONE, "count is 1".to_owned()), "{first:?}");
    assert_eq!(said(&run(old.clone()).unwrap()), (DONE, "count is 2".to_owned()));
    assert_eq!(said(&run(new.clone()).unwrap()), (DONE, "count is 3".to_owned()));
    assert_eq!(said(&run(old.clone()).unwrap()).0, REFUSED);
    assert_eq!(shell(&server, &new, &["touch", "account"]), (DONE, "3".to_owned()), "the shell sees the same fence");
    assert_eq!(shell(&server, &old, &["touch", "account"]).0, REFUSED);
}

/// Seven steps: A locks, A reads, A's lease ends, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn write_only_fence_loses_an_update_and_first_touch_does_not() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        tokens.push((grant.fence.number(), grant.fence.lease_id()));
        // The lease ends without the holder's knowledge.
        locks.evict(&grant.key).await.unwrap();
    }
    assert!(tokens[1].0 > tokens[0].0);

    // A fence that only writes are checked against: what most texts describe. It lives here and nowhere else.
    let (count, seen) = (base64("naive"), base64("naive.seen"));
    server.post("/v3/kv/put", &format!(r#"{{"key":"{seen}","value":"{}"}}"#, base64("0"))).await.unwrap();
    let mut acknowledged = 0;
    for (number, _) in &tokens {
        // Both have read nothing, so both write 1.
        let number = base64(&format!("{number:020}"));
        let txn = format!(
            r#"{{"compare":[{{"key":"{seen}","target":"VALUE","result":"LESS","value":"{number}"}}],
            "success":[{{"requestPut":{{"key":"{count}","value":"{}"}}}},{{"requestPut":{{"key":"{seen}","value":"{number}"}}}}]}}"#,
            base64("1")
        );
        acknowledged += usize::from(server.post("/v3/kv/txn", &txn).await.unwrap().contains("\"succeeded\":true"));
    }
    let kept = server.post("/v3/kv/range", &format!(r#"{{"key":"{count}"}}"#)).await.unwrap();
    assert!(kept.contains(&format!("\"value\":\"{}\"", base64("1"))), "{kept}");
    assert_eq!(acknowledged, 2, "void: two acknowledged increments and one kept is the recipe's bug");

    let [a, b] = [0, 1].map(|at| (tokens[at].0.to_string(), tokens[at].1.clone()));
    assert_eq!(shell(&server, &a, &["touch", "count"]).0, DONE);
    assert_eq!(shell(&server, &b, &["touch", "count"]).0, DONE);
    assert_eq!(shell(&server, &a, &["write", "count", "1"]).0, REFUSED, "so its increment was not acknowledged");
    assert_eq!(shell(&server, &b, &["write", "count", "1"]).0, DONE);
    assert_eq!(shell(&server, &b, &["touch", "count"]), (DONE, "1".to_owned()), "one acknowledged, one kept");
}
