//! One server for many tests: for those that only talk to it.
//!
//! `cargo xtask test` makes a folder for its run and names it in `STANCHION_SHARED`. The first test process that asks
//! for an engine starts it, notes there where it is, and gives it away; all later ones use the same server. It ends
//! with the run, however that ends: xtask holds the writing end of the folder's FIFO `alive`, and each shared server
//! has a keeper that reads from it. End of file means "the run is over".
//!
//! Without the variable every test has a server of its own.

use std::env;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::locate::Skip;
use super::server::Server;

/// A server that is up takes a connection at once; the kernel does it.
const CONNECT: Duration = Duration::from_secs(5);

/// An engine whose default server can serve many tests at once.
///
/// ```
/// use stanchion_testkit::engines::{Redis, Shareable, Shared};
/// # use stanchion_testkit::start_or_skip;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// async fn port<E: Shareable>(engine: &E) -> u16 {
///     engine.server().port()
/// }
/// # let redis = start_or_skip!(Redis);
/// assert_eq!(port(&redis).await, redis.port());
/// # }
/// ```
pub trait Shareable: Sized + Send + Sync + 'static {
    /// The engine's name, one word. Servers of one name are alike: another kind of start needs another name.
    const NAME: &'static str;

    /// Starts the server that is shared.
    fn start_to_share() -> impl Future<Output = Result<Self, Skip>> + Send;

    /// The running server of this engine.
    fn server(&self) -> &Server;

    /// The engine around a server that another process has started in the same way.
    fn attach(server: Server) -> Self;
}

/// A server that other tests use at the same moment. Not for tests that kill, pause, restart or fill it: those panic
/// here, and need a server of their own.
///
/// ```
/// use stanchion_testkit::engines::{Redis, Shared};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
/// let redis = Shared::<Redis>::get().await;
/// assert!(std::net::TcpStream::connect(redis.addr()).is_ok());
/// # }
/// ```
#[derive(Debug)]
pub struct Shared<E>(E);

impl<E: Shareable> Shared<E> {
    /// The run's server, or one of our own where nobody shares.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{Redis, Shared};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = Redis::try_start().await { return skip.report(); }
    /// assert!(Shared::<Redis>::get().await.url().starts_with("redis://"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing, does not become ready, or has died in the meantime; the message holds its log.
    pub async fn get() -> Shared<E> {
        Shared::try_get().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`get`](Shared::get), or says why the engine cannot exist on this machine.
    ///
    /// ```
    /// # use stanchion_testkit::engines::{Shared, Valkey};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match Shared::<Valkey>::try_get().await {
    ///     Ok(valkey) => assert!(valkey.port() > 0),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// Like [`get`](Shared::get), but not where the server cannot exist.
    pub async fn try_get() -> Result<Shared<E>, Skip> {
        match env::var_os("STANCHION_SHARED") {
            None => E::start_to_share().await.map(Shared),
            Some(folder) => join(PathBuf::from(folder)).await.map(Shared),
        }
    }
}

impl<E> Deref for Shared<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

async fn join<E: Shareable>(folder: PathBuf) -> Result<E, Skip> {
    let note = folder.join(E::NAME);
    let place = folder.join(format!("{}.lock", E::NAME));
    // On a thread of its own: the holder may be a task of this very runtime.
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::options().create(true).append(true).open(&place)?;
        file.lock().map(|()| file)
    });
    let lock = locked.await.expect("the closure does not panic");
    let _lock = lock.unwrap_or_else(|e| panic!("cannot lock the shared {}: {e}", E::NAME));
    if let Ok(text) = fs::read_to_string(&note) {
        return Ok(E::attach(read::<E>(&text)));
    }
    let engine = E::start_to_share().await?;
    let server = engine.server();
    server.give_away(alive(&folder), &folder);
    let text = format!("{}\n{}\n{}\n", server.port(), server.version(), server.dir().display());
    // stanchion-audit: ignore RC302 -- read and written under the lock beside it
    fs::write(&note, &text).unwrap_or_else(|e| panic!("cannot note where the shared {} is: {e}", E::NAME));
    Ok(E::attach(read::<E>(&text)))
}

/// The end of the FIFO that ends with the run.
fn alive(folder: &Path) -> File {
    let path = folder.join("alive");
    // Without waiting for a writer: if the run is over by now there will never be one. Reading then ends at once.
    let opened =
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, rustix::fs::Mode::empty());
    let file = opened.unwrap_or_else(|e| panic!("{} is no FIFO of a test run: {e}", path.display()));
    let blocking = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags - OFlags::NONBLOCK));
    blocking.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.into()
}

fn read<E: Shareable>(note: &str) -> Server {
    let [port, version, dir] = note.lines().collect::<Vec<_>>()[..] else { panic!("half a note: {note:?}") };
    let port: u16 = port.parse().unwrap_or_else(|e| panic!("{note:?}: {e}"));
    let server = Server::attach(E::NAME, port, version.to_owned(), dir.into());
    let reached = TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), CONNECT);
    // Another one in its place would hide that some test has brought it down.
    reached.unwrap_or_else(|e| panic!("the shared {} has died ({e}); log:\n{}", E::NAME, server.log()));
    server
}
