//! The statements: each operation of a record store on an open transaction.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use stanchion_core::{
    Cond, Error, ErrorKind, FencingToken, Key, Page, Record, Result, Times, VALUE_MAX_BYTES, Version, planted, refused,
};

use super::time::{StoreClock, wall_ms};
use crate::file::checksum;

/// How many expired records one transaction clears away, at most.
const REAP: u32 = 16;

pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS stanchion_meta (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema INTEGER NOT NULL,
  version INTEGER NOT NULL,
  boot TEXT NOT NULL,
  offset_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  last_wall_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS stanchion_records (
  key TEXT PRIMARY KEY NOT NULL,
  version INTEGER NOT NULL,
  written_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  fence INTEGER,
  nonce INTEGER,
  value_sum INTEGER,
  sum INTEGER NOT NULL,
  value BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS stanchion_expiring ON stanchion_records (expires_ms) WHERE expires_ms IS NOT NULL;
";

/// Why an operation ended: refused by its condition (nothing was written), or by the database.
#[derive(Debug)]
pub(super) enum Fail {
    Refused(Error),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Fail {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sql(e)
    }
}

impl From<Error> for Fail {
    fn from(e: Error) -> Self {
        Self::Refused(e)
    }
}

pub(super) type Done<T> = Result<T, Fail>;

/// A row without its value. `value_sum` is `None` for a row that only keeps the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    version: i64,
    written_ms: i64,
    expires_ms: Option<i64>,
    fence: Option<FencingToken>,
    value_sum: Option<i64>,
}

const HEAD: &str = "version, written_ms, expires_ms, fence, nonce, value_sum, sum";

impl Head {
    const FENCE_ONLY: Self = Self { version: 0, written_ms: 0, expires_ms: None, fence: None, value_sum: None };

    /// SQLite has checksums neither for pages nor for rows: a flipped byte would be served as data.
    fn sum(&self, key: &str) -> i64 {
        let (number, nonce) = self.fence.map_or((0, 0), |fence| (fence.number(), fence.nonce()));
        let flags = i64::from(self.expires_ms.is_some())
            | i64::from(self.fence.is_some()) << 1
            | i64::from(self.value_sum.is_some()) << 2;
        let parts = [
            self.version,
            self.written_ms,
            self.expires_ms.unwrap_or(0),
            number.cast_signed(),
            nonce.cast_signed(),
            self.value_sum.unwrap_or(0),
            flags,
        ];
        let mut bytes = Vec::with_capacity(key.len() + 56);
        bytes.extend_from_slice(key.as_bytes());
        parts.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
        checksum(&bytes).cast_signed()
    }

    fn read(row: &Row<'_>, first: usize, key: &str) -> Done<Self> {
        let (number, nonce): (Option<i64>, Option<i64>) = (row.get(first + 3)?, row.get(first + 4)?);
        let head = Self {
            version: row.get(first)?,
            written_ms: row.get(first + 1)?,
            expires_ms: row.get(first + 2)?,
            fence: number.zip(nonce).map(|(n, o)| FencingToken::from_parts(n.cast_unsigned(), o.cast_unsigned())),
            value_sum: row.get(first + 5)?,
        };
        if head.sum(key) != row.get::<_, i64>(first + 6)? {
            return Err(damaged_row(key).into());
        }
        Ok(head)
    }

    fn is_live(&self, now: i64) -> bool {
        self.value_sum.is_some() && self.expires_ms.is_none_or(|at| now < at)
    }

    fn check(&self, key: &Key, cond: Cond, now: i64) -> Result<()> {
        let found = self.is_live(now).then_some(self.version.cast_unsigned());
        match (cond, found) {
            (Cond::Version(_), Some(_)) if planted!("version-not-in-where") => Ok(()),
            (Cond::Absent, None) => Ok(()),
            (Cond::Version(expected), Some(found)) if expected.get() == found => Ok(()),
            (Cond::Absent | Cond::Version(_), found) => Err(conflict(key, found)),
            (Cond::Fence(token), _) if self.fence == Some(token) => Ok(()),
            (Cond::Fence(token), _) => Err(refused(key, token, self.fence)),
        }
    }

    fn record(&self, key: &str, value: Option<Vec<u8>>, now: i64) -> Done<Option<Record>> {
        if !self.is_live(now) {
            return Ok(None);
        }
        let value = value.unwrap_or_default();
        if self.value_sum != Some(checksum(&value).cast_signed()) {
            return Err(damaged_row(key).into());
        }
        let times = Times { written_ms: self.written_ms.max(0).cast_unsigned(), now_ms: now.max(0).cast_unsigned() };
        Ok(Some(Record {
            value: Bytes::from(value),
            version: Version::new(self.version.cast_unsigned()),
            fence: self.fence,
            times: Some(times),
        }))
    }
}

pub(super) struct Rows<'a> {
    pub(super) db: &'a Connection,
    pub(super) clock: &'a mut StoreClock,
}

impl Rows<'_> {
    pub(super) fn get(&mut self, key: &Key) -> Done<Option<Record>> {
        let now = self.clock.now_ms();
        match self.whole(key)? {
            Some((head, value)) => {
                self.clock.seen(head.written_ms);
                head.record(key.as_str(), value, now.max(head.written_ms))
            }
            None => Ok(None),
        }
    }

    /// The version of a live record.
    pub(super) fn version(&mut self, key: &Key) -> Done<Option<Version>> {
        let now = self.clock.now_ms();
        Ok(self.head(key)?.filter(|head| head.is_live(now)).map(|head| Version::new(head.version.cast_unsigned())))
    }

    pub(super) fn touch(&mut self, key: &Key, token: FencingToken) -> Done<Option<Record>> {
        let now = self.clock.now_ms();
        let (mut head, value) = self.whole(key)?.unwrap_or((Head::FENCE_ONLY, None));
        if !token.supersedes(head.fence.as_ref()) {
            return Err(refused(key, token, head.fence).into());
        }
        if head.fence != Some(token) {
            head.fence = Some(token);
            let sql = "INSERT INTO stanchion_records (key, version, written_ms, fence, nonce, sum) VALUES (?1, 0, 0, ?2, ?3, ?4)
                       ON CONFLICT (key) DO UPDATE SET fence = ?2, nonce = ?3, sum = ?4";
            let (number, nonce) = (token.number().cast_signed(), token.nonce().cast_signed());
            self.db.prepare_cached(sql)?.execute(params![key.as_str(), number, nonce, head.sum(key.as_str())])?;
        }
        head.record(key.as_str(), value, now)
    }

    pub(super) fn put(&mut self, key: &Key, value: &[u8], cond: Cond, ttl: Option<Duration>) -> Done<Version> {
        let found = self.check(key, cond)?;
        self.put_over(key, found, value, ttl)
    }

    /// What stands under the key, if the condition holds of it.
    pub(super) fn check(&mut self, key: &Key, cond: Cond) -> Done<Head> {
        let found = self.head(key)?.unwrap_or(Head::FENCE_ONLY);
        found.check(key, cond, self.clock.now_ms())?;
        Ok(found)
    }

    /// Writes over what [`check`](Self::check) found in the same transaction.
    pub(super) fn put_over(&mut self, key: &Key, found: Head, value: &[u8], ttl: Option<Duration>) -> Done<Version> {
        if value.len() > VALUE_MAX_BYTES {
            return Err(Error::new(ErrorKind::Invalid, "the value is larger than 16 MiB").with("key", key).into());
        }
        let now = self.clock.now_ms();
        let (version, last_ms): (i64, i64) = self
            .db
            .prepare_cached(
                "UPDATE stanchion_meta SET version = version + 1, last_ms = max(last_ms, ?1), last_wall_ms = ?2 RETURNING version, last_ms",
            )?
            .query_row(params![now, wall_ms()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.clock.seen(last_ms);
        let ttl_ms = ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX).max(1));
        let head = Head {
            version,
            written_ms: last_ms,
            expires_ms: ttl_ms.map(|ttl| last_ms.saturating_add(ttl)),
            fence: found.fence,
            value_sum: Some(checksum(value).cast_signed()),
        };
        self.write(key, &head, Some(value))?;
        Ok(Version::new(version.cast_unsigned()))
    }

    pub(super) fn delete(&mut self, key: &Key, cond: Cond) -> Done<()> {
        let now = self.clock.now_ms();
        let found = self.head(key)?.unwrap_or(Head::FENCE_ONLY);
        found.check(key, cond, now)?;
        if !found.is_live(now) {
            return Err(conflict(key, None).into());
        }
        self.forget(key.as_str(), &found)
    }

    pub(super) fn scan(&mut self, prefix: &str, page: &Page) -> Done<Vec<(Key, Record)>> {
        let now = self.clock.now_ms();
        let after = page.after.as_ref().map_or("", Key::as_str);
        // All of users' keys begin behind our own, which begin with a control character.
        let first = if prefix.is_empty() { " " } else { prefix };
        let start = first.max(after);
        let sql = format!(
            "SELECT key, value, {HEAD} FROM stanchion_records WHERE key >= ?1 AND value_sum IS NOT NULL ORDER BY key"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let (mut rows, mut found) = (statement.query([start])?, Vec::new());
        while found.len() < page.limit {
            let Some(row) = rows.next()? else { break };
            let key: String = row.get(0)?;
            if !key.starts_with(prefix) {
                break;
            }
            if key == after {
                continue;
            }
            let head = Head::read(row, 2, &key)?;
            let stored = stored_key(&key)?;
            if let Some(record) = head.record(&key, row.get(1)?, now)?.filter(|_| stored.is_listed_under(prefix)) {
                found.push((stored, record));
            }
        }
        Ok(found)
    }

    /// Clears some expired records away.
    pub(super) fn reap(&mut self) -> Done<()> {
        let now = self.clock.now_ms();
        let sql = format!("SELECT key, {HEAD} FROM stanchion_records WHERE expires_ms <= ?1 LIMIT ?2");
        let mut statement = self.db.prepare_cached(&sql)?;
        let (mut rows, mut expired) = (statement.query(params![now, REAP])?, Vec::new());
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            // A damaged row is left for its reader to find.
            if let Ok(head) = Head::read(row, 1, &key) {
                expired.push((key, head));
            }
        }
        expired.iter().try_for_each(|(key, head)| self.forget(key, head))
    }

    /// Removes the value; the fence stays, for it outlives the record.
    fn forget(&self, key: &str, head: &Head) -> Done<()> {
        if head.fence.is_none() {
            self.db.prepare_cached("DELETE FROM stanchion_records WHERE key = ?1")?.execute([key])?;
            return Ok(());
        }
        let left = Head { fence: head.fence, ..Head::FENCE_ONLY };
        let sql = "UPDATE stanchion_records SET version = 0, written_ms = 0, expires_ms = NULL, value_sum = NULL, value = NULL, sum = ?2
                   WHERE key = ?1";
        self.db.prepare_cached(sql)?.execute(params![key, left.sum(key)])?;
        Ok(())
    }

    fn write(&self, key: &Key, head: &Head, value: Option<&[u8]>) -> Done<()> {
        let sql = "INSERT INTO stanchion_records (key, version, written_ms, expires_ms, fence, nonce, value_sum, sum, value)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (key) DO UPDATE SET
                   version = ?2, written_ms = ?3, expires_ms = ?4, fence = ?5, nonce = ?6, value_sum = ?7, sum = ?8, value = ?9";
        let fence = head.fence.map(|fence| (fence.number().cast_signed(), fence.nonce().cast_signed()));
        self.db.prepare_cached(sql)?.execute(params![
            key.as_str(),
            head.version,
            head.written_ms,
            head.expires_ms,
            fence.map(|f| f.0),
            fence.map(|f| f.1),
            head.value_sum,
            head.sum(key.as_str()),
            value
        ])?;
        Ok(())
    }

    fn head(&self, key: &Key) -> Done<Option<Head>> {
        let sql = "SELECT version, written_ms, expires_ms, fence, nonce, value_sum, sum FROM stanchion_records WHERE key = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        statement.query_row([key.as_str()], |row| Ok(Head::read(row, 0, key.as_str()))).optional()?.transpose()
    }

    fn whole(&self, key: &Key) -> Done<Option<(Head, Option<Vec<u8>>)>> {
        let sql = "SELECT version, written_ms, expires_ms, fence, nonce, value_sum, sum, value FROM stanchion_records WHERE key = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let row = statement.query_row([key.as_str()], |row| {
            let value: Option<Vec<u8>> = row.get(7)?;
            Ok(Head::read(row, 0, key.as_str()).map(|head| (head, value)))
        });
        row.optional()?.transpose()
    }
}

fn conflict(key: &Key, found: Option<u64>) -> Error {
    let found = found.map_or_else(|| "absent".to_owned(), |version| version.to_string());
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key).with("found", found)
}

fn damaged_row(key: &str) -> Error {
    Error::new(ErrorKind::Damaged, "a record does not match its checksum").with("key", format_args!("{key:?}"))
}

fn stored_key(text: &str) -> Result<Key> {
    Key::from_store(text).map_err(|e| Error::new(ErrorKind::Damaged, "a stored key is not a key").because(e))
}
