//! The `zookeeper:` URL, read once.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};
use zookeeper_client::Acls;

use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::url::percent_decode;

pub(super) const KNOWN: &[&str] = &["ns", "acl", "timeout", "connect_timeout", "tidy", "durability"];

/// Where the servers are and how to speak to them.
pub(super) struct Options {
    /// `h1:2181,h2:2181`
    pub(super) servers: String,
    /// `user:password`
    pub(super) login: Option<String>,
    /// Nodes are for the user of the login alone.
    own: bool,
    /// `/chroot/ns`
    pub(super) base: String,
    /// For the answer to a request.
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// How often what is gone is cleared away.
    pub(super) tidy: Duration,
    /// The URL without secrets.
    pub(super) shown: String,
}

/// Without the password.
impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({})", self.shown)
    }
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("zookeeper://[user:password@]host[:port][,host…][/chroot]?ns=stanchion")
}

impl Options {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (login, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (hosts, chroot) = place.split_once('/').unwrap_or((place, ""));
        let servers: Vec<_> = Address::parse_all(hosts, 2181)?.iter().map(ToString::to_string).collect();
        let chroot = percent_decode(chroot);
        let chroot = chroot.trim_end_matches('/');
        let parts = chroot.split('/').filter(|_| !chroot.is_empty());
        if chroot == "zookeeper" || parts.clone().any(|part| !is_name(part)) {
            return Err(invalid("the store's chroot is not a path of plain names"));
        }
        let login = match login {
            "" => None,
            text if text.split_once(':').is_some_and(|(user, _)| !user.is_empty()) => Some(percent_decode(text)),
            _ => return Err(invalid("a login is user:password")),
        };
        // Who logs in expects that others are kept out.
        let own = match (url.take("acl"), &login) {
            (None, login) => login.is_some(),
            (Some(acl), Some(_)) if acl == "creator" => true,
            (Some(acl), _) if acl == "open" => false,
            (Some(acl), None) if acl == "creator" => return Err(invalid("acl=creator needs user:password@")),
            _ => return Err(invalid("acl= is open or creator")),
        };
        let ns = url.take("ns").unwrap_or_else(|| "stanchion".to_owned());
        if ns.len() > 64 || !is_name(&ns) {
            return Err(invalid("ns= is 1 to 64 letters, digits, and . _ -"));
        }
        let base = parts.chain([ns.as_str()]).fold(String::new(), |path, part| path + "/" + part);
        let [timeout, connect_timeout] = timeouts(url)?;
        let options = Self {
            servers: servers.join(","),
            login,
            own,
            base,
            timeout,
            connect_timeout,
            tidy: url.take_duration("tidy")?.unwrap_or(Duration::from_secs(60)),
            shown,
        };
        if options.tidy.is_zero() {
            return Err(invalid("tidy= of zero never rests"));
        }
        url.finish(KNOWN)?;
        Ok(options)
    }

    pub(super) fn acls(&self) -> Acls<'static> {
        if self.own { Acls::creator_all() } else { Acls::anyone_all() }
    }
}

fn is_name(part: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !part.is_empty() && part != "." && part != ".." && part.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::read(&mut StoreUrl::parse(text)?)
    }

    #[test]
    fn the_url_names_servers_login_and_chroot() {
        let options = read("zk://app:p%40ss@a,b:99/x/y?ns=prod&timeout=2s").unwrap();
        assert_eq!((options.servers.as_str(), options.base.as_str()), ("a:2181,b:99", "/x/y/prod"));
        assert_eq!((options.login.as_deref(), options.own, options.timeout.as_secs()), (Some("app:p@ss"), true, 2));
        let options = read("zookeeper://h").unwrap();
        assert_eq!((options.base.as_str(), options.own), ("/stanchion", false));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "zookeeper:",
            "zookeeper://",
            "zookeeper://a,,b",
            "zookeeper://h:x",
            "zookeeper://h/a//b",
            "zookeeper://h/../b",
            "zookeeper://h/zookeeper",
            "zookeeper://app@h",
            "zookeeper://h?ns=a/b",
            "zookeeper://h?acl=creator",
            "zookeeper://h?acl=world",
            "zookeeper://h?tpyo=1",
            "zookeeper://h?timeout=0s",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
