//! Forgets keys that nobody has used for an hour, a piece of the tables at a time.
//!
//! A forgotten row takes its numbers with it, so the store's `floor` is lifted to them in the same transaction: the key's
//! next row begins above it. Floors of records (`fence`) stay for ever.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stanchion_core::{Owner, Result};

use super::board::open;
use super::error::Effect;
use super::pool::{Pool, bytes, maybe};
use super::schema::Schema;
use super::text::{self, NOW};

/// Grants and writes between two rounds.
const EVERY: u64 = 4096;
/// Rows looked at in one round, of each table.
const ROWS: usize = 1000;

#[derive(Debug)]
pub(super) struct Tidy {
    pool: Arc<Pool>,
    schema: Schema,
    count: AtomicU64,
    busy: AtomicBool,
    /// Where each table's next round begins.
    cursors: Mutex<[Vec<u8>; 3]>,
}

/// Table, the column of its numbers, and when a row may be forgotten.
const TABLES: [(&str, &str, &str); 3] = [
    ("locks", "fence", "ends < OLD AND since < OLD AND queue IS NULL"),
    ("records", "version", "fence IS NULL AND written < OLD AND (value IS NULL OR expires < OLD)"),
    ("sessions", "fence", "since < OLD AND connection = 0"),
];

impl Tidy {
    pub(super) fn new(pool: Arc<Pool>, schema: Schema) -> Arc<Self> {
        // Anywhere: of many processes that live shortly, some come to a round.
        let count = AtomicU64::new(Owner::random().nonce() % EVERY);
        let (busy, cursors) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { pool, schema, count, busy, cursors })
    }

    /// A round in the background, once in a while.
    pub(super) fn sometimes(self: &Arc<Self>) {
        if self.count.fetch_add(1, Ordering::Relaxed) % EVERY != EVERY - 1 || self.busy.swap(true, Ordering::SeqCst) {
            return;
        }
        let tidy = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(e) = tidy.round("3600000000").await {
                tracing::debug!(error = %e, "old keys were not tidied away");
            }
            tidy.busy.store(false, Ordering::SeqCst);
        });
    }

    /// Forgets what is older than `age` microseconds.
    pub(super) async fn round(&self, age: &str) -> Result<()> {
        let old = format!("({NOW} - {age})");
        for (at, (table, numbers, idle)) in TABLES.into_iter().enumerate() {
            let (name, idle) = (self.schema.table(table), idle.replace("OLD", &old));
            let from = open(&self.cursors)[at].clone();
            let mut sql = format!("SELECT k, {idle} FROM {name} WHERE k > ").into_bytes();
            sql.extend(text::bytes(&from));
            sql.extend(format!(" ORDER BY k LIMIT {ROWS}").bytes());
            let rows = self.pool.run(&sql, 1, Effect::Read).await?.pop().unwrap_or_default().rows;
            let mut keys: Vec<u8> = Vec::new();
            let mut last = Vec::new();
            for row in &rows {
                last = bytes(row, 0)?.unwrap_or_default();
                if maybe(Some(row), 1)? == Some(1) {
                    if !keys.is_empty() {
                        keys.extend(b", ");
                    }
                    keys.extend(text::bytes(&last));
                }
            }
            open(&self.cursors)[at] = if rows.len() < ROWS { Vec::new() } else { last };
            if keys.is_empty() {
                continue;
            }
            let meta = self.schema.table("meta");
            let mut sql = format!(
                "START TRANSACTION; UPDATE {meta} SET value = GREATEST(value, COALESCE((SELECT MAX({numbers}) FROM {name} \
                 WHERE k IN ("
            )
            .into_bytes();
            sql.extend(&keys);
            sql.extend(format!(")), 0)) WHERE name = 'floor'; DELETE FROM {name} WHERE {idle} AND k IN (").bytes());
            sql.extend(&keys);
            sql.extend(b"); COMMIT");
            self.pool.transaction(&sql, 4).await?;
        }
        let watches = self.schema.table("watches");
        self.pool.run(format!("DELETE FROM {watches} WHERE ends < {old} LIMIT {ROWS}"), 1, Effect::Write).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stanchion_core::{Acquire, Cond, Key, Wait};
    use stanchion_testkit::engines::MariaDb;

    use super::*;
    use crate::StoreUrl;
    use crate::mysql::target::Target;

    #[tokio::test]
    async fn a_forgotten_key_begins_above_its_old_numbers() {
        let server = MariaDb::start().await;
        let store = crate::open(&server.url()).await.unwrap();
        let (locks, records, key) = (store.locks, store.records.unwrap(), Key::new("k").unwrap());
        let request = Acquire::new(key.clone()).wait(Wait::No).floor(70);
        let grant = locks.try_acquire(&request, Owner::random()).await.unwrap();
        locks.release(&grant).await.unwrap();
        let version = records.put(&key, "v".into(), Cond::Absent, None).await.unwrap();
        records.delete(&key, Cond::Version(version)).await.unwrap();

        let rev = || server.ask("SELECT rev FROM stanchion_locks").unwrap().trim().parse::<u64>().unwrap();
        let before = rev();
        let pool = Pool::new(Target::take(&mut StoreUrl::parse(&server.url()).unwrap()).unwrap());
        Tidy::new(pool, Schema::new("stanchion_").unwrap()).round("0").await.unwrap();
        let rows = "SELECT (SELECT COUNT(*) FROM stanchion_locks) + (SELECT COUNT(*) FROM stanchion_records)";
        assert_eq!(server.ask(rows).unwrap().trim(), "0", "void: nothing was forgotten");

        let again = locks.try_acquire(&request.floor(0), Owner::random()).await.unwrap();
        assert!(again.fence.number() > grant.fence.number(), "{:?} after {:?}", again.fence, grant.fence);
        // Else one who read the row in its last life, and stood still, could write over this one.
        assert!(rev() > before, "{} after {before}", rev());
        assert!(records.put(&key, "v".into(), Cond::Absent, None).await.unwrap() > version);
    }

    #[test]
    fn short_lives_come_to_a_round_too() {
        let target = || Target::take(&mut StoreUrl::parse("mysql://h/d").unwrap()).unwrap();
        let tidy = || Tidy::new(Pool::new(target()), Schema::new("stanchion_").unwrap());
        let begins: std::collections::BTreeSet<u64> = (0..64).map(|_| tidy().count.load(Ordering::Relaxed)).collect();
        assert!(begins.len() > 32 && begins.iter().all(|begin| *begin < EVERY), "{begins:?}");
    }
}
