//! The `nats:` URL, read once.

use std::path::Path;
use std::time::Duration;

use async_nats::ConnectOptions;
use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::tls::Files;
use crate::url::percent_decode;

const KNOWN: &[&str] = &[
    "bucket",
    "replicas",
    "timeout",
    "connect_timeout",
    "creds",
    "domain",
    "inbox",
    "ca",
    "cert",
    "key",
    "durability",
];

/// Who we are to the server.
pub(super) enum Login {
    Nobody,
    Token(String),
    User(String, String),
    Credentials(String),
}

/// Where the servers are and how to speak to them. Holds the password, so it has no `Debug`.
pub(super) struct Options {
    pub(super) servers: Vec<Address>,
    pub(super) login: Login,
    pub(super) tls: Option<Files>,
    pub(super) bucket: String,
    pub(super) replicas: u32,
    /// `$JS.API`, or that of a domain.
    pub(super) api: String,
    pub(super) inbox: Option<String>,
    /// For the answer to a request.
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// The URL without secrets.
    pub(super) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("nats://[user:password@|token@]host[:port][,host…]/?bucket=stanchion")
}

impl Options {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (addresses, path) = place.split_once('/').unwrap_or((place, ""));
        if !path.is_empty() {
            return Err(invalid("nothing comes after the store's host"));
        }
        let servers = Address::parse_all(addresses, 4222)?;
        let login = match user_info.split_once(':') {
            None if user_info.is_empty() => Login::Nobody,
            None => Login::Token(percent_decode(user_info)),
            Some((user, password)) => Login::User(percent_decode(user), percent_decode(password)),
        };
        let shown = url.to_string();
        let tls = url.scheme() == "natss";
        let files = Files::take(url, tls)?;
        let login = match (url.take("creds"), login) {
            (None, login) => login,
            (Some(path), Login::Nobody) => Login::Credentials(credentials(Path::new(&path))?),
            (Some(_), _) => return Err(invalid("creds= and a user, password or token do not go together")),
        };
        let [timeout, connect_timeout] = timeouts(url)?;
        let options = Self {
            servers,
            login,
            tls: tls.then_some(files),
            bucket: name(url.take("bucket").unwrap_or_else(|| "stanchion".to_owned()), "bucket=")?,
            replicas: match url.take("replicas").as_deref() {
                None | Some("1") => 1,
                Some("3") => 3,
                Some("5") => 5,
                Some(_) => return Err(invalid("replicas= is 1, 3 or 5")),
            },
            api: match url.take("domain") {
                None => "$JS.API".to_owned(),
                Some(domain) => format!("$JS.{}.API", name(domain, "domain=")?),
            },
            inbox: url.take("inbox").map(inbox).transpose()?,
            timeout,
            connect_timeout,
            shown,
        };
        url.finish(KNOWN)?;
        Ok(options)
    }

    /// How to log in, as the library wants it.
    pub(super) fn connect(&self) -> Result<ConnectOptions> {
        let options = ConnectOptions::new();
        Ok(match &self.login {
            Login::Nobody => options,
            Login::Token(token) => options.token(token.clone()),
            Login::User(user, password) => options.user_and_password(user.clone(), password.clone()),
            Login::Credentials(text) => options.credentials(text).map_err(|_| {
                // The library's own words may repeat parts of the file.
                Error::new(ErrorKind::Invalid, "creds= is not a credentials file").with("store", &self.shown)
            })?,
        })
    }
}

fn credentials(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| {
        Error::new(ErrorKind::Invalid, "creds= cannot be read").with("path", path.display()).with("cause", e)
    })
}

/// What NATS takes as the name of a bucket or a domain.
fn name(text: String, option: &'static str) -> Result<String> {
    if text.is_empty() || text.len() > 64 || !text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        return Err(invalid("a name is 1 to 64 letters, digits, - and _").with("option", option));
    }
    Ok(text)
}

fn inbox(text: String) -> Result<String> {
    let token = |token: &str| !token.is_empty() && token.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if text.len() > 128 || !text.split('.').all(token) {
        return Err(invalid("inbox= is a subject of letters, digits, - and _"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::read(&mut StoreUrl::parse(text)?)
    }

    #[test]
    fn the_url_names_servers_login_and_bucket() {
        let options = read("nats://app:p%40ss@a:7000,b,[::1]/?bucket=prod&timeout=2s&replicas=3&domain=hub").unwrap();
        let servers: Vec<_> = options.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["a:7000", "b:4222", "[::1]:4222"]);
        assert!(matches!(&options.login, Login::User(user, password) if user == "app" && password == "p@ss"));
        assert_eq!((options.bucket.as_str(), options.replicas, options.timeout.as_secs()), ("prod", 3, 2));
        assert_eq!(options.api, "$JS.hub.API");
    }

    #[test]
    fn a_token_is_a_secret() {
        let options = read("nats://s3cr3t@host").unwrap();
        assert!(matches!(&options.login, Login::Token(token) if token == "s3cr3t"));
        assert_eq!(options.shown, "nats://***@host");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "nats:",
            "nats://",
            "nats://h:x",
            "nats://a,,b",
            "nats://h/x",
            "nats://h?bucket=a.b",
            "nats://h?ca=/x",
            "natss://h?cert=/x",
            "nats://h?replicas=2",
            "nats://h?tpyo=1",
            "nats://h?timeout=0s",
            "nats://h?inbox=a..b",
            "nats://u:p@h?creds=/x",
            "nats://h?creds=/no/such/file",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
