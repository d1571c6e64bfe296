//! dynalite: an **emulator** of Amazon DynamoDB, from npm. The real one cannot be started privately.
//!
//! What it does not do: check signatures, refuse for now, give the item with a failed condition, global tables.

use std::ffi::OsString;
use std::ops::Deref;

use rustix::process::Signal;

use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use super::shared::Shareable;
use super::starts::starts;
use crate::peers::Peers;

/// A private dynalite, which is an emulator of DynamoDB. Without options it keeps everything in memory.
///
/// ```
/// use stanchion_testkit::{engines::Dynalite, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = start_or_skip!(Dynalite);
/// assert!(server.url().ends_with(&format!("endpoint=http://127.0.0.1:{}", server.port())));
/// # }
/// ```
#[derive(Debug)]
pub struct Dynalite {
    server: Server,
}

/// How to start dynalite.
///
/// ```
/// # use stanchion_testkit::engines::Dynalite;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Dynalite::try_start().await { return skip.report(); }
/// let server = Dynalite::options().on_disk(true).start().await;
/// assert!(server.dir().join("data").is_dir());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `start`"]
pub struct DynaliteOptions {
    on_disk: bool,
    extra: Vec<OsString>,
}

impl DynaliteOptions {
    /// Keeps the data in a folder, so that they survive a kill.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Dynalite;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Dynalite::try_start().await { return skip.report(); }
    /// let server = Dynalite::options().on_disk(true).start().await;
    /// server.kill();
    /// server.restart().await;
    /// # }
    /// ```
    pub fn on_disk(mut self, on: bool) -> Self {
        self.on_disk = on;
        self
    }

    /// Adds an argument, such as `.arg("--createTableMs").arg("500")`.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Dynalite;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Dynalite::try_start().await { return skip.report(); }
    /// let server = Dynalite::options().arg("--maxItemSizeKb").arg("100").start().await;
    /// assert!(server.pid().is_some());
    /// # }
    /// ```
    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.extra.push(word.into());
        self
    }

    /// Starts dynalite with these options.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Dynalite;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Dynalite::try_start().await { return skip.report(); }
    /// assert!(Dynalite::options().start().await.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When it is missing or does not become ready; the message holds its log.
    pub async fn start(self) -> Dynalite {
        self.try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Starts dynalite with these options, or says why it cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Dynalite;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Dynalite::options().try_start().await {
    ///     Ok(server) => assert!(server.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Self::start), but not where there is no Node.js.
    pub async fn try_start(self) -> Result<Dynalite, Skip> {
        let peers = Peers::find()?;
        let program = locate::Program { path: peers.node().to_owned(), libraries: None };
        let port = Port::reserve();
        let dir = private_dir("dynalite", None);
        let mut args = vec![peers.package("dynalite").join("cli.js").into_os_string()];
        let number = port.number().to_string();
        // Without a host it would listen on all interfaces.
        args.extend(["--host", "127.0.0.1", "--port", &number].map(OsString::from));
        for name in ["--createTableMs", "--updateTableMs", "--deleteTableMs"] {
            args.extend([name, "0"].map(OsString::from));
        }
        if self.on_disk {
            args.extend([OsString::from("--path"), dir.path().join("data").into_os_string()]);
        }
        args.extend(self.extra);
        let spec = Spec { engine: "dynalite", program, args, user: None, stop: Signal::TERM, probe: Probe::Dynalite };
        Ok(Dynalite { server: Server::start(spec, dir, port).await })
    }
}

starts!(Dynalite, DynaliteOptions, "Starts an emulator that keeps everything in memory.");

impl Dynalite {
    /// The emulator's version; that of the server process would be Node.js's.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Dynalite, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(Dynalite);
    /// assert!(server.version().starts_with("4."));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the package is gone meanwhile.
    pub fn version(&self) -> String {
        let peers = Peers::find().unwrap_or_else(|skip| panic!("{skip}"));
        let text = std::fs::read_to_string(peers.package("dynalite").join("package.json")).unwrap_or_default();
        let after = text.split("\"version\": \"").nth(1);
        after.and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("no version in {text:?}")).to_owned()
    }

    /// The store URL of the table `stanchion`. dynalite takes any access key.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Dynalite, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(Dynalite);
    /// assert!(server.url().starts_with("dynamodb://test:test@stanchion?"));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same URL at another port, such as a fault proxy's.
    ///
    /// ```
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Dynalite, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(Dynalite);
    /// let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    /// assert!(server.url_at(proxy.port()).ends_with(&proxy.port().to_string()));
    /// # }
    /// ```
    pub fn url_at(&self, port: u16) -> String {
        format!("dynamodb://test:test@stanchion?endpoint=http://127.0.0.1:{port}")
    }
}

impl Deref for Dynalite {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shareable for Dynalite {
    const NAME: &'static str = "dynalite";

    async fn start_to_share() -> Result<Dynalite, Skip> {
        Dynalite::try_start().await
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn attach(server: Server) -> Dynalite {
        Dynalite { server }
    }
}
