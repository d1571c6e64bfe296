//! What Consul's users know as lock-delay: nobody follows at once when a session is ended under its holder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Grant, LockBackend, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::Consul;
use stanchion_testkit::eventually;

use super::{PATIENCE, end_sessions, open, request, waiting};
use crate::common;

type Locks = Arc<dyn LockBackend>;

async fn obtain(locks: &Locks, name: &str) -> Grant {
    common::obtain(&**locks, &waiting(name), Owner::random(), PATIENCE).await
}

async fn waits(locks: &Locks, name: &str, n: usize) {
    eventually(PATIENCE, "it waits", || async {
        locks.list(name, Page::first(1)).await.unwrap().first().is_some_and(|info| info.waiters.len() == n)
    })
    .await;
}

/// How long after the end of all sessions the next in line holds the lock, and what the old holder is told.
async fn handed_on_after(delay: &str) -> (Duration, Renewal) {
    let server = Consul::start().await;
    let url = format!("{}?lock_delay={delay}", server.url());
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let ended = Instant::now();
    end_sessions(&server).await;
    let next = obtain(&b, "k").await;
    let after = ended.elapsed();
    assert!(next.fence.number() > held.fence.number());
    (after, a.renew(&held, held.ttl).await)
}

#[tokio::test]
async fn the_next_in_line_keeps_away_for_the_lock_delay() {
    let delay = Duration::from_secs(3);
    let (after, renewal) = handed_on_after("3s").await;
    assert!(after >= delay, "handed on after {after:?}");
    assert!(matches!(renewal, Renewal::Lost), "{renewal:?}");
    // The control: without the delay it comes at once, so the wait above was the delay and nothing else.
    let (after, renewal) = handed_on_after("0s").await;
    assert!(after < delay, "void: without a delay it took {after:?}");
    assert!(matches!(renewal, Renewal::Lost), "{renewal:?}");
}

/// The delay is the holder's, which it has written beside its entry, not that of whoever comes next; and it counts for those who
/// do not wait as well.
#[tokio::test]
async fn the_delay_is_that_of_the_one_who_was_lost() {
    let server = Consul::start().await;
    let careful = open(&format!("{}?lock_delay=3s", server.url())).await.locks;
    let hasty = open(&format!("{}?lock_delay=0s", server.url())).await.locks;
    let held = careful.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let ended = Instant::now();
    end_sessions(&server).await;
    eventually(PATIENCE, "it is handed on", || async {
        match hasty.try_acquire(&request("k"), Owner::random()).await {
            Ok(grant) => grant.fence.number() > held.fence.number(),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
                false
            }
        }
    })
    .await;
    assert!(ended.elapsed() >= Duration::from_secs(3), "handed on after {:?}", ended.elapsed());
}

#[tokio::test]
async fn a_release_has_no_delay() {
    let server = Consul::start().await;
    let url = format!("{}?lock_delay=60s", server.url());
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let next = tokio::spawn({
        let b = Arc::clone(&b);
        async move { obtain(&b, "k").await }
    });
    waits(&a, "k", 1).await;
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
    next.await.unwrap();
    // An owner whose session was ended and who says that it is done need not be waited for, either.
    let held = a.try_acquire(&request("other"), Owner::random()).await.unwrap();
    end_sessions(&server).await;
    assert_eq!(a.release(&held).await.unwrap(), Released::NotHeld);
    obtain(&b, "other").await;
}

/// Whoever stands behind it takes it out of the line, while another one holds.
#[tokio::test]
async fn a_dead_waiter_costs_nobody_a_delay() {
    let server = Consul::start().await;
    let url = format!("{}?lock_delay=60s", server.url());
    let (a, b, c) = (open(&url).await.locks, open(&url).await.locks, open(&url).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let before = super::sessions(&server).await;
    let refused = b.try_acquire(&waiting("k"), Owner::random()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
    let waiters: Vec<_> = super::sessions(&server).await.into_iter().filter(|id| !before.contains(id)).collect();
    assert_eq!(waiters.len(), 1, "void");
    let third = tokio::spawn(async move { obtain(&c, "k").await });
    waits(&a, "k", 2).await;
    super::plain(&server, "PUT", &format!("/v1/session/destroy/{}", waiters[0]), "").await;
    waits(&a, "k", 1).await;
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
    third.await.unwrap();
}

/// The server has the delay from its log again, and begins it anew.
#[tokio::test]
async fn a_restart_of_the_server_does_not_shorten_the_lock_delay() {
    let delay = Duration::from_secs(6);
    let server = Consul::options().disk(true).start().await;
    let url = format!("{}?lock_delay=6s", server.url());
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    end_sessions(&server).await;
    let ended = Instant::now();
    server.kill();
    server.restart().await;
    let next = obtain(&b, "k").await;
    assert!(next.fence.number() > held.fence.number());
    assert!(ended.elapsed() >= delay, "handed on after {:?}", ended.elapsed());
}

/// Nobody who asks stays long enough to see the whole delay: the server counts it, and not each of them for itself.
#[tokio::test]
async fn a_dead_holders_lock_is_free_after_its_delay_although_nobody_who_asks_stays() {
    let delay = Duration::from_secs(3);
    let server = Consul::start().await;
    let url = format!("{}?lock_delay=3s", server.url());
    let holder = open(&url).await.locks;
    // It does not clear its own entry while we look: it counts as dead.
    let long = request("k").ttl(PATIENCE * 10).unwrap();
    let held = holder.try_acquire(&long, Owner::random()).await.unwrap();
    end_sessions(&server).await;
    let ended = Instant::now();
    eventually(PATIENCE, "it is handed on", || async {
        match open(&url).await.locks.try_acquire(&request("k"), Owner::random()).await {
            Ok(grant) => grant.fence.number() > held.fence.number(),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
                false
            }
        }
    })
    .await;
    assert!(ended.elapsed() >= delay, "handed on after {:?}", ended.elapsed());
}
