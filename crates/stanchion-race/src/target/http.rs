//! HTTP/1.1, one connection for each request: what is prepared ahead is only sent at the release.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use super::{ANSWER_MAX, Answer, HttpAsked, Ready, Reply, rpc, shown, without_secrets};

/// Values of a query that are no shorter are covered wherever they stand.
const SHORT: usize = 8;

/// Where a target answers, found once: names are not looked up again between calls.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// All of a name's, in their order: `localhost` may be two.
    sockets: Vec<SocketAddr>,
    authority: String,
    path: String,
    /// Sent with every request, and never told: it may be a key.
    query: Option<String>,
}

/// Why there is no link.
#[derive(Debug)]
pub(super) enum NotYet {
    /// It may come up.
    Away(String),
    /// It answers, and wrongly.
    Wrong(String),
}

impl Address {
    /// Loopback, or a host that was named.
    pub(super) async fn find(url: &str, allow_remote: &[String]) -> Result<Self, String> {
        let named = without_secrets(url);
        let uri: Uri = url.parse().map_err(|error| format!("{named} is no address: {error}"))?;
        let authority = uri.authority().ok_or_else(|| format!("{named} names no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if uri.scheme_str() != Some("http") || authority.as_str().contains('@') {
            return Err(format!("{named} is not of the form http://HOST:PORT/PATH"));
        }
        let is_allowed = allow_remote.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
        let remote = || format!("{host} is not this machine; `--allow-remote {host}` says that it may be raced");
        // Not even its name leaves this machine.
        if !is_allowed && !may_be_here(host) {
            return Err(remote());
        }
        let port = authority.port_u16().unwrap_or(80);
        let found = tokio::net::lookup_host((host, port)).await.map_err(|error| format!("{host}: {error}"))?;
        let sockets: Vec<_> = found.filter(|socket| is_allowed || socket.ip().is_loopback()).collect();
        if sockets.is_empty() {
            return Err(remote());
        }
        let path = uri.path().trim_end_matches('/').to_owned();
        let query = uri.query().filter(|query| !query.is_empty()).map(str::to_owned);
        Ok(Self { sockets, authority: authority.as_str().to_owned(), path, query })
    }

    /// What is asked for, below this address and with its query.
    pub(super) fn target(&self, below: &str) -> String {
        let (path, asked) = below.split_once('?').map_or((below, None), |(path, query)| (path, Some(query)));
        let path = format!("{}{path}", self.path);
        let queries: Vec<&str> = self.query.as_deref().into_iter().chain(asked).collect();
        let sign = if queries.is_empty() { "" } else { "?" };
        format!("{}{sign}{}", if path.is_empty() { "/" } else { &path }, queries.join("&"))
    }

    /// The same without what the query has: servers repeat what they are asked. An answer is covered where it is shown, and judged as it is.
    pub(super) fn covered(&self, reply: Reply) -> Reply {
        let Some(query) = &self.query else { return reply };
        let values = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        let values: Vec<&str> = values.filter(|it| it.len() > 2).collect();
        let cover = |text: String| values.iter().fold(text.replace(query, "…"), |text, value| without(&text, value));
        match reply {
            Reply::Answer(answer) => Reply::Answer(Answer { shown: cover(answer.shown), ..answer }),
            Reply::Refused { what, may_have_run } => Reply::Refused { what: cover(what), may_have_run },
            Reply::Undelivered(why) => Reply::Undelivered(cover(why)),
            Reply::Silent(why) => Reply::Silent(cover(why)),
            Reply::Garbage(what) => Reply::Garbage(cover(what)),
        }
    }
}

/// A short value covers words of its own only: `v=one` leaves `someone` as it is.
fn without(text: &str, value: &str) -> String {
    let (mut covered, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(value) {
        covered.push_str(before);
        let is_part = covered.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        covered.push_str(if is_part && value.len() < SHORT { value } else { "…" });
        rest = after;
    }
    covered + rest
}

/// Whether a host can be this machine without a look into the DNS.
fn may_be_here(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = || name == "localhost" || name.ends_with(".localhost");
    host.parse::<IpAddr>().map_or_else(|_| is_name(), |ip| ip.is_loopback())
}

/// A connection on which nothing was sent. Dropping it closes it, or resets it if it was made to be cut.
pub(crate) struct Connected {
    sender: SendRequest<Full<Bytes>>,
    pump: Pump,
}

/// Drives a connection until it is dropped.
pub(super) struct Pump(AbortHandle);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) async fn connect(address: &Address, will_be_cut: bool) -> Result<Connected, String> {
    let socket = TcpStream::connect(&address.sockets[..]).await.map_err(|error| error.to_string())?;
    // Only a delay would be lost.
    socket.set_nodelay(true).ok();
    if will_be_cut {
        socket.set_zero_linger().map_err(|error| error.to_string())?;
    }
    let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(|error| error.to_string())?;
    let pump = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
    Ok(Connected { sender, pump: Pump(pump.abort_handle()) })
}

pub(super) async fn ready(address: &Address, will_be_cut: bool) -> Ready {
    match connect(address, will_be_cut).await {
        Ok(connected) => Ready::Connected(Box::new(connected)),
        Err(why) => Ready::Failed(why),
    }
}

/// Sends, and waits for the head of the answer.
pub(super) async fn send(
    address: &Address,
    ready: Ready,
    asked: &HttpAsked,
    cut_after: Option<Duration>,
) -> Result<(Response<Incoming>, Pump), Reply> {
    let Connected { mut sender, pump } = match ready {
        Ready::Connected(connected) => *connected,
        Ready::Nothing => connect(address, cut_after.is_some()).await.map_err(Reply::Undelivered)?,
        Ready::Failed(why) => return Err(Reply::Undelivered(why)),
    };
    let mut request = Request::builder().method(asked.method).uri(&asked.path);
    request = request.header("host", &address.authority);
    for (name, value) in &asked.headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(asked.body.clone().unwrap_or_default()));
    let request = request.body(body).map_err(|error| Reply::Undelivered(format!("not a request: {error}")))?;
    let cut = async {
        match cut_after {
            Some(after) => tokio::time::sleep(after).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        response = sender.send_request(request) => match response {
            Ok(response) if cut_after.is_none() => Ok((response, pump)),
            Ok(_) => Err(Reply::Silent("the connection was reset".into())),
            Err(error) if error.is_parse() => Err(Reply::Garbage(format!("not HTTP: {error}"))),
            Err(error) => Err(Reply::Silent(format!("no answer: {error}"))),
        },
        () = cut => Err(Reply::Silent("the connection was reset".into())),
    }
}

/// The whole body, as far as it may be read.
pub(super) async fn body(response: Response<Incoming>) -> Result<Bytes, Reply> {
    let collected = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
    collected.map(|all| all.to_bytes()).map_err(|error| Reply::Silent(format!("no whole answer: {error}")))
}

#[derive(Debug)]
pub(crate) struct Link {
    address: Address,
    headers: Vec<(String, String)>,
}

impl Link {
    /// Once it can be connected to.
    pub(super) async fn open(address: Address, headers: Vec<(String, String)>) -> Result<Self, NotYet> {
        drop(connect(&address, false).await.map_err(NotYet::Away)?);
        Ok(Self { address, headers })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) async fn ask(&self, asked: &HttpAsked, ready: Ready, cut_after: Option<Duration>) -> Reply {
        let mut asked = asked.clone();
        asked.path = self.address.target(&asked.path);
        let added: Vec<_> =
            self.headers.iter().filter(|(name, _)| asked.headers.iter().all(|(it, _)| it != name)).cloned().collect();
        asked.headers.extend(added);
        let answer = async {
            let (response, pump) = send(&self.address, ready, &asked, cut_after).await?;
            let status = response.status();
            let body = body(response).await?;
            drop(pump);
            Ok((status, body))
        };
        match answer.await {
            Err(reply) => self.address.covered(reply),
            Ok((status, body)) => {
                let json: Option<Value> = serde_json::from_slice(&body).ok();
                let text = String::from_utf8_lossy(&body).into_owned();
                if status.as_u16() < 400 {
                    return self.address.covered(Reply::Answer(Answer::new(text, json)));
                }
                let may_have_run = !json.as_ref().is_some_and(rpc::says_nothing_ran);
                let what = format!("{} {}", status.as_u16(), shown(&text));
                self.address.covered(Reply::Refused { what, may_have_run })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_of_the_address_goes_with_every_request_and_into_no_text() {
        let url = "http://127.0.0.1:9/mcp?key=abc&debug=1";
        let address = Address::find(url, &[]).await.unwrap();
        let asked = ["", "/items", "/items?n=1"].map(|below| address.target(below));
        assert_eq!(asked, ["/mcp?key=abc&debug=1", "/mcp/items?key=abc&debug=1", "/mcp/items?key=abc&debug=1&n=1"]);
        let plain = Address::find("http://127.0.0.1:9/", &[]).await.unwrap();
        assert_eq!(["", "/n", "/n?a=b"].map(|below| plain.target(below)), ["/", "/n", "/n?a=b"]);
        let said = Reply::Refused { what: "401 no /mcp?key=abc&debug=1; abc is no key".into(), may_have_run: true };
        assert_eq!(address.covered(said).why(), "401 no /mcp?…; … is no key");
        let debug = Address::find("http://127.0.0.1:9/mcp?v=one&key=0123456789", &[]).await.unwrap();
        let said = Reply::Silent("someone of one, x0123456789y, onesone one".into());
        assert_eq!(debug.covered(said).why(), "someone of …, x…y, onesone …");
        let text = "{\"you\": \"0123456789\"}";
        let Reply::Answer(answer) = debug.covered(Reply::Answer(Answer::new(text.into(), None))) else { panic!() };
        assert_eq!((answer.text.as_str(), answer.shown.as_str()), (text, "{\"you\": \"…\"}"), "judged as it is");
        assert_eq!(without_secrets(url), "http://127.0.0.1:9/mcp?…");
        assert_eq!(without_secrets("http://me:pw@host/a@b"), "http://…@host/a@b");
        let wrong = Address::find("http://me:pw@127.0.0.1/?key=abc", &[]).await.unwrap_err();
        assert_eq!(wrong, "http://…@127.0.0.1/?… is not of the form http://HOST:PORT/PATH");
    }

    /// No name server has this name, and none is asked: the answer would be another one.
    #[tokio::test]
    async fn a_host_that_is_not_allowed_is_not_even_looked_up() {
        let refused = "raced.invalid is not this machine; `--allow-remote raced.invalid` says that it may be raced";
        assert_eq!(Address::find("http://raced.invalid/", &[]).await.unwrap_err(), refused);
        let asked = Address::find("http://raced.invalid/", &["Raced.invalid".into()]).await.unwrap_err();
        assert!(asked.starts_with("raced.invalid: "), "{asked}");
        for here in ["localhost", "LOCALHOST", "a.localhost", "127.0.0.2", "::1"] {
            assert!(may_be_here(here), "{here}");
        }
        assert!(!may_be_here("192.0.2.1") && !may_be_here("localhost.example") && !may_be_here("notlocalhost"));
    }
}
