//! The records: one item per key, one request per operation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, Page, Record, RecordStore, Result, RetryPolicy, Version,
    refused,
};
use tokio::time::Instant;

use super::fault::Fault;
use super::item::{NEVER, Row, binary, number, text};
use super::link::{Link, Written};

/// An item holds 400 KB, its key and the names of its attributes included.
const VALUE_MOST: usize = 390_000;
/// The longest ttl that means anything.
const TTL_MOST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// A listing reads the whole table, 1 MB at a time, but no table without end.
const PAGES_MOST: usize = 2000;
/// A listing removes the values of this many ended records, if it meets them.
const SETTLED_MOST: usize = 64;
/// And takes no longer for it than this.
const SETTLED_WITHIN: Duration = Duration::from_secs(1);
/// Each reader removes what it sees ended; a loser of that race looks again.
const LOOKS_MOST: usize = 16;

/// There is a record and it has not ended: a comparison with what is not there is false.
const LIVE: &str = "ends > :now";

/// Records as one item each, which is never deleted: it keeps the version and the fence.
#[derive(Debug)]
pub(crate) struct DynamoStore {
    link: Arc<Link>,
    capability: Capability,
}

/// The version that a write got, or what stands where its condition did not hold.
pub(super) type Put = std::result::Result<Version, Row>;

impl DynamoStore {
    pub(super) const fn new(link: Arc<Link>, capability: Capability) -> Self {
        Self { link, capability }
    }

    fn read_error(&self, fault: Fault, key: &Key) -> Error {
        self.link.error(fault, false).with("key", key)
    }

    fn write_error(&self, fault: Fault, key: &Key) -> Error {
        self.link.error(fault, true).with("key", key)
    }

    async fn look(&self, key: &Key, attributes: Option<&str>) -> Result<Row, Fault> {
        let get = self.link.client.get_item().table_name(&self.link.options.table).key("k", text(key.as_str()));
        let get = get.consistent_read(true).set_projection_expression(attributes.map(str::to_owned));
        let answer = self.link.ask(|| get.clone().send()).await?;
        Row::read(answer.item.unwrap_or_default())
    }

    fn update(&self, key: &Key) -> UpdateItemFluentBuilder {
        self.link.client.update_item().key("k", text(key.as_str()))
    }

    /// The record of what was read. A record that has ended is removed first: that it is gone must be true for everybody,
    /// and others may know the time less well. `None`: somebody else wrote meanwhile.
    async fn settle(&self, key: &Key, row: Row) -> Result<Option<Option<Record>>, Fault> {
        let now = self.link.date.at_least();
        let (Some(version), Some(ends)) = (row.version.filter(|_| row.ended(now)), row.ends) else {
            return row.record(now).map(Some);
        };
        let remove = self
            .update(key)
            .update_expression("REMOVE len, val, ends")
            .condition_expression("ver = :ver AND ends = :ends")
            .expression_attribute_values(":ver", number(version.get()))
            .expression_attribute_values(":ends", number(ends));
        Ok(self.link.update(remove).await?.ok().map(|_| None))
    }

    /// Frees the room of ended records. Nothing rests on it: who may only read, or meets a fault, leaves it to others.
    async fn settle_all(&self, ended: Vec<(Key, Row)>) {
        let until = Instant::now() + SETTLED_WITHIN;
        for (key, row) in ended {
            let settled = tokio::time::timeout_at(until, self.settle(&key, row)).await;
            if !matches!(settled, Ok(Ok(_))) {
                tracing::debug!(%key, ?settled, "the values of ended records stay for now");
                return;
            }
        }
    }

    /// When a record that begins now and lives for `ttl` has surely lived that long.
    async fn ends(&self, key: &Key, ttl: Duration) -> Result<u64> {
        if self.link.date.at_most().is_none() {
            self.look(key, Some("ver")).await.map_err(|fault| self.read_error(fault, key))?;
        }
        let Some(now) = self.link.date.at_most() else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this endpoint's answers have no date, so nothing can end by it",
            )
            .with("key", key)
            .with("store", &self.link.options.shown));
        };
        Ok(now.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)).saturating_add(1))
    }

    /// Writes if `cond` holds.
    async fn write(&self, key: &Key, value: &[u8], cond: Cond, ttl: Option<Duration>) -> Result<Put> {
        if value.len() > VALUE_MOST {
            return Err(Error::new(ErrorKind::Invalid, "the value is longer than DynamoDB holds in one item")
                .with("key", key)
                .with("bytes", value.len())
                .with("most", VALUE_MOST)
                .hint("keep large values elsewhere, in S3 for example, and their address here"));
        }
        if let Some(ttl) = ttl.filter(|ttl| *ttl > TTL_MOST) {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is longer than 100 years")
                .with("key", key)
                .with("ttl", format_args!("{ttl:?}")));
        }
        let ends = match ttl {
            Some(ttl) => self.ends(key, ttl).await?,
            None => NEVER,
        };
        let mut update = self
            .update(key)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":ends", number(ends))
            .expression_attribute_values(":len", number(u64::try_from(value.len()).unwrap_or(u64::MAX)));
        update = if value.is_empty() {
            update.update_expression("SET len = :len, ends = :ends REMOVE val ADD ver :one")
        } else {
            let update = update.expression_attribute_values(":val", binary(value));
            update.update_expression("SET len = :len, ends = :ends, val = :val ADD ver :one")
        };
        update = self.condition(update, cond, false);
        // The version before tells the version now; asking for the new attributes would bring the value back.
        if !matches!(cond, Cond::Version(_)) {
            update = update.return_values(ReturnValue::UpdatedOld);
        }
        let written = self.link.update(update).await.map_err(|fault| self.write_error(fault, key))?;
        match (written, cond) {
            (Ok(_), Cond::Version(version)) => Ok(Ok(Version::new(version.get() + 1))),
            (Ok(mut before), _) => {
                // Half of what was there: without its length it is no record, and only the version counts.
                before.retain(|name, _| name == "ver");
                let before = Row::read(before).map_err(|fault| self.write_error(fault, key))?;
                Ok(Ok(Version::new(before.version.map_or(0, Version::get) + 1)))
            }
            (Err(stands), _) => Ok(Err(self.stands(key, Err(stands)).await?)),
        }
    }

    /// Deletes if `cond` holds and there is a record.
    async fn remove(&self, key: &Key, cond: Cond) -> Result<std::result::Result<(), Row>> {
        if cond == Cond::Absent {
            let row = self.look(key, Some("ver, len, ends")).await.map_err(|fault| self.read_error(fault, key))?;
            return Ok(Err(row));
        }
        let update = self.condition(self.update(key).update_expression("REMOVE len, val, ends"), cond, true);
        let written = self.link.update(update).await.map_err(|fault| self.write_error(fault, key))?;
        if written.is_ok() { Ok(Ok(())) } else { Ok(Err(self.stands(key, written).await?)) }
    }

    fn condition(&self, update: UpdateItemFluentBuilder, cond: Cond, live: bool) -> UpdateItemFluentBuilder {
        let now = number(self.link.date.at_least());
        match cond {
            Cond::Absent => update
                .condition_expression("attribute_not_exists(ends) OR ends <= :now")
                .expression_attribute_values(":now", now),
            Cond::Version(version) => update
                .condition_expression(format!("ver = :want AND {LIVE}"))
                .expression_attribute_values(":want", number(version.get()))
                .expression_attribute_values(":now", now),
            Cond::Fence(token) => {
                let update = update
                    .expression_attribute_values(":fence", number(token.number()))
                    .expression_attribute_values(":lease", text(token.lease_id()));
                let ours = "fence = :fence AND lease = :lease";
                if live {
                    update.condition_expression(format!("{ours} AND {LIVE}")).expression_attribute_values(":now", now)
                } else {
                    update.condition_expression(ours)
                }
            }
        }
    }

    /// What stands where a condition did not hold: the refusal says it, or a read does where the engine cannot.
    async fn stands(&self, key: &Key, written: Written) -> Result<Row> {
        let found = match written {
            Err(Some(item)) => Row::read(item),
            Err(None) | Ok(_) => self.look(key, None).await,
        };
        found.map_err(|fault| self.read_error(fault, key))
    }

    fn refusal(&self, key: &Key, cond: Cond, stands: &Row) -> Error {
        match cond {
            Cond::Fence(token) if stands.fence != Some(token) => refused(key, token, stands.fence),
            _ => self.conflict(key, stands),
        }
    }

    fn conflict(&self, key: &Key, stands: &Row) -> Error {
        let found = stands.live(self.link.date.at_least());
        Error::new(ErrorKind::Conflict, "the record is not what the condition says")
            .with("key", key)
            .with("found", found.map_or_else(|| "absent".to_owned(), |version| version.to_string()))
    }
}

#[async_trait]
impl RecordStore for DynamoStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let fail = |fault| self.read_error(fault, key);
        for _ in 0..LOOKS_MOST {
            let row = self.look(key, None).await.map_err(fail)?;
            if let Some(record) = self.settle(key, row).await.map_err(fail)? {
                return Ok(record);
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the record changed under every look").with("key", key))
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let touch = self
            .update(key)
            .update_expression("SET fence = :fence, lease = :lease")
            .condition_expression(
                "attribute_not_exists(fence) OR fence < :fence OR (fence = :fence AND lease = :lease)",
            )
            .expression_attribute_values(":fence", number(token.number()))
            .expression_attribute_values(":lease", text(token.lease_id()))
            .return_values(ReturnValue::AllNew);
        let fail = |fault| self.write_error(fault, key);
        match self.link.update(touch).await.map_err(fail)? {
            Ok(item) => match self.settle(key, Row::read(item).map_err(fail)?).await.map_err(fail)? {
                Some(record) => Ok(record),
                None => self.get(key).await,
            },
            refusal => Err(refused(key, *token, self.stands(key, refusal).await?.fence)),
        }
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.write(key, &value, cond, ttl).await?.map_err(|stands| self.refusal(key, cond, &stands))
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.remove(key, cond).await?.map_err(|stands| self.refusal(key, cond, &stands))
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        if page.limit == 0 {
            return Ok(Vec::new());
        }
        let fail = |fault| self.link.error(fault, false);
        // Items come in no order, so the whole table is read and the first ones are kept.
        let (mut first, mut ended, mut from) = (BTreeMap::new(), Vec::new(), None);
        for _ in 0..PAGES_MOST {
            let scan = self.link.client.scan().table_name(&self.link.options.table).consistent_read(true);
            let scan = match prefix {
                "" => scan.filter_expression("attribute_exists(len)"),
                _ => scan
                    .filter_expression("attribute_exists(len) AND begins_with(k, :prefix)")
                    .expression_attribute_values(":prefix", text(prefix)),
            };
            let scan = scan.set_exclusive_start_key(from.take());
            let answer = self.link.ask(|| scan.clone().send()).await.map_err(fail)?;
            for item in answer.items.unwrap_or_default() {
                let name = item.get("k").and_then(|k| k.as_s().ok()).and_then(|k| Key::from_store(k).ok());
                let key = name.ok_or_else(|| fail(Fault::Garbled("k")))?;
                let wanted = key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > *after);
                let (row, now) = (Row::read(item).map_err(fail)?, self.link.date.at_least());
                if row.ended(now) {
                    if ended.len() < SETTLED_MOST {
                        ended.push((key, row.without_value()));
                    }
                } else if let Some(record) = row.record(now).map_err(fail)?
                    && wanted
                {
                    first.insert(key, record);
                    if first.len() > page.limit {
                        first.pop_last();
                    }
                }
            }
            from = answer.last_evaluated_key;
            if from.is_none() {
                self.settle_all(ended).await;
                return Ok(first.into_iter().collect());
            }
        }
        Err(Error::new(ErrorKind::Unsupported, "the table is too large to be listed")
            .with("megabytes", PAGES_MOST)
            .with("store", &self.link.options.shown)
            .hint("keep the keys of what you list in a table of their own"))
    }

    /// DynamoDB calls nobody, so this looks again and again: after 20 ms at first, every second in the end.
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        let least = Duration::from_millis(10);
        let pauses = RetryPolicy::default().pauses(2 * least, Duration::from_secs(1))?;
        for look in 0_u32.. {
            let row = self.look(key, Some("ver, len, ends")).await.map_err(|fault| self.read_error(fault, key))?;
            let next = Instant::now() + pauses.pause(look / 2).max(least);
            if row.live(self.link.date.at_least()) != since {
                return Ok(());
            }
            tokio::time::sleep_until(next.min(until)).await;
            if next >= until {
                return Ok(());
            }
        }
        Ok(())
    }
}
