//! The connection: one for all calls, to one endpoint; the next one when that fails.
//!
//! Nothing is ever sent twice unless the first answer proves that nothing ran: a write whose answer is lost ends in
//! [`Fault::Lost`], and its connection is not trusted again.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use prost::Message;
use stanchion_core::{Error, ErrorKind, Result};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tonic::Status;
use tonic::codegen::http::{HeaderValue, Method, Request, Version};
use tonic::codegen::{Bytes, Service};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::fault::Fault;
use super::options::Options;
use super::proto::{LoggedIn, Login};
use crate::address::Address;
use crate::connecting::Connecting;

/// A half-dead connection is noticed after this and the call's timeout; etcd forbids less than 5 s.
const PING: Duration = Duration::from_secs(10);
/// An endpoint that did not answer is not asked again for so long, if there is another one.
const SHUN: Duration = Duration::from_secs(10);
/// The 5 bytes before each message: not compressed, and its length.
const PREFIX: usize = 5;

/// The servers, and the connection to one of them if there is one.
pub(super) struct Hub {
    pub(super) options: Options,
    endpoints: Vec<Endpoint>,
    current: Mutex<Current>,
    connecting: Connecting<Fault>,
}

#[derive(Default)]
struct Current {
    /// Which endpoint.
    at: usize,
    link: Option<Link>,
    connections: u64,
    /// Since when endpoints have not answered.
    silent: HashMap<usize, Instant>,
}

/// Why a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Its login has expired: the same endpoint again.
    Login,
    /// Its member cannot help: the next endpoint.
    Weak,
    /// It did not answer: any other endpoint.
    Silent,
}

#[derive(Clone)]
pub(super) struct Link {
    number: u64,
    pub(super) channel: Channel,
    pub(super) token: Option<HeaderValue>,
    retired: Arc<watch::Sender<bool>>,
}

impl Link {
    /// For one call outside the common connection.
    pub(super) fn alone(channel: Channel, token: Option<HeaderValue>) -> Self {
        Self { number: 0, channel, token, retired: Arc::default() }
    }

    /// Returns when this connection is not trusted any more.
    pub(super) async fn retired(&self) {
        // The sender lives as long as this link does.
        drop(self.retired.subscribe().wait_for(|retired| *retired).await);
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hub({})", self.options.shown)
    }
}

impl Hub {
    pub(super) fn new(options: Options) -> Result<Self> {
        let endpoints = options.hosts.iter().map(|host| endpoint(host, &options)).collect::<Result<Vec<_>>>()?;
        Ok(Self { options, endpoints, current: Mutex::default(), connecting: Connecting::default() })
    }

    pub(super) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// A call that changes nothing: another member is asked when one does not answer.
    pub(super) async fn read<A: Message + Default>(
        &self,
        path: &'static str,
        message: &impl Message,
    ) -> Result<A, Fault> {
        self.call(path, message, self.endpoints.len().max(2)).await
    }

    /// A call that writes.
    pub(super) async fn write<A: Message + Default>(
        &self,
        path: &'static str,
        message: &impl Message,
    ) -> Result<A, Fault> {
        self.call(path, message, 1).await
    }

    /// At most so many answers may be lost.
    async fn call<A: Message + Default>(
        &self,
        path: &'static str,
        message: &impl Message,
        mut lose: usize,
    ) -> Result<A, Fault> {
        let body = encode(message);
        let (mut moves, mut logins) = (self.endpoints.len(), 1);
        loop {
            let link = self.link().await?;
            let fault = match self.once(&link, path, body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            match &fault {
                _ if fault.wants_login() && logins > 0 => {
                    logins -= 1;
                    self.retire(&link, Why::Login);
                }
                Fault::Lost(_) | Fault::Unsure(_) => {
                    lose -= 1;
                    self.retire(&link, if matches!(fault, Fault::Lost(_)) { Why::Silent } else { Why::Weak });
                    if lose == 0 {
                        return Err(fault);
                    }
                }
                _ if fault.elsewhere() => {
                    moves -= 1;
                    self.retire(&link, Why::Weak);
                    if moves == 0 {
                        return Err(fault);
                    }
                }
                _ => return Err(fault),
            }
        }
    }

    /// One call on one connection, within the timeout.
    pub(super) async fn once<A: Message + Default>(
        &self,
        link: &Link,
        path: &'static str,
        body: Bytes,
    ) -> Result<A, Fault> {
        match timeout(self.options.timeout, exchange(link, path, body)).await {
            Ok(Ok(bytes)) => A::decode(bytes).map_err(|e| Fault::Lost(e.to_string())),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(Fault::Lost("no answer in time".to_owned())),
        }
    }

    /// Not this connection again.
    pub(super) fn retire(&self, link: &Link, why: Why) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.link.as_ref().is_some_and(|now| now.number == link.number) {
            let at = current.at;
            current.link = None;
            link.retired.send_replace(true);
            if why != Why::Login {
                current.at = (at + 1) % self.endpoints.len();
            }
            if why == Why::Silent {
                current.silent.insert(at, Instant::now());
            }
        }
    }

    /// All endpoints, beginning with the present one; those that have just been silent come last.
    fn order(&self) -> Vec<usize> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.silent.retain(|_, since| since.elapsed() < SHUN);
        let count = self.endpoints.len();
        let mut order: Vec<usize> = (0..count).map(|step| (current.at + step) % count).collect();
        order.sort_by_key(|at| current.silent.contains_key(at));
        order
    }

    fn living(&self) -> Option<Link> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).link.clone()
    }

    pub(super) async fn link(&self) -> Result<Link, Fault> {
        // Boxed, or every call would carry the room for connecting.
        self.connecting.link(|| self.living(), || Box::pin(self.connect())).await
    }

    /// The first endpoint that can be reached, beginning with the present one.
    async fn connect(&self) -> Result<Link, Fault> {
        let mut failed = Fault::NotSent("there is no endpoint".to_owned());
        for at in self.order() {
            match self.open(&self.endpoints[at]).await {
                Ok((channel, token)) => {
                    let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                    current.connections += 1;
                    let link = Link { number: current.connections, ..Link::alone(channel, token) };
                    (current.at, current.link) = (at, Some(link.clone()));
                    return Ok(link);
                }
                // The same on every member, unless this one only lacks a leader.
                Err(fault @ Fault::Refused(..)) if !fault.elsewhere() => return Err(fault),
                Err(fault) => failed = fault,
            }
        }
        Err(failed)
    }

    /// Connects and logs in.
    pub(super) async fn open(&self, endpoint: &Endpoint) -> Result<(Channel, Option<HeaderValue>), Fault> {
        let unsent = |why: &str| Fault::NotSent(format!("{}: {why}", endpoint.uri()));
        let connecting = timeout(self.options.connect_timeout, endpoint.connect()).await;
        let channel = match connecting {
            Ok(Ok(channel)) => channel,
            Ok(Err(error)) => return Err(unsent(Fault::transport(&error).why())),
            Err(_) => return Err(unsent("no answer in time")),
        };
        let Some((name, password)) = self.options.login.clone() else { return Ok((channel, None)) };
        let link = Link::alone(channel, None);
        let body = encode(&Login { name, password });
        match self.once::<LoggedIn>(&link, "/etcdserverpb.Auth/Authenticate", body).await {
            Ok(LoggedIn { token }) => Ok((link.channel, HeaderValue::from_str(&token).ok())),
            // A server that asks nobody for a name lets everybody in.
            Err(Fault::Refused(_, text)) if text.contains("authentication is not enabled") => Ok((link.channel, None)),
            Err(fault) if fault.is_unknown() => Err(unsent(fault.why())),
            Err(fault) => Err(fault),
        }
    }
}

fn endpoint(host: &Address, options: &Options) -> Result<Endpoint> {
    let refuse = |e: tonic::transport::Error| {
        let why = Fault::transport(&e);
        Error::new(ErrorKind::Invalid, "this is no endpoint").with("host", host).with("cause", format_args!("{why:?}"))
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{host}"))
        .map_err(refuse)?
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(options.timeout)
        .keep_alive_while_idle(true);
    if let Some(tls) = &options.tls {
        let mut config = ClientTlsConfig::new();
        config = match &tls.authority {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_native_roots(),
        };
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        endpoint = endpoint.tls_config(config).map_err(refuse)?;
    }
    Ok(endpoint)
}

pub(super) fn encode(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut body = Vec::with_capacity(PREFIX + length);
    body.push(0);
    body.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    body.extend(message.encode_to_vec());
    body.into()
}

/// Sends one message and takes the first of the answer. The request ends with its only data frame, so it can be told
/// from a stream on the wire.
async fn exchange(link: &Link, path: &'static str, body: Bytes) -> Result<Bytes, Fault> {
    let mut channel = link.channel.clone();
    poll_fn(|cx| channel.poll_ready(cx)).await.map_err(|e| Fault::transport(&e))?;
    let mut request = Request::new(tonic::body::Body::new(Full::new(body)));
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    *request.uri_mut() = tonic::codegen::http::Uri::from_static(path);
    let headers = request.headers_mut();
    headers.insert("te", HeaderValue::from_static("trailers"));
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    // A member that has lost its majority says so at once, before it does anything.
    headers.insert("hasleader", HeaderValue::from_static("true"));
    if let Some(token) = &link.token {
        headers.insert("token", token.clone());
    }
    let response = channel.call(request).await.map_err(|e| Fault::transport(&e))?;
    if let Some(status) = Status::from_header_map(response.headers()) {
        return Err(Fault::answered(&status));
    }
    if !response.status().is_success() {
        return Err(Fault::Lost(format!("HTTP status {}", response.status())));
    }
    let collected = response.into_body().collect().await.map_err(|status| Fault::transport(&status))?;
    match collected.trailers().and_then(Status::from_header_map) {
        Some(status) if status.code() == tonic::Code::Ok => {}
        Some(status) => return Err(Fault::answered(&status)),
        None => return Err(Fault::Lost("the answer has no end".to_owned())),
    }
    let mut bytes = collected.to_bytes();
    let length = bytes.get(1..PREFIX).and_then(|length| Some(u32::from_be_bytes(length.try_into().ok()?)));
    let end = length.and_then(|length| PREFIX.checked_add(usize::try_from(length).ok()?));
    match end {
        Some(end) if bytes[0] == 0 && bytes.len() >= end => {
            bytes.truncate(end);
            Ok(bytes.slice(PREFIX..))
        }
        _ => Err(Fault::Lost("the answer is cut short".to_owned())),
    }
}
