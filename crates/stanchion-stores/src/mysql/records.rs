//! Records in one table. A write is one statement; its version is the row's own next number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mysql_async::Row;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, Times, VALUE_MAX_BYTES,
    Version, refused,
};
use tokio::time::Instant;

use super::board::open;
use super::ear::Ear;
use super::error::{DUPLICATE, Effect, code, is_rollback, running, too_large, unexpected};
use super::pool::{Pool, Set, bytes as blob, maybe, number};
use super::row::micros;
use super::schema::Schema;
use super::text::{self, NOW, limit, range};
use super::tidy::Tidy;

/// A watch is renewed at least this often; a change that went unheard is seen then.
const ROUND: Duration = Duration::from_secs(3);
/// How long a watch stands in the table: longer than a round, so that most rounds write nothing.
const WATCH: Duration = Duration::from_secs(60);
/// What a statement needs beside its value.
const OVERHEAD: usize = 4096;

/// Records in MySQL and MariaDB.
#[derive(Debug)]
pub(crate) struct Records {
    pool: Arc<Pool>,
    ear: Arc<Ear>,
    schema: Schema,
    capability: Capability,
    /// The server's limit for one statement.
    packet: usize,
    /// Which keys' watches stand in the table, and until when they need no renewal.
    watched: Mutex<HashMap<Key, Instant>>,
    tidy: Arc<Tidy>,
}

impl Records {
    pub(crate) fn new(
        pool: Arc<Pool>,
        ear: Arc<Ear>,
        schema: Schema,
        capability: Capability,
        packet: usize,
        tidy: Arc<Tidy>,
    ) -> Self {
        Self { pool, ear, schema, capability, packet, watched: Mutex::default(), tidy }
    }

    fn table(&self) -> String {
        self.schema.table("records")
    }

    /// All columns; the time that judges expiry is the one that is shown.
    fn select(&self) -> String {
        format!(
            "SELECT k, value, version, fence, nonce, written DIV 1000, {NOW} DIV 1000, \
             value IS NOT NULL AND (expires IS NULL OR expires > {NOW}), expires, {NOW} FROM {}",
            self.table()
        )
    }

    /// Who is to be told of a change of `key`; the last statement of a write.
    fn watchers(&self, key: &str) -> String {
        format!("; SELECT ear FROM {} WHERE k = {key} AND ends > {NOW}", self.schema.table("watches"))
    }

    /// A write and the look at who watches. The write is the answer: it is committed before the look, which only costs the
    /// watchers a heartbeat if it fails.
    async fn write(&self, sql: &[u8]) -> Result<Vec<Set>> {
        let mut tries = 0;
        loop {
            let parts = self.pool.parts(sql, 2, Effect::Write).await?;
            match parts.failed {
                Some(e) if parts.sets.is_empty() && is_rollback(&e) && tries < 10 => tries += 1,
                Some(e) if parts.sets.is_empty() => return Err(running(&e, &self.pool.target.shown, Effect::Write)),
                Some(e) => {
                    tracing::debug!(error = %e, "nobody is told of a change; watchers look by themselves");
                    return Ok(parts.sets);
                }
                None => return Ok(parts.sets),
            }
        }
    }

    /// Calls those who watch.
    async fn tell(&self, watchers: Option<&Set>) {
        self.tidy.sometimes();
        let Some(set) = watchers.filter(|set| !set.rows.is_empty()) else { return };
        let ears: Vec<u64> = set.rows.iter().filter_map(|row| number(Some(row), 0).ok()).collect();
        if ears.contains(&self.ear.number) {
            self.ear.board.news.notify_one();
        }
        let others: Vec<u64> = ears.into_iter().filter(|ear| *ear != self.ear.number).collect();
        self.ear.ring(others).await;
    }

    async fn row(&self, key: &Key) -> Result<Option<Row>> {
        let sql = format!("{} WHERE k = {}", self.select(), text::text(key.as_str()));
        Ok(self.pool.one(&sql, Effect::Read).await?.into_iter().next())
    }

    /// Why a condition did not hold.
    async fn why(&self, key: &Key, cond: Cond) -> Error {
        let row = match self.row(key).await {
            Ok(row) => row,
            // What counts is certain: nothing was written.
            Err(e) => {
                return Error::new(ErrorKind::Conflict, "the record is not what the condition says")
                    .with("key", key)
                    .because(e);
            }
        };
        if let Cond::Fence(asked) = cond {
            let seen = row.as_ref().and_then(|row| token(row).ok().flatten());
            if seen != Some(asked) {
                return refused(key, asked, seen);
            }
        }
        let live = row.as_ref().and_then(|row| live(row).ok().flatten());
        Error::new(ErrorKind::Conflict, "the record is not what the condition says")
            .with("key", key)
            .with("found", live.map_or_else(|| "absent".to_owned(), |record| record.version.get().to_string()))
    }

    /// A condition on a row that is there.
    fn holds(cond: Cond) -> String {
        let lives = format!("value IS NOT NULL AND (expires IS NULL OR expires > {NOW})");
        match cond {
            Cond::Absent => format!("(value IS NULL OR expires <= {NOW})"),
            Cond::Version(version) => format!("version = {} AND {lives}", version.get()),
            Cond::Fence(token) => format!("fence = {} AND nonce = {}", token.number(), token.nonce()),
        }
    }

    /// The first row of a key. `None`: it has one.
    async fn insert(&self, sql: &[u8], count: usize) -> Result<Option<Vec<Set>>> {
        let parts = self.pool.parts(sql, count, Effect::Write).await?;
        match parts.failed {
            _ if parts.sets.first().is_some_and(|set| set.found == 0) => {
                Err(unexpected("no floor").hint("open the store again"))
            }
            None => Ok(Some(parts.sets)),
            // The row is committed; only the look at who watches failed.
            Some(_) if !parts.sets.is_empty() => Ok(Some(parts.sets)),
            Some(e) if code(&e) == Some(DUPLICATE) || is_rollback(&e) => Ok(None),
            Some(e) => Err(running(&e, &self.pool.target.shown, Effect::Write)),
        }
    }

    fn check_size(&self, key: &Key, value: &[u8]) -> Result<()> {
        if value.len() > VALUE_MAX_BYTES {
            return Err(Error::new(ErrorKind::Invalid, "the value is larger than 16 MiB")
                .with("key", key)
                .with("bytes", value.len()));
        }
        let quoted = value.len() + value.iter().filter(|b| matches!(b, b'\'' | b'\\' | 0)).count();
        if quoted + OVERHEAD > self.packet {
            return Err(too_large(Some(self.packet)).with("key", key).with("bytes", value.len()));
        }
        Ok(())
    }

    /// Stands in the table of watches for a while.
    async fn register(&self, key: &Key) -> Result<()> {
        let now = Instant::now();
        {
            let mut watched = open(&self.watched);
            if watched.get(key).is_some_and(|until| *until > now) {
                return Ok(());
            }
            watched.retain(|_, until| *until > now);
        }
        let sql = format!(
            "INSERT INTO {} (k, ear, ends) VALUES ({}, {}, {NOW} + {}) ON DUPLICATE KEY UPDATE ends = VALUES(ends)",
            self.schema.table("watches"),
            text::text(key.as_str()),
            self.ear.number,
            micros(WATCH)
        );
        // Writing it twice does no harm, so this counts as a look.
        self.pool.run(&sql, 1, Effect::Read).await?;
        open(&self.watched).insert(key.clone(), now + WATCH / 2);
        Ok(())
    }
}

fn token(row: &Row) -> Result<Option<FencingToken>> {
    let parts = maybe(Some(row), 3)?.zip(maybe(Some(row), 4)?);
    Ok(parts.map(|(number, nonce)| FencingToken::from_parts(number, nonce)))
}

/// The record, unless it is deleted or expired.
fn live(row: &Row) -> Result<Option<Record>> {
    if number(Some(row), 7)? == 0 {
        return Ok(None);
    }
    Ok(Some(Record {
        value: Bytes::from(blob(row, 1)?.unwrap_or_default()),
        version: Version::new(number(Some(row), 2)?),
        fence: token(row)?,
        times: Some(Times { written_ms: number(Some(row), 5)?, now_ms: number(Some(row), 6)? }),
    }))
}

#[async_trait]
impl RecordStore for Records {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.row(key).await?.as_ref().map_or(Ok(None), live)
    }

    async fn touch(&self, key: &Key, asked: &FencingToken) -> Result<Option<Record>> {
        let (k, table, fence, nonce) = (text::text(key.as_str()), self.table(), asked.number(), asked.nonce());
        let raise = format!(
            "START TRANSACTION; UPDATE {table} SET fence = {fence}, nonce = {nonce} WHERE k = {k} AND \
             (fence IS NULL OR fence < {fence} OR (fence = {fence} AND nonce = {nonce})); {} WHERE k = {k}; COMMIT",
            self.select()
        );
        let first = format!(
            "INSERT INTO {table} (k, version, written, fence, nonce) SELECT {k}, value, {NOW}, {fence}, {nonce} FROM {} \
             WHERE name = 'floor' LOCK IN SHARE MODE",
            self.schema.table("meta")
        );
        // Between the two only `tidy` and another first touch can come, neither again and again.
        for _ in 0..10 {
            let sets = self.pool.transaction(&raise, 4).await?;
            if let Some(row) = sets.get(2).and_then(|set| set.rows.first()) {
                let seen = token(row)?;
                return if seen == Some(*asked) { live(row) } else { Err(refused(key, *asked, seen)) };
            }
            if self.insert(first.as_bytes(), 1).await?.is_some() {
                return Ok(None);
            }
        }
        Err(unexpected("a row that comes and goes").with("key", key))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.check_size(key, &value)?;
        let k = text::text(key.as_str());
        let expires = ttl.map_or_else(|| "NULL".to_owned(), |ttl| format!("{NOW} + {}", micros(ttl)));
        let value = text::bytes(&value);
        let (watchers, table) = (self.watchers(&k), self.table());
        if cond == Cond::Absent {
            let mut sql = format!(
                "INSERT INTO {table} (k, version, written, expires, value) SELECT {k}, \
                 LAST_INSERT_ID(value + 1), {NOW}, {expires}, "
            )
            .into_bytes();
            sql.extend(&value);
            let meta = self.schema.table("meta");
            sql.extend(format!(" FROM {meta} WHERE name = 'floor' LOCK IN SHARE MODE{watchers}").bytes());
            if let Some(sets) = self.insert(&sql, 2).await? {
                self.tell(sets.get(1)).await;
                return Ok(Version::new(sets.first().map_or(0, |set| set.id)));
            }
        }
        let mut sql = format!("UPDATE {table} SET version = LAST_INSERT_ID(version + 1), value = ").into_bytes();
        sql.extend(&value);
        // `holds` reads the old values: assignments come after the condition has found its row.
        sql.extend(
            format!(", written = {NOW}, expires = {expires} WHERE k = {k} AND {}{watchers}", Self::holds(cond)).bytes(),
        );
        let sets = self.write(&sql).await?;
        match sets.first() {
            Some(set) if set.found > 0 => {
                self.tell(sets.get(1)).await;
                Ok(Version::new(set.id))
            }
            _ => Err(self.why(key, cond).await),
        }
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        if cond == Cond::Absent {
            return Err(self.why(key, cond).await);
        }
        let k = text::text(key.as_str());
        let sql = format!(
            "UPDATE {} SET version = version + 1, value = NULL, written = {NOW}, expires = NULL WHERE k = {k} AND {} \
             AND value IS NOT NULL{}",
            self.table(),
            Self::holds(cond),
            self.watchers(&k)
        );
        let sets = self.write(sql.as_bytes()).await?;
        match sets.first() {
            Some(set) if set.found > 0 => {
                self.tell(sets.get(1)).await;
                Ok(())
            }
            _ => Err(self.why(key, cond).await),
        }
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let sql = format!(
            "{} WHERE {} AND value IS NOT NULL AND (expires IS NULL OR expires > {NOW}) ORDER BY k LIMIT {}",
            self.select(),
            range(prefix, &page),
            limit(&page)
        );
        let mut found = Vec::new();
        for row in self.pool.one(&sql, Effect::Read).await? {
            let key = Key::from_store(&super::pool::text(&row, 0)?)?;
            found.extend(live(&row)?.map(|record| (key, record)));
        }
        Ok(found)
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let since = since.map(Version::get);
        loop {
            // Standing in the table comes before the look, so a write in between is not missed.
            self.register(key).await?;
            let row = self.row(key).await?;
            let found = row.as_ref().map_or(Ok(None), live)?.map(|record| record.version.get());
            if found != since {
                return Ok(());
            }
            let now = Instant::now();
            let hears = self.ear.ensure();
            let round = if hears { ROUND } else { Duration::from_millis(100) };
            let mut end = until.min(now + round);
            if let Some(row) = &row
                && let (Some(_), Some(expires)) = (found, maybe(Some(row), 8)?)
            {
                let left = expires.saturating_sub(number(Some(row), 9)?) + 1000;
                end = end.min(now + Duration::from_micros(left));
            }
            let watch = self.ear.board.watch(key, since);
            let heard = tokio::time::timeout_at(end, watch.bell.notified()).await.is_ok();
            if heard || end == until {
                return Ok(());
            }
        }
    }
}
