//! A TCP proxy that injects faults at message boundaries.
//!
//! Faults that matter are not "the network was bad for a while" but "the request was executed and its reply was
//! lost". To place them exactly, the proxy reads the protocol: it knows where one request ends and which reply
//! belongs to it.
//!
//! ```
//! use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! let proxy = FaultProxy::start(upstream.local_addr().unwrap(), Protocol::Resp).await;
//! proxy.set_plan(Plan::first("EVALSHA", Fault::LoseReply));
//! // ... point a client at proxy.port(): its first EVALSHA runs, and the connection breaks before the answer.
//! assert_eq!(proxy.counts().lost_replies, 0);
//! # }
//! ```

mod connection;
mod framing;
#[cfg(test)]
mod fuzz_tests;
mod grpc;
mod http;
mod json_rpc;
mod mcp;
mod mysql;
mod nats;
mod plan;
mod postgres;
mod resp;
mod zookeeper;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use framing::Protocol;
pub use plan::{Fault, Message, Plan, Rates};

use crate::eventually::eventually_sync;

/// How long a busy machine may need to break connections.
const CUT: Duration = Duration::from_secs(30);

/// A proxy on a loopback port. It runs on a thread of its own, so that a test which blocks does not block it.
///
/// ```
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
/// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
/// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
/// #     let mut answer = [0; 64];
/// #     match stream.read(&mut answer)? {
/// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
/// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// proxy.set_plan(Plan::first("INCR", Fault::LoseReply));
/// assert!(ask(&mut client, "INCR n").is_err());
/// let mut direct = TcpStream::connect(server.addr()).unwrap();
/// assert_eq!(ask(&mut direct, "INCR n").unwrap(), ":2"); // the first one was executed
/// # }
/// ```
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What went through a proxy, and what was done to it.
///
/// ```
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{FaultProxy, Protocol, engines::Redis, start_or_skip};
/// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
/// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
/// #     let mut answer = [0; 64];
/// #     match stream.read(&mut answer)? {
/// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
/// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// ask(&mut client, "PING").unwrap();
/// let counts = proxy.counts();
/// assert_eq!((counts.connections, counts.requests, counts.lost_replies), (1, 1, 0));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Requests that the plan was asked about.
    pub requests: u64,
    /// Replies that reached the client.
    pub replies: u64,
    /// [`Fault::LoseReply`] done: the server had answered.
    pub lost_replies: u64,
    /// [`Fault::LoseRequest`] done.
    pub lost_requests: u64,
    /// [`Fault::Delay`] done.
    pub delayed: u64,
    /// [`Fault::DelayReply`] done.
    pub delayed_replies: u64,
    /// [`Fault::Duplicate`] done: the request was sent twice.
    pub duplicated: u64,
    /// [`Fault::Reset`] done.
    pub resets: u64,
    /// Stretches that were not valid in the protocol; they passed unchanged.
    pub unparsed: u64,
}

/// What all connections of a proxy look at.
#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    protocol: Protocol,
    plan: Mutex<Plan>,
    counts: Mutex<Counts>,
    control: watch::Sender<Control>,
    /// Connections that are not over.
    open: Mutex<BTreeSet<u64>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Control {
    cuts: u64,
    blackhole: bool,
    closed: bool,
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl FaultProxy {
    /// Starts a proxy in front of `upstream`. It passes everything on until [`set_plan`](FaultProxy::set_plan).
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// assert_eq!(ask(&mut client, "PING").unwrap(), "+PONG");
    /// # }
    /// ```
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub async fn start(upstream: SocketAddr, protocol: Protocol) -> FaultProxy {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        listener.set_nonblocking(true).expect("a socket option that always exists");
        let port = listener.local_addr().expect("it was just bound").port();
        let shared = Arc::new(Shared {
            upstream,
            protocol,
            plan: Mutex::new(Plan::pass()),
            counts: Mutex::default(),
            control: watch::Sender::new(Control::default()),
            open: Mutex::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime for the proxy");
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("fault-proxy".to_owned());
        let thread = thread.spawn(move || runtime.block_on(serve(listener, serving))).expect("a thread for the proxy");
        FaultProxy { port, shared, thread: Some(thread) }
    }

    /// The port to connect to, on 127.0.0.1.
    ///
    /// ```
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    /// let proxy = FaultProxy::start(upstream, Protocol::Resp).await;
    /// assert_eq!(proxy.port(), proxy.addr().port());
    /// # }
    /// ```
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address to connect to.
    ///
    /// ```
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    /// let proxy = FaultProxy::start(upstream, Protocol::Resp).await;
    /// assert!(std::net::TcpStream::connect(proxy.addr()).is_ok());
    /// # }
    /// ```
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Replaces the plan for all requests that come from now on.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// assert!(ask(&mut client, "PING").is_ok());
    /// proxy.set_plan(Plan::on(|_| Fault::Reset));
    /// assert!(ask(&mut client, "PING").is_err());
    /// # }
    /// ```
    pub fn set_plan(&self, plan: Plan) {
        *self.shared.plan() = plan;
    }

    /// Breaks every open connection now, and returns when all are broken; new ones are welcome.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// assert!(ask(&mut client, "PING").is_ok());
    /// proxy.cut_all();
    /// assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
    /// let mut another = TcpStream::connect(proxy.addr()).unwrap();
    /// assert!(ask(&mut another, "PING").is_ok());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the proxy gets no time to do it.
    pub fn cut_all(&self) {
        let cut = {
            let open = self.shared.open();
            self.shared.control.send_modify(|control| control.cuts += 1);
            open.clone()
        };
        eventually_sync(CUT, "every connection is cut", || self.shared.open().is_disjoint(&cut));
    }

    /// While on, nothing moves in either direction and connections stay open, as behind a dead switch. Bytes that
    /// were on their way arrive when it is switched off.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream, time::Duration};
    /// # use stanchion_testkit::{FaultProxy, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.blackhole(true);
    /// client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    /// assert!(ask(&mut client, "PING").is_err());
    /// proxy.blackhole(false);
    /// client.set_read_timeout(None).unwrap();
    /// client.read_exact(&mut [0; 7]).unwrap(); // the late +PONG
    /// # }
    /// ```
    pub fn blackhole(&self, on: bool) {
        self.shared.control.send_modify(|control| control.blackhole = on);
    }

    /// What happened so far.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.set_plan(Plan::first("PING", Fault::LoseReply));
    /// assert!(ask(&mut client, "PING").is_err());
    /// assert_eq!(proxy.counts().lost_replies, 1);
    /// # }
    /// ```
    pub fn counts(&self) -> Counts {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.control.send_modify(|control| control.closed = true);
        if let Some(thread) = self.thread.take() {
            // A panic in the proxy was already printed; a second one here would abort the test run.
            thread.join().ok();
        }
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a listener in non-blocking mode");
    let mut closed = shared.control.subscribe();
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closed.wait_for(|control| control.closed) => return,
        };
        let Ok((client, _)) = accepted else { continue };
        shared.count(|counts| counts.connections += 1);
        tokio::spawn(connection::run(client, number, Arc::clone(&shared)));
    }
}
