//! The front: one listener, a path for each server.

mod answer;
mod cors;
mod door;
mod listen;
mod patient;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, RecordStore, Result};

use self::door::Door;
pub use self::door::{ANONYMOUS, Principal};
use crate::serve::Endpoint;
use crate::stdio::FRAME_MAX;

type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Serves many servers at one address, each under its name.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
/// stanchion_mcp::serve::Serve::new().run(listener, std::future::ready(())).await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[must_use]
pub struct Serve {
    endpoints: BTreeMap<String, Arc<dyn Endpoint>>,
    principals: Vec<Principal>,
    allow_anonymous: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    frame_max: usize,
    connections: usize,
    drain: Duration,
    store: Option<Arc<dyn RecordStore>>,
    metrics: Option<Metrics>,
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.endpoints.keys().collect();
        f.debug_struct("Serve").field("endpoints", &names).field("principals", &self.principals).finish_non_exhaustive()
    }
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            principals: Vec::new(),
            allow_anonymous: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            frame_max: FRAME_MAX,
            connections: 4096,
            drain: Duration::from_secs(30),
            store: None,
            metrics: None,
        }
    }
}

impl Serve {
    /// A front without servers.
    ///
    /// ```
    /// let _front = stanchion_mcp::serve::Serve::new();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server, at `/NAME`.
    pub fn endpoint(mut self, name: &str, endpoint: Arc<dyn Endpoint>) -> Self {
        self.endpoints.insert(name.to_owned(), endpoint);
        self
    }

    /// Adds somebody who may call. Without anybody, everybody on this machine may.
    ///
    /// ```
    /// # use stanchion_mcp::serve::{Principal, Serve};
    /// let _front = Serve::new().principal(Principal::with_token("alice", "s3cret"));
    /// ```
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principals.push(principal);
        self
    }

    /// Lets everybody call from other machines, too.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().allow_anonymous(true);
    /// ```
    pub const fn allow_anonymous(mut self, allowed: bool) -> Self {
        self.allow_anonymous = allowed;
        self
    }

    /// Adds a host, `NAME` or `NAME:PORT`, under which we may be asked.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().allowed_host("mcp.example.com");
    /// ```
    pub fn allowed_host(mut self, host: &str) -> Self {
        self.hosts.push(host.to_ascii_lowercase());
        self
    }

    /// Adds an origin, as in `https://app.example.com`, whose pages may ask.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().allowed_origin("https://app.example.com");
    /// ```
    pub fn allowed_origin(mut self, origin: &str) -> Self {
        self.origins.push(origin.trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// The longest message; 64 MiB unless set.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().frame_max(1 << 20);
    /// ```
    pub const fn frame_max(mut self, bytes: usize) -> Self {
        self.frame_max = bytes;
        self
    }

    /// How long what runs may take to end after `stop`; 30 s unless set.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().drain(std::time::Duration::from_secs(5));
    /// ```
    pub const fn drain(mut self, within: Duration) -> Self {
        self.drain = within;
        self
    }

    /// The store that must answer for us to be ready.
    pub fn store(mut self, store: Arc<dyn RecordStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What `/metrics` says.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Serve;
    /// let _front = Serve::new().metrics(|| String::new());
    /// ```
    pub fn metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(render));
        self
    }

    fn ready_for(self, listen: SocketAddr) -> Result<Front> {
        if self.principals.is_empty() && !listen.ip().is_loopback() && !self.allow_anonymous {
            return Err(Error::new(ErrorKind::Invalid, "everybody could call from other machines")
                .with("address", listen)
                .hint("add [[principals]] to the policy, listen on 127.0.0.1, or allow it with --allow-anonymous"));
        }
        let door = Door { principals: self.principals, hosts: self.hosts, origins: self.origins, listen };
        Ok(Front {
            endpoints: self.endpoints,
            door,
            frame_max: self.frame_max,
            connections: self.connections,
            drain: self.drain,
            store: self.store,
            metrics: self.metrics,
            stopping: AtomicBool::new(false),
        })
    }
}

/// A front that has an address.
struct Front {
    endpoints: BTreeMap<String, Arc<dyn Endpoint>>,
    door: Door,
    frame_max: usize,
    connections: usize,
    drain: Duration,
    store: Option<Arc<dyn RecordStore>>,
    metrics: Option<Metrics>,
    stopping: AtomicBool,
}
