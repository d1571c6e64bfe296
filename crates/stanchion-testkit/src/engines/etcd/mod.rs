//! etcd, alone and as a cluster of three.

mod cluster;

use std::ffi::OsString;
use std::ops::Deref;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::locate::{self, Program, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;

pub use cluster::EtcdCluster;

const ENGINE: &str = "etcd";

/// A private etcd of one member. Without options it does not force its writes to disk, which a kill of the process does not
/// show.
///
/// ```
/// use stanchion_testkit::{engines::Etcd, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let etcd = start_or_skip!(Etcd);
/// assert_eq!(etcd.url(), format!("etcd://127.0.0.1:{}", etcd.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct Etcd {
    server: Server,
    /// Kept from others while the server runs; not ours where the server is somebody else's.
    _peers: Option<Port>,
}

/// How to start an etcd of one member.
///
/// ```
/// # use stanchion_testkit::engines::Etcd;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Etcd::try_start().await { return skip.report(); }
/// let etcd = Etcd::options().fsync(true).start().await;
/// assert!(etcd.pid().is_some());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct EtcdOptions {
    fsync: bool,
    also: Vec<String>,
    extra: Vec<OsString>,
}

impl EtcdOptions {
    /// Forces every write to disk before it is answered.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Etcd;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Etcd::try_start().await { return skip.report(); }
    /// let etcd = Etcd::options().fsync(true).start().await;
    /// assert!(etcd.dir().join("data/member/wal").is_dir());
    /// # }
    /// ```
    pub fn fsync(mut self, on: bool) -> Self {
        self.fsync = on;
        self
    }

    /// Listens at another URL as well, such as one with TLS; [`Etcd::url`] stays the plain one.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Etcd;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Etcd::try_start().await { return skip.report(); }
    /// let etcd = Etcd::options().also_listen("unix://localhost:0").start().await;
    /// assert!(etcd.pid().is_some());
    /// # }
    /// ```
    pub fn also_listen(mut self, url: impl Into<String>) -> Self {
        self.also.push(url.into());
        self
    }

    /// Adds a setting, such as `.arg("--quota-backend-bytes").arg("1000000")`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Etcd;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Etcd::try_start().await { return skip.report(); }
    /// let etcd = Etcd::options().arg("--max-request-bytes").arg("4096").start().await;
    /// assert!(etcd.pid().is_some());
    /// # }
    /// ```
    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.extra.push(word.into());
        self
    }

    /// Starts etcd with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Etcd;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Etcd::try_start().await { return skip.report(); }
    /// let etcd = Etcd::options().start().await;
    /// assert!(etcd.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Etcd {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts etcd with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Etcd;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Etcd::options().fsync(true).try_start().await {
    ///     Ok(etcd) => assert!(etcd.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Etcd, Skip> {
        let program = locate::find(ENGINE, ENGINE)?;
        let peers = Port::reserve();
        let cluster = format!("m0=http://127.0.0.1:{}", peers.number());
        Ok(self.launch(program, "m0", peers, &cluster).await)
    }

    async fn launch(self, program: Program, name: &str, peers: Port, cluster: &str) -> Etcd {
        let port = Port::reserve();
        let client = format!("http://127.0.0.1:{}", port.number());
        let peer = format!("http://127.0.0.1:{}", peers.number());
        let mut args: Vec<OsString> = ["--name", name, "--data-dir", "data", "--initial-cluster", cluster]
            .into_iter()
            .chain(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .chain(["--advertise-client-urls", &client])
            .map(OsString::from)
            .collect();
        if !self.fsync {
            args.push("--unsafe-no-fsync".into());
        }
        let listen = [std::slice::from_ref(&client), &self.also[..]].concat().join(",");
        args.extend(["--listen-client-urls", &listen].map(OsString::from));
        args.extend(self.extra);
        let spec = Spec { engine: ENGINE, program, args, user: None, stop: Signal::TERM, probe: Probe::Etcd };
        Etcd { server: Server::start(spec, private_dir(ENGINE, None), port).await, _peers: Some(peers) }
    }
}

starts!(Etcd, EtcdOptions, "Starts one member.");

impl Etcd {
    /// The store's URL.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Etcd, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let etcd = start_or_skip!(Etcd);
    /// assert!(etcd.url().ends_with(&etcd.port().to_string()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Etcd, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let etcd = start_or_skip!(Etcd);
    /// let proxy = FaultProxy::start(etcd.addr(), Protocol::Grpc).await;
    /// assert_eq!(etcd.url_at(proxy.port()), format!("etcd://127.0.0.1:{}", proxy.port()));
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("etcd://127.0.0.1:{port}")
    }

    /// Asks by HTTP and JSON, without any code of a client: the answer's body.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Etcd, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let etcd = start_or_skip!(Etcd);
    /// assert!(etcd.post("/v3/maintenance/status", "{}").await.unwrap().contains("version"));
    /// # }
    /// ```
    ///
    /// # Errors
    /// When it does not answer within five seconds.
    pub async fn post(&self, path: &str, json: &str) -> std::io::Result<String> {
        let asked = async { http(TcpStream::connect(self.addr()).await?, "POST", path, json).await };
        tokio::time::timeout(std::time::Duration::from_secs(5), asked).await?
    }
}

impl Shareable for Etcd {
    const NAME: &'static str = "etcd";

    async fn start_to_share() -> Result<Etcd, Skip> {
        Etcd::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Etcd {
        Etcd { server, _peers: None }
    }
}

impl Deref for Etcd {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

pub(super) async fn healthy(stream: TcpStream) -> std::io::Result<bool> {
    Ok(http(stream, "GET", "/health", "").await?.contains("\"true\""))
}

async fn http(mut stream: TcpStream, method: &str, path: &str, json: &str) -> std::io::Result<String> {
    let length = json.len();
    let head = format!("{method} {path} HTTP/1.0\r\nHost: etcd\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(json.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Ok(answer.split_once("\r\n\r\n").map_or(answer.clone(), |(_, body)| body.to_owned()))
}
