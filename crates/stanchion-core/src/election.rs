//! One leader, and a token that shuts the former one out.

use std::time::Duration;

use crate::{
    Acquire, BootTime, Error, ErrorKind, Fence, Holder, Identity, Key, Lease, Locks, LostReason, Mode, Page, Released,
    Result, RetryPolicy, TTL_DEFAULT, Tries, Wait, planted,
};

/// Elections on any [`Locks`]: of all who stand for a name, one leads.
///
/// Leadership is a lease on the lock `leader:NAME`, so `stanchion lock ls` shows it and `stanchion lock release` ends
/// it. **No lease can stop a paused process from believing that it leads.** What stops it from doing harm is its fence:
/// have the store that the leader writes to check it ([`RecordStore::touch`](crate::RecordStore::touch) and
/// [`Cond::Fence`](crate::Cond::Fence), or the SQL and Redis guards), and the write of a former leader is refused once
/// the next one has touched the record.
///
/// On kernel locks ([`Hold::Held`](crate::Hold::Held)) a leader leads until its process ends: a stopped one keeps
/// leading, and nobody takes over.
///
/// ```
/// use stanchion_core::{CasLock, Cond, Election, Key, Locks, MemoryStore, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let election = Election::new(Locks::new(CasLock::new(store.clone())));
/// let (name, plan) = (Key::new("scheduler")?, Key::new("plan")?);
///
/// let leadership = election.lead(&name).await?;
/// store.touch(&plan, &leadership.fence()?.token()).await?;          // from here on the former leader is shut out
/// store.put(&plan, "mine".into(), Cond::Fence(leadership.fence()?.token()), None).await?;
/// assert_eq!(election.leader(&name).await?.unwrap().identity.pid, std::process::id());
/// leadership.resign().await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Election {
    locks: Locks,
    ttl: Duration,
    wait: Wait,
    identity: Identity,
}

/// A term as leader: until it is lost, resigned or dropped.
///
/// ```
/// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore, Released};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
/// let leadership = election.lead(&Key::new("scheduler")?).await?;
/// tokio::select! {
///     reason = leadership.lost() => panic!("stop all work: {reason:?}"),
///     () = async { /* the work of a leader */ } => {}
/// }
/// assert_eq!(leadership.resign().await?, Released::Released);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "dropping it resigns late; call `resign().await`"]
pub struct Leadership {
    lease: Lease,
}

impl Leadership {
    /// The fence of this term, if it is still ours by our own clock. Costs no I/O; ask for it at each use.
    ///
    /// # If it fails
    /// `LeaseLost`: somebody else may lead. Stop.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// let first = election.lead(&Key::new("a")?).await?;
    /// let number = first.fence()?.token().number();
    /// first.resign().await?;
    /// let second = election.lead(&Key::new("a")?).await?;
    /// assert!(second.fence()?.token().number() > number);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub fn fence(&self) -> Result<Fence<'_>> {
        self.lease.fence()
    }

    /// Returns when the term is lost: from a local timer, before another can lead.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing; ask again.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, LostReason, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let election = Election::new(locks.clone()).ttl(std::time::Duration::from_millis(600))?;
    /// let leadership = election.lead(&Key::new("a")?).await?;
    /// locks.backend().evict(&Key::new("leader:a")?).await?; // an operator ends the term
    /// assert_eq!(leadership.lost().await, LostReason::Taken);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn lost(&self) -> LostReason {
        self.lease.lost().await
    }

    /// Until when the term is ours without another renewal; `None` once it is lost.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// assert!(election.lead(&Key::new("a")?).await?.valid_until().is_some());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn valid_until(&self) -> Option<BootTime> {
        self.lease.valid_until()
    }

    /// Ends the term, and says whether we still led.
    ///
    /// # If it fails
    /// The store did not answer; we go on trying in the background, and at the latest the term ends by itself.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore, Released};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// assert_eq!(election.lead(&Key::new("a")?).await?.resign().await?, Released::Released);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn resign(self) -> Result<Released> {
        self.lease.release().await
    }
}

impl Election {
    /// Elections by `locks`; terms of 30 s without renewal, standing until elected.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Locks, MemoryStore};
    /// let _election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// ```
    #[must_use]
    pub fn new(locks: Locks) -> Self {
        Self { locks, ttl: TTL_DEFAULT, wait: Wait::Forever, identity: Identity::current() }
    }

    /// Sets how long a killed or stopped leader still blocks the others: 50 ms to 24 h. Kernel locks ignore it.
    ///
    /// # If it fails
    /// `Invalid`; nothing is silently corrected.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Locks, MemoryStore};
    /// # use std::time::Duration;
    /// let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// assert!(election.clone().ttl(Duration::from_secs(5)).is_ok());
    /// assert!(election.ttl(Duration::ZERO).is_err());
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Result<Self> {
        // The one place that knows the range.
        self.ttl = Acquire::new(Key::new("leader")?).ttl(ttl)?.ttl;
        Ok(self)
    }

    /// Sets how long [`lead`](Self::lead) stands for election.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, ErrorKind, Key, Locks, MemoryStore, Wait};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let election = Election::new(Locks::new(CasLock::new(MemoryStore::new()))).wait(Wait::No);
    /// let _leader = election.lead(&Key::new("a")?).await?;
    /// assert_eq!(election.lead(&Key::new("a")?).await.unwrap_err().kind(), ErrorKind::Contended);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Says who stands, for display.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Identity, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())))
    ///     .identity(Identity::current().labelled("eu-1"));
    /// let _leader = election.lead(&Key::new("a")?).await?;
    /// assert_eq!(election.leader(&Key::new("a")?).await?.unwrap().identity.label, "eu-1");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// The lock behind an office: an ordinary one, so that listings show who leads and an operator can end a term.
    ///
    /// # If it fails
    /// `Invalid` if the name is too long.
    ///
    /// ```
    /// # use stanchion_core::{Election, Key};
    /// assert_eq!(Election::lock_key(&Key::new("reports")?)?.as_str(), "leader:reports");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn lock_key(name: &Key) -> Result<Key> {
        Key::new(format!("leader:{name}"))
    }

    /// Stands for `name` and returns when elected.
    ///
    /// # If it fails
    /// `Contended` (with the leader) when the wait is over, `Invalid` if the name is longer than 505 bytes,
    /// `Unavailable` or `Denied` from the store. In all cases we do not lead.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws; a term that arrives late is given back.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// let leadership = election.lead(&Key::new("scheduler")?).await?;
    /// assert!(leadership.fence().is_ok());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn lead(&self, name: &Key) -> Result<Leadership> {
        let mode = if planted!("two-leaders") { Mode::Shared } else { Mode::Exclusive };
        let request = Acquire::new(Self::lock_key(name)?).mode(mode)?.ttl(self.ttl)?;
        let request = request.wait(self.wait).identity(self.identity.clone());
        Ok(Leadership { lease: self.locks.acquire(&request).await? })
    }

    /// Stands for `name`, does `work` when elected, and resigns when it is done. If the term is lost before that,
    /// the work is dropped where it stands and we stand again: so it may start several times, each time with a
    /// new and higher fence, and must be safe to begin anew.
    ///
    /// In a spawned task the work has to own what it uses (`async move |leadership| …`).
    ///
    /// # If it fails
    /// - as [`lead`](Self::lead), if we do not get to lead (again); a store that is away is asked again for ten seconds;
    /// - `LeaseLost` if the work was done but the term turned out to have ended before we resigned: another may have
    ///   led meanwhile, and what the fence did not protect may be mixed up.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and resigns in the background.
    ///
    /// ```
    /// use stanchion_core::{CasLock, Cond, Election, Key, Locks, MemoryStore, RecordStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let store = MemoryStore::new();
    /// let plan = Key::new("plan")?;
    /// let election = Election::new(Locks::new(CasLock::new(store.clone())));
    /// let written = election
    ///     .campaign(&Key::new("scheduler")?, async |leadership| {
    ///         store.touch(&plan, &leadership.fence()?.token()).await?;
    ///         store.put(&plan, "mine".into(), Cond::Fence(leadership.fence()?.token()), None).await
    ///     })
    ///     .await?;
    /// assert!(written.is_ok()); // the work's own answer, whatever it is
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn campaign<T>(&self, name: &Key, mut work: impl AsyncFnMut(&Leadership) -> T) -> Result<T> {
        let mut away: Option<Tries> = None;
        loop {
            let leadership = match self.lead(name).await {
                Ok(leadership) => leadership,
                Err(e) if matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown) => {
                    let tries = away.get_or_insert_with(|| RetryPolicy::default().start());
                    if tries.again().await {
                        continue;
                    }
                    return Err(e);
                }
                Err(e) => return Err(e),
            };
            away = None;
            let done = tokio::select! {
                biased;
                reason = leadership.lost() => Err(reason),
                done = work(&leadership) => Ok(done),
            };
            match done {
                Ok(done) => return resigned(name, leadership).await.map(|()| done),
                Err(reason) => tracing::warn!(%name, reason = reason.as_str(), "leadership lost, standing again"),
            }
        }
    }

    /// Who leads, as far as the store can tell at this moment; `None` if nobody does. For display: by the time it is
    /// read it may be history.
    ///
    /// # If it fails
    /// From the store, or `Invalid` if the name is longer than 505 bytes.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Election, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let election = Election::new(Locks::new(CasLock::new(MemoryStore::new())));
    /// assert_eq!(election.leader(&Key::new("scheduler")?).await?, None);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn leader(&self, name: &Key) -> Result<Option<Holder>> {
        let key = Self::lock_key(name)?;
        // The exact key sorts before all others that begin with it.
        let found = self.locks.backend().list(key.as_str(), Page::first(1)).await?;
        Ok(found.into_iter().filter(|info| info.key == key).find_map(|info| info.holders.into_iter().next()))
    }
}

async fn resigned(name: &Key, leadership: Leadership) -> Result<()> {
    // By our own clock, before we let go: a resignation that goes unanswered must not hide that the work was done.
    let ours: Result<(), Error> = leadership.fence().map(|_| ());
    match leadership.resign().await {
        Ok(released) => released.still_held(name),
        Err(error) => {
            tracing::warn!(%name, %error, "the resignation is unanswered and goes on in the background");
            ours
        }
    }
}
