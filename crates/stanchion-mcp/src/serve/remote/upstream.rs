//! The way to the upstream, and what is known when there is no answer.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::uri::Scheme;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use stanchion_core::{Error, ErrorKind, Result};
use tokio::net::TcpStream;

/// A connection is there, with TLS, within this time.
const CONNECT: Duration = Duration::from_secs(10);
/// Servers close connections that are idle for 5 s and more. A call that meets one as it closes cannot know whether it was
/// read, and its outcome is unknown: so we close them first.
const IDLE: Duration = Duration::from_secs(2);
const KEPT: usize = 64;
/// How often a silent connection is looked at.
const ALIVE: Duration = Duration::from_secs(15);
/// How long a look at whether somebody listens takes at most.
const LOOK: Duration = Duration::from_secs(2);
/// How much is shown of the place that an upstream points to.
const SHOWN: usize = 200;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// There was not even a connection: the upstream has not seen a byte.
    NotSent(String),
    /// It may have.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotSent(why) | Self::Lost(why)) = self;
        f.write_str(why)
    }
}

/// One server that speaks Streamable HTTP.
pub(super) struct Upstream {
    address: Uri,
    /// From the policy: they can be secret.
    pub(super) headers: HeaderMap,
    client: Client<Within, Full<Bytes>>,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Upstream {
    /// # If it fails
    /// `Invalid`: it is no such address, `ca` has no certificates, or nobody is trusted for `https`.
    pub(super) fn new(url: &str, mut headers: HeaderMap, ca: Option<&[u8]>) -> Result<Self> {
        let bad = |why: &str| {
            Error::new(ErrorKind::Invalid, "this is no address of a server")
                .with("why", why)
                .hint("http://HOST[:PORT][/PATH] or https://…")
        };
        let address: Uri = url.parse().map_err(|e: http::uri::InvalidUri| bad(&e.to_string()))?;
        let is_https = match address.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(bad("it begins neither with http:// nor with https://")),
        };
        if address.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(bad("it has no host, or a user"));
        }
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(KEPT)
            .build(Within(connector(is_https, ca)?));
        Ok(Self { address, headers, client })
    }

    /// Sends a request: the upstream's own address, with the caller's query.
    ///
    /// The client sends again only what it has not begun to send: a connection that was kept and has ended meanwhile.
    ///
    /// An answer that names another place is none: a client that went there would go past us.
    pub(super) async fn send(&self, mut request: Request<Bytes>) -> std::result::Result<Response<Incoming>, Failure> {
        let address = with_query(&self.address, request.uri().query());
        *request.uri_mut() = address.map_err(|e| Failure::NotSent(e.to_string()))?;
        *request.version_mut() = http::Version::HTTP_11;
        match self.client.request(request.map(Full::new)).await {
            Ok(answer) if answer.status().is_redirection() => Err(redirected(&answer)),
            Ok(answer) => Ok(answer),
            Err(e) if e.is_connect() => Err(Failure::NotSent(format!("no connection to the server: {}", chain(&e)))),
            Err(e) => Err(Failure::Lost(format!("the connection to the server broke: {}", chain(&e)))),
        }
    }

    /// Does somebody listen?
    pub(super) async fn listens(&self) -> bool {
        let Some(host) = self.address.host() else { return false };
        let default = if self.address.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
        let at = (host.trim_matches(['[', ']']), self.address.port_u16().unwrap_or(default));
        matches!(tokio::time::timeout(LOOK, TcpStream::connect(at)).await, Ok(Ok(_)))
    }
}

/// Reads a body as a whole.
///
/// # If it fails
/// In words: it broke off, or is over the limit.
pub(super) async fn collect(body: Incoming, most: usize) -> std::result::Result<Bytes, String> {
    match Limited::new(body, most).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(e) if e.is::<LengthLimitError>() => Err(format!("the answer is over the limit of {most} bytes")),
        Err(e) => Err(format!("the answer broke off: {}", chain(&*e))),
    }
}

/// What is said of an upstream that names another place. 302 and 303 are also said by servers that have done what was asked.
fn redirected(answer: &Response<Incoming>) -> Failure {
    let status = answer.status();
    let place = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
    // Its query can repeat a secret of ours, and its user can be one.
    let place = place.split(['?', '#']).next().filter(|place| !place.contains('@')).unwrap_or("elsewhere");
    let place: String = place.chars().take(SHOWN).collect();
    let why = format!("the server said {status} and points to {place}: set the url of the policy to where it answers");
    match status.as_u16() {
        302 | 303 => Failure::Lost(why),
        _ => Failure::NotSent(why),
    }
}

/// The policy's own parameters, and then the caller's others.
fn with_query(address: &Uri, query: Option<&str>) -> std::result::Result<Uri, http::Error> {
    let Some(query) = query else { return Ok(address.clone()) };
    let mut parts = address.clone().into_parts();
    let joined = match address.query() {
        Some(own) => {
            let taken: Vec<Vec<u8>> = own.split('&').map(name_of).collect();
            // To some readers, a semicolon parts parameters, too.
            let is_taken = |parameter: &str| parameter.split(';').any(|one| taken.contains(&name_of(one)));
            let others = query.split('&').filter(|parameter| !is_taken(parameter)).map(|other| format!("&{other}"));
            format!("{}?{own}{}", address.path(), others.collect::<String>())
        }
        None => format!("{}?{query}", address.path()),
    };
    parts.path_and_query = Some(joined.parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// The name of a parameter, as the most lenient reader has it: decoded, in lower case, without `[…]` behind it.
fn name_of(parameter: &str) -> Vec<u8> {
    let name = parameter.split('=').next().unwrap_or_default().as_bytes();
    let digit = |at: usize| name.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(name.len()), 0);
    while let Some(byte) = name.get(at) {
        let coded = if *byte == b'%' { digit(at + 1).zip(digit(at + 2)) } else { None };
        let coded = coded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        out.push(coded.unwrap_or(if *byte == b'+' { b' ' } else { *byte }).to_ascii_lowercase());
        at += if coded.is_some() { 3 } else { 1 };
    }
    if let Some(bracket) = out.iter().position(|byte| *byte == b'[') {
        out.truncate(bracket);
    }
    out.trim_ascii().to_vec()
}

fn connector(is_https: bool, ca: Option<&[u8]>) -> Result<HttpsConnector<HttpConnector>> {
    let mut roots = rustls::RootCertStore::empty();
    if let Some(pem) = ca {
        trust(&mut roots, pem)?;
    }
    if is_https {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "this system has no root certificates")
                .hint("name a file in the variable SSL_CERT_FILE"));
        }
    }
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "TLS cannot be set up").because(e))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_nodelay(true);
    // A host that has vanished during a long call is noticed, and the call's locks are not held for nothing.
    tcp.set_keepalive(Some(ALIVE));
    tcp.set_keepalive_interval(Some(ALIVE));
    tcp.set_keepalive_retries(Some(4));
    Ok(hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

/// Adds every certificate of `pem`: one that is left out would be missed only when a server is not trusted.
fn trust(roots: &mut rustls::RootCertStore, pem: &[u8]) -> Result<()> {
    let bad =
        |what: &'static str| Error::new(ErrorKind::Invalid, what).hint("a PEM file with the certificates to trust");
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|e| bad("the certificates cannot be read").because(e))?;
        roots.add(certificate).map_err(|e| bad("a certificate cannot be used").because(e))?;
    }
    if roots.is_empty() { Err(bad("there is no certificate in it")) } else { Ok(()) }
}

/// A connector that does not wait for ever for the other end to shake hands: until then, nothing was sent.
#[derive(Clone)]
struct Within(HttpsConnector<HttpConnector>);

impl tower_service::Service<Uri> for Within {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = self.0.call(address);
        Box::pin(async move {
            tokio::time::timeout(CONNECT, connecting).await.map_err(|_| {
                BoxError::from(format!("no connection within {}", stanchion_core::text::duration(CONNECT)))
            })?
        })
    }
}

/// The libraries' own messages are short; the cause is at the end of the chain.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut out = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        out = format!("{out}: {cause}");
        next = cause.source();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_caller_stands_behind_the_address() {
        let joined = |address: &'static str, query| with_query(&Uri::from_static(address), query).unwrap().to_string();
        assert_eq!(joined("http://a/mcp", None), "http://a/mcp");
        assert_eq!(joined("http://a/mcp", Some("b=1")), "http://a/mcp?b=1");
        assert_eq!(joined("http://a/mcp?k=v", Some("b=1")), "http://a/mcp?k=v&b=1");
    }

    #[test]
    fn the_policys_parameters_are_not_a_callers_to_set() {
        let joined =
            |query: &str| with_query(&Uri::from_static("http://a/mcp?Tenant=1&b"), Some(query)).unwrap().to_string();
        for taken in ["Tenant=2", "tenant=2", "%54enant=2", "tenant[]=2", "tenant%5B0%5D=2", "x;tenant=2", "b", "+b=3"]
        {
            assert_eq!(joined(taken), "http://a/mcp?Tenant=1&b", "{taken}");
            assert_eq!(joined(&format!("c=4&{taken}&d=%20")), "http://a/mcp?Tenant=1&b&c=4&d=%20", "{taken}");
        }
        assert_eq!(joined("tenants=2&a=%"), "http://a/mcp?Tenant=1&b&tenants=2&a=%");
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_a_reason() {
        for url in ["", "ftp://a", "/mcp", "http://user:secret@a/mcp"] {
            let error = Upstream::new(url, HeaderMap::new(), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn certificates_that_are_none_are_refused_with_a_reason() {
        let block = |inner: &str| format!("-----BEGIN CERTIFICATE-----\n{inner}\n-----END CERTIFICATE-----\n");
        for (pem, what) in [
            (String::new(), "no certificate in it"),
            ("text".to_owned(), "no certificate in it"),
            (block("!"), "cannot be read"),
            (block("aGk="), "cannot be used"),
        ] {
            let error = Upstream::new("https://a/mcp", HeaderMap::new(), Some(pem.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn headers_of_the_policy_are_not_shown() {
        let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, "s3cret".parse().unwrap())]);
        let upstream = Upstream::new("http://a/mcp", headers, None).unwrap();
        assert_eq!(upstream.headers["authorization"], "s3cret");
        assert!(!format!("{upstream:?} {:?}", upstream.headers).contains("s3cret"));
    }
}
