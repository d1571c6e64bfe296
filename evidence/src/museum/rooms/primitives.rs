//! Init-once, the limiter and jobs, two clients each.

use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{BootTime, Clock as _, Enqueue, ErrorKind, Jobs, Limiter, Once, Taken, Wait};

use super::super::explore::{BoxFuture, Visit, World};
use super::{Notes, TTL, key};

/// Who is at work, and what its callers were told.
#[derive(Debug, Default)]
struct Initialised {
    /// Since when somebody is at work.
    busy: Option<BootTime>,
    told: bool,
    failed: Vec<usize>,
}

/// Both want the same thing to be initialised once. A lease may only end while time passes.
pub fn two_initialisers(world: &World) -> Visit {
    let notes = Notes::<Initialised>::default();
    let clients = (0..2).map(|client| {
        let once = Once::new(world.wire(client)).lease(TTL).expect("a valid lease").wait(Wait::No);
        let (board, clock, notes) = (world.board.clone(), world.clock.clone(), notes.clone());
        Box::pin(async move {
            let (within, key) = (notes.clone(), key());
            let done = once.run(&key, async |_| {
                let now = clock.now();
                let (busy, told) = within.with(|seen| (seen.busy.replace(now), seen.told));
                if told {
                    within.broken("S4", "it is initialised again after it was reported as done");
                }
                if busy.is_some_and(|since| now - since < TTL) {
                    within.broken("S4", "two initialise at the same time");
                }
                board.pass(client, "initialises", false).await;
                within.with(|seen| seen.busy = None);
                Ok(Bytes::from(client.to_string()))
            });
            match done.await {
                Ok(_) => notes.with(|seen| seen.told = true),
                Err(e) if e.kind() == ErrorKind::LeaseLost => notes.with(|seen| seen.failed.push(client)),
                Err(_) => {}
            }
        }) as BoxFuture<()>
    });
    let records = Once::new(world.records());
    Visit {
        clients: clients.collect(),
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            let kept = records.get(&key()).await.ok().flatten();
            let failed = notes.with(|seen| seen.failed.clone());
            if failed.iter().any(|client| kept == Some(Bytes::from(client.to_string()))) {
                notes.broken("S6", "a client is told that its turn was lost, and its own value is recorded");
            }
            notes.verdict()
        }),
    }
}

const LIMIT: u32 = 2;

/// When each permit was given.
type Permits = Vec<BootTime>;

fn take(world: &World, client: usize, times: usize, notes: &Notes<Permits>, all_must_pass: bool) -> BoxFuture<()> {
    let limiter = Limiter::new(world.wire(client), LIMIT, TTL).expect("a valid limit").clock(world.clock.clone());
    let (notes, clock) = (notes.clone(), world.clock.clone());
    Box::pin(async move {
        for _ in 0..times {
            match limiter.try_take(&key()).await {
                Ok(Taken::Allowed { .. }) => {
                    let now = clock.now();
                    let within = notes.with(|permits| {
                        permits.push(now);
                        permits.iter().filter(|at| now - **at < TTL).count()
                    });
                    if within > LIMIT as usize {
                        notes.broken("S5", format!("{within} permits in one window of at most {LIMIT}"));
                    }
                }
                Ok(Taken::Refused { .. }) if all_must_pass => {
                    notes.broken("S5", "refused, though fewer permits were given than allowed");
                }
                Ok(_) | Err(_) => {}
            }
        }
    })
}

/// As many calls as permits, by one client: all are allowed. With others in between, a lost answer counts as taken.
pub fn enough_permits(world: &World) -> Visit {
    let notes = Notes::<Permits>::default();
    let clients = vec![take(world, 0, 2, &notes, true)];
    Visit { clients, is_broken: notes.watch(), judge: Box::pin(async move { notes.verdict() }) }
}

/// More calls than permits.
pub fn too_few_permits(world: &World) -> Visit {
    let notes = Notes::<Permits>::default();
    let clients = (0..2).map(|client| take(world, client, 2, &notes, false)).collect();
    Visit { clients, is_broken: notes.watch(), judge: Box::pin(async move { notes.verdict() }) }
}

#[derive(Debug, Default)]
struct Worked {
    added: u32,
    acknowledged: u32,
}

fn jobs(world: &World, client: usize) -> Jobs {
    Jobs::new(world.wire(client), "mail").expect("a valid queue").clock(world.clock.clone())
}

/// Both enqueue the same, and both work.
pub fn two_workers(world: &World) -> Visit {
    let notes = Notes::<Worked>::default();
    let clients = (0..2).map(|client| {
        let (jobs, board, notes) = (jobs(world, client), world.board.clone(), notes.clone());
        Box::pin(async move {
            let unique = Enqueue::new(key(), "hello").unique_for(Duration::from_secs(3600)).expect("a valid window");
            if jobs.enqueue(unique).await.is_ok_and(|enqueued| !enqueued.deduplicated) {
                notes.with(|worked| worked.added += 1);
            }
            let Ok(Some(job)) = jobs.claim(TTL).await else { return };
            board.pass(client, "works", false).await;
            if job.done().await.is_ok() {
                notes.with(|worked| worked.acknowledged += 1);
            }
        }) as BoxFuture<()>
    });
    let clients = clients.collect();
    let after = Jobs::new(world.records(), "mail").expect("a valid queue").clock(world.clock.clone());
    let clock = world.clock.clone();
    Visit {
        clients,
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            clock.advance(TTL + Duration::from_secs(1));
            let counts = after.counts().await.unwrap_or_default();
            let Worked { added, acknowledged } = notes.with(std::mem::take);
            if added > 1 {
                notes.broken("S4", format!("one key was enqueued {added} times"));
            }
            if acknowledged > 1 {
                notes.broken("S4", format!("one job is acknowledged as done {acknowledged} times"));
            }
            let open = counts.queued + counts.running > 0;
            if open && !matches!(after.claim(TTL).await, Ok(Some(_))) {
                notes.broken("L1", "its worker is dead and its lease is over, and nobody gets the job");
            }
            notes.verdict()
        }),
    }
}
