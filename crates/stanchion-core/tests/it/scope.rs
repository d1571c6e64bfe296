//! Dead-locks inside one scope are refused at once; everything else waits.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stanchion_core::{Acquire, Actor, CasLock, ErrorKind, Key, LockScope, Locks, MemoryStore, Mode, Ran, Wait};
use stanchion_testkit::eventually;

use crate::locks::{Answer, Probe, TokioClock, key, request};

const SOON: Duration = Duration::from_secs(5);

fn scope() -> (Arc<Probe>, LockScope) {
    let clock = TokioClock::new();
    let probe = Probe::new(&clock);
    let locks = Locks::with_clock(Arc::clone(&probe) as _, clock);
    (probe, LockScope::new(locks))
}

fn shared(key: &Key) -> Acquire {
    request(key).mode(Mode::Shared).unwrap()
}

/// `actor` asks for `wanted` in a task of its own; returns when it stands in line.
async fn waits(probe: &Arc<Probe>, actor: &Arc<Actor>, wanted: Acquire) -> tokio::task::JoinHandle<()> {
    let (key, actor) = (wanted.key.clone(), Arc::clone(actor));
    let task = tokio::spawn(async move {
        actor.acquire(&wanted).await.unwrap().release().await.unwrap();
    });
    eventually(SOON, "it waits", || async { probe.waiting(&key) == 1 }).await;
    task
}

#[tokio::test(start_paused = true)]
async fn asking_for_what_one_holds_is_refused_at_once() {
    let (_, scope) = scope();
    let actor = scope.actor();
    for (held, wanted) in [
        (request(&key("a")), shared(&key("a"))),
        (shared(&key("b")), request(&key("b"))),
        (request(&key("c")), request(&key("c"))),
    ] {
        let lease = actor.acquire(&held).await.unwrap();
        let error = actor.acquire(&wanted).await.unwrap_err();
        assert_eq!((error.kind(), error.ran()), (ErrorKind::Deadlock, Ran::No));
        assert!(error.to_string().contains(&format!("cycle: {}", held.key)), "{error}");
        assert!(error.next_step().is_some_and(|hint| hint.contains("acquire_all")));
        lease.release().await.unwrap();
        actor.acquire(&wanted).await.unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_only_slot_of_a_key_is_a_lock_like_any_other() {
    let (_, scope) = scope();
    let actor = scope.actor();
    let slot = request(&key("gpu")).mode(Mode::Slots(1)).unwrap().wait(Wait::For(Duration::from_secs(1)));
    let _held = actor.acquire(&slot).await.unwrap();
    assert_eq!(actor.acquire(&slot).await.unwrap_err().kind(), ErrorKind::Deadlock);
}

#[tokio::test(start_paused = true)]
async fn a_cycle_of_two_is_refused_with_its_path_and_clears_after_release() {
    let (probe, scope) = scope();
    let (one, two) = (Arc::new(scope.actor()), scope.actor());
    let (a, b) = (key("a"), key("b"));
    let held_a = one.acquire(&request(&a)).await.unwrap();
    let held_b = two.acquire(&request(&b)).await.unwrap();
    let waiting = waits(&probe, &one, request(&b)).await;
    let error = two.acquire(&request(&a)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadlock);
    assert!(error.to_string().contains("a → b"), "{error}");
    held_b.release().await.unwrap();
    waiting.await.unwrap();
    held_a.release().await.unwrap();
    for _ in 0..3 {
        let again = (two.acquire(&request(&a)).await.unwrap(), two.acquire(&request(&b)).await.unwrap());
        again.0.release().await.unwrap();
        again.1.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cycle_of_three_is_refused_with_its_path() {
    let (probe, scope) = scope();
    let actors = [(); 3].map(|()| Arc::new(scope.actor()));
    let keys = ["a", "b", "c"].map(key);
    let mut held = Vec::new();
    for (actor, key) in actors.iter().zip(&keys) {
        held.push(actor.acquire(&request(key)).await.unwrap());
    }
    let first = waits(&probe, &actors[0], request(&keys[1])).await;
    let second = waits(&probe, &actors[1], request(&keys[2])).await;
    let error = actors[2].acquire(&request(&keys[0])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadlock);
    assert!(error.to_string().contains("a → b → c"), "{error}");
    for lease in held.into_iter().rev() {
        lease.release().await.unwrap();
    }
    first.await.unwrap();
    second.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_chain_without_a_cycle_waits() {
    let (probe, scope) = scope();
    let (one, two, three) = (Arc::new(scope.actor()), Arc::new(scope.actor()), Arc::new(scope.actor()));
    let (a, b) = (key("a"), key("b"));
    let held_a = one.acquire(&request(&a)).await.unwrap();
    let held_b = two.acquire(&request(&b)).await.unwrap();
    let behind_a = waits(&probe, &two, request(&a)).await;
    let behind_b = waits(&probe, &three, request(&b)).await;
    held_a.release().await.unwrap();
    behind_a.await.unwrap();
    held_b.release().await.unwrap();
    behind_b.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gave_up_is_forgotten() {
    let (probe, scope) = scope();
    let (one, two) = (Arc::new(scope.actor()), scope.actor());
    let (a, b) = (key("a"), key("b"));
    let _held_a = one.acquire(&request(&a)).await.unwrap();
    let _held_b = two.acquire(&request(&b)).await.unwrap();
    let waiting = waits(&probe, &one, request(&b)).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let error = two.acquire(&request(&a).wait(Wait::For(Duration::from_millis(20)))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contended, "nobody waits for `two` any more");
}

#[tokio::test(start_paused = true)]
async fn readers_of_one_key_are_no_dead_lock() {
    let (_, scope) = scope();
    let (one, two) = (scope.actor(), scope.actor());
    let read = shared(&key("a"));
    let (_first, _second) = (one.acquire(&read).await.unwrap(), two.acquire(&read).await.unwrap());
    let _again = one.acquire(&read).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reader_whose_answer_is_slow_blocks_nobody() {
    let (probe, scope) = scope();
    let (one, two) = (Arc::new(scope.actor()), Arc::new(scope.actor()));
    let (book, desk) = (key("book"), key("desk"));
    let held_book = one.acquire(&shared(&book)).await.unwrap();
    let held_desk = two.acquire(&request(&desk)).await.unwrap();
    probe.answer(&[Answer::Late]);
    let (reader, read) = (Arc::clone(&two), shared(&book));
    let reading = tokio::spawn(async move { reader.acquire(&read).await.unwrap() });
    eventually(SOON, "the grant is on its way", || async { probe.held_back.load(Ordering::SeqCst) == 1 }).await;
    // `two` does not wait for `one`: both read. So `one` may wait for `two`.
    let wanted = request(&desk);
    let asking = tokio::spawn(async move { one.acquire(&wanted).await.map(drop) });
    eventually(SOON, "it waits, or was refused", || async { probe.waiting(&desk) == 1 || asking.is_finished() }).await;
    probe.open_gate();
    drop(reading.await.unwrap());
    held_desk.release().await.unwrap();
    asking.await.unwrap().expect("no cycle: it gets the desk when the other is done");
    held_book.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_asks_again_behind_a_waiting_writer_is_refused() {
    let (probe, scope) = scope();
    let (reader, writer) = (scope.actor(), Arc::new(scope.actor()));
    let book = key("book");
    let held = reader.acquire(&shared(&book)).await.unwrap();
    let writing = waits(&probe, &writer, request(&book)).await;
    // First come, first served: the second read would stand behind the writer, who waits for the first.
    let again = reader.acquire(&shared(&book).wait(Wait::For(Duration::from_secs(2)))).await.map(drop);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Deadlock);
    held.release().await.unwrap();
    writing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_requests_that_close_a_cycle_exactly_one_is_refused() {
    let scope = LockScope::new(Locks::new(CasLock::new(MemoryStore::new())));
    for round in 0..200 {
        let (a, b) = (request(&key("a")), request(&key("b")));
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        let tasks = [(a.clone(), b.clone()), (b, a)].map(|(first, second)| {
            let (actor, barrier) = (scope.actor(), Arc::clone(&barrier));
            tokio::spawn(async move {
                let held = actor.acquire(&first).await.unwrap();
                barrier.wait().await;
                let refused = match actor.acquire(&second).await {
                    Ok(lease) => {
                        lease.release().await.unwrap();
                        false
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");
                        true
                    }
                };
                held.release().await.unwrap();
                refused
            })
        });
        let mut refused = 0;
        for task in tasks {
            let answer = tokio::time::timeout(Duration::from_secs(20), task).await.expect("nobody waits for ever");
            refused += u32::from(answer.unwrap());
        }
        assert_eq!(refused, 1, "round {round}");
    }
}
