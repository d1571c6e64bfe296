//! HTTP/1.1 to one agent, over a few connections that are kept.
//!
//! A request goes out once. It is sent again only if the connection handed it back untouched.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use stanchion_core::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::fault::Fault;
use super::options::Options;

/// Connections that are kept for later: as many as busy callers use at once, or most of them connect anew for each request.
const IDLE_MOST: usize = 64;
/// The largest answer.
const ANSWER_MOST: usize = 64 << 20;

type Sender = SendRequest<Full<Bytes>>;

pub(super) struct Http {
    pub(super) options: Options,
    tls: Option<TlsConnector>,
    host: String,
    idle: Mutex<Vec<Sender>>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Http({})", self.options.shown)
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `X-Consul-Index`: what the answer is as of, for a blocking query.
    pub(super) index: u64,
    pub(super) body: Bytes,
}

impl Http {
    pub(super) fn new(options: Options) -> Result<Self> {
        let tls = options.tls.as_ref().map(|files| Ok(TlsConnector::from(Arc::new(files.config()?)))).transpose()?;
        let host = options.agent.to_string();
        Ok(Self { options, tls, host, idle: Mutex::default() })
    }

    /// Asks once; the answer may take until `end`.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Bytes, end: Instant) -> Result<Answer, Fault> {
        let mut request = self.request(method, path, body).map_err(|e| Fault::NotSent(e.to_string()))?;
        loop {
            let (mut sender, kept) = match self.kept().await {
                Some(sender) => (sender, true),
                // Boxed, or every request would carry the room for connecting.
                None => (Box::pin(self.connect()).await?, false),
            };
            let failed = match timeout_at(end, sender.try_send_request(request)).await {
                Ok(Ok(response)) => return self.read(sender, response, end).await,
                Ok(Err(failed)) => failed,
                Err(_) => return Err(Fault::Late),
            };
            let mut failed = failed;
            let why = failed.error().to_string();
            match failed.take_message() {
                // A kept connection was closed meanwhile, and nothing of the request has left.
                Some(untouched) if kept => request = untouched,
                Some(_) => return Err(Fault::NotSent(why)),
                None => return Err(Fault::Lost(why)),
            }
        }
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut path = path.to_owned();
        if let Some(datacenter) = &self.options.datacenter {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str("dc=");
            path.push_str(datacenter);
        }
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.host);
        if let Some(token) = &self.options.token {
            request = request.header("X-Consul-Token", token);
        }
        request.body(Full::new(body))
    }

    async fn read(
        &self,
        sender: Sender,
        response: hyper::Response<hyper::body::Incoming>,
        end: Instant,
    ) -> Result<Answer, Fault> {
        let status = response.status().as_u16();
        let index = response.headers().get("X-Consul-Index").and_then(|text| text.to_str().ok()?.parse().ok());
        let body = timeout_at(end, Limited::new(response.into_body(), ANSWER_MOST).collect()).await;
        let body = body.map_err(|_| Fault::Late)?.map_err(|e| Fault::Lost(e.to_string()))?.to_bytes();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MOST {
            idle.push(sender);
        }
        Ok(Answer { status, index: index.unwrap_or(0), body })
    }

    /// A connection that waits for its next request.
    async fn kept(&self) -> Option<Sender> {
        loop {
            let mut sender = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if !sender.is_closed() && matches!(timeout(self.options.timeout, sender.ready()).await, Ok(Ok(()))) {
                return Some(sender);
            }
        }
    }

    async fn connect(&self) -> Result<Sender, Fault> {
        let connecting = async {
            let stream = TcpStream::connect((self.options.agent.host.as_str(), self.options.agent.port)).await?;
            stream.set_nodelay(true)?;
            let Some(tls) = &self.tls else { return open(stream).await };
            let name = ServerName::try_from(self.options.agent.host.clone()).map_err(std::io::Error::other)?;
            open(tls.connect(name, stream).await?).await
        };
        match timeout(self.options.connect_timeout, connecting).await {
            Ok(Ok(sender)) => Ok(sender),
            Ok(Err(e)) => Err(Fault::NotSent(e.to_string())),
            Err(_) => Err(Fault::NotSent("no connection in time; see connect_timeout=".to_owned())),
        }
    }

    /// The lock-delay of our sessions, as it is written beside our entries.
    pub(super) fn delay_ms(&self) -> u64 {
        u64::try_from(self.options.lock_delay.as_millis()).unwrap_or(u64::MAX)
    }

    /// Speaks of this store in an error.
    pub(super) fn error(&self, fault: Fault, writes: bool) -> Error {
        fault.into_error(&self.options.shown, writes)
    }

    pub(super) fn damaged(&self, name: &str) -> Error {
        Error::new(ErrorKind::Damaged, "what is stored is not as we write it")
            .with("name", name)
            .with("store", &self.options.shown)
            .hint("another program has written under this prefix; choose another ns=, or `consul kv delete` that name")
    }
}

async fn open<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S) -> std::io::Result<Sender> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
    // It ends with its sender.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to Consul ended");
        }
    });
    Ok(sender)
}

/// Shared by everything of one store.
pub(super) type Shared = Arc<Http>;
