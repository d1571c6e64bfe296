//! The `etcd:` URL, read once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::url::percent_decode;

const KNOWN: &[&str] = &["ns", "timeout", "connect_timeout", "tls", "ca", "cert", "key", "durability"];

/// Where the servers are and how to speak to them. Holds the password, so it has no `Debug`.
pub(super) struct Options {
    pub(super) hosts: Vec<Address>,
    pub(super) login: Option<(String, String)>,
    pub(super) tls: Option<Tls>,
    pub(super) namespace: String,
    /// For the answer to a call.
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// The URL without secrets.
    pub(super) shown: String,
}

/// PEM files, as they were read.
pub(super) struct Tls {
    pub(super) authority: Option<Vec<u8>>,
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("etcd://[user:password@]host[:2379][,host…]/?ns=stanchion")
}

impl Options {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (addresses, path) = place.split_once('/').unwrap_or((place, ""));
        if !path.is_empty() {
            return Err(invalid("etcd has no databases: nothing comes after the hosts").with("path", path));
        }
        let hosts = Address::parse_all(addresses, 2379)?;
        let login = match user_info.split_once(':') {
            Some((user, password)) => Some((percent_decode(user), percent_decode(password))),
            None if user_info.is_empty() => None,
            None => return Err(invalid("the store's user has no password")),
        };
        let tls = tls(url)?;
        let [timeout, connect_timeout] = timeouts(url)?;
        let options =
            Self { hosts, login, tls, namespace: namespace(url.take("ns"))?, timeout, connect_timeout, shown };
        url.finish(KNOWN)?;
        Ok(options)
    }
}

fn tls(url: &mut StoreUrl) -> Result<Option<Tls>> {
    let wanted = url.take_choice("tls", &["false", "true"])? == "true" || url.scheme() == "etcds";
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| url.take(name).map(PathBuf::from));
    if !wanted {
        return match ca.or(cert).or(key) {
            Some(_) => Err(invalid("ca=, cert= and key= need etcds: or tls=true")),
            None => Ok(None),
        };
    }
    let authority = ca.map(|path| pem("ca", &path)).transpose()?;
    let identity = match (cert, key) {
        (Some(cert), Some(key)) => Some((pem("cert", &cert)?, pem("key", &key)?)),
        (None, None) => None,
        _ => return Err(invalid("cert= and key= belong together")),
    };
    Ok(Some(Tls { authority, identity }))
}

fn pem(option: &'static str, path: &Path) -> Result<Vec<u8>> {
    let refuse = |why: String| {
        Error::new(ErrorKind::Invalid, "a PEM file cannot be read")
            .with("option", option)
            .with("path", path.display())
            .with("cause", why)
    };
    let text = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    match text.windows(10).any(|part| part == b"-----BEGIN") {
        true => Ok(text),
        false => Err(refuse("it holds no PEM block".to_owned())),
    }
}

/// The first part of every key; a slash in it would let one namespace reach into another.
fn namespace(text: Option<String>) -> Result<String> {
    let text = text.unwrap_or_else(|| "stanchion".to_owned());
    if text.is_empty() || text.len() > 64 || text.chars().any(|c| c == '/' || c.is_control()) {
        return Err(invalid("ns= is 1 to 64 bytes without slashes and control characters"));
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
    fn the_url_names_hosts_and_login() {
        let options = read("etcd://app:p%40ss@a:1,b,[::1]:7/?ns=prod&timeout=2s").unwrap();
        let hosts: Vec<_> = options.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["a:1", "b:2379", "[::1]:7"]);
        assert_eq!(options.login, Some(("app".to_owned(), "p@ss".to_owned())));
        assert_eq!((options.namespace.as_str(), options.timeout.as_secs()), ("prod", 2));
        assert!(options.tls.is_none() && read("etcds://a").unwrap().tls.is_some());
        assert!(read("etcd://a?tls=true").unwrap().tls.is_some());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "etcd:",
            "etcd://",
            "etcd://h:x",
            "etcd://h/db",
            "etcd://h,,i",
            "etcd://user@h",
            "etcd://h?ns=a/b",
            "etcd://h?ca=/x",
            "etcd://h?tls=maybe",
            "etcds://h?cert=/x",
            "etcds://h?ca=/no/such/file",
            "etcd://h?tpyo=1",
            "etcd://h?timeout=0s",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
