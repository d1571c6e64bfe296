//! Who stands in line, and what is left of those who do not.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, LockBackend, Mode, Owner, Released, Renewal};
use stanchion_testkit::engines::Consul;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};

use super::{PATIENCE, key, open, plain, request, sessions, waiting};

async fn entries(server: &Consul) -> usize {
    plain(server, "GET", "/v1/kv/stanchion/l/?keys", "").await.matches('~').count()
}

/// The first entry of an owner is not deleted yet when it enters again behind another one.
#[tokio::test]
async fn an_owner_that_enters_again_does_not_hold_by_its_old_place() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let url = |port| format!("{}?lock_delay=0s", server.url_at(port));
    let (a, b) = (open(&url(proxy.port())).await.locks, open(&url(server.port())).await.locks);
    let (owner, short) = (Owner::random(), Duration::from_millis(500));
    let first = a.try_acquire(&request("k").ttl(short).unwrap(), owner).await.unwrap();
    let other = Owner::random();
    assert_eq!(b.try_acquire(&waiting("k"), other).await.unwrap_err().kind(), ErrorKind::Contended);
    // Its deadline passes, and nothing that deletes gets through.
    let stopped = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&stopped);
    proxy.set_plan(Plan::on(move |message| {
        let stops = message.contains("\"delete\"");
        seen.fetch_add(u32::from(stops), Ordering::SeqCst);
        if stops { Fault::LoseRequest } else { Fault::Deliver }
    }));
    eventually(PATIENCE, "its place is given up", || async { stopped.load(Ordering::SeqCst) > 0 }).await;
    let again = a.try_acquire(&waiting("k"), owner).await;
    assert_eq!(entries(&server).await, 3, "void: the old place is gone already");
    assert_eq!(again.map(drop).unwrap_err().kind(), ErrorKind::Contended, "it stands behind the other one");
    assert!(matches!(a.renew(&first, short).await, Renewal::Renewed | Renewal::Lost));
    proxy.set_plan(Plan::pass());
    eventually(PATIENCE, "the other one holds", || async { b.try_acquire(&waiting("k"), other).await.is_ok() }).await;
    assert_eq!(a.try_acquire(&waiting("k"), owner).await.unwrap_err().kind(), ErrorKind::Contended, "two hold it");
}

/// One attempt on a server that stands still: unanswered or dropped, then withdrawn. It may arrive later than the withdrawal. `false`
/// if the server was faster than the signal that stops it.
async fn unanswered(server: &Consul, locks: &dyn LockBackend, name: &str, dropped: bool) -> bool {
    let (request, owner) = (request(name), Owner::random());
    server.pause();
    let patience = if dropped { Duration::from_millis(100) } else { PATIENCE };
    let unanswered = match tokio::time::timeout(patience, locks.try_acquire(&request, owner)).await {
        Err(_) => true,
        Ok(attempt) => attempt.is_err_and(|e| e.kind() == ErrorKind::OutcomeUnknown),
    };
    tokio::time::timeout(PATIENCE, locks.withdraw(&request, owner)).await.unwrap();
    server.resume();
    unanswered
}

#[tokio::test]
async fn an_unanswered_attempt_does_not_block_its_key_while_its_client_goes_on() {
    let server = Consul::start().await;
    let a = open(&format!("{}?lock_delay=60s&timeout=300ms", server.url())).await.locks;
    let b = open(&server.url()).await.locks;
    let held = a.try_acquire(&request("other"), Owner::random()).await.unwrap();
    let old = sessions(&server).await;
    assert_eq!(old.len(), 1, "void");
    let mut met = [0, 0];
    for round in 0..8 {
        let name = format!("k{round}");
        met[round % 2] += usize::from(unanswered(&server, &*a, &name, round % 2 == 1).await);
        eventually(Duration::from_secs(10), "another one holds the key", || async {
            // The client goes on with what it holds.
            let renewal = a.renew(&held, held.ttl).await;
            assert!(!matches!(renewal, Renewal::Lost), "{renewal:?}");
            match b.try_acquire(&request(&name), Owner::random()).await {
                Ok(_) => true,
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
                    false
                }
            }
        })
        .await;
    }
    assert!(met.iter().all(|times| *times > 0), "void: {met:?}");
    eventually(PATIENCE, "the old session is ended", || async { !sessions(&server).await.contains(&old[0]) }).await;
    assert_eq!(a.release(&held).await.unwrap(), Released::Released, "it has moved, and holds");
    let next = b.try_acquire(&request("other"), Owner::random()).await.unwrap();
    assert!(next.fence.number() > held.fence.number());
}

/// The answer to the move is lost: the entry hangs on one of two sessions, and both are ours.
#[tokio::test]
async fn a_holder_whose_move_is_unanswered_holds_on_and_can_release() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let a = open(&server.url_at(proxy.port())).await.locks;
    for (fault, renews) in
        [(Fault::LoseReply, true), (Fault::LoseReply, false), (Fault::LoseRequest, true), (Fault::LoseRequest, false)]
    {
        let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
        // Only the entering: what clears up after the round before speaks of this name, too.
        proxy.set_plan(Plan::on(|message| {
            let enters = message.contains("tainted") && message.contains("\"lock\"");
            if enters { Fault::LoseReply } else { Fault::Deliver }
        }));
        let owner = Owner::random();
        assert_eq!(a.try_acquire(&request("tainted"), owner).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
        proxy.set_plan(Plan::first("\"unlock\"", fault));
        let renewal = a.renew(&held, held.ttl).await;
        assert!(matches!(renewal, Renewal::Unknown(_)), "void: {renewal:?}");
        if renews {
            let renewal = a.renew(&held, held.ttl).await;
            assert!(matches!(renewal, Renewal::Renewed), "{fault:?}: {renewal:?}");
        }
        assert_eq!(a.release(&held).await.unwrap(), Released::Released, "{fault:?}, {renews}");
        a.withdraw(&request("tainted"), owner).await;
        eventually(PATIENCE, "nothing is left", || async { entries(&server).await == 0 }).await;
    }
}

fn slot(name: &str) -> Acquire {
    waiting(name).mode(Mode::Slots(2)).unwrap()
}

/// Consul's index of a prefix counts those who have left as well; a waiter that begins below it is answered at once, for ever.
#[tokio::test]
async fn one_who_waits_for_a_slot_asks_seldom() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url_at(proxy.port())).await.locks);
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(a.try_acquire(&slot("k"), Owner::random()).await.unwrap());
    }
    let (owner, leaver) = (Owner::random(), Owner::random());
    assert_eq!(b.try_acquire(&slot("k"), owner).await.unwrap_err().kind(), ErrorKind::Contended);
    // Somebody comes and goes behind it: the newest index is that of one who has left.
    assert_eq!(a.try_acquire(&slot("k"), leaver).await.unwrap_err().kind(), ErrorKind::Contended);
    a.withdraw(&slot("k"), leaver).await;
    let asked = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&asked);
    proxy.set_plan(Plan::on(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        Fault::Deliver
    }));
    let end = tokio::time::Instant::now() + Duration::from_secs(2);
    while tokio::time::Instant::now() < end {
        b.wait(&slot("k"), owner, end).await.unwrap();
        assert_eq!(b.try_acquire(&slot("k"), owner).await.unwrap_err().kind(), ErrorKind::Contended);
    }
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked <= 12, "{asked} requests in two seconds in which nothing happened");
    // And it is still woken.
    let waits = tokio::time::timeout(PATIENCE, async {
        loop {
            b.wait(&slot("k"), owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
            if b.try_acquire(&slot("k"), owner).await.is_ok() {
                return;
            }
        }
    });
    let (woken, released) = tokio::join!(waits, a.release(&held[0]));
    assert_eq!((woken.is_ok(), released.unwrap()), (true, Released::Released));
}

/// While the eviction is under way the holder releases, and the next one comes: that one is not meant.
#[tokio::test]
async fn an_eviction_hits_only_those_who_held_when_it_began() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let (a, operator) = (open(&server.url()).await.locks, open(&server.url_at(proxy.port())).await.locks);
    let first = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    // The write of the eviction waits until the lock has changed hands.
    proxy.set_plan(Plan::first("\"delete\"", Fault::Delay(Duration::from_millis(1500))));
    let name = key("k");
    let (evicted, next) = tokio::join!(operator.evict(&name), async {
        eventually(PATIENCE, "the eviction has been sent", || async { proxy.counts().delayed > 0 }).await;
        assert_eq!(a.release(&first).await.unwrap(), Released::Released);
        a.try_acquire(&request("k"), Owner::random()).await.unwrap()
    });
    assert_eq!(evicted.unwrap(), Released::NotHeld);
    assert!(matches!(a.renew(&next, next.ttl).await, Renewal::Renewed), "an innocent one was hit");
    // The control: one who holds when it begins is.
    assert_eq!(operator.evict(&key("k")).await.unwrap(), Released::Released);
    assert!(matches!(a.renew(&next, next.ttl).await, Renewal::Lost));
}

/// Consul passes the tombstones of all names that were in a line within 15 minutes when it reads the line, so there must be few.
#[tokio::test]
async fn a_lock_that_is_taken_again_and_again_has_one_name() {
    let server = Consul::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let mut seen = HashSet::new();
    for wanted in [request("k"), waiting("k")].iter().cycle().take(20) {
        let grant = a.try_acquire(wanted, Owner::random()).await.unwrap();
        assert_eq!(entries(&server).await, 1);
        seen.insert(plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "").await);
        assert_eq!(a.release(&grant).await.unwrap(), Released::Released);
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
    // Also if it is refused.
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    for _ in 0..5 {
        let waiter = Owner::random();
        assert_eq!(b.try_acquire(&waiting("k"), waiter).await.unwrap_err().kind(), ErrorKind::Contended);
        assert_eq!(entries(&server).await, 2);
        seen.insert(plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "").await);
        b.withdraw(&waiting("k"), waiter).await;
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
}

/// What went unanswered may still arrive: it must not meet the entry of another owner.
#[tokio::test]
async fn a_name_is_not_used_again_after_an_unanswered_release() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let first = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let keys = || plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "");
    let old = keys().await;
    assert_eq!(entries(&server).await, 1, "void");
    proxy.set_plan(Plan::first("\"delete\"", Fault::LoseReply));
    assert_eq!(locks.release(&first).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(locks.release(&first).await.unwrap(), Released::NotHeld, "the first one had arrived");
    for _ in 0..3 {
        let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        assert_eq!(entries(&server).await, 1);
        assert_ne!(keys().await, old);
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    }
}
