//! Two clients want one lock.

use std::sync::Arc;

use stanchion_core::{
    Acquire, BootTime, CasLock, Clock as _, Election, FencingToken, LockBackend as _, Locks, ManualClock, Owner,
    Renewal, Wait,
};

use super::super::explore::{Visit, World};
use super::{Notes, TTL, key};

/// Until when each client may believe that it holds, and the last token that was handed out.
#[derive(Debug, Default)]
struct Ghost {
    believes: [Option<BootTime>; 2],
    last: Option<FencingToken>,
}

fn request() -> Acquire {
    Acquire::new(key()).ttl(TTL).expect("a valid ttl").wait(Wait::No)
}

impl Notes<Ghost> {
    fn believes(&self, client: usize, until: BootTime, now: BootTime) {
        let other = self.with(|ghost| {
            ghost.believes[client] = Some(until);
            ghost.believes[1 - client]
        });
        if now < until && other.is_some_and(|other| now < other) {
            self.broken("S1", "two clients hold the lock at the same time");
        }
    }

    fn granted(&self, client: usize, token: FencingToken, until: BootTime, now: BootTime) {
        let last = self.with(|ghost| ghost.last.replace(token));
        if last.is_some_and(|last| token.number() <= last.number()) {
            self.broken("S3", format!("the token after {} is {}", last.map_or(0, |t| t.number()), token.number()));
        }
        self.believes(client, until, now);
    }

    fn leaves(&self, client: usize) {
        self.with(|ghost| ghost.believes[client] = None);
    }
}

/// Take, work, release; A comes back. One ttl after everybody has stopped, the lock is free.
pub fn two_clients(world: &World) -> Visit {
    visit(world, [2, 1], false)
}

/// Take, work, renew, work, release.
pub fn two_renewing_clients(world: &World) -> Visit {
    visit(world, [1, 1], true)
}

fn visit(world: &World, sessions: [usize; 2], renews: bool) -> Visit {
    let notes = Notes::<Ghost>::default();
    let clients = (0..2).map(|client| {
        let (locks, board, clock) = (CasLock::new(world.lock_wire(client)), world.board.clone(), world.clock.clone());
        let notes = notes.clone();
        Box::pin(async move {
            for _ in 0..sessions[client] {
                if client == 1 {
                    // Before it looks at its clock: time may pass until it comes.
                    board.pass(client, "comes", false).await;
                }
                let sent = clock.now();
                let Ok(grant) = locks.try_acquire(&request(), Owner::random()).await else { continue };
                notes.granted(client, grant.fence, sent + TTL, clock.now());
                board.pass(client, "works", false).await;
                let sent = clock.now();
                if renews {
                    match locks.renew(&grant, TTL).await {
                        Renewal::Renewed => notes.believes(client, sent + TTL, clock.now()),
                        Renewal::Lost => notes.leaves(client),
                        Renewal::Unknown(_) => {}
                    }
                    board.pass(client, "works on", false).await;
                }
                notes.leaves(client);
                // Unanswered or not: whoever releases believes no more.
                locks.release(&grant).await.ok();
            }
        }) as _
    });
    let (clock, service) = (world.clock.clone(), world.lock_service());
    Visit {
        clients: clients.collect(),
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            clock.advance(TTL + TTL);
            if CasLock::new(service).try_acquire(&request(), Owner::random()).await.is_err() {
                notes.broken("L2", "nobody gets the lock, long after its last holder has died");
            }
            notes.verdict()
        }),
    }
}

/// The same through the front door: belief is what [`stanchion_core::Lease::fence`] says.
pub fn two_leases(world: &World) -> Visit {
    let notes = Notes::<Vec<Arc<stanchion_core::Lease>>>::default();
    let clients = (0..2).map(|client| {
        let notes = notes.clone();
        let locks = front_door(world, client);
        Box::pin(async move {
            let Ok(lease) = locks.acquire(&request()).await else { return };
            let lease = Arc::new(lease);
            let held = notes.with(|leases| {
                leases.push(Arc::clone(&lease));
                leases.iter().filter(|lease| lease.fence().is_ok()).count()
            });
            if held > 1 {
                notes.broken("S1", "two leases are valid at the same time");
            }
        }) as _
    });
    Visit { clients: clients.collect(), is_broken: notes.watch(), judge: Box::pin(async move { notes.verdict() }) }
}

/// Both want to lead.
pub fn two_candidates(world: &World) -> Visit {
    let notes = Notes::<Vec<Arc<stanchion_core::Leadership>>>::default();
    let clients = (0..2).map(|client| {
        let notes = notes.clone();
        let election = Election::new(front_door(world, client)).wait(Wait::No).ttl(TTL).expect("a valid ttl");
        Box::pin(async move {
            let Ok(leadership) = election.lead(&key()).await else { return };
            let leadership = Arc::new(leadership);
            let leaders = notes.with(|all| {
                all.push(leadership);
                all.iter().filter(|leadership| leadership.fence().is_ok()).count()
            });
            if leaders > 1 {
                notes.broken("S1", "two lead at the same time");
            }
        }) as _
    });
    Visit { clients: clients.collect(), is_broken: notes.watch(), judge: Box::pin(async move { notes.verdict() }) }
}

fn front_door(world: &World, client: usize) -> Locks {
    let clock: Arc<ManualClock> = Arc::clone(&world.clock);
    Locks::with_clock(Arc::new(CasLock::new(world.lock_wire(client))), clock)
}
