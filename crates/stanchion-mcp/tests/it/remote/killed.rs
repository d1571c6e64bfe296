//! The first instance is killed, and another one is asked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stanchion_testkit::process::{Child, is_helper};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::sync::Semaphore;

use super::support::*;

/// A gateway in a process of its own.
async fn be_a_gateway() {
    let store = Store::sqlite(Path::new(&std::env::var("FOLDER").unwrap())).await;
    let gateway = Gateway::start(&store, WRITES, &std::env::var("UPSTREAM").unwrap()).await;
    #[expect(clippy::print_stdout, reason = "a helper process speaks to its test")]
    {
        println!("READY {}", gateway.addr);
    }
    std::future::pending().await
}

async fn gateway_process(folder: &Path, url: &str) -> (Child, std::net::SocketAddr) {
    let folder = folder.display().to_string();
    let mut child = Child::rerun_this_test_with(&[("FOLDER", &folder), ("UPSTREAM", url)]);
    let addr = child.expect_line("READY", SOON).await.parse().unwrap();
    (child, addr)
}

#[tokio::test]
async fn what_a_killed_instance_had_recorded_is_told_by_another() {
    if is_helper() {
        return be_a_gateway().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, effects) = Server::counting().await;
    let (mut first, addr) = gateway_process(folder.path(), &server.url()).await;
    let proxy = FaultProxy::start(addr, Protocol::Http).await;
    proxy.set_plan(Plan::first("POST", Fault::LoseReply));
    assert!(open(proxy.addr(), &[BOTH], &call("1", Some("k"))).await.is_err(), "void: the reply came through");
    first.kill();
    let second = Gateway::start(&Store::sqlite(folder.path()).await, WRITES, &server.url()).await;
    let got = post(second.addr, &[BOTH], &call("2", Some("k"))).await;
    assert_eq!((got.texts().as_str(), got.is_replay(), effects.load(Ordering::SeqCst)), ("1", true, 1), "{got:?}");
}

#[tokio::test]
async fn a_call_whose_instance_is_killed_while_it_runs_is_unknown_and_not_sent_again() {
    if is_helper() {
        return be_a_gateway().await;
    }
    for (key, ran) in [(Some("k"), 1), (None, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let (effects, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (count, gate) = (Arc::clone(&effects), Arc::clone(&go));
        let server = Server::start(move |seen| {
            let (count, gate) = (Arc::clone(&count), Arc::clone(&gate));
            async move {
                let reply = counted(&seen, &count);
                gate.acquire().await.unwrap().forget();
                reply
            }
        })
        .await;
        let (mut first, addr) = gateway_process(folder.path(), &server.url()).await;
        let asking = tokio::spawn(async move { open(addr, &[BOTH], &call("1", key)).await });
        eventually(SOON, "the effect has happened", || async { effects.load(Ordering::SeqCst) == 1 }).await;
        first.kill();
        assert!(asking.await.unwrap().is_err(), "void: it was answered");
        go.add_permits(9);
        let second = Gateway::start(&Store::sqlite(folder.path()).await, WRITES, &server.url()).await;
        // Until it is known that the first one is gone, the call may still be running.
        eventually(SOON * 4, "the call is found to be unknown", || async {
            let got = post(second.addr, &[BOTH], &call("2", key)).await;
            match got.problem().as_deref() {
                Some("idempotency_key_in_progress") => false,
                problem => {
                    assert_eq!(problem, key.map(|_| "outcome_unknown"), "{got:?}");
                    true
                }
            }
        })
        .await;
        assert_eq!(effects.load(Ordering::SeqCst), ran, "without a key, nobody can know that it is the same call");
    }
}
