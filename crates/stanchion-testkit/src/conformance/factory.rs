//! How the suite opens a store.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Fused, Key, LockBackend, RecordStore, Separate};

use crate::{Fault, FaultProxy, Plan};

/// A future on the heap.
///
/// ```
/// use stanchion_testkit::conformance::BoxFuture;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let answer: BoxFuture<'_, u32> = Box::pin(async { 42 });
/// assert_eq!(answer.await, 42);
/// # }
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One client of a store, as one process has it.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, MemoryStore};
/// use stanchion_testkit::conformance::Client;
/// let store = MemoryStore::new();
/// let client = Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store)));
/// assert!(client.records.is_some());
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    /// Its locks.
    pub locks: Arc<dyn LockBackend>,
    /// Its records, if the store has any.
    pub records: Option<Arc<dyn RecordStore>>,
    /// Both in one step, if the store's engine can, or [`Separate`](stanchion_core::Separate).
    pub fused: Option<Arc<dyn Fused>>,
}

impl Client {
    /// A client with these parts.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::Client;
    /// let client = Client::new(Arc::new(CasLock::new(MemoryStore::new())), None);
    /// assert!(client.records.is_none());
    /// ```
    #[must_use]
    pub fn new(locks: Arc<dyn LockBackend>, records: Option<Arc<dyn RecordStore>>) -> Self {
        Self { locks, records, fused: None }
    }

    /// The same with `fused`, for the suite of that name.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, LockBackend, MemoryStore, Separate};
    /// # use stanchion_testkit::conformance::Client;
    /// let store = Arc::new(MemoryStore::new());
    /// let locks: Arc<dyn LockBackend> = Arc::new(CasLock::new((*store).clone()));
    /// let fused = Separate::new(store.clone(), locks.clone());
    /// let client = Client::new(locks, Some(store)).fused(Arc::new(fused));
    /// assert!(client.fused.is_some());
    /// ```
    #[must_use]
    pub fn fused(mut self, fused: Arc<dyn Fused>) -> Self {
        self.fused = Some(fused);
        self
    }

    /// The same with [`Separate`](stanchion_core::Separate) over its own parts, for a store whose engine has nothing
    /// better.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::Client;
    /// let store = MemoryStore::new();
    /// let client = Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate();
    /// assert!(client.fused.is_some());
    /// ```
    #[must_use]
    pub fn separate(mut self) -> Self {
        let separate = |records: &Arc<dyn RecordStore>| Separate::new(Arc::clone(records), Arc::clone(&self.locks));
        self.fused = self.records.as_ref().map(|records| Arc::new(separate(records)) as Arc<dyn Fused>);
        self
    }
}

impl From<(Arc<dyn LockBackend>, Option<Arc<dyn RecordStore>>)> for Client {
    fn from((locks, records): (Arc<dyn LockBackend>, Option<Arc<dyn RecordStore>>)) -> Self {
        Self::new(locks, records)
    }
}

/// Breaks the wire between a store's clients and its engine. All clients of the factory go over that wire.
///
/// A [`FaultProxy`] does it for engines that see a key's text in their requests.
///
/// ```
/// use stanchion_core::Key;
/// use stanchion_testkit::{FaultProxy, Protocol, conformance::Faults};
/// # use stanchion_testkit::{engines::Redis, start_or_skip};
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// proxy.lose_next_reply(&Key::new("orders/7").unwrap());
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// client.write_all(b"SET orders/7 paid\r\n").unwrap();
/// assert!(matches!(client.read(&mut [0; 5]), Ok(0) | Err(_)));
/// # }
/// ```
pub trait Faults: fmt::Debug + Send + Sync {
    /// From now on the engine still receives and runs the next write of `key`, but the connection breaks instead of
    /// delivering the reply. Other requests pass, and later connections work again.
    ///
    /// ```
    /// use stanchion_core::Key;
    /// use stanchion_testkit::conformance::Faults;
    /// # use std::sync::Mutex;
    ///
    /// #[derive(Debug, Default)]
    /// struct Doomed(Mutex<Option<Key>>); // what the wire looks at before it delivers
    ///
    /// impl Faults for Doomed {
    ///     fn lose_next_reply(&self, key: &Key) {
    ///         *self.0.lock().unwrap() = Some(key.clone());
    ///     }
    /// }
    ///
    /// let wire = Doomed::default();
    /// wire.lose_next_reply(&Key::new("orders/7").unwrap());
    /// assert!(wire.0.lock().unwrap().is_some());
    /// ```
    fn lose_next_reply(&self, key: &Key);
}

impl Faults for FaultProxy {
    fn lose_next_reply(&self, key: &Key) {
        self.set_plan(Plan::first(key.as_str(), Fault::LoseReply));
    }
}

impl<F: Faults> Faults for Arc<F> {
    fn lose_next_reply(&self, key: &Key) {
        (**self).lose_next_reply(key);
    }
}

/// Opens independent clients of one store, like processes that share it. Clones open the same store.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, MemoryStore};
/// use stanchion_testkit::conformance::{Client, StoreFactory};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryStore::new();
/// let factory = StoreFactory::new(move || {
///     let store = store.clone();
///     async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// });
/// assert_eq!(factory.open().await.locks.capability().backend, "memory");
/// # }
/// ```
#[derive(Clone)]
pub struct StoreFactory {
    open: Arc<dyn Fn() -> BoxFuture<'static, Client> + Send + Sync>,
    faults: Option<Arc<dyn Faults>>,
    patience: Duration,
    url: Option<String>,
    taker: Option<&'static str>,
}

impl StoreFactory {
    /// A factory whose clients come from `open`. What `open` owns, a server for instance, lives as long as the factory.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::{Client, StoreFactory};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let store = MemoryStore::new();
    /// let factory = StoreFactory::new(move || {
    ///     let store = store.clone();
    ///     async move { Client::new(Arc::new(CasLock::new(store)), None) }
    /// });
    /// assert!(factory.open().await.records.is_none());
    /// # }
    /// ```
    pub fn new<F, Fut, C>(open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = C> + Send + 'static,
        C: Into<Client>,
    {
        let open = move || -> BoxFuture<'static, Client> {
            let client = open();
            Box::pin(async move { client.await.into() })
        };
        Self { open: Arc::new(open), faults: None, patience: Duration::from_secs(20), url: None, taker: None }
    }

    /// Lets cases about lost replies break the wire.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory, Faults};
    /// # fn memory() -> StoreFactory {
    /// #     let store = MemoryStore::new();
    /// #     StoreFactory::new(move || {
    /// #         let store = store.clone();
    /// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
    /// #     })
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// #[derive(Debug)]
    /// struct Unplug;
    ///
    /// impl Faults for Unplug {
    ///     fn lose_next_reply(&self, _key: &stanchion_core::Key) {
    ///         // ... tell the wire
    ///     }
    /// }
    ///
    /// let factory = memory().faults(Unplug);
    /// assert!(format!("{factory:?}").contains("Unplug"));
    /// # }
    /// ```
    #[must_use]
    pub fn faults(mut self, faults: impl Faults + 'static) -> Self {
        self.faults = Some(Arc::new(faults));
        self
    }

    /// How long a case waits for what must come, 20 s if not set. Only failures take that long.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
    /// # fn memory() -> StoreFactory {
    /// #     let store = MemoryStore::new();
    /// #     StoreFactory::new(move || {
    /// #         let store = store.clone();
    /// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
    /// #     })
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let factory = memory().patience(std::time::Duration::from_secs(60)); // for a slow machine
    /// assert!(format!("{factory:?}").contains("60s"));
    /// # }
    /// ```
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What other processes need to open the same store; they get it as [`taker_main`](super::process::taker_main)
    /// passes it to its `open`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
    /// # fn memory() -> StoreFactory {
    /// #     let store = MemoryStore::new();
    /// #     StoreFactory::new(move || {
    /// #         let store = store.clone();
    /// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
    /// #     })
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let factory = memory().url("mystore://127.0.0.1:9999");
    /// # drop(factory);
    /// # }
    /// ```
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The path of the test that calls `taker_main`, as `module_path!` gives it.
    #[doc(hidden)]
    #[must_use]
    pub const fn taker(mut self, test: &'static str) -> Self {
        self.taker = Some(test);
        self
    }

    /// Opens one more client.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore};
    /// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
    /// # fn memory() -> StoreFactory {
    /// #     let store = MemoryStore::new();
    /// #     StoreFactory::new(move || {
    /// #         let store = store.clone();
    /// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
    /// #     })
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let factory = memory();
    /// let (one, two) = (factory.open().await, factory.open().await); // like two processes
    /// assert_eq!(one.locks.capability().backend, two.locks.capability().backend);
    /// # }
    /// ```
    pub async fn open(&self) -> Client {
        (self.open)().await
    }

    pub(crate) async fn locks(&self) -> Arc<dyn LockBackend> {
        self.open().await.locks
    }

    pub(crate) async fn records(&self) -> Option<Arc<dyn RecordStore>> {
        self.open().await.records
    }

    pub(crate) fn hook(&self) -> Option<&dyn Faults> {
        self.faults.as_deref()
    }

    /// The URL for other processes, and the test that is their `main`.
    pub(crate) fn other_process(&self) -> Option<(&str, &'static str)> {
        Some((self.url.as_deref()?, self.taker?))
    }

    pub(crate) const fn patient(&self) -> Duration {
        self.patience
    }
}

impl fmt::Debug for StoreFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreFactory")
            .field("faults", &self.faults)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
