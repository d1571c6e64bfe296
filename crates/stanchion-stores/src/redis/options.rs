//! The `redis:` URL, read once.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::tls::Files;
use crate::url::percent_decode;

pub(crate) const KNOWN: &[&str] = &["ns", "timeout", "connect_timeout", "wait", "ca", "cert", "key", "durability"];

/// Where the server is and how to speak to it. Holds the password, so it has no `Debug`.
pub(crate) struct Options {
    pub(crate) server: Address,
    pub(crate) tls: Option<Files>,
    pub(crate) login: ::redis::RedisConnectionInfo,
    pub(crate) namespace: String,
    /// For the answer to a command.
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    /// Replicas that must have a lock before it counts.
    pub(crate) replicas: u32,
    /// The URL without secrets.
    pub(crate) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("redis://[user:password@]host[:port][/db]?ns=stanchion")
}

impl Options {
    pub(crate) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (address, db) = place.split_once('/').unwrap_or((place, ""));
        let server = Address::parse(address, 6379)?;
        let db = match db {
            "" => 0,
            text => text.parse().map_err(|_| invalid("the store's database is not a number"))?,
        };
        let login = login(user_info, db);
        let tls = url.scheme() == "rediss";
        let files = Files::take(url, tls)?;
        let [timeout, connect_timeout] = timeouts(url)?;
        let options = Self {
            server,
            tls: tls.then_some(files),
            login,
            namespace: namespace(url.take("ns"))?,
            timeout,
            connect_timeout,
            replicas: match url.take("wait") {
                None => 0,
                Some(text) => text.parse().map_err(|_| invalid("wait= is not a number of replicas"))?,
            },
            shown,
        };
        url.finish(KNOWN)?;
        Ok(options)
    }
}

/// `user:password` as it stands in the URL, and the database.
pub(crate) fn login(user_info: &str, db: i64) -> ::redis::RedisConnectionInfo {
    let mut login =
        ::redis::RedisConnectionInfo::default().set_db(db).set_lib_name("stanchion", env!("CARGO_PKG_VERSION"));
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    if !user.is_empty() {
        login = login.set_username(percent_decode(user));
    }
    if !password.is_empty() {
        login = login.set_password(percent_decode(password));
    }
    login
}

/// The namespace becomes the hash tag of every key, which a brace would cut short.
pub(crate) fn namespace(text: Option<String>) -> Result<String> {
    let text = text.unwrap_or_else(|| "stanchion".to_owned());
    if text.is_empty() || text.len() > 64 || text.chars().any(|c| c == '{' || c == '}' || c.is_control()) {
        return Err(invalid("ns= is 1 to 64 bytes without braces and control characters"));
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
    fn the_url_names_host_port_database_and_login() {
        let options = read("redis://app:p%40ss@db:7000/3?ns=prod&timeout=2s").unwrap();
        assert_eq!(options.server.to_string(), "db:7000");
        assert_eq!((options.login.username(), options.login.password()), (Some("app"), Some("p@ss")));
        assert_eq!((options.login.db(), options.namespace.as_str(), options.timeout.as_secs()), (3, "prod", 2));
    }

    #[test]
    fn an_ipv6_host_keeps_its_colons() {
        let options = read("redis://[::1]").unwrap();
        assert_eq!(options.server.to_string(), "[::1]:6379");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "redis:",
            "redis://",
            "redis://h:x",
            "redis://h/x",
            "redis://h?ns={a}",
            "redis://h?ca=/x",
            "redis://h?tpyo=1",
            "redis://h?timeout=0s",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
