//! Redis, and Valkey, which is started and spoken to in the same way.

use std::ffi::OsString;
use std::ops::Deref;

use rustix::process::Signal;

use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};

/// A private Redis server. Without options it keeps nothing on disk.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    password: Option<String>,
}

/// A private Valkey server; everything that works on [`Redis`] works on it.
#[derive(Debug)]
pub struct Valkey(Redis);

/// How to start a Redis or Valkey server.
///
/// ```no_run
/// # use stanchion_testkit::engines::Redis;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let redis = Redis::options().password("hunter2").aof(true).start().await;
/// assert!(redis.url().contains("hunter2"));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct RedisOptions {
    password: Option<String>,
    aof: bool,
    extra: Vec<OsString>,
}

impl RedisOptions {
    /// Requires this password; [`Redis::url`] carries it.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Writes every command to the append-only file before it is answered, so that a kill loses nothing.
    pub fn aof(mut self, on: bool) -> Self {
        self.aof = on;
        self
    }

    /// Adds a setting, such as `.arg("--maxmemory").arg("10mb")`.
    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.extra.push(word.into());
        self
    }

    /// Starts Redis with these options.
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Redis {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts Redis with these options, or says why it cannot exist on this machine.
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Redis, Skip> {
        self.launch("redis", "redis-server").await
    }

    async fn launch(self, engine: &'static str, binary: &str) -> Result<Redis, Skip> {
        let program = locate::find(engine, binary)?;
        let port = Port::reserve();
        let dir = private_dir(engine, None);
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
        Ok(Redis { server: Server::start(spec, dir, port).await, password: self.password })
    }
}

impl Redis {
    /// Starts a server without a password that keeps nothing on disk.
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start() -> Redis {
        Redis::options().start().await
    }

    /// Like [`start`](Redis::start), for [`start_or_skip!`](crate::start_or_skip).
    ///
    /// # Panics
    /// When the server could exist here but does not, or does not become ready.
    pub async fn try_start() -> Result<Redis, Skip> {
        Redis::options().try_start().await
    }

    /// Options for another kind of server.
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    /// The URL of database 0, with the password if there is one.
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    pub fn url_at(&self, port: u16) -> String {
        let login = self.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{login}127.0.0.1:{port}/0")
    }
}

impl Valkey {
    /// Starts a server without a password that keeps nothing on disk.
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start() -> Valkey {
        Valkey::try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`start`](Valkey::start), for [`start_or_skip!`](crate::start_or_skip).
    ///
    /// # Panics
    /// When the server could exist here but does not, or does not become ready.
    pub async fn try_start() -> Result<Valkey, Skip> {
        Valkey::try_start_with(RedisOptions::default()).await
    }

    /// Starts a server with options.
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
