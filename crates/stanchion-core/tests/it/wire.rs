//! A record store in memory behind a wire that the test can cut, and a process that it can kill.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Record, RecordStore, Result, Version,
};
use tokio::sync::watch;
use tokio::time::Instant;

/// Long enough that only failures take it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What comes before a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Somebody else writes the record.
    Rival,
    /// The connection fails, and the request is not sent.
    Failure,
}

/// One client's connection. Others have their own, to the same store.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    store: MemoryStore,
    cut: Arc<watch::Sender<bool>>,
    refusals: Arc<AtomicUsize>,
    before_delete: Arc<Mutex<Option<Before>>>,
    pub(crate) reads: Arc<AtomicUsize>,
    pub(crate) writes: Arc<AtomicUsize>,
}

impl Wire {
    pub(crate) fn to(store: &MemoryStore) -> Self {
        Self {
            store: store.clone(),
            cut: Arc::new(watch::Sender::new(false)),
            refusals: Arc::default(),
            before_delete: Arc::default(),
            reads: Arc::default(),
            writes: Arc::default(),
        }
    }

    /// From now on requests do not arrive; they lie in the wire until it is whole again.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(true);
    }

    pub(crate) fn mend(&self) {
        self.cut.send_replace(false);
    }

    /// The next `n` requests fail before they are sent.
    pub(crate) fn refuse(&self, n: usize) {
        self.refusals.store(n, Ordering::SeqCst);
    }

    /// This comes before the next delete.
    pub(crate) fn before_delete(&self, before: Before) {
        *self.before_delete.lock().expect("no test panics while it writes") = Some(before);
    }

    async fn pass(&self, count: &AtomicUsize) -> Result<()> {
        count.fetch_add(1, Ordering::SeqCst);
        let left = self.refusals.try_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() {
            return Err(Error::new(ErrorKind::Unavailable, "the test refuses"));
        }
        // The sender lives in `self`, so waiting cannot fail.
        self.cut.subscribe().wait_for(|cut| !*cut).await.ok();
        Ok(())
    }
}

#[async_trait]
impl RecordStore for Wire {
    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.pass(&self.reads).await?;
        self.store.get(key).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.pass(&self.writes).await?;
        self.store.touch(key, token).await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.pass(&self.writes).await?;
        self.store.put(key, value, cond, ttl).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.pass(&self.writes).await?;
        let before = self.before_delete.lock().expect("no test panics while it writes").take();
        match before {
            Some(Before::Failure) => return Err(Error::new(ErrorKind::Unavailable, "the test refuses")),
            Some(Before::Rival) => {
                let record = self.store.get(key).await?.expect("what is to be deleted is there");
                self.store.put(key, record.value, Cond::Version(record.version), None).await?;
            }
            None => {}
        }
        self.store.delete(key, cond).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.pass(&self.reads).await?;
        self.store.scan(prefix, page).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.pass(&self.reads).await?;
        self.store.changed(key, since, until).await
    }
}

/// What stands for a process where everything is in one memory: a runtime of its own. Killed, none of its tasks runs
/// another step, so nothing is given back.
#[derive(Debug)]
pub(crate) struct Process(Option<tokio::runtime::Runtime>);

impl Process {
    pub(crate) fn run<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.spawn(task);
        Self(Some(runtime))
    }

    pub(crate) fn kill(&mut self) {
        self.0.take().expect("killed once").shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// What ran, in order; the test's own, outside of every store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: &str) {
        self.0.lock().expect("no test panics while it writes").push(line.to_owned());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no test panics while it writes").clone()
    }
}
