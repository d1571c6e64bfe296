//! `kill -9` at every point of a guarded call, on every engine: no double effect, no differing answer, nothing forgotten.
//!
//! Each engine runs three times: without faults (nothing may be unknown), the seed's own design (it must be caught), and the
//! full programme.

#![cfg_attr(not(feature = "full"), allow(dead_code, reason = "no engine needs all of it"))]

use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stanchion_core::{ErrorKind, Ran};
#[cfg(feature = "sqlite")]
use stanchion_testkit::kill_harness::Bug;
use stanchion_testkit::kill_harness::{self, Report, Setup, Stores};
use stanchion_testkit::{FaultProxy, Plan, Protocol, Rates, engines, eventually, process};

use crate::common::faults::crash;

/// How long a busy machine may take for what comes at last.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens the store, which may be away just now.
async fn open(url: &str) -> Stores {
    let opened = OnceLock::new();
    eventually(PATIENCE, "the store can be opened", || async {
        match stanchion_stores::open(url).await {
            Ok(store) => opened.set(store).is_ok(),
            Err(e) if e.ran() == Ran::No && e.kind() != ErrorKind::Unavailable => panic!("{url}: {e}"),
            Err(_) => false,
        }
    })
    .await;
    let opened = opened.into_inner().unwrap();
    Stores { records: opened.records.unwrap(), locks: opened.locks, fused: opened.fused }
}

async fn worker() {
    let url = std::env::var("URL").unwrap();
    kill_harness::worker(|| open(&url)).await;
}

/// `STANCHION_KILL_SEED=17` makes another run.
fn seeded(mut setup: Setup) -> Setup {
    let seed = std::env::var("STANCHION_KILL_SEED").ok();
    setup.seed = seed.map_or(setup.seed, |seed| seed.parse().unwrap());
    setup
}

async fn run(setup: Setup, url: &str) -> Report {
    run_as(seeded(setup), url).await
}

async fn run_as(setup: Setup, url: &str) -> Report {
    let report = kill_harness::run(&setup, &[("URL", url)], || open(url), None).await;
    eprintln!("{report}");
    report
}

/// The default store has the full programme in every run, the others with `STANCHION_KILLS=all`: it takes a minute each.
async fn all(url: &str) {
    run(Setup::quiet("quiet"), url).await.assert_holds();
    run(Setup::control("control"), url).await.assert_caught();
    run(Setup::faulty("kills"), url).await.assert_holds();
}

/// The same in short.
async fn brief(url: &str) {
    if std::env::var_os("STANCHION_KILLS").is_some_and(|wish| wish == "all") {
        return all(url).await;
    }
    let mut quiet = Setup::quiet("quiet");
    quiet.keys = 40;
    run(quiet, url).await.assert_holds();
    run(Setup::control("control"), url).await.assert_caught();
    run(Setup::brief("kills"), url).await.assert_holds();
}

/// An engine through all three, in short: `url` tells where it is.
pub(crate) async fn survives<E>(start: impl Future<Output = E>, url: impl Fn(&E) -> String) {
    if process::is_helper() {
        return worker().await;
    }
    let server = start.await;
    brief(&url(&server)).await;
}

#[cfg(feature = "sqlite")]
async fn sqlite_survives(options: &str) {
    if process::is_helper() {
        return worker().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/store.db{options}", folder.path().display());
    if options.is_empty() { all(&url).await } else { brief(&url).await }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_survives_kills_at_every_point() {
    sqlite_survives("?locks=lease").await;
}

/// Claim, kernel lock and mark in one transaction.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_with_kernel_locks_survives_kills_at_every_point() {
    sqlite_survives("").await;
}

/// The oracle is not blind: each bug, planted between the guard and its store, is seen as what it is.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn planted_bugs_are_seen() {
    if process::is_helper() {
        return worker().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/store.db?locks=lease", folder.path().display());
    for bug in Bug::ALL {
        // Some need a schedule that not every run has; no run of the sound guard may look like one of them.
        let mut seen = 0;
        for seed in 1..=4 {
            let mut setup = seeded(Setup::planted(&format!("{bug:?}{seed}"), bug));
            setup.seed += seed - 1;
            let report = run_as(setup, &url).await;
            seen += report.violated(bug.seen_as());
            if seen > 0 {
                break;
            }
        }
        assert!(seen > 0, "{bug:?} was not seen as a violation of {}", bug.seen_as());
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn redis_survives_kills_at_every_point() {
    survives(engines::Redis::options().aof(true).start(), engines::Redis::url).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_survives_kills_at_every_point() {
    survives(engines::Postgres::options().fsync(true).start(), engines::Postgres::url).await;
}

/// The engine is killed and started again, connections are cut, and replies are lost after the commit: the same
/// invariants. `url` tells where the engine is at some port: its own, or that of a proxy.
pub(crate) async fn disturbed<E: Deref<Target = engines::Server> + 'static>(
    start: impl Future<Output = E>,
    protocol: Protocol,
    url: impl Fn(&E, u16) -> String,
) {
    if process::is_helper() {
        return worker().await;
    }
    let server = Arc::new(start.await);
    let proxy = Arc::new(FaultProxy::start(server.addr(), protocol).await);
    let (direct, proxied) = (url(&server, server.port()), url(&server, proxy.port()));
    let mut disturb = |number: u32| -> Pin<Box<dyn Future<Output = ()>>> {
        let (proxy, server) = (Arc::clone(&proxy), Arc::clone(&server));
        Box::pin(async move {
            match number % 3 {
                0 => crash(&server).await,
                1 => proxy.cut_all(),
                _ => {
                    let rates = Rates { lose_reply: 0.1, reset: 0.02, ..Rates::default() };
                    let before = proxy.counts().lost_replies;
                    proxy.set_plan(Plan::seeded(u64::from(number), rates));
                    tokio::time::sleep(Duration::from_millis(700)).await;
                    // On a busy machine that may have been a few requests only.
                    eventually(PATIENCE, "a reply is lost", || async { proxy.counts().lost_replies > before }).await;
                    proxy.set_plan(Plan::pass());
                }
            }
        })
    };
    let setup = seeded(Setup::disturbed("disturbed", 9));
    let report = kill_harness::run(&setup, &[("URL", &proxied)], || open(&direct), Some(&mut disturb)).await;
    eprintln!("{report}; {:?}", proxy.counts());
    assert!(proxy.counts().lost_replies > 0, "void: no reply was lost");
    report.assert_holds();
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn redis_may_be_restarted_and_cut_off_meanwhile() {
    let start = engines::Redis::options().aof(true).start();
    disturbed(start, Protocol::Resp, engines::Redis::url_at).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_may_be_restarted_and_cut_off_meanwhile() {
    let start = engines::Postgres::options().fsync(true).start();
    let url = |server: &engines::Postgres, port| format!("{}?sslmode=disable", server.url_at(port));
    disturbed(start, Protocol::Postgres, url).await;
}
