//! nats-server, with JetStream unless told otherwise.

use std::ffi::OsString;
use std::fs;
use std::ops::Deref;

use rustix::process::Signal;

use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;

/// A private NATS server. JetStream keeps its streams in the server's own folder, so they outlive a kill.
///
/// ```
/// use stanchion_testkit::{engines::Nats, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let nats = start_or_skip!(Nats);
/// assert_eq!(nats.url(), format!("nats://127.0.0.1:{}", nats.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct Nats {
    server: Server,
    login: Option<String>,
}

/// How to start a NATS server.
///
/// ```
/// # use stanchion_testkit::engines::Nats;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
/// let nats = Nats::options().login("app", "hunter2").start().await;
/// assert!(nats.url().contains("app:hunter2@"));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct NatsOptions {
    login: Option<(String, String)>,
    no_jetstream: bool,
    jetstream: String,
    config: String,
}

impl NatsOptions {
    /// Requires this user and password; [`Nats::url`] carries them.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
    /// let nats = Nats::options().login("app", "hunter2").start().await;
    /// assert_eq!(nats.url(), format!("nats://app:hunter2@127.0.0.1:{}", nats.port()));
    /// # }
    /// ```
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.login = Some((user.into(), password.into()));
        self
    }

    /// Starts the server without JetStream.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
    /// let nats = Nats::options().without_jetstream().start().await;
    /// assert!(!nats.log().contains("Starting JetStream"));
    /// # }
    /// ```
    pub fn without_jetstream(mut self) -> Self {
        self.no_jetstream = true;
        self
    }

    /// Adds a setting to the block `jetstream` of the configuration file, such as `max_file_store: 1MB`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
    /// let nats = Nats::options().jetstream("max_file_store: 8MB").start().await;
    /// assert!(nats.log().contains("8.00 MB"));
    /// # }
    /// ```
    pub fn jetstream(mut self, line: impl AsRef<str>) -> Self {
        self.jetstream += &format!("  {}\n", line.as_ref());
        self
    }

    /// Adds lines to the configuration file, such as `max_payload: 64KB`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
    /// let nats = Nats::options().config("max_payload: 64KB").start().await;
    /// assert!(nats.pid().is_some());
    /// # }
    /// ```
    pub fn config(mut self, lines: impl AsRef<str>) -> Self {
        self.config += &format!("{}\n", lines.as_ref());
        self
    }

    /// Starts NATS with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Nats::try_start().await { return skip.report(); }
    /// let nats = Nats::options().start().await;
    /// assert!(nats.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Nats {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts NATS with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Nats;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Nats::options().try_start().await {
    ///     Ok(nats) => assert!(nats.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Nats, Skip> {
        let program = locate::find("nats", "nats-server")?;
        let port = Port::reserve();
        let dir = private_dir("nats", None);
        let mut config = format!("listen: \"127.0.0.1:{}\"\n", port.number());
        if !self.no_jetstream {
            config += &format!("jetstream {{\n  store_dir: \"js\"\n{}}}\n", self.jetstream);
        }
        if let Some((user, password)) = &self.login {
            config += &format!("authorization {{ user: \"{user}\", password: \"{password}\" }}\n");
        }
        config += &self.config;
        let file = dir.path().join("nats.conf");
        fs::write(&file, config).unwrap_or_else(|e| panic!("cannot write {}: {e}", file.display()));
        let args = ["-c", "nats.conf"].map(OsString::from).into();
        let spec = Spec { engine: "nats", program, args, user: None, stop: Signal::TERM, probe: Probe::Nats };
        let login = self.login.map(|(user, password)| format!("{user}:{password}@"));
        Ok(Nats { server: Server::start(spec, dir, port).await, login })
    }
}

starts!(Nats, NatsOptions, "Starts a server with JetStream and without a login.");

impl Nats {
    /// The server's URL, with user and password if there are any.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Nats, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let nats = start_or_skip!(Nats);
    /// assert_eq!(nats.url(), format!("nats://127.0.0.1:{}", nats.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Nats, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let nats = start_or_skip!(Nats);
    /// let proxy = FaultProxy::start(nats.addr(), Protocol::Nats).await;
    /// assert_eq!(nats.url_at(proxy.port()), format!("nats://127.0.0.1:{}", proxy.port()));
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("nats://{}127.0.0.1:{port}", self.login.as_deref().unwrap_or_default())
    }
}

/// Three private NATS servers that are one cluster. They serve streams with replicas some time after their start, when
/// they have found each other and chosen a leader.
///
/// ```
/// use stanchion_testkit::{engines::{Nats, NatsCluster}, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # drop(start_or_skip!(Nats));
/// let cluster = NatsCluster::start().await;
/// assert_eq!(cluster.servers().len(), 3);
/// # }
/// ```
#[derive(Debug)]
pub struct NatsCluster {
    servers: Vec<Nats>,
    _routes: Vec<Port>,
}

impl NatsCluster {
    /// Starts the three servers.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::{Nats, NatsCluster}, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # drop(start_or_skip!(Nats));
    /// let cluster = NatsCluster::start().await;
    /// cluster.servers()[0].kill(); // two of three go on
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start() -> NatsCluster {
        let routes: Vec<Port> = (0..3).map(|_| Port::reserve()).collect();
        let all: Vec<String> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{}\"", port.number())).collect();
        let mut servers = Vec::new();
        for (number, port) in routes.iter().enumerate() {
            let config = format!(
                "server_name: n{number}\ncluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}",
                port.number(),
                all.join(", ")
            );
            servers.push(Nats::options().config(config).start().await);
        }
        NatsCluster { servers, _routes: routes }
    }

    /// The servers.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::{Nats, NatsCluster}, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # drop(start_or_skip!(Nats));
    /// let cluster = NatsCluster::start().await;
    /// assert!(cluster.servers().iter().all(|server| server.pid().is_some()));
    /// # }
    /// ```
    pub fn servers(&self) -> &[Nats] {
        &self.servers
    }

    /// The URL of all three.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::{Nats, NatsCluster}, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # drop(start_or_skip!(Nats));
    /// let cluster = NatsCluster::start().await;
    /// assert_eq!(cluster.url().matches("127.0.0.1").count(), 3);
    /// # }
    /// ```
    pub fn url(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("nats://{}", servers.join(","))
    }
}

impl Deref for Nats {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shareable for Nats {
    const NAME: &'static str = "nats";

    async fn start_to_share() -> Result<Nats, Skip> {
        Nats::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Nats {
        Nats { server, login: None }
    }
}
