//! The guard that others use without our code: `guards/redis`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stanchion_core::{FencingToken, Owner};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually;

use super::{PATIENCE, open, plain, request};
use crate::common::example::{NEW, OLD, TWIN, assert_examples, guards, text};

/// `redis-cli` from beside the running server, with the libraries which that server has loaded.
fn redis_cli(server: &Redis) -> Command {
    let process = PathBuf::from(format!("/proc/{}", server.pid().unwrap()));
    let maps = std::fs::read_to_string(process.join("maps")).unwrap();
    let files = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let libraries: BTreeSet<_> =
        files.filter(|file| file.to_string_lossy().contains(".so")).filter_map(Path::parent).collect();
    let mut command = Command::new(process.join("exe").canonicalize().unwrap().with_file_name("redis-cli"));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    command.current_dir(guards("redis")).args(["-p", &server.port().to_string()]);
    command
}

fn eval(server: &Redis, script: &str, arguments: &[&str]) -> String {
    text(&redis_cli(server).args(["--eval", script, "account", ","]).args(arguments).output().unwrap())
        .replace('\n', " ")
}

#[tokio::test]
async fn a_stale_token_is_refused_from_the_shell() {
    let server = Redis::start().await;
    let write = |token: [&'static str; 2], value: &'static str| {
        eval(&server, "write.lua", &[token[0], token[1], "balance", value])
    };
    assert_eq!(write(OLD, "1"), "0 0", "a write without a touch");
    assert_eq!(eval(&server, "touch.lua", &OLD), "1");
    assert_eq!(write(OLD, "100"), "1");
    assert_eq!(eval(&server, "touch.lua", &NEW), "1 balance 100");
    assert_eq!(write(OLD, "666"), format!("0 {}", NEW[0]), "the refusal names the floor");
    assert_eq!(eval(&server, "touch.lua", &OLD), format!("0 {}", NEW[0]));
    assert_eq!(eval(&server, "touch.lua", &TWIN), format!("0 {}", NEW[0]), "a twin number");
    assert_eq!(write(NEW, "90"), "1");
    assert_eq!(eval(&server, "touch.lua", &NEW), "1 balance 90");
}

#[tokio::test]
async fn the_guard_keeps_its_own_field_and_its_arguments() {
    let server = Redis::start().await;
    eval(&server, "touch.lua", &OLD);
    for arguments in [&["_fence", "9"][..], &["a"], &[]] {
        let words: Vec<&str> = OLD.into_iter().chain(arguments.iter().copied()).collect();
        let answer = eval(&server, "write.lua", &words);
        assert!(answer.contains("ERR"), "{arguments:?}: {answer}");
    }
    assert!(eval(&server, "touch.lua", &["-1", "aa"]).contains("ERR"));
    assert!(eval(&server, "touch.lua", &["5"]).contains("ERR"));
}

#[tokio::test]
async fn the_examples_in_other_languages_run_and_are_refused() {
    let server = Redis::start().await;
    assert_examples("redis", &[("python3", "guard.py"), ("node", "guard.mjs")], |command, file| {
        command.args(["127.0.0.1", &server.port().to_string(), file]);
    });
}

/// A fence that only writes are checked against: what most texts describe. It lives here and nowhere else.
const WRITE_ONLY: &str = "
    local seen = tonumber(redis.call('HGET', KEYS[1], 'seen') or 0)
    if tonumber(ARGV[1]) < seen then return 0 end
    redis.call('HSET', KEYS[1], 'seen', ARGV[1], 'count', ARGV[2])
    return 1";

/// Seven steps: A locks, A reads, A's lease ends, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn write_only_fence_loses_an_update_and_first_touch_does_not() {
    let server = Redis::start().await;
    let locks = open(&server.url()).await.locks;
    let short = request("k").ttl(Duration::from_millis(50)).unwrap();
    let first = locks.try_acquire(&short, Owner::random()).await.unwrap().fence;
    let second = AtomicU64::new(0);
    let owner = Owner::random();
    eventually(PATIENCE, "the first lease ends and the second begins", || async {
        let grant = locks.try_acquire(&request("k"), owner).await;
        grant.map(|grant| second.store(grant.fence.number(), Ordering::Relaxed)).is_ok()
    })
    .await;
    let second = FencingToken::new(second.into_inner(), owner);
    let a = [first.number().to_string(), first.lease_id()];
    let b = [second.number().to_string(), second.lease_id()];
    let (a, b) = ([a[0].as_str(), a[1].as_str()], [b[0].as_str(), b[1].as_str()]);

    let read = || async { plain(&server, &["HGET", "naive", "count"]).await };
    let (seen_by_a, seen_by_b) = (read().await, read().await);
    assert_eq!((seen_by_a, seen_by_b), (redis::Value::Nil, redis::Value::Nil));
    let acknowledged = [
        plain(&server, &["EVAL", WRITE_ONLY, "1", "naive", a[0], "1"]).await,
        plain(&server, &["EVAL", WRITE_ONLY, "1", "naive", b[0], "1"]).await,
    ];
    assert_eq!(acknowledged, [redis::Value::Int(1), redis::Value::Int(1)]);
    let kept = read().await;
    assert_eq!(
        kept,
        redis::Value::BulkString(b"1".to_vec()),
        "two acknowledged increments, one kept: the recipe's bug"
    );

    assert_eq!(eval(&server, "touch.lua", &a), "1");
    assert_eq!(eval(&server, "touch.lua", &b), "1");
    let late = eval(&server, "write.lua", &[a[0], a[1], "count", "1"]);
    assert_eq!(late, format!("0 {}", b[0]), "the late write is refused, so its increment was not acknowledged");
    assert_eq!(eval(&server, "write.lua", &[b[0], b[1], "count", "1"]), "1");
    assert_eq!(eval(&server, "touch.lua", &b), "1 count 1", "one acknowledged increment, one kept");
}
