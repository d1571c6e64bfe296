//! Records in one table.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, Times, VALUE_MAX_BYTES,
    Version, refused,
};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::error::Effect;
use super::hash;
use super::lease::{millis, since};
use super::listen::{Ears, Listener};
use super::pool::{Param, Pool, column};
use super::range::{limit, lower, upper};
use super::schema::Schema;

/// A watch is renewed at least this often; a change that went unheard is seen then.
const ROUND: Duration = Duration::from_secs(10);

pub(super) const READ: &str = "SELECT key, value, version, fence, nonce, (extract(epoch FROM written) * 1000)::bigint AS written_ms, \
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms FROM stanchion.records \
    WHERE value IS NOT NULL AND (expires IS NULL OR expires > clock_timestamp())";

/// Records in PostgreSQL.
#[derive(Debug)]
pub(crate) struct PostgresStore {
    pool: Arc<Pool>,
    listener: Arc<Listener>,
    namespace: String,
    capability: Capability,
    sql: Statements,
}

#[derive(Debug)]
struct Statements {
    get: String,
    put: String,
    delete: String,
    touch: String,
    scan: String,
    watch: String,
}

impl PostgresStore {
    pub(crate) fn new(pool: Arc<Pool>, listener: Arc<Listener>, schema: &Schema, capability: Capability) -> Self {
        let sql = Statements {
            get: schema.sql(&format!("{READ} AND key = $1")),
            put: schema.sql("SELECT * FROM stanchion.record_put($1, $2, $3, $4, $5, $6, $7, $8)"),
            delete: schema.sql("SELECT * FROM stanchion.record_delete($1, $2, $3, $4, $5, $6)"),
            touch: schema.sql("SELECT * FROM stanchion.record_touch($1, $2, $3)"),
            scan: schema.sql(&format!(
                "{READ} AND key >= $1 AND ($2::text IS NULL OR key < $2) AND ($3::text IS NULL OR key > $3) ORDER BY key LIMIT $4"
            )),
            watch: schema.sql("SELECT * FROM stanchion.record_watch($1, $2, $3)"),
        };
        Self { pool, listener, namespace: schema.name().to_owned(), capability, sql }
    }

    fn hash(&self, key: &Key) -> u64 {
        hash::number(&self.namespace, key.as_str())
    }

    /// Looks, and asks to be told of the next write. `None`: it has changed. Else when it will, at the latest.
    async fn watch(&self, key: &Key, since_version: Option<i64>, time: Duration) -> Result<Option<Duration>> {
        let ms = millis(time);
        let params: [Param<'_>; 3] = [(&key.as_str(), Type::TEXT), (&since_version, Type::INT8), (&ms, Type::INT8)];
        let row = self.pool.one(&self.sql.watch, &params, Effect::Read).await?;
        if column::<bool>(&row, "changed")? {
            return Ok(None);
        }
        Ok(Some(column::<Option<i64>>(&row, "left_ms")?.map_or(time, |ms| since(ms + 1).min(time))))
    }
}

/// A condition as the functions take it.
pub(super) struct Condition {
    pub(super) kind: i32,
    pub(super) version: i64,
    pub(super) fence: i64,
    pub(super) nonce: i64,
}

impl From<Cond> for Condition {
    fn from(cond: Cond) -> Self {
        let none = Self { kind: 0, version: 0, fence: 0, nonce: 0 };
        match cond {
            Cond::Absent => none,
            Cond::Version(version) => Self { kind: 1, version: version.get().cast_signed(), ..none },
            Cond::Fence(token) => Self { kind: 2, fence: number(&token), nonce: token.nonce().cast_signed(), ..none },
        }
    }
}

/// By which name watchers are told of a write.
pub(super) fn watch_name(namespace: &str, key: &Key) -> String {
    format!("{:016x}", hash::number(namespace, key.as_str()))
}

pub(super) fn check_size(key: &Key, value: &[u8]) -> Result<()> {
    if value.len() <= VALUE_MAX_BYTES {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, "the value is larger than 16 MiB").with("key", key).with("bytes", value.len()))
}

/// Tokens above PostgreSQL's largest number cannot have come from it; they stay above all others.
fn number(token: &FencingToken) -> i64 {
    i64::try_from(token.number()).unwrap_or(i64::MAX)
}

fn token(row: &Row, fence: &'static str, nonce: &'static str) -> Result<Option<FencingToken>> {
    let parts = column::<Option<i64>>(row, fence)?.zip(column::<Option<i64>>(row, nonce)?);
    Ok(parts.map(|(n, nonce)| FencingToken::from_parts(n.cast_unsigned(), nonce.cast_unsigned())))
}

pub(super) fn record(row: &Row) -> Result<Record> {
    let ms = |name| Ok::<u64, Error>(column::<i64>(row, name)?.max(0).cast_unsigned());
    Ok(Record {
        value: Bytes::copy_from_slice(column(row, "value")?),
        version: Version::new(column::<i64>(row, "version")?.cast_unsigned()),
        fence: token(row, "fence", "nonce")?,
        times: Some(Times { written_ms: ms("written_ms")?, now_ms: ms("now_ms")? }),
    })
}

/// The refusal in a function's answer, if it is one.
fn check(row: &Row, key: &Key, cond: Cond) -> Result<()> {
    match (column::<i32>(row, "status")?, cond) {
        (0, _) => Ok(()),
        (2, Cond::Fence(asked)) => Err(refused(key, asked, token(row, "seen_fence", "seen_nonce")?)),
        _ => {
            let found = column::<Option<i64>>(row, "version")?.map_or_else(|| "absent".to_owned(), |v| v.to_string());
            Err(Error::new(ErrorKind::Conflict, "the record is not what the condition says")
                .with("key", key)
                .with("found", found))
        }
    }
}

/// The arguments of `record_put`.
pub(super) struct Put<'a> {
    key: &'a str,
    value: &'a [u8],
    cond: Condition,
    ttl: Option<i64>,
    hash: String,
}

impl<'a> Put<'a> {
    pub(super) fn new(namespace: &str, key: &'a Key, value: &'a [u8], cond: Cond, ttl: Option<Duration>) -> Self {
        let (cond, ttl, hash) = (Condition::from(cond), ttl.map(millis), watch_name(namespace, key));
        Self { key: key.as_str(), value, cond, ttl, hash }
    }

    pub(super) fn params(&self) -> [Param<'_>; 8] {
        [
            (&self.key, Type::TEXT),
            (&self.value, Type::BYTEA),
            (&self.cond.kind, Type::INT4),
            (&self.cond.version, Type::INT8),
            (&self.cond.fence, Type::INT8),
            (&self.cond.nonce, Type::INT8),
            (&self.ttl, Type::INT8),
            (&self.hash, Type::TEXT),
        ]
    }
}

#[async_trait]
impl RecordStore for PostgresStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let rows = self.pool.run(&self.sql.get, &[(&key.as_str(), Type::TEXT)], Effect::Read).await?;
        rows.first().map(record).transpose()
    }

    async fn touch(&self, key: &Key, token_: &FencingToken) -> Result<Option<Record>> {
        let (fence, nonce) = (number(token_), token_.nonce().cast_signed());
        let params: [Param<'_>; 3] = [(&key.as_str(), Type::TEXT), (&fence, Type::INT8), (&nonce, Type::INT8)];
        let row = self.pool.one(&self.sql.touch, &params, Effect::Write).await?;
        match column::<i32>(&row, "status")? {
            0 => Ok(None),
            1 => record(&row).map(Some),
            _ => Err(refused(key, *token_, token(&row, "fence", "nonce")?)),
        }
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        check_size(key, &value)?;
        let put = Put::new(&self.namespace, key, &value, cond, ttl);
        let row = self.pool.one(&self.sql.put, &put.params(), Effect::Write).await?;
        check(&row, key, cond)?;
        Ok(Version::new(column::<i64>(&row, "version")?.cast_unsigned()))
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let (c, hash) = (Condition::from(cond), watch_name(&self.namespace, key));
        let params: [Param<'_>; 6] = [
            (&key.as_str(), Type::TEXT),
            (&c.kind, Type::INT4),
            (&c.version, Type::INT8),
            (&c.fence, Type::INT8),
            (&c.nonce, Type::INT8),
            (&hash, Type::TEXT),
        ];
        check(&self.pool.one(&self.sql.delete, &params, Effect::Write).await?, key, cond)
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let (upper, after) = (upper(prefix), page.after.as_ref().map(Key::as_str));
        let params: [Param<'_>; 4] =
            [(&lower(prefix), Type::TEXT), (&upper, Type::TEXT), (&after, Type::TEXT), (&limit(&page), Type::INT8)];
        let rows = self.pool.run(&self.sql.scan, &params, Effect::Read).await?;
        rows.iter().map(|row| Ok((Key::from_store(column::<&str>(row, "key")?)?, record(row)?))).collect()
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let since = since.map(|v| v.get().cast_signed());
        let watch = self.listener.board().watch(self.hash(key));
        loop {
            let ears = self.listener.ensure().await;
            let told = watch.bell.notified();
            tokio::pin!(told);
            // Listening begins before the look, so a write in between is not missed.
            told.as_mut().enable();
            let left = until.saturating_duration_since(Instant::now());
            let round = if ears == Ears::Listening { ROUND } else { Duration::from_millis(100) };
            let Some(next) = self.watch(key, since, left.min(round)).await? else { return Ok(()) };
            let end = until.min(Instant::now() + next);
            let heard = tokio::time::timeout_at(end, told).await.is_ok();
            if heard || end == until {
                return Ok(());
            }
        }
    }
}
