//! Several locks at once: sorted inside, all or nothing.

use tokio::time::Instant;

use super::{Lease, Locks};
use crate::{Acquire, Key, LostReason, Mode, Released, Result, Wait};

/// Several leases that were taken together and are given back together.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks = Locks::new(CasLock::new(MemoryStore::new()));
/// let requests = [Acquire::new(Key::new("b")?), Acquire::new(Key::new("a")?)];
/// let leases = locks.acquire_all(&requests).await?;
/// assert_eq!(leases.iter().map(|l| l.grant().key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
/// leases.release().await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Default)]
#[must_use = "dropping leases releases them late; call `release().await`"]
pub struct Leases(Vec<Lease>);

impl From<Lease> for Leases {
    fn from(lease: Lease) -> Self {
        Self(vec![lease])
    }
}

impl Leases {
    /// The grant, if it is a single one: it can be released together with something else.
    pub(crate) fn single(&self) -> Option<&crate::Grant> {
        match &self.0[..] {
            [lease] => Some(lease.grant()),
            _ => None,
        }
    }

    /// The store has released them together with something else.
    pub(crate) fn given_back(self) {
        self.0.into_iter().for_each(Lease::given_back);
    }

    /// The leases, sorted by key.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let none = Locks::new(CasLock::new(MemoryStore::new())).acquire_all(&[]).await?;
    /// assert_eq!(none.iter().count(), 0);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.0.iter()
    }

    /// Returns when the first of them is lost, with its key.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, LostReason, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let short = Acquire::new(Key::new("a")?).max_hold(std::time::Duration::from_millis(5))?;
    /// let leases = locks.acquire_all(&[short]).await?;
    /// assert_eq!(leases.lost().await.1, LostReason::MaxHold);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn lost(&self) -> (Key, LostReason) {
        let mut waits: Vec<_> = self.0.iter().map(|lease| Box::pin(lease.lost())).collect();
        std::future::poll_fn(|cx| {
            for (wait, lease) in waits.iter_mut().zip(&self.0) {
                if let std::task::Poll::Ready(reason) = wait.as_mut().poll(cx) {
                    return std::task::Poll::Ready((lease.grant().key.clone(), reason));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// Gives all back, the last taken first, and says whether all were still held.
    ///
    /// # If it fails
    /// The first error, after all have been tried.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Locks, MemoryStore, Released};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// assert_eq!(locks.acquire_all(&[]).await?.release().await?, Released::Released);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn release(self) -> Result<Released> {
        let mut outcome = Ok(Released::Released);
        for lease in self.0.into_iter().rev() {
            match (lease.release().await, &outcome) {
                (Err(e), Ok(_)) => outcome = Err(e),
                (Ok(Released::NotHeld), Ok(_)) => outcome = Ok(Released::NotHeld),
                _ => {}
            }
        }
        outcome
    }
}

impl Locks {
    /// Takes several locks, all or nothing.
    ///
    /// They are taken in the order of their keys whatever the order of the requests, so that `{a, b}`
    /// and `{b, a}` cannot dead-lock; a key that is asked for twice is taken once, in the stronger mode. The
    /// longest wait counts for all together.
    ///
    /// # If it fails
    /// The error of the first that failed; the others have been given back.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let twice = [Acquire::new(Key::new("a")?), Acquire::new(Key::new("a")?)];
    /// assert_eq!(locks.acquire_all(&twice).await?.iter().count(), 1);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn acquire_all(&self, requests: &[Acquire]) -> Result<Leases> {
        let mut requests: Vec<Acquire> = requests.to_vec();
        requests.sort_by(|a, b| a.key.cmp(&b.key).then(strength(a.mode).cmp(&strength(b.mode))));
        requests.dedup_by(|again, first| {
            let same = again.key == first.key;
            if same {
                first.floor = first.floor.max(again.floor);
            }
            same
        });
        let longest =
            requests.iter().filter_map(|req| if let Wait::For(wait) = req.wait { Some(wait) } else { None }).max();
        let until = longest.and_then(|wait| Instant::now().checked_add(wait));
        let mut leases = Leases(Vec::with_capacity(requests.len()));
        for req in requests {
            let wait = match (req.wait, until) {
                (Wait::For(_), Some(until)) => Wait::For(until.saturating_duration_since(Instant::now())),
                (wait, _) => wait,
            };
            match self.acquire(&req.wait(wait)).await {
                Ok(lease) => leases.0.push(lease),
                Err(e) => {
                    // Those we have are of no use; their own release errors must not hide the reason.
                    if let Err(error) = leases.release().await {
                        tracing::warn!(%error, "giving back part of a group failed");
                    }
                    return Err(e);
                }
            }
        }
        // While we waited for the last, the first may have been lost.
        for lease in leases.iter() {
            lease.fence()?;
        }
        Ok(leases)
    }
}

fn strength(mode: Mode) -> u8 {
    match mode {
        Mode::Exclusive => 0,
        Mode::Slots(_) => 1,
        Mode::Shared => 2,
    }
}
