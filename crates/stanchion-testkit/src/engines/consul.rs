//! Consul, one server in one agent.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;
use crate::eventually::within;

/// Long, because a loaded machine may run many servers at once.
const START: Duration = Duration::from_secs(60);

/// A private Consul server. Without options it runs in dev mode and keeps nothing on disk.
///
/// ```
/// use stanchion_testkit::{engines::Consul, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let consul = start_or_skip!(Consul);
/// assert_eq!(consul.url(), format!("consul://127.0.0.1:{}/", consul.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct Consul {
    server: Server,
    token: Option<String>,
    /// Its own ports for gossip and for other servers.
    _inner: Vec<Port>,
}

/// How to start a Consul server.
///
/// ```
/// # use stanchion_testkit::engines::Consul;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Consul::try_start().await { return skip.report(); }
/// let consul = Consul::options().token("11111111-2222-3333-4444-555555555555").start().await;
/// assert!(consul.url().contains("11111111"));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct ConsulOptions {
    token: Option<String>,
    disk: bool,
    settings: Vec<String>,
}

impl ConsulOptions {
    /// Turns access control on, with this token for everything; [`Consul::url`] carries it.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Consul;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Consul::try_start().await { return skip.report(); }
    /// let consul = Consul::options().token("11111111-2222-3333-4444-555555555555").start().await;
    /// let port = consul.port();
    /// assert_eq!(consul.url(), format!("consul://11111111-2222-3333-4444-555555555555@127.0.0.1:{port}/"));
    /// # }
    /// ```
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Keeps everything on disk, so that a kill loses nothing. It takes a second longer to start: a server that is not in dev mode
    /// waits before it elects itself.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Consul;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Consul::try_start().await { return skip.report(); }
    /// let consul = Consul::options().disk(true).start().await;
    /// assert!(consul.dir().join("data/raft").is_dir());
    /// # }
    /// ```
    pub fn disk(mut self, on: bool) -> Self {
        self.disk = on;
        self
    }

    /// Adds a line of configuration, such as `session_ttl_min = "10s"`; it wins over ours.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Consul;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Consul::try_start().await { return skip.report(); }
    /// let consul = Consul::options().setting(r#"session_ttl_min = "10s""#).start().await;
    /// assert!(consul.pid().is_some());
    /// # }
    /// ```
    pub fn setting(mut self, line: impl Into<String>) -> Self {
        self.settings.push(line.into());
        self
    }

    /// Starts Consul with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Consul;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Consul::try_start().await { return skip.report(); }
    /// let consul = Consul::options().start().await;
    /// assert!(consul.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Consul {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts Consul with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Consul;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Consul::options().try_start().await {
    ///     Ok(consul) => assert!(consul.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where the server cannot exist.
    pub async fn try_start(self) -> Result<Consul, Skip> {
        let program = locate::find("consul", "consul")?;
        let (port, gossip, servers) = (Port::reserve(), Port::reserve(), Port::reserve());
        let dir = private_dir("consul", None);
        let mut lines = vec![
            format!(
                "ports {{ http = {}, serf_lan = {}, server = {}, serf_wan = -1, dns = -1, grpc = -1 }}",
                port.number(),
                gossip.number(),
                servers.number()
            ),
            r#"bind_addr = "127.0.0.1""#.to_owned(),
            r#"client_addr = "127.0.0.1""#.to_owned(),
            r#"session_ttl_min = "1s""#.to_owned(),
            // As fast as it goes: an election after one second instead of five.
            "performance { raft_multiplier = 1 }".to_owned(),
            "connect { enabled = false }".to_owned(),
            "disable_update_check = true".to_owned(),
            r#"log_level = "warn""#.to_owned(),
            // Each test is a client with many connections.
            "limits { http_max_conns_per_client = 10000 }".to_owned(),
        ];
        if let Some(token) = &self.token {
            lines.push(format!(
                r#"acl {{ enabled = true, default_policy = "deny", tokens {{ master = "{token}", agent = "{token}" }} }}"#
            ));
        }
        let mut args: Vec<OsString> = vec!["agent".into()];
        if self.disk {
            lines.push(r#"data_dir = "data""#.to_owned());
            lines.extend(["server = true".to_owned(), "bootstrap = true".to_owned()]);
        } else {
            args.push("-dev".into());
        }
        write(&dir.path().join("base.hcl"), &lines);
        write(&dir.path().join("extra.hcl"), &self.settings);
        // The last one wins.
        args.extend(["-config-file", "base.hcl", "-config-file", "extra.hcl"].map(OsString::from));
        let spec = Spec { engine: "consul", program, args, user: None, stop: Signal::INT, probe: Probe::Consul };
        let server = Server::start(spec, dir, port).await;
        let consul = Consul { server, token: self.token, _inner: vec![gossip, servers] };
        let complete = within(START, || async { consul.has_sessions().await.unwrap_or(false) }).await;
        assert!(complete, "consul gives no sessions; log:\n{}", consul.log());
        Ok(consul)
    }
}

fn write(path: &std::path::Path, lines: &[String]) {
    fs::write(path, lines.join("\n")).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

starts!(Consul, ConsulOptions, "Starts a server in dev mode.");

impl Consul {
    /// The store URL, with the token if there is one.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Consul, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let consul = start_or_skip!(Consul);
    /// assert_eq!(consul.url(), format!("consul://127.0.0.1:{}/", consul.port()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Consul, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let consul = start_or_skip!(Consul);
    /// let proxy = FaultProxy::start(consul.addr(), Protocol::Http).await;
    /// assert_eq!(consul.url_at(proxy.port()), format!("consul://127.0.0.1:{}/", proxy.port()));
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        let login = self.token.as_ref().map(|token| format!("{token}@")).unwrap_or_default();
        format!("consul://{login}127.0.0.1:{port}/")
    }
}

impl Consul {
    /// A new server has a leader before it knows its own node and its own token, and gives no session until then.
    async fn has_sessions(&self) -> std::io::Result<bool> {
        let token = self.token.as_deref().unwrap_or_default();
        let body = r#"{"TTL":"86400s"}"#;
        let created = ask(self.port(), "PUT", "/v1/session/create", token, body).await?;
        let id = created.split('"').nth(3).unwrap_or_default();
        if id.len() != 36 {
            return Ok(false);
        }
        ask(self.port(), "PUT", &format!("/v1/session/destroy/{id}"), token, "").await.map(|said| said.contains("true"))
    }
}

/// There is a leader, and it answers.
pub(super) async fn led(port: u16) -> std::io::Result<bool> {
    let leader = ask(port, "GET", "/v1/status/leader", "", "").await?;
    let read = ask(port, "GET", "/v1/kv/ready?consistent", "", "").await?;
    // Absent, or hidden by access control.
    Ok(leader.contains(':') && (read.is_empty() || read.contains("ermission denied")))
}

/// One request by hand; the body of its answer.
async fn ask(port: u16, method: &str, path: &str, token: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: consul\r\nX-Consul-Token: {token}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.trim().to_owned()))
}

impl Shareable for Consul {
    const NAME: &'static str = "consul";

    async fn start_to_share() -> Result<Self, Skip> {
        Consul::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Self {
        Consul { server, token: None, _inner: Vec::new() }
    }
}

impl Deref for Consul {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
