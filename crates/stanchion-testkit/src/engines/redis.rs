//! Redis, and Valkey, which is started and spoken to in the same way.

use std::ffi::OsString;
use std::ops::Deref;

use rustix::process::Signal;

use super::clock::{self, Clock};
use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;

/// A private Redis server. Without options it keeps nothing on disk.
///
/// ```
/// use stanchion_testkit::{engines::Redis, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let redis = start_or_skip!(Redis);
/// assert_eq!(redis.url(), format!("redis://127.0.0.1:{}/0", redis.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct Redis {
    server: Server,
    password: Option<String>,
    clock: Option<Clock>,
}

/// A private Valkey server; everything that works on [`Redis`] works on it.
///
/// ```
/// use stanchion_testkit::{engines::Valkey, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let valkey = start_or_skip!(Valkey);
/// assert!(valkey.url().starts_with("redis://")); // the scheme of Redis: clients cannot tell
/// # }
/// ```
#[derive(Debug)]
pub struct Valkey(Redis);

/// How to start a Redis or Valkey server.
///
/// ```
/// # use stanchion_testkit::engines::Redis;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
/// let redis = Redis::options().password("hunter2").aof(true).start().await;
/// assert!(redis.url().contains("hunter2"));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct RedisOptions {
    password: Option<String>,
    aof: bool,
    own_clock: bool,
    extra: Vec<OsString>,
}

impl RedisOptions {
    /// Requires this password; [`Redis::url`] carries it.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
    /// let redis = Redis::options().password("hunter2").start().await;
    /// assert_eq!(redis.url(), format!("redis://:hunter2@127.0.0.1:{}/0", redis.port()));
    /// # }
    /// ```
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Writes every command to the append-only file before it is answered, so that a kill loses nothing.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
    /// let redis = Redis::options().aof(true).start().await;
    /// assert!(redis.dir().join("appendonlydir").exists() || redis.dir().join("appendonly.aof").exists());
    /// # }
    /// ```
    pub fn aof(mut self, on: bool) -> Self {
        self.aof = on;
        self
    }

    /// Gives it a wall clock of its own, for [`Redis::set_clock`].
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Redis::options().own_clock().try_start().await {
    ///     Ok(redis) => redis.set_clock(3600),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    pub fn own_clock(mut self) -> Self {
        self.own_clock = true;
        self
    }

    /// Adds a setting, such as `.arg("--maxmemory").arg("10mb")`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
    /// let redis = Redis::options().arg("--logfile").arg("own.log").start().await;
    /// assert!(redis.dir().join("own.log").is_file());
    /// # }
    /// ```
    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.extra.push(word.into());
        self
    }

    /// Starts Redis with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
    /// let redis = Redis::options().aof(true).start().await;
    /// assert!(redis.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Redis {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts Redis with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Redis::options().aof(true).try_start().await {
    ///     Ok(redis) => assert!(redis.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Redis, Skip> {
        self.launch("redis", "redis-server").await
    }

    async fn launch(self, engine: &'static str, binary: &str) -> Result<Redis, Skip> {
        let mut program = locate::find(engine, binary)?;
        let port = Port::reserve();
        let dir = private_dir(engine, None);
        let mut clock = None;
        if self.own_clock {
            let (own, with_it) = Clock::of(&program, dir.path())?;
            (clock, program) = (Some(own), with_it);
        }
        let number = port.number().to_string();
        let base = ["--port", &number, "--bind", "127.0.0.1", "--save", "", "--dir", "."];
        let mut args: Vec<OsString> = base.iter().map(OsString::from).collect();
        let append = if self.aof { ["yes", "always"] } else { ["no", "no"] };
        args.extend(["--appendonly", append[0], "--appendfsync", append[1]].map(OsString::from));
        if let Some(password) = &self.password {
            args.extend(["--requirepass", password].map(OsString::from));
        }
        args.extend(self.extra);
        let spec = Spec { engine, program, args, user: None, stop: Signal::TERM, probe: Probe::Resp };
        let server = Server::start(spec, dir, port).await;
        if let (Some(_), Some(pid)) = (&clock, server.pid()) {
            clock::forget_shared_memory(pid);
        }
        Ok(Redis { server, password: self.password, clock })
    }
}

starts!(Redis, RedisOptions, "Starts a server without a password that keeps nothing on disk.");

impl Redis {
    /// The URL of database 0, with the password if there is one.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// assert_eq!(redis.url(), format!("redis://127.0.0.1:{}/0", redis.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// let proxy = FaultProxy::start(redis.addr(), Protocol::Resp).await;
    /// assert_eq!(redis.url_at(proxy.port()), format!("redis://127.0.0.1:{}/0", proxy.port()));
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        let login = self.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{login}127.0.0.1:{port}/0")
    }

    /// Moves the server's wall clock, at once: `seconds` ahead of the machine's, or behind it if negative.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Redis;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Redis::options().own_clock().try_start().await {
    ///     Ok(redis) => redis.set_clock(-60),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When it was started without [`own_clock`](RedisOptions::own_clock).
    pub fn set_clock(&self, seconds: i64) {
        self.clock.as_ref().expect("started with `own_clock`").set(seconds);
    }
}

impl Valkey {
    /// Starts a server without a password that keeps nothing on disk.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Valkey;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Valkey::try_start().await { return skip.report(); }
    /// let valkey = Valkey::start().await;
    /// assert!(std::net::TcpStream::connect(valkey.addr()).is_ok());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start() -> Valkey {
        Valkey::try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`start`](Valkey::start), for [`start_or_skip!`](crate::start_or_skip).
    ///
    /// ```
    /// # use stanchion_testkit::engines::Valkey;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Valkey::try_start().await {
    ///     Ok(valkey) => assert!(valkey.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server could exist here but does not, or does not become ready.
    pub async fn try_start() -> Result<Valkey, Skip> {
        Valkey::try_start_with(RedisOptions::default()).await
    }

    /// Starts a server with options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{Redis, Valkey};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Valkey::try_start_with(Redis::options().password("hunter2")).await {
    ///     Ok(valkey) => assert!(valkey.url().contains("hunter2")),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`try_start`](Valkey::try_start).
    pub async fn try_start_with(options: RedisOptions) -> Result<Valkey, Skip> {
        options.launch("valkey", "valkey-server").await.map(Valkey)
    }
}

impl Deref for Redis {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Deref for Valkey {
    type Target = Redis;

    fn deref(&self) -> &Redis {
        &self.0
    }
}

impl Shareable for Redis {
    const NAME: &'static str = "redis";

    async fn start_to_share() -> Result<Redis, Skip> {
        Redis::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Redis {
        Redis { server, password: None, clock: None }
    }
}

impl Shareable for Valkey {
    const NAME: &'static str = "valkey";

    async fn start_to_share() -> Result<Valkey, Skip> {
        Valkey::try_start().await
    }

    fn server(&self) -> &Server {
        &self.0.server
    }

    fn attach(server: Server) -> Valkey {
        Valkey(Redis::attach(server))
    }
}
