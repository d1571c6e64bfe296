//! Initialise once, however often and wherever the initialiser is killed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::turn::{Belief, Next, Turns, deadline};
use crate::{Clock, Error, FencingToken, Key, RecordStore, Result, Wait, planted};

/// Init-once for all processes that share a store: the first caller of a key runs the initialiser, the others wait
/// until it is **done**, and every later caller gets the recorded result.
///
/// The right to initialise is a lease, renewed while the initialiser runs. If its process is killed, one of the
/// waiters takes over as soon as the lease has lapsed. If the initialiser returns an error, its caller gets the error,
/// nothing is recorded, and the next one tries.
///
/// What holds: there is **exactly one recorded result** per key, and every caller that gets a result gets this one.
///
/// What does not: the initialiser itself runs **at least once**. One that was killed half-way, or that stood still
/// for longer than its lease, is run again by another caller, from the beginning. So it must be safe to repeat.
/// Effects that must not be repeated belong to the guard, which says *outcome unknown* where nobody can know; effects
/// on a store that checks tokens can be fenced with [`Permit::fence`].
///
/// ```
/// use stanchion_core::{Key, MemoryStore, Once};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let once = Once::new(MemoryStore::new());
/// let key = Key::new("schema:v7")?;
/// let first = once.run(&key, async |_permit| Ok("migrated".into())).await?;
/// let later = once.run(&key, async |_permit| panic!("it is done already")).await?;
/// assert_eq!((&first[..], &later[..]), (&b"migrated"[..], &b"migrated"[..]));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Once {
    turns: Turns,
    wait: Wait,
}

/// The initialiser's right to act. Clones are the same right.
///
/// ```
/// use stanchion_core::{Cond, Key, MemoryStore, Once, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let config = Key::new("config")?;
/// let once = Once::new(store.clone());
/// once.run(&Key::new("init")?, async |permit| {
///     // Another initialiser that touches `config` from now on shuts this one out.
///     store.touch(&config, &permit.fence()?).await?;
///     store.put(&config, "v1".into(), Cond::Fence(permit.fence()?), None).await?;
///     Ok("done".into())
/// })
/// .await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Permit {
    belief: Arc<Belief>,
}

impl Permit {
    /// The token of this initialiser, if it is still its turn by our own clock. Costs no I/O; ask for it at each use.
    ///
    /// The tokens of later initialisers of the same key are higher.
    ///
    /// # If it fails
    /// `LeaseLost`: another may have started. Stop.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Once};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let once = Once::new(MemoryStore::new());
    /// let number = once.run(&Key::new("a")?, async |permit| Ok(permit.fence()?.to_string().into())).await?;
    /// # assert!(!number.is_empty());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub fn fence(&self) -> Result<FencingToken> {
        self.belief.fence()
    }

    /// Returns, with the reason, when it is not this initialiser's turn any more: from a local timer, before another
    /// can start. [`Once::run`] drops the initialiser then; this is for tasks that the initialiser has started.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing; ask again.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Once};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let once = Once::new(MemoryStore::new());
    /// once.run(&Key::new("a")?, async |permit| {
    ///     let helper = tokio::spawn(async move {
    ///         tokio::select! {
    ///             why = permit.lost() => Err(why),
    ///             () = async { /* a part of the work */ } => Ok("done".into()),
    ///         }
    ///     });
    ///     helper.await.unwrap()
    /// })
    /// .await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn lost(&self) -> Error {
        self.belief.lost().await
    }
}

impl Once {
    /// Init-once with results in `store`.
    ///
    /// ```
    /// let _once = stanchion_core::Once::new(stanchion_core::MemoryStore::new());
    /// ```
    pub fn new(store: impl RecordStore) -> Self {
        Self::shared(Arc::new(store))
    }

    /// Init-once with results in a store that others use, too.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let _once = stanchion_core::Once::shared(Arc::new(stanchion_core::MemoryStore::new()));
    /// ```
    #[must_use]
    pub fn shared(store: Arc<dyn RecordStore>) -> Self {
        Self { turns: Turns::new(store, "once", "the initialiser is still at work"), wait: Wait::default() }
    }

    /// Sets how long a killed initialiser still blocks the others: 50 ms to 24 h, 30 s if not set. A running one is
    /// renewed every third of it.
    ///
    /// # If it fails
    /// `Invalid`; nothing is silently corrected.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, Once};
    /// # use std::time::Duration;
    /// assert!(Once::new(MemoryStore::new()).lease(Duration::from_secs(5)).is_ok());
    /// assert!(Once::new(MemoryStore::new()).lease(Duration::ZERO).is_err());
    /// ```
    pub fn lease(mut self, lease: Duration) -> Result<Self> {
        self.turns.lease(lease)?;
        Ok(self)
    }

    /// With another clock than the machine's, for tests and simulations.
    ///
    /// ```
    /// # use stanchion_core::{ManualClock, MemoryStore, Once};
    /// # use std::sync::Arc;
    /// let _once = Once::new(MemoryStore::new()).clock(Arc::new(ManualClock::default()));
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.turns.clock(clock);
        self
    }

    /// Sets how long to wait for somebody else's initialiser; 30 s if not set. One's own may run as long as it wants.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, Once, Wait};
    /// let _once = Once::new(MemoryStore::new()).wait(Wait::Forever);
    /// ```
    #[must_use]
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// The recorded result of `key`; otherwise runs `init`, or waits for whoever runs it already.
    ///
    /// # If it fails
    /// - what `init` returned, as it is: nothing is recorded and the next caller tries;
    /// - `Contended`, with who is at work, when the wait is over: our `init` did not run;
    /// - `LeaseLost`: our `init` ran (and was dropped, if it was not done) but its turn went to somebody else, whose
    ///   result counts. Ask again to get it;
    /// - `OutcomeUnknown`: `init` is done, and the store does not say whether its result is recorded. Ask again;
    /// - `Unexpected`: the result is too large to be recorded; `init` is done;
    /// - `Unavailable`, `Denied`, `Damaged` from the store: our `init` did not run.
    ///
    /// # Cancel safety
    /// Dropping the future drops `init` where it stands, and frees the key in the background for the next one.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind, Key, MemoryStore, Once};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let once = Once::new(MemoryStore::new());
    /// let key = Key::new("cluster-id")?;
    /// let failed = once.run(&key, async |_| Err(Error::new(ErrorKind::Unavailable, "no network"))).await;
    /// assert!(failed.is_err());
    /// assert_eq!(once.run(&key, async |_| Ok("c-17".into())).await?, "c-17"); // the next one tries
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn run(&self, key: &Key, init: impl AsyncFnOnce(Permit) -> Result<Bytes>) -> Result<Bytes> {
        let turn = match self.turns.next(key, deadline(self.wait)).await? {
            Next::Value(value) => return Ok(value),
            Next::Turn(turn) => turn,
        };
        let permit = Permit { belief: Arc::clone(turn.belief()) };
        let done = tokio::select! {
            biased;
            lost = turn.belief().lost() => return Err(lost),
            done = init(permit) => done,
        };
        match done {
            Ok(value) => {
                let ttl = planted!("once-forgets").then_some(crate::TTL_DEFAULT);
                turn.record(value.clone(), ttl).await.map(|()| value)
            }
            Err(error) => {
                turn.give_back().await;
                Err(error)
            }
        }
    }

    /// The recorded result, if the initialiser of `key` is done.
    ///
    /// # If it fails
    /// From the store, or `Damaged`.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Once};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(Once::new(MemoryStore::new()).get(&Key::new("a")?).await?, None);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn get(&self, key: &Key) -> Result<Option<Bytes>> {
        self.turns.get(key).await
    }

    /// Forgets `key`, so that the next caller initialises anew; says whether there was anything to forget. An
    /// initialiser that is at work cannot record its result any more, and is told so.
    ///
    /// # If it fails
    /// From the store. After `OutcomeUnknown` it may be forgotten; forgetting again is safe only if nobody has
    /// initialised since.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Once};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let (once, key) = (Once::new(MemoryStore::new()), Key::new("a")?);
    /// once.run(&key, async |_| Ok("old".into())).await?;
    /// assert!(once.forget(&key).await?);
    /// assert_eq!(once.run(&key, async |_| Ok("new".into())).await?, "new");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn forget(&self, key: &Key) -> Result<bool> {
        self.turns.forget(key).await
    }
}
