//! Advisory locks of a database session, as PostgreSQL has them: a lock belongs to the server connection that took it,
//! and the connection that has it gets it again. Between client and server stands a pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, FencingToken, Grant, Hold, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal, Result,
    contended, planted,
};
use tokio::time::Instant;

#[derive(Debug, Default)]
struct Server {
    /// Who has the lock, and how many times.
    locks: HashMap<Key, (usize, u32)>,
    fence: u64,
    /// Connections that the pool has handed out for one statement each, in turn.
    statements: usize,
}

/// One client.
#[derive(Debug, Clone)]
pub struct Sessions {
    server: Arc<Mutex<Server>>,
    /// The connection that is this client's own.
    connection: usize,
}

/// How many connections a pool in transaction mode has.
const POOL: usize = 2;

impl Sessions {
    /// Two clients of one server.
    #[must_use]
    pub fn two() -> [Self; 2] {
        let server = Arc::<Mutex<Server>>::default();
        [0, 1].map(|connection| Self { server: Arc::clone(&server), connection })
    }

    fn connection(&self, server: &mut Server) -> usize {
        if planted!("session-lock-through-pool") {
            server.statements += 1;
            // A statement goes wherever there is room: here, two by two to the same place.
            return (server.statements - 1) / 2 % POOL;
        }
        self.connection
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LockBackend for Sessions {
    fn capability(&self) -> Capability {
        super::capability("sessions", Hold::Held)
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let mut server = self.server();
        let connection = self.connection(&mut server);
        let (holder, times) = *server.locks.entry(req.key.clone()).or_insert((connection, 0));
        if holder != connection {
            return Err(contended(&req.key, None));
        }
        server.locks.insert(req.key.clone(), (connection, times + 1));
        server.fence += 1;
        let fence = FencingToken::new(server.fence, owner);
        Ok(Grant::new(req.key.clone(), owner, fence, req.mode, req.ttl))
    }

    async fn wait(&self, _: &Acquire, _: Owner, until: Instant) -> Result<()> {
        tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(10))).await;
        Ok(())
    }

    async fn withdraw(&self, _: &Acquire, _: Owner) {}

    async fn renew(&self, grant: &Grant, _: Duration) -> Renewal {
        if self.server().locks.contains_key(&grant.key) { Renewal::Renewed } else { Renewal::Lost }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let mut server = self.server();
        let elsewhere = usize::from(planted!("unlock-on-another-connection"));
        let connection = self.connection(&mut server) + elsewhere;
        // What PostgreSQL does with a lock that this connection does not have: a warning, and nothing.
        let Some((_, times)) = server.locks.get(&grant.key).copied().filter(|(holder, _)| *holder == connection) else {
            return Ok(Released::Released);
        };
        match times {
            1 => drop(server.locks.remove(&grant.key)),
            _ => drop(server.locks.insert(grant.key.clone(), (connection, times - 1))),
        }
        Ok(Released::Released)
    }

    async fn list(&self, _: &str, _: Page) -> Result<Vec<LockInfo>> {
        Ok(Vec::new())
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.server().locks.remove(key);
        Ok(Released::Released)
    }
}
