//! The MCP server: the official memory server's tools, texts and resource over any [`Memory`].

mod answers;
mod arguments;
mod call;
mod handler;
mod http;
mod keys;
mod lines;
mod running;
mod sessions;
mod shape;
mod stdio;
mod tools;
mod updates;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{Peer, RoleServer};
use stanchion_core::{Guard, Result};
use tokio::sync::watch;
use tokio::task::AbortHandle;

pub use self::http::serve_http;
use self::keys::Keys;
use self::running::Running;
pub use self::stdio::{serve_lines, serve_stdio};
use self::updates::Updates;
use crate::Memory;

/// The one resource.
const RESOURCE: &str = "memory://knowledge-graph";

/// The official memory server's tools over one memory, for any number of clients.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_memory::{GraphMemory, MemoryServer};
/// let server = MemoryServer::new(Arc::new(GraphMemory::default()));
/// # drop(server);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryServer {
    memory: Arc<dyn Memory>,
    keys: Option<Keys>,
    updates: Arc<Updates>,
    /// What must not be broken off at the end.
    running: Running,
}

impl MemoryServer {
    /// A server that refuses calls with an idempotency key: it has no place to remember them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_memory::{GraphMemory, MemoryServer};
    /// let _server = MemoryServer::new(Arc::new(GraphMemory::default()));
    /// ```
    pub fn new(memory: Arc<dyn Memory>) -> Self {
        Self { updates: Updates::new(Arc::clone(&memory)), memory, keys: None, running: Running::default() }
    }

    /// Remembers calls with an idempotency key under this name, which must be another for another graph. `open` is called when the
    /// first such call comes, and again with the next one if it failed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_memory::{GraphMemory, MemoryServer};
    /// let _server = MemoryServer::new(Arc::new(GraphMemory::default())).keys("memory-notes", || async {
    ///     Ok(Guard::new(Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new()))))
    /// });
    /// ```
    pub fn keys<Open>(mut self, name: &str, open: impl Fn() -> Open + Send + Sync + 'static) -> Self
    where
        Open: Future<Output = Result<Guard>> + Send + 'static,
    {
        self.keys = Some(Keys::new(name, open));
        self
    }

    /// What one client talks to.
    fn connection(&self) -> Connection {
        Connection { server: self.clone(), session: Arc::default() }
    }
}

/// One client.
#[derive(Debug, Clone)]
struct Connection {
    server: MemoryServer,
    session: Arc<Session>,
}

/// What is known of one client.
#[derive(Debug, Default)]
struct Session {
    /// The last change that it was told of in the answer to a call of its own.
    told: AtomicU64,
    /// Tells it of changes that others make, if it has subscribed.
    teller: Mutex<Option<Teller>>,
    /// Nothing more will come from it: those who listen may go.
    over: watch::Sender<bool>,
}

impl Session {
    fn is_subscribed(&self) -> bool {
        self.teller.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn unsubscribe(&self) {
        drop(self.teller.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Tells the client of every change from now on, once.
    fn subscribe(self: &Arc<Self>, updates: &Arc<Updates>, peer: Peer<RoleServer>) {
        let mut teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner);
        if teller.is_some() {
            return;
        }
        let mut listener = updates.listen();
        // It must not keep the session: with that, it ends.
        let session = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            loop {
                let count = listener.next().await;
                let Some(session) = session.upgrade() else { return };
                let is_told = session.told.load(Ordering::Acquire) >= count;
                drop(session);
                if !is_told && !tell(&peer).await {
                    return;
                }
            }
        });
        *teller = Some(Teller(task.abort_handle()));
    }

    /// The same for a client that also goes when `over` says so.
    fn until(self: Arc<Self>, over: &watch::Sender<bool>) -> Arc<Self> {
        Arc::new(Self { over: over.clone(), ..Self::default() })
    }

    async fn over(&self) {
        // The sender is within: it cannot be gone.
        self.over.subscribe().wait_for(|over| *over).await.ok();
    }
}

/// Ends with its session.
#[derive(Debug)]
struct Teller(AbortHandle);

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells a client that the graph has changed; false, if it is gone.
async fn tell(peer: &Peer<RoleServer>) -> bool {
    let params = rmcp::model::ResourceUpdatedNotificationParam::new(RESOURCE);
    let told = peer.notify_resource_updated(params).await;
    if let Err(error) = &told {
        tracing::debug!(%error, "a client could not be told of a change");
    }
    told.is_ok()
}
