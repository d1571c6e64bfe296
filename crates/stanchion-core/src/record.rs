//! Versioned records, and the trait that a record store implements.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use crate::{Capability, FencingToken, Key, Result, Version};

/// The largest value of a record: 16 MiB.
///
/// ```
/// assert_eq!(stanchion_core::VALUE_MAX_BYTES, 16 * 1024 * 1024);
/// ```
pub const VALUE_MAX_BYTES: usize = 16 << 20;

/// A value under a key, as it was at the moment of the read.
///
/// ```
/// use stanchion_core::{Cond, Key, MemoryStore, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let key = Key::new("greeting")?;
/// let version = store.put(&key, "hello".into(), Cond::Absent, None).await?;
/// let record = store.get(&key).await?.unwrap();
/// assert_eq!((&record.value[..], record.version), (&b"hello"[..], version));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The value.
    pub value: Bytes,
    /// Changes with every write.
    pub version: Version,
    /// The highest token that has touched this key.
    pub fence: Option<FencingToken>,
    /// The engine's own times, where it has a clock.
    pub times: Option<Times>,
}

/// The engine's clock, in milliseconds of its own epoch. Never compare it with ours.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::Times;
/// assert_eq!(Times { written_ms: 100, now_ms: 350 }.age(), Duration::from_millis(250));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When this version was written.
    pub written_ms: u64,
    /// When it was read.
    pub now_ms: u64,
}

impl Times {
    /// How long this version had stood unchanged when it was read.
    ///
    /// ```
    /// # use stanchion_core::Times;
    /// assert!(Times { written_ms: 9, now_ms: 7 }.age().is_zero());
    /// ```
    #[must_use]
    pub fn age(self) -> Duration {
        Duration::from_millis(self.now_ms.saturating_sub(self.written_ms))
    }
}

/// What must be true for a write to happen. There is no "always": a blind write cannot be expressed.
///
/// ```
/// use stanchion_core::{Cond, Version};
/// assert_ne!(Cond::Absent, Cond::Version(Version::new(1)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cond {
    /// There is no record.
    Absent,
    /// The record has exactly this version.
    Version(Version),
    /// This token was the last to [`touch`](RecordStore::touch) the key.
    Fence(FencingToken),
}

/// A piece of a listing.
///
/// ```
/// use stanchion_core::Page;
/// assert_eq!(Page::first(100).limit, 100);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Only keys after this one, in byte order.
    pub after: Option<Key>,
    /// At most this many.
    pub limit: usize,
}

impl Page {
    /// The first `limit` entries.
    ///
    /// ```
    /// assert!(stanchion_core::Page::first(1).after.is_none());
    /// ```
    #[must_use]
    pub const fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }

    /// The `limit` entries after `key`.
    ///
    /// ```
    /// # use stanchion_core::{Key, Page};
    /// assert!(Page::after(Key::new("m")?, 10).after.is_some());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn after(key: Key, limit: usize) -> Self {
        Self { after: Some(key), limit }
    }
}

/// Linearizable reads, compare-and-swap writes. A blind write cannot be expressed.
///
/// ```
/// use stanchion_core::{Cond, ErrorKind, FencingToken, Key, MemoryStore, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store: Box<dyn RecordStore> = Box::new(MemoryStore::new());
/// let key = Key::new("balance")?;
/// let (old, new) = (FencingToken::from_parts(1, 10), FencingToken::from_parts(2, 20));
/// store.touch(&key, &old).await?; // the first holder reads …
/// store.touch(&key, &new).await?; // … and so does the next one
/// let late = store.put(&key, "90".into(), Cond::Fence(old), None).await.unwrap_err();
/// assert_eq!(late.kind(), ErrorKind::FenceRejected);
/// store.put(&key, "80".into(), Cond::Fence(new), None).await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
///
/// # Behavior
/// - `get_sees_the_last_put`: a read returns the value and version of the last acknowledged write.
/// - `put_absent_only_once`: of many concurrent `Cond::Absent` writes exactly one succeeds.
/// - `put_version_refuses_a_stale_version`: a `Cond::Version` write fails with `Conflict` if the record
///   has another version or is gone, and changes nothing.
/// - `versions_grow_for_ever`: versions of one key strictly increase, also across delete and expiry.
/// - `ttl_expires_by_the_store_clock`: after its ttl a record is absent; without ttl it stays. A write
///   without ttl removes an earlier ttl.
/// - `delete_needs_its_condition`: `delete` obeys the same conditions as `put`; deleting what is absent
///   is a `Conflict`.
/// - `touch_raises_the_fence_and_reads`: after `touch` with a token, every lower token is refused with
///   `FenceRejected` and the floor, on `touch`, `put` and `delete`; also when the key has no record.
/// - `equal_number_of_another_owner_is_refused`: the nonce counts.
/// - `fence_write_needs_the_touch`: `Cond::Fence` succeeds only if that token was the last to touch the key.
/// - `fence_outlives_the_record`: delete and expiry keep the floor.
/// - `scan_is_sorted_and_paged`: keys with the prefix, in byte order, after `page.after`, at most `page.limit`.
/// - `changed_wakes_on_a_write`: `changed` returns soon after another client writes, deletes, or if the
///   version is already not `since`; at the latest at `until`. It may wake early.
/// - `cas_race_keeps_every_increment`: five workers times ten increments by `Cond::Version` give exactly 50.
/// - `a_lost_reply_is_outcome_unknown`: if the connection breaks between request and reply of a write,
///   the error is `OutcomeUnknown`, never a success and never a blind second write.
/// - `any_sequence_is_answered_as_a_map_would`: whatever two clients do one after the other, each answer is that of a
///   plain map with a version and a fence per key.
#[async_trait]
pub trait RecordStore: Debug + Send + Sync + 'static {
    /// What this store can promise.
    fn capability(&self) -> Capability;

    /// The record under `key`.
    async fn get(&self, key: &Key) -> Result<Option<Record>>;

    /// Raises the key's fence to `token` and reads, in one atomic step.
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>>;

    /// Writes `value` if `cond` holds. A record with a `ttl` disappears after it, by the store's clock.
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version>;

    /// Removes the record if `cond` holds.
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()>;

    /// Records whose key begins with `prefix`, sorted. The empty prefix means all keys of users, not our own
    /// ([`Key::is_listed_under`]).
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>>;

    /// Returns when the record's version may differ from `since` (`None`: absent), at the latest at `until`.
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()>;
}

/// A shared store is a store.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl RecordStore for std::sync::Arc<dyn RecordStore> {
    fn capability(&self) -> Capability {
        (**self).capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        (**self).get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        (**self).touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        (**self).put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        (**self).delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        (**self).scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        (**self).changed(key, since, until).await
    }
}
