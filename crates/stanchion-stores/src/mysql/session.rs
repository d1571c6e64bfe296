//! `mode=session`: the server's own `GET_LOCK`, which lives as long as its connection.
//!
//! One connection per held or awaited lock, never shared and never pooled: one session may take its own lock again, a wait
//! blocks its whole connection, and a broken connection then means exactly one lost lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Row};
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, FencingToken, Grant, Holder, Identity, Key, LockBackend, LockInfo, Mode,
    Owner, Page, Released, Renewal, Result, contended,
};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::time::{Instant, timeout};

use super::board::open;
use super::error::{DUPLICATE, Effect, KILLED, code, lost, running, unexpected};
use super::pool::{Parts, Pool, ask, maybe, number, text as column};
use super::row::floor;
use super::schema::Schema;
use super::text::{NOW, limit, range, text};
use super::tidy::Tidy;

/// Connections that are kept for the next lock.
const SPARE: usize = 4;
/// The longest single wait in the server: it notices a dead client at its end at the latest.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Locks of database sessions.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Arc<Pool>,
    schema: Schema,
    capability: Capability,
    held: Mutex<HashMap<Owner, Held>>,
    spare: Mutex<Vec<(Conn, Instant)>>,
    tidy: Arc<Tidy>,
}

/// A connection, and whether a question was sent on it whose answer has not been read. **An answer belongs to the oldest
/// question: after one that was given up, each later answer would be taken for that of the next.**
struct Session {
    conn: Conn,
    asking: bool,
}

/// A lock of the server's. `fence` is there once it was handed to the caller.
#[derive(Clone)]
struct Held {
    conn: Arc<AsyncMutex<Session>>,
    fence: Option<u64>,
}

fn session(conn: Conn) -> Arc<AsyncMutex<Session>> {
    Arc::new(AsyncMutex::new(Session { conn, asking: false }))
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionLocks").field("target", &self.pool.target).finish_non_exhaustive()
    }
}

fn exclusive(mode: Mode) -> Result<()> {
    if mode == Mode::Exclusive {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, "GET_LOCK has exclusive locks only")
        .hint("use mode=lease, which has the others"))
}

/// Refuses a connection that is not one session: behind a pooler that mixes sessions a lock belongs to nobody.
pub(crate) async fn refuse_pooler(pool: &Pool) -> Result<()> {
    let (mut ours, mut other) = (pool.target.connect().await?, pool.target.connect().await?);
    let name = format!("stanchion.probe.{:016x}", Owner::random().nonce());
    let mut id = None;
    let one = async |conn: &mut Conn, sql: String| -> Result<Option<u64>> {
        let parts = timeout(pool.target.timeout, ask(conn, sql.as_bytes(), 1)).await;
        let parts = parts.map_err(|_| lost(&pool.target.shown, Effect::Read))?;
        maybe(parts.sets.first().and_then(|set| set.rows.first()), 0)
    };
    let taken = one(&mut ours, format!("SELECT GET_LOCK('{name}', 0)")).await?;
    let mut pooled = taken != Some(1);
    for _ in 0..3 {
        let mine = one(&mut ours, "SELECT CONNECTION_ID()".to_owned()).await?;
        let theirs = one(&mut other, "SELECT CONNECTION_ID()".to_owned()).await?;
        let user = one(&mut other, format!("SELECT IS_USED_LOCK('{name}')")).await?;
        pooled |= mine == theirs || user != mine || id.is_some_and(|id| Some(id) != mine);
        id = mine;
    }
    if !pooled {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, "mode=session does not work behind a pooler that shares connections")
        .with("host", &pool.target.shown)
        .hint("use mode=lease, or the server's own address"))
}

impl Inner {
    /// Names are at most 64 characters and ignore case, and belong to the whole server: so the key and where its table is
    /// go in as a hash. A collision of two names is a false conflict, never a false grant.
    fn name(&self, key: &Key) -> String {
        let (a, b) = (fnv(self.schema.prefix(), key.as_str(), 0), fnv(self.schema.prefix(), key.as_str(), 1));
        format!("CONCAT('stanchion.', LEFT(SHA1(DATABASE()), 12), '.{a:016x}{b:016x}')")
    }

    async fn connection(&self) -> Result<Conn> {
        loop {
            let Some((mut conn, since)) = open(&self.spare).pop() else { return self.pool.target.connect().await };
            let fresh = since.elapsed() < Duration::from_secs(1);
            if fresh || matches!(timeout(self.pool.target.timeout, conn.ping()).await, Ok(Ok(()))) {
                return Ok(conn);
            }
        }
    }

    /// Only a connection that certainly holds nothing may serve again.
    fn keep(&self, session: Arc<AsyncMutex<Session>>) {
        let mut spare = open(&self.spare);
        if let Some(session) = Arc::into_inner(session).map(AsyncMutex::into_inner)
            && !session.asking
            && spare.len() < SPARE
        {
            spare.push((session.conn, Instant::now()));
        }
    }

    /// Statements on a session's own connection, within the store's time. After an error, or if this future is dropped,
    /// the connection answers nothing any more.
    async fn parts(&self, session: &AsyncMutex<Session>, sql: &str, count: usize) -> Result<Parts> {
        let target = &self.pool.target;
        let asked = async {
            let mut session = session.lock().await;
            if session.asking {
                return None;
            }
            session.asking = true;
            let parts = ask(&mut session.conn, sql.as_bytes(), count).await;
            session.asking = parts.failed.as_ref().is_some_and(|e| code(e).is_none());
            Some(parts)
        };
        timeout(target.timeout, asked).await.ok().flatten().ok_or_else(|| lost(&target.shown, Effect::Write))
    }

    async fn first(&self, conn: &AsyncMutex<Session>, sql: &str) -> Result<Option<u64>> {
        let parts = self.parts(conn, sql, 1).await?;
        if let Some(e) = parts.failed {
            return Err(running(&e, &self.pool.target.shown, Effect::Write));
        }
        maybe(parts.sets.first().and_then(|set| set.rows.first()), 0)
    }

    /// Draws the fence of a lock that this session holds: only a holder draws, so numbers follow the order of the holders.
    async fn draw(&self, conn: &AsyncMutex<Session>, req: &Acquire, owner: Owner) -> Result<u64> {
        let (table, key, floor) = (self.schema.table("sessions"), text(req.key.as_str()), floor(req)?);
        let (owner, identity) = (owner.to_hex(), text(&req.identity.encode()));
        let update = format!(
            "UPDATE {table} SET fence = LAST_INSERT_ID(GREATEST(fence, {floor}) + 1), owner = '{owner}', \
             identity = {identity}, since = {NOW}, connection = CONNECTION_ID() WHERE k = {key}"
        );
        let insert = format!(
            "INSERT INTO {table} (k, fence, owner, identity, since, connection) SELECT {key}, \
             LAST_INSERT_ID(GREATEST(value, {floor}) + 1), '{owner}', {identity}, {NOW}, CONNECTION_ID() FROM {} \
             WHERE name = 'floor' LOCK IN SHARE MODE",
            self.schema.table("meta")
        );
        for sql in [&update, &insert, &update] {
            let parts = self.parts(conn, sql, 1).await?;
            match parts.failed {
                None => {
                    if let Some(set) = parts.sets.first().filter(|set| set.found > 0) {
                        return Ok(set.id);
                    }
                }
                Some(e) if code(&e) == Some(DUPLICATE) => {}
                Some(e) => return Err(running(&e, &self.pool.target.shown, Effect::Write)),
            }
        }
        Err(unexpected("no counter").with("key", &req.key))
    }

    /// The rows whose connection still holds its lock; a killed session leaves its row behind.
    async fn holders(&self, which: &str) -> Result<Vec<(Key, Holder)>> {
        // The row may have been written after this statement began, and numbers here do not go below 0.
        let sql = format!(
            "SELECT k, fence, owner, identity, GREATEST({NOW}, since) - since, connection FROM {} WHERE connection <> 0 AND {which}",
            self.schema.table("sessions")
        );
        let mut found = Vec::new();
        for row in self.pool.one(&sql, Effect::Read).await? {
            let key = Key::from_store(&column(&row, 0)?)?;
            let used = self.pool.one(&format!("SELECT IS_USED_LOCK({})", self.name(&key)), Effect::Read).await?;
            if maybe(used.first(), 0)? == Some(number(Some(&row), 5)?) {
                found.push((key, holder(&row)?));
            }
        }
        Ok(found)
    }
}

/// FNV-1a over 64 bits, of namespace, a zero byte and name. **Do not change it: two versions of Stanchion with different
/// names would both hold one lock.**
fn fnv(namespace: &str, name: &str, salt: u8) -> u64 {
    let bytes = [salt].into_iter().chain(namespace.bytes()).chain([0]).chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn holder(row: &Row) -> Result<Holder> {
    let mut holder = Holder::new(Identity::decode(&column(row, 3)?));
    let owner: Option<Owner> = column(row, 2)?.parse().ok();
    let fence = number(Some(row), 1)?;
    holder.fence = owner.map(|owner| FencingToken::new(fence, owner));
    holder.held_for = maybe(Some(row), 4).ok().flatten().map(Duration::from_micros);
    Ok(holder)
}

impl SessionLocks {
    pub(crate) fn new(pool: Arc<Pool>, schema: Schema, capability: Capability, tidy: Arc<Tidy>) -> Self {
        let (held, spare) = (Mutex::default(), Mutex::default());
        Self { inner: Arc::new(Inner { pool, schema, capability, held, spare, tidy }) }
    }
}

#[async_trait]
impl LockBackend for SessionLocks {
    fn capability(&self) -> Capability {
        self.inner.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        exclusive(req.mode)?;
        let inner = &self.inner;
        let grant = |fence| Grant::new(req.key.clone(), owner, FencingToken::new(fence, owner), req.mode, req.ttl);
        let waited = open(&inner.held).remove(&owner);
        let conn = match waited {
            Some(Held { conn, fence: Some(fence) }) => {
                // Asked again: the same grant, if its session still lives.
                let sql = format!("SELECT IS_USED_LOCK({}) = CONNECTION_ID()", inner.name(&req.key));
                if inner.first(&conn, &sql).await.is_ok_and(|lives| lives == Some(1)) {
                    open(&inner.held).insert(owner, Held { conn, fence: Some(fence) });
                    return Ok(grant(fence));
                }
                return Err(lost(&inner.pool.target.shown, Effect::Write));
            }
            Some(Held { conn, fence: None }) => conn,
            None => {
                let conn = session(inner.connection().await?);
                // If this future is dropped or the answer is lost, the connection closes and takes the lock with it.
                if inner.first(&conn, &format!("SELECT GET_LOCK({}, 0)", inner.name(&req.key))).await? != Some(1) {
                    inner.keep(conn);
                    let found = inner.holders(&format!("k = {}", text(req.key.as_str()))).await?;
                    return Err(contended(&req.key, found.into_iter().next().map(|(_, holder)| holder)));
                }
                conn
            }
        };
        let fence = inner.draw(&conn, req, owner).await?;
        open(&inner.held).insert(owner, Held { conn, fence: Some(fence) });
        inner.tidy.sometimes();
        Ok(grant(fence))
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        exclusive(req.mode)?;
        let (answer, granted) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        let mut conn = inner.connection().await?;
        let left = until.saturating_duration_since(Instant::now()).min(WAIT_MAX);
        let sql = format!("SELECT GET_LOCK({}, {:.3})", inner.name(&req.key), left.as_secs_f64().max(0.001));
        let id = conn.id();
        let stop = Cancel { inner: Arc::clone(&inner), id: Some(id) };
        // In a task of its own: a caller who gives up must not leave a lock with a connection nobody looks at.
        tokio::spawn(async move {
            let parts = timeout(left + inner.pool.target.timeout, ask(&mut conn, sql.as_bytes(), 1)).await;
            let got = match parts {
                Ok(Parts { failed: None, sets }) => {
                    Ok(matches!(maybe(sets.first().and_then(|s| s.rows.first()), 0), Ok(Some(1))))
                }
                Ok(Parts { failed: Some(e), .. }) => Err(running(&e, &inner.pool.target.shown, Effect::Read)),
                Err(_) => Err(lost(&inner.pool.target.shown, Effect::Read)),
            };
            // If nobody receives it, the connection is dropped with it, and the lock ends with the session.
            drop(answer.send(got.map(|got| (got, conn))));
        });
        let answered = granted.await;
        stop.done();
        let (got, conn) = answered.map_err(|_| lost(&self.inner.pool.target.shown, Effect::Read))??;
        let conn = session(conn);
        if got {
            open(&self.inner.held).insert(owner, Held { conn, fence: None });
        } else {
            self.inner.keep(conn);
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
        let Some(held) = open(&self.inner.held).get(&grant.owner).cloned() else { return Renewal::Lost };
        let sql = format!("SELECT IS_USED_LOCK({}) = CONNECTION_ID()", self.inner.name(&grant.key));
        match self.inner.parts(&held.conn, &sql, 1).await {
            Ok(Parts { failed: None, sets })
                if matches!(maybe(sets.first().and_then(|set| set.rows.first()), 0), Ok(Some(1))) =>
            {
                Renewal::Renewed
            }
            // The session is over, and the server frees its locks; or it owes an answer, and is closed, which ends it.
            Ok(_) | Err(_) => {
                open(&self.inner.held).remove(&grant.owner);
                Renewal::Lost
            }
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let Some(held) = open(&self.inner.held).remove(&grant.owner) else { return Ok(Released::NotHeld) };
        let sql = format!(
            "UPDATE {} SET connection = 0, since = {NOW} WHERE k = {} AND owner = '{}'; SELECT RELEASE_LOCK({})",
            self.inner.schema.table("sessions"),
            text(grant.key.as_str()),
            grant.owner.to_hex(),
            self.inner.name(&grant.key)
        );
        let parts = self.inner.parts(&held.conn, &sql, 2).await?;
        match parts.failed {
            None if matches!(maybe(parts.sets.get(1).and_then(|set| set.rows.first()), 0), Ok(Some(1))) => {
                self.inner.keep(held.conn);
                Ok(Released::Released)
            }
            // It may have ended before this or by this: a connection that breaks does not say.
            Some(e) if code(&e) != Some(KILLED) => Err(running(&e, &self.inner.pool.target.shown, Effect::Write)),
            // It ended with its connection, before this.
            _ => Ok(Released::NotHeld),
        }
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let which = format!("{} ORDER BY k LIMIT {}", range(prefix, &page), limit(&page));
        let found = self.inner.holders(&which).await?;
        Ok(found
            .into_iter()
            .map(|(key, holder)| {
                let mut info = LockInfo::new(key);
                info.holders.push(holder);
                info
            })
            .collect())
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let hint = format!(
            "end the holder's process, or its session: KILL the connection that {} names for the key",
            self.inner.schema.table("sessions")
        );
        Err(Error::new(ErrorKind::Unsupported, "a lock of GET_LOCK ends only with its session")
            .with("key", key)
            .hint(hint))
    }
}

/// Ends a blocked wait when the waiter goes away: the server would notice a closed connection late.
struct Cancel {
    inner: Arc<Inner>,
    id: Option<u32>,
}

impl Cancel {
    fn done(mut self) {
        self.id = None;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let inner = Arc::clone(&self.inner);
            runtime.spawn(async move {
                let sql = format!("KILL QUERY {id}");
                if let Err(e) = inner.pool.parts(sql.as_bytes(), 1, Effect::Read).await {
                    tracing::debug!(error = %e, "a wait could not be ended; it ends by itself");
                }
            });
        }
    }
}
