//! Callers of one lock, in two processes; some give it back, some only drop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use stanchion_core::{Acquire, CasLock, Key, LockBackend as _, Locks, Owner, Page, Result, Wait};

use super::explore::{Client, Judge, Told, Verdict, World};
use super::stops::Stops;

const TTL: Duration = Duration::from_secs(60 * 60);

/// How a caller holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Lease,
    /// Planted: the release stands after the work, and nowhere else.
    ReleaseAfterWork,
    Nothing,
}

struct Section {
    world: World,
    how: How,
    inside: Arc<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    now: AtomicUsize,
    met: AtomicBool,
}

/// Counts who is inside, also when it is dropped there.
struct Here(Arc<Inside>);

impl Inside {
    fn enter(self: &Arc<Self>) -> Here {
        if self.now.fetch_add(1, Ordering::SeqCst) > 0 {
            self.met.store(true, Ordering::SeqCst);
        }
        Here(Arc::clone(self))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(super) fn section(world: World, how: How) -> Box<dyn Judge> {
    Box::new(Section { world, how, inside: Arc::default() })
}

fn request() -> Result<Acquire> {
    Ok(Acquire::new(Key::new("k")?).ttl(TTL)?.wait(Wait::Forever))
}

async fn work(inside: &Arc<Inside>, stops: &Stops) {
    let _here = inside.enter();
    stops.stop("work", false).await;
}

async fn hold(i: usize, how: How, locks: Locks, inside: Arc<Inside>, stops: Stops) -> Result<()> {
    match how {
        How::Lease => {
            let lease = locks.acquire(&request()?).await?;
            work(&inside, &stops).await;
            if i.is_multiple_of(2) {
                lease.release().await?;
            }
        }
        How::ReleaseAfterWork => {
            let grant = locks.backend().try_acquire(&request()?, Owner::random()).await?;
            work(&inside, &stops).await;
            locks.backend().release(&grant).await?;
        }
        How::Nothing => work(&inside, &stops).await,
    }
    Ok(())
}

impl Judge for Section {
    fn clients(&mut self) -> Vec<Client> {
        let process = || Locks::new(CasLock::new(self.world.store.clone()));
        let processes = [process(), process()];
        let client = |i: usize| -> Client {
            let (how, inside, stops) = (self.how, Arc::clone(&self.inside), self.world.stops.clone());
            let held = hold(i, how, processes[i % 2].clone(), inside, stops);
            Box::pin(async move {
                match held.await {
                    Ok(()) => "held".to_owned(),
                    Err(error) => error.kind().to_string(),
                }
            })
        };
        (0..self.world.clients).map(client).collect()
    }

    fn at_rest<'a>(&'a self, told: &'a [Told], calm: bool) -> Verdict<'a> {
        Box::pin(async move {
            if self.inside.met.load(Ordering::SeqCst) {
                return Some(("S1", "two were inside".to_owned()));
            }
            let all_held = told.iter().flatten().all(|said| said == "held");
            if calm && self.how == How::Lease && !all_held {
                return Some(("L1", format!("no operation failed, and they say {told:?}")));
            }
            let left = CasLock::new(self.world.store.inner.clone()).list("", Page::first(9)).await;
            let left = left.map(|locks| locks.iter().map(|lock| lock.holders.len()).sum::<usize>());
            let is_held = calm && !matches!(left, Ok(0));
            is_held.then(|| ("S7", format!("all have left, and the lock is held: {left:?}")))
        })
    }

    fn in_the_end<'a>(&'a self, _: &'a [Told]) -> Verdict<'a> {
        Box::pin(async move {
            let locks = Locks::new(CasLock::new(self.world.store.inner.clone()));
            let again = async { locks.acquire(&request()?.wait(Wait::No)).await };
            again.await.err().map(|error| ("L1", format!("after its ttl the lock is not free: {error}")))
        })
    }
}
