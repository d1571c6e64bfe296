//! Writers of different speed on one graph in a shared store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore, Wait};
use stanchion_memory::{Memory, Mutation, SharedMemory};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use crate::conformance::{all, done, entity};
use crate::shared::{TURN, on};

/// A slow writer's way to the store. Its rival writes many times meanwhile.
const FAR: Duration = Duration::from_millis(20);
/// Its write waits for the turn and then for the rival's free time, 200 ms; the rest is for a busy machine.
const SOON: Duration = Duration::from_secs(5);

async fn open(url: &str, fair: bool) -> Arc<SharedMemory> {
    let store = stanchion_stores::open(url).await.unwrap();
    let memory = SharedMemory::new(store.records.unwrap(), SharedMemory::DEFAULT_NAME).unwrap();
    Arc::new(if fair { memory.fair(Locks::shared(store.locks)) } else { memory })
}

fn create(name: impl Into<String>) -> Mutation {
    Mutation::CreateEntities(vec![entity(name, &[])])
}

/// Which of three writes of a slow writer were in time while a quick one wrote on and on, and all that is there in the end.
async fn slow_against_quick(fair: bool) -> Option<(Vec<String>, Vec<String>)> {
    let options = Redis::options().aof(true);
    let server = options.try_start().await.inspect_err(|skip| skip.report()).ok()?;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let quick = open(&server.url(), fair).await;
    let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writes = {
        let (quick, stop, begun) = (Arc::clone(&quick), Arc::clone(&stop), Arc::clone(&begun));
        tokio::spawn(async move {
            // There and gone in turn, so that the graph stays small.
            while !stop.load(Ordering::Relaxed) {
                done(&*quick, create("quick")).await;
                begun.store(true, Ordering::Relaxed);
                done(&*quick, Mutation::DeleteEntities(vec!["quick".into()])).await;
            }
        })
    };
    eventually(SOON, "the quick writer writes", || async { begun.load(Ordering::Relaxed) }).await;
    let mut made = Vec::new();
    for n in 0..3 {
        let slow = open(&server.url_at(proxy.port()), fair).await;
        proxy.set_plan(Plan::on(|_| Fault::Delay(FAR)));
        let name = format!("slow{n}");
        let began = Instant::now();
        let said = tokio::time::timeout(SOON, slow.change(create(name.clone()))).await;
        eprintln!("fair: {fair}, write {n}: {} after {:?}", matches!(said, Ok(Ok(_))), began.elapsed());
        let Ok(said) = said else { break };
        said.unwrap();
        made.push(name);
        proxy.set_plan(Plan::pass());
    }
    stop.store(true, Ordering::Relaxed);
    writes.await.unwrap();
    Some((made, all(&*quick).await.entities.into_iter().map(|one| one.name).collect()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_writer_is_not_starved_by_one_that_writes_on_and_on() {
    let Some((made, there)) = slow_against_quick(true).await else { return };
    assert_eq!((made.len(), &there), (3, &made));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_without_turns_a_slow_writer_starves() {
    let Some((made, _)) = slow_against_quick(false).await else { return };
    assert!(made.len() < 3, "the quick writer is not quick enough, so that the test above proves nothing");
}

#[tokio::test(start_paused = true)]
async fn who_writes_on_and_on_waits_for_the_turn_and_who_comes_back_to_its_own_graph_does_not() {
    let store = MemoryStore::new();
    let (ours, theirs) = (on(&store), on(&store));
    let locks = Locks::new(CasLock::new(store.clone()));
    done(&theirs, create("theirs")).await;
    done(&ours, create("a")).await;
    let turn = locks.acquire(&Acquire::new(Key::new(TURN).unwrap()).wait(Wait::No)).await.unwrap();
    let took = async |memory: &SharedMemory, name: &str| {
        let began = Instant::now();
        done(memory, create(name)).await;
        began.elapsed()
    };
    let (at_once, patience) = (Duration::from_millis(100), Duration::from_secs(5));

    // As we left it, and nobody wrote for a while.
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(took(&ours, "b").await < at_once);
    assert!(took(&ours, "c").await < at_once, "that goes on for a while");
    tokio::time::advance(Duration::from_millis(250)).await;
    // The turn is never given back here, which only costs the wait.
    assert!(took(&ours, "d").await >= patience, "not for long without a turn");

    // Nothing is as they left it.
    assert!(took(&theirs, "e").await >= patience);
    tokio::time::advance(Duration::from_secs(2)).await;
    all(&ours).await;
    assert!(took(&ours, "f").await >= patience, "we know what others wrote, which is not the same as being alone");
    turn.release().await.unwrap();
    tokio::time::advance(Duration::from_millis(250)).await;
    assert!(took(&ours, "g").await < at_once);
    assert_eq!(all(&theirs).await.entities.len(), 8);
    let next = locks.acquire(&Acquire::new(Key::new(TURN).unwrap()).wait(Wait::No)).await;
    assert!(next.is_ok(), "the turn was not given back: {next:?}");
}
