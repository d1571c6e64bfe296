//! moto: an **emulator** of Amazon S3, from PyPI. It honours `If-Match` and `If-None-Match` of a `PUT`.
//!
//! What it does not do: check signatures, and decide between two `PUT`s of the same moment.

use std::ffi::OsString;
use std::ops::Deref;

use rustix::process::Signal;

use super::locate::{self, Skip};
use super::port::Port;
use super::probe::Probe;
use super::server::{Server, Spec, private_dir};
use crate::peers::Peers;

/// A private moto, which is an emulator of S3. It keeps everything in memory.
///
/// ```
/// use stanchion_testkit::{engines::Moto, start_or_skip};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = start_or_skip!(Moto);
/// assert_eq!(server.url(), format!("http://127.0.0.1:{}", server.port()));
/// # }
/// ```
#[derive(Debug)]
pub struct Moto {
    server: Server,
}

impl Moto {
    /// Starts an emulator.
    ///
    /// ```
    /// # use stanchion_testkit::engines::Moto;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Moto::try_start().await { return skip.report(); }
    /// assert!(Moto::start().await.pid().is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When it is missing or does not become ready; the message holds its log.
    pub async fn start() -> Moto {
        Moto::try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`start`](Moto::start), for [`start_or_skip!`](crate::start_or_skip).
    ///
    /// ```
    /// # use stanchion_testkit::engines::Moto;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Moto::try_start().await {
    ///     Ok(server) => assert!(server.pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`start`](Moto::start), but not where there is no Python.
    pub async fn try_start() -> Result<Moto, Skip> {
        let program = locate::Program { path: Peers::find()?.python().to_owned(), libraries: None };
        let port = Port::reserve();
        let dir = private_dir("moto", None);
        let number = port.number().to_string();
        let args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", &number].map(OsString::from).to_vec();
        let spec = Spec { engine: "moto", program, args, user: None, stop: Signal::TERM, probe: Probe::Moto };
        Ok(Moto { server: Server::start(spec, dir, port).await })
    }

    /// The endpoint; buckets are the first part of the path.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Moto, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = start_or_skip!(Moto);
    /// assert!(server.url().starts_with("http://127.0.0.1:"));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }
}

impl Deref for Moto {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
