//! `mode=session`: advisory locks that live as long as a database session.
//!
//! One connection per held or awaited lock, never shared and never pooled: PostgreSQL lets one session take its own
//! lock again, so a shared connection would grant one key to two of us; a wait blocks its whole connection; and a
//! broken connection then means exactly one lost lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, FencingToken, Grant, Holder, Identity, Key, LockBackend, LockInfo, Mode,
    Owner, Page, Released, Renewal, Result, contended,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::error::{Effect, lost, running};
use super::hash;
use super::lease::{floor, since};
use super::pool::{Param, Pool, column};
use super::range::{limit, lower, upper};
use super::schema::Schema;

/// Connections that are kept for the next lock.
const SPARE: usize = 4;

/// Advisory locks of database sessions.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Arc<Pool>,
    schema: Schema,
    capability: Capability,
    held: Mutex<HashMap<Owner, Held>>,
    spare: Mutex<Vec<Client>>,
}

/// A lock in the server's lock table. `fence` is there once it was handed to the caller.
struct Held {
    client: Arc<Client>,
    fence: Option<i64>,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionLocks")
            .field("target", &self.pool.target)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

fn shared(mode: Mode) -> Result<bool> {
    match mode {
        Mode::Exclusive => Ok(false),
        Mode::Shared => Ok(true),
        Mode::Slots(_) => Err(Error::new(ErrorKind::Unsupported, "PostgreSQL's advisory locks have no slots")
            .hint("use mode=lease, which has them")),
    }
}

impl Inner {
    fn hash(&self, key: &Key) -> i64 {
        hash::number(self.schema.name(), key.as_str()).cast_signed()
    }

    async fn client(&self) -> Result<Client> {
        let spare = {
            let mut spare = open(&self.spare);
            spare.retain(|c| !c.is_closed());
            spare.pop()
        };
        match spare {
            Some(client) => Ok(client),
            None => self.pool.target.connect(|_| ()).await,
        }
    }

    /// Only a connection that certainly holds nothing may serve again.
    fn keep(&self, client: Client) {
        let mut spare = open(&self.spare);
        if spare.len() < SPARE && !client.is_closed() {
            spare.push(client);
        }
    }

    /// One row from a session's own connection.
    async fn ask(&self, client: &Client, sql: &str, params: &[Param<'_>]) -> Result<Row> {
        let target = &self.pool.target;
        let answer = timeout(target.timeout, client.query_typed(&self.schema.sql(sql), params)).await;
        let rows = answer
            .map_err(|_| lost(&target.shown, Effect::Write))?
            .map_err(|e| running(e, &target.shown, Effect::Write))?;
        rows.into_iter().next().ok_or_else(|| super::pool::unexpected("no row"))
    }

    /// Takes the lock, or draws the number of one that this session already has. `None`: contended.
    async fn take(&self, client: &Client, req: &Acquire, owner: Owner, has: bool) -> Result<Option<i64>> {
        let (hash, shared, floor) = (self.hash(&req.key), shared(req.mode)?, floor(req)?);
        let (owner, identity) = (owner.to_hex(), req.identity.encode());
        let params: [Param<'_>; 7] = [
            (&req.key.as_str(), Type::TEXT),
            (&hash, Type::INT8),
            (&shared, Type::BOOL),
            (&has, Type::BOOL),
            (&owner, Type::TEXT),
            (&identity, Type::TEXT),
            (&floor, Type::INT8),
        ];
        for _ in 0..3 {
            let row =
                self.ask(client, "SELECT * FROM stanchion.session_take($1, $2, $3, $4, $5, $6, $7)", &params).await?;
            match column::<i32>(&row, "status")? {
                0 => return Ok(Some(column(&row, "fence")?)),
                1 => return Ok(None),
                _ => {
                    self.ask(client, "SELECT stanchion.lift($1)", &[(&floor, Type::INT8)]).await?;
                }
            }
        }
        Err(super::pool::unexpected("the counter cannot be lifted").with("floor", floor))
    }

    /// Blocks until the lock is ours (`true`) or `until`. The session must not be used for anything else on an error.
    async fn block(&self, client: &Client, hash: i64, shared: bool, until: Instant) -> Result<bool> {
        let target = &self.pool.target;
        let ms = until.saturating_duration_since(Instant::now()).as_millis().clamp(1, 3_600_000);
        self.ask(client, "SELECT set_config('lock_timeout', $1, false)", &[(&format!("{ms}ms"), Type::TEXT)]).await?;
        let sql = if shared { "SELECT pg_advisory_lock_shared($1)::text" } else { "SELECT pg_advisory_lock($1)::text" };
        match client.query_typed(sql, &[(&hash, Type::INT8)]).await {
            Ok(_) => Ok(true),
            Err(e) if e.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                // The timeout can fire in the instant of the grant, and the lock then stays with the session.
                let row = self
                    .ask(
                        client,
                        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() \
                         AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = $1) AS there",
                        &[(&hash, Type::INT8)],
                    )
                    .await?;
                column(&row, "there")
            }
            Err(e) => Err(running(e, &target.shown, Effect::Read)),
        }
    }

    async fn holder(&self, key: &Key) -> Result<Option<Holder>> {
        let sql = self.schema.sql("SELECT * FROM stanchion.session_holders WHERE hash = $1 ORDER BY since LIMIT 1");
        let rows = self.pool.run(&sql, &[(&self.hash(key), Type::INT8)], Effect::Read).await?;
        rows.first().map(holder).transpose()
    }
}

fn holder(row: &Row) -> Result<Holder> {
    let mut holder = Holder::new(Identity::decode(column(row, "identity")?));
    if column::<i32>(row, "mode")? == 2 {
        holder.mode = Mode::Shared;
    }
    let nonce = column::<&str>(row, "owner")?.get(16..).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let fence = column::<i64>(row, "fence")?.cast_unsigned();
    holder.fence = nonce.map(|nonce| FencingToken::from_parts(fence, nonce));
    holder.held_for = Some(since(column(row, "held_ms")?));
    Ok(holder)
}

impl SessionLocks {
    pub(crate) fn new(pool: Arc<Pool>, schema: Schema, capability: Capability) -> Self {
        Self { inner: Arc::new(Inner { pool, schema, capability, held: Mutex::default(), spare: Mutex::default() }) }
    }
}

#[async_trait]
impl LockBackend for SessionLocks {
    fn capability(&self) -> Capability {
        self.inner.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        shared(req.mode)?;
        let inner = &self.inner;
        let grant = |fence: i64| {
            Grant::new(req.key.clone(), owner, FencingToken::new(fence.cast_unsigned(), owner), req.mode, req.ttl)
        };
        let waited = open(&inner.held).remove(&owner).filter(|held| !held.client.is_closed());
        let (client, has) = match waited {
            Some(held) => {
                if let Some(fence) = held.fence {
                    open(&inner.held).insert(owner, held);
                    return Ok(grant(fence));
                }
                (held.client, true)
            }
            None => (Arc::new(inner.client().await?), false),
        };
        // If this future is dropped or the answer is lost, the connection closes and takes the lock with it.
        match inner.take(&client, req, owner, has).await? {
            Some(fence) => {
                open(&inner.held).insert(owner, Held { client, fence: Some(fence) });
                Ok(grant(fence))
            }
            None => {
                if let Some(client) = Arc::into_inner(client) {
                    inner.keep(client);
                }
                Err(contended(&req.key, inner.holder(&req.key).await?))
            }
        }
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let (hash, shared) = (self.inner.hash(&req.key), shared(req.mode)?);
        let (answer, granted) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        let client = Arc::new(inner.client().await?);
        let stop = Cancel { inner: Arc::clone(&inner), client: Some(Arc::clone(&client)) };
        // In a task of its own: a caller who gives up must not leave a lock with a connection nobody looks at.
        tokio::spawn(async move {
            let got = inner.block(&client, hash, shared, until).await;
            // If nobody receives it, the connection is dropped with it, and the lock ends with the session.
            drop(answer.send(got.map(|got| (got, client))));
        });
        let answered = granted.await;
        stop.done();
        let (got, client) = answered.map_err(|_| lost(&self.inner.pool.target.shown, Effect::Read))??;
        if got {
            open(&self.inner.held).insert(owner, Held { client, fence: None });
        } else if let Some(client) = Arc::into_inner(client) {
            self.inner.keep(client);
        }
        Ok(())
    }

    async fn withdraw(&self, _: &Acquire, owner: Owner) {
        // A lock that was waited for but not taken goes with its connection. One that was taken stays.
        let mut held = open(&self.inner.held);
        if held.get(&owner).is_some_and(|h| h.fence.is_none()) {
            held.remove(&owner);
        }
    }

    async fn renew(&self, grant: &Grant, _: Duration) -> Renewal {
        let Some(client) = open(&self.inner.held).get(&grant.owner).map(|held| Arc::clone(&held.client)) else {
            return Renewal::Lost;
        };
        let target = &self.inner.pool.target;
        match timeout(target.timeout, client.simple_query("")).await {
            Ok(Ok(_)) => Renewal::Renewed,
            // The session is over, and the server frees its locks.
            Ok(Err(_)) => {
                open(&self.inner.held).remove(&grant.owner);
                Renewal::Lost
            }
            Err(_) => Renewal::Unknown(lost(&target.shown, Effect::Read)),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let Some(held) = open(&self.inner.held).remove(&grant.owner).filter(|held| !held.client.is_closed()) else {
            return Ok(Released::NotHeld);
        };
        let (hash, shared) = (self.inner.hash(&grant.key), shared(grant.mode)?);
        let params: [Param<'_>; 2] = [(&hash, Type::INT8), (&shared, Type::BOOL)];
        let row = self.inner.ask(&held.client, "SELECT stanchion.session_release($1, $2) AS done", &params).await?;
        if !column::<bool>(&row, "done")? {
            return Ok(Released::NotHeld);
        }
        if let Some(client) = Arc::into_inner(held.client) {
            self.inner.keep(client);
        }
        Ok(Released::Released)
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let sql = self.inner.schema.sql(
            "WITH page AS (SELECT DISTINCT key FROM stanchion.session_holders \
             WHERE key >= $1 AND ($2::text IS NULL OR key < $2) AND ($3::text IS NULL OR key > $3) ORDER BY key LIMIT $4) \
             SELECT h.* FROM stanchion.session_holders h JOIN page USING (key) ORDER BY h.key, h.since",
        );
        let (upper, after) = (upper(prefix), page.after.as_ref().map(Key::as_str));
        let params: [Param<'_>; 4] =
            [(&lower(prefix), Type::TEXT), (&upper, Type::TEXT), (&after, Type::TEXT), (&limit(&page), Type::INT8)];
        let mut found: Vec<LockInfo> = Vec::new();
        for row in self.inner.pool.run(&sql, &params, Effect::Read).await? {
            let key = Key::from_store(column::<&str>(&row, "key")?)?;
            if found.last().is_none_or(|last| last.key != key) {
                found.push(LockInfo::new(key));
            }
            if let Some(last) = found.last_mut() {
                last.holders.push(holder(&row)?);
            }
        }
        Ok(found)
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        Err(Error::new(ErrorKind::Unsupported, "an advisory lock ends only with its session").with("key", key).hint(
            "end the holder's process, or its session: SELECT pg_terminate_backend(pid) FROM stanchion.session_holders",
        ))
    }
}

/// Ends a blocked statement when the waiter goes away: the server would not notice a closed connection.
struct Cancel {
    inner: Arc<Inner>,
    client: Option<Arc<Client>>,
}

impl Cancel {
    fn done(mut self) {
        self.client = None;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        if let (Some(client), Ok(runtime)) = (self.client.take(), tokio::runtime::Handle::try_current()) {
            let inner = Arc::clone(&self.inner);
            runtime.spawn(async move { inner.pool.target.cancel(&client).await });
        }
    }
}
