//! One server process: start, kill, stop, restart, pause, and a watcher that outlives the test.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::locate::Program;
use super::port::Port;
use super::probe::Probe;
use super::user::give_to;
use super::watcher::Watcher;
use crate::eventually::within;
use crate::pause::wait_until_still;

/// Long, because a loaded machine may run many servers at once; a healthy start or stop takes well under a second.
const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(60);

/// What to run and how to tell that it serves.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) engine: &'static str,
    pub(super) program: Program,
    pub(super) args: Vec<OsString>,
    /// The user to run as, for servers that refuse root.
    pub(super) user: Option<u32>,
    /// The signal for a quick and clean shutdown.
    pub(super) stop: Signal,
    pub(super) probe: Probe,
}

/// A running private server; every engine type dereferences to it.
///
/// ```
/// use stanchion_testkit::engines::{Redis, Server};
/// # use stanchion_testkit::start_or_skip;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// fn crash(server: &Server) {
///     server.kill();
///     assert_eq!(server.pid(), None);
/// }
///
/// # let redis = start_or_skip!(Redis);
/// crash(&redis); // the same for every engine
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    engine: &'static str,
    dir: PathBuf,
    port: u16,
    version: String,
    /// `None` for a server that other tests use, too: it is not ours to disturb.
    own: Option<Own>,
}

#[derive(Debug)]
struct Own {
    spec: Spec,
    _port: Port,
    watcher: Mutex<Watcher>,
}

impl Server {
    pub(super) async fn start(spec: Spec, dir: TempDir, port: Port) -> Server {
        let watcher = Watcher::start(&spec, dir.path());
        // From here on the watcher removes the folder.
        let dir = dir.keep();
        let version = spec.program.version();
        let (engine, number) = (spec.engine, port.number());
        let own = Some(Own { spec, _port: port, watcher: Mutex::new(watcher) });
        let server = Server { engine, dir, port: number, version, own };
        server.launch().await;
        server
    }

    /// A server that another test process has started and given away.
    pub(super) fn attach(engine: &'static str, port: u16, version: String, dir: PathBuf) -> Server {
        Server { engine, dir, port, version, own: None }
    }

    /// Gives the server away: it runs until reading `until` ends, and `leftover` is removed with it. Nobody can kill,
    /// pause or restart it from here on.
    pub(super) fn give_away(&self, until: File, leftover: &Path) {
        let given = self.own().watcher.lock().unwrap_or_else(PoisonError::into_inner).give_away(until, leftover);
        assert!(given, "{} was given away before", self.engine);
    }

    fn own(&self) -> &Own {
        self.own.as_ref().unwrap_or_else(|| {
            panic!("this {} is shared by many tests: start one of your own to kill, stop or pause it", self.engine)
        })
    }

    /// The loopback port; it stays the same across [`restart`](Server::restart).
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// let port = redis.port();
    /// redis.restart().await;
    /// assert_eq!(redis.port(), port);
    /// # }
    /// ```
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, 127.0.0.1 and [`port`](Server::port).
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// assert!(redis.addr().ip().is_loopback());
    /// assert!(std::net::TcpStream::connect(redis.addr()).is_ok());
    /// # }
    /// ```
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    /// The server's version, such as `7.0.15`.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// assert!(redis.version().starts_with(|c: char| c.is_ascii_digit()));
    /// # }
    /// ```
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The server's folder: data, sockets and `log`.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// let dir = redis.dir().to_owned();
    /// assert!(dir.join("log").is_file());
    /// drop(redis);
    /// assert!(!dir.exists());
    /// # }
    /// ```
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The server's process id while it runs.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// assert!(redis.pid().is_some());
    /// redis.kill();
    /// assert_eq!(redis.pid(), None);
    /// # }
    /// ```
    pub fn pid(&self) -> Option<u32> {
        self.server().map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// What the server wrote to its log so far.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// assert!(redis.log().contains("Ready to accept connections"));
    /// # }
    /// ```
    pub fn log(&self) -> String {
        fs::read(self.dir.join("log")).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// Kills the server and its children with SIGKILL, as a crash would; data that it had not written is gone.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// redis.kill();
    /// assert!(std::net::TcpStream::connect(redis.addr()).is_err());
    /// # }
    /// ```
    pub fn kill(&self) {
        let mut watcher = self.own().watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if watcher.server.take().is_some() {
            let answer = watcher.order("kill");
            assert_eq!(answer.as_deref(), Some("gone"), "{} was not killed", self.engine);
        }
    }

    /// Shuts the server down in its own clean way; its folder stays for [`restart`](Server::restart).
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// redis.stop().await;
    /// assert!(std::net::TcpStream::connect(redis.addr()).is_err());
    /// assert!(redis.dir().exists());
    /// # }
    /// ```
    pub async fn stop(&self) {
        let Some(pid) = self.server() else { return };
        self.resume();
        // Gone already is what was asked for.
        kill_process(pid, self.own().spec.stop).ok();
        let stopped = within(STOP, || async { !alive(pid) }).await;
        assert!(stopped, "{} did not stop within {STOP:?}; log:\n{}", self.engine, self.log());
        self.kill();
    }

    /// Stops the server if it runs, and starts it again on the same port with the same data.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// redis.kill();
    /// redis.restart().await;
    /// assert!(std::net::TcpStream::connect(redis.addr()).is_ok());
    /// # }
    /// ```
    pub async fn restart(&self) {
        self.stop().await;
        self.launch().await;
    }

    /// Freezes the server and its children (SIGSTOP): connections stay open, nothing answers.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream, time::Duration};
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// redis.pause();
    /// let mut client = TcpStream::connect(redis.addr()).unwrap(); // the kernel takes it in
    /// client.write_all(b"PING\r\n").unwrap();
    /// client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    /// assert!(client.read(&mut [0; 7]).is_err());
    /// # }
    /// ```
    pub fn pause(&self) {
        let Some(pid) = self.server() else { return };
        let stop = |pid: Pid| {
            self.signal(pid, Signal::STOP);
            wait_until_still(pid.as_raw_nonzero().get().unsigned_abs());
        };
        // The parent first: when it stands, no new child can appear.
        stop(pid);
        children(pid).into_iter().for_each(stop);
    }

    /// Lets a paused server go on (SIGCONT).
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{engines::Redis, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let redis = start_or_skip!(Redis);
    /// redis.pause();
    /// let mut client = TcpStream::connect(redis.addr()).unwrap();
    /// client.write_all(b"PING\r\n").unwrap(); // waits in the kernel
    /// redis.resume();
    /// client.read_exact(&mut [0; 7]).unwrap(); // +PONG
    /// # }
    /// ```
    pub fn resume(&self) {
        let Some(pid) = self.server() else { return };
        children(pid).into_iter().for_each(|child| self.signal(child, Signal::CONT));
        self.signal(pid, Signal::CONT);
    }

    fn signal(&self, pid: Pid, signal: Signal) {
        match kill_process(pid, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("{}: signal {signal:?} to {pid:?}: {error}", self.engine),
        }
    }

    fn server(&self) -> Option<Pid> {
        self.own().watcher.lock().unwrap_or_else(PoisonError::into_inner).server
    }

    async fn launch(&self) {
        // Left behind by a kill; its number may belong to an unrelated process by now, which PostgreSQL would trust.
        fs::remove_file(self.dir.join("data/postmaster.pid")).ok();
        let engine = self.engine;
        let probe = self.own().spec.probe;
        let pid = {
            let mut watcher = self.own().watcher.lock().unwrap_or_else(PoisonError::into_inner);
            let pid = watcher.order("start").and_then(|answer| Pid::from_raw(answer.parse().ok()?));
            watcher.server = pid;
            pid.unwrap_or_else(|| panic!("the watcher of {engine} did not start it"))
        };
        let mut died = false;
        let port = self.port();
        let ready = within(START, || {
            died = !alive(pid);
            async move { died || probe.ready(port).await }
        })
        .await;
        assert!(ready && !died, "{engine} did not become ready on port {port}; log:\n{}", self.log());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(own) = &mut self.own else { return };
        own.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).end();
    }
}

fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}

/// Whether the process runs. A zombie does not: the watcher collects its children only on order.
fn alive(pid: Pid) -> bool {
    match fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        Ok(stat) => !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) if Path::new("/proc/self/stat").exists() => false,
        Err(_) => rustix::process::test_kill_process(pid).is_ok(),
    }
}

/// A fresh folder of the user that the server runs as.
pub(super) fn private_dir(engine: &str, user: Option<u32>) -> TempDir {
    let dir = tempfile::Builder::new().prefix(&format!("stanchion-{engine}-")).tempdir();
    let dir = dir.unwrap_or_else(|e| panic!("no temporary folder for {engine}: {e}"));
    give_to(dir.path(), user);
    dir
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Postgres;

    /// One that is left holds the shared memory, and the next server refuses to start.
    #[tokio::test]
    async fn a_kill_leaves_no_child_behind() {
        let postgres = crate::start_or_skip!(Postgres);
        for _ in 0..5 {
            let all = children(postgres.server().unwrap());
            assert!(all.len() > 2, "void: {all:?}");
            postgres.kill();
            assert!(!all.iter().any(|child| alive(*child)), "a child outlives its server");
            postgres.restart().await;
        }
    }
}
