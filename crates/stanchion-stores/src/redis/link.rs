//! The connections: one for all commands, replaced when it dies.
//!
//! We hold the connection's driver ourselves, because then we *know* when it has ended: a command is
//! sent only on a living connection, and an idle one that died is replaced without anybody noticing.
//! Nothing is ever sent twice: a command whose answer is lost ends in [`Fault::Lost`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::redis::aio::{MultiplexedConnection, PubSub};
use ::redis::{AsyncConnectionConfig, Cmd, Value};
use stanchion_core::Result;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::fault::Fault;
use super::options::Options;
use super::script::Script;
use crate::address::Address;
use crate::connecting::Connecting;

/// A living connection, and the task that moves its bytes.
#[derive(Debug)]
pub(crate) struct Link {
    connection: MultiplexedConnection,
    ended: Arc<AtomicBool>,
    driver: tokio::task::AbortHandle,
    /// What the server said of itself before the first command, if somebody wanted to know.
    #[cfg(feature = "redlock")]
    pub(crate) greeting: Option<Greeting>,
}

/// `INFO server`, asked on a new connection before anything else: it tells whether this is the server of before.
#[cfg(feature = "redlock")]
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) info: String,
    /// Read when it had answered.
    pub(crate) answered: stanchion_core::BootTime,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Says that the driver has ended, also when its task was dropped with the runtime.
struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The server, and the connection to it if there is one.
pub(crate) struct Hub {
    pub(crate) options: Options,
    tls: Option<TlsConnector>,
    current: Mutex<Option<Arc<Link>>>,
    connecting: Connecting<Fault>,
    #[cfg(feature = "redlock")]
    greets: bool,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hub({})", self.options.shown)
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Hub {
    pub(crate) fn new(options: Options) -> Result<Self> {
        let tls = options.tls.as_ref().map(|files| Ok(TlsConnector::from(Arc::new(files.config()?)))).transpose()?;
        Ok(Self {
            options,
            tls,
            current: Mutex::default(),
            connecting: Connecting::default(),
            #[cfg(feature = "redlock")]
            greets: false,
        })
    }

    /// The same, and every connection begins with a [`Greeting`].
    #[cfg(feature = "redlock")]
    pub(crate) fn greeting(mut self) -> Self {
        self.greets = true;
        self
    }

    /// Runs a script. `NOSCRIPT` proves that nothing ran, so only then it is loaded and sent again.
    pub(crate) async fn eval(&self, script: &Script, command: &Cmd) -> Result<Value, Fault> {
        match self.send(command).await {
            Err(fault) if fault.no_script() => {
                self.send(script.load()).await?;
                self.send(command).await
            }
            answer => answer,
        }
    }

    /// Sends one command and awaits its answer, within the timeout.
    pub(crate) async fn send(&self, command: &Cmd) -> Result<Value, Fault> {
        let link = self.link().await?;
        self.send_on(&link, command).await
    }

    /// As [`send`](Self::send), on this connection and no other.
    pub(crate) async fn send_on(&self, link: &Arc<Link>, command: &Cmd) -> Result<Value, Fault> {
        let answer = link.connection.clone().send_packed_command(command).await;
        self.judge(link, answer.and_then(Value::extract_error))
    }

    /// As [`send_on`](Self::send_on), but a refusal inside the answer stays there: the rest of it counts.
    #[cfg(feature = "redlock")]
    pub(crate) async fn send_apart_on(&self, link: &Arc<Link>, command: &Cmd) -> Result<Value, Fault> {
        let answer = link.connection.clone().send_packed_command(command).await;
        let answer = match answer {
            Ok(Value::ServerError(error)) => Err(error.into()),
            answer => answer,
        };
        self.judge(link, answer)
    }

    /// Sends two commands back to back on one connection.
    pub(crate) async fn send_both(&self, pipe: &::redis::Pipeline) -> Result<Vec<Value>, Fault> {
        let link = self.link().await?;
        let answer = link.connection.clone().send_packed_commands(pipe, 0, pipe.len()).await;
        self.judge(&link, answer)
    }

    fn judge<T>(&self, link: &Arc<Link>, answer: Result<T, ::redis::RedisError>) -> Result<T, Fault> {
        answer.map_err(|error| {
            let fault = Fault::lost(&error);
            if matches!(fault, Fault::Lost(_)) {
                self.retire(link);
            }
            fault
        })
    }

    /// After a lost answer the connection is not trusted again: a half-dead one would swallow every
    /// command until the kernel gives up on it, minutes later.
    fn retire(&self, link: &Arc<Link>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|now| Arc::ptr_eq(now, link)) {
            *current = None;
        }
    }

    pub(crate) fn living(&self) -> Option<Arc<Link>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|link| !link.ended.load(Ordering::Acquire)).cloned()
    }

    pub(crate) async fn link(&self) -> Result<Arc<Link>, Fault> {
        let connect = || async {
            let link = Arc::new(self.connect().await?);
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&link));
            Ok(link)
        };
        self.connecting.link(|| self.living(), connect).await
    }

    async fn connect(&self) -> Result<Link, Fault> {
        self.within(async {
            let stream = self.stream().await?;
            let config = AsyncConnectionConfig::new()
                .set_response_timeout(Some(self.options.timeout))
                .set_pipeline_buffer_size(1024);
            let (connection, driver) = MultiplexedConnection::new_with_config(&self.options.login, stream, config)
                .await
                .map_err(|e| self.unsent(&e))?;
            let ended = Arc::new(AtomicBool::new(false));
            let end = End(Arc::clone(&ended));
            let driver = tokio::spawn(async move {
                let _end = end;
                driver.await;
            });
            #[cfg_attr(not(feature = "redlock"), expect(unused_mut, reason = "only a greeting changes it"))]
            let mut link = Link {
                connection,
                ended,
                driver: driver.abort_handle(),
                #[cfg(feature = "redlock")]
                greeting: None,
            };
            #[cfg(feature = "redlock")]
            if self.greets {
                link.greeting = Some(self.greet(&link).await?);
            }
            Ok(link)
        })
        .await
    }

    /// A connection that only listens.
    pub(crate) async fn subscriber(&self) -> Result<PubSub, Fault> {
        self.within(async { PubSub::new(&self.options.login, self.stream().await?).await.map_err(|e| self.unsent(&e)) })
            .await
    }

    async fn within<T>(&self, connecting: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        timeout(self.options.connect_timeout, connecting)
            .await
            .unwrap_or_else(|_| Err(self.unanswered("no answer in time".to_owned())))
    }

    async fn stream(&self) -> Result<Box<dyn Stream>, Fault> {
        let io = |e: std::io::Error| unreachable(e.to_string());
        let Address { host, port } = &self.options.server;
        let tcp = TcpStream::connect((host.as_str(), *port)).await.map_err(io)?;
        tcp.set_nodelay(true).map_err(io)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        let name = ServerName::try_from(host.clone()).map_err(|e| unreachable(e.to_string()))?;
        let tls = tls.connect(name, tcp).await.map_err(|e| self.unanswered(format!("TLS: {e}")))?;
        Ok(Box::new(tls))
    }

    #[cfg(feature = "redlock")]
    async fn greet(&self, link: &Link) -> Result<Greeting, Fault> {
        let mut ask = Cmd::with_capacity(2, 16);
        ask.arg("INFO").arg("server");
        let answer = link.connection.clone().send_packed_command(&ask).await;
        let answer = answer.and_then(Value::extract_error).map_err(|e| self.unsent(&e))?;
        let info = super::reply::text(&answer).ok_or(Fault::Garbled)?.to_owned();
        Ok(Greeting { info, answered: stanchion_core::Clock::now(&stanchion_core::SystemClock) })
    }

    /// A failure while connecting: whatever it was, no command of ours was sent.
    fn unsent(&self, error: &::redis::RedisError) -> Fault {
        if error.kind() == ::redis::ErrorKind::AuthenticationFailed {
            // The library adds nothing secret, but says it in words of its own; the answer is what counts.
            let said = error.detail().unwrap_or("the login was refused");
            return Fault::Refused("WRONGPASS".to_owned(), said.to_owned());
        }
        match Fault::lost(error) {
            Fault::Lost(why) => self.unanswered(why),
            refused => refused,
        }
    }

    /// A server that wants TLS, or our certificate, hangs up without a word; one that has no TLS waits for the rest.
    fn unanswered(&self, why: String) -> Fault {
        Fault::Unreachable(why, if self.tls.is_some() { ENCRYPTED } else { PLAIN })
    }
}

const PLAIN: &str = "is it running, and is this its port? Where it wants TLS, the scheme is rediss: or redlocks:";
const ENCRYPTED: &str = "check ca=, and cert= if the server asks for one; the server's certificate must name this host. \
    Where it has no TLS, the scheme is redis: or redlock:";

fn unreachable(why: String) -> Fault {
    Fault::Unreachable(why, "is the server running, and are host and port right?")
}
