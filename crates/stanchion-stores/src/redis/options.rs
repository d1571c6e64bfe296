//! The `redis:` URL, read once.

use std::path::PathBuf;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::url::percent_decode;

pub(super) const KNOWN: &[&str] = &["ns", "timeout", "connect_timeout", "wait", "ca", "durability"];

/// Where the server is and how to speak to it. Holds the password, so it has no `Debug`.
pub(super) struct Options {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    pub(super) ca: Option<PathBuf>,
    pub(super) login: ::redis::RedisConnectionInfo,
    pub(super) namespace: String,
    /// For the answer to a command.
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// Replicas that must have a lock before it counts.
    pub(super) replicas: u32,
    /// The URL without secrets.
    pub(super) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("redis://[user:password@]host[:port][/db]?ns=stanchion")
}

impl Options {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (address, db) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = split_port(address)?;
        let db = match db {
            "" => 0,
            text => text.parse().map_err(|_| invalid("the store's database is not a number"))?,
        };
        let mut login =
            ::redis::RedisConnectionInfo::default().set_db(db).set_lib_name("stanchion", env!("CARGO_PKG_VERSION"));
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        if !user.is_empty() {
            login = login.set_username(percent_decode(user));
        }
        if !password.is_empty() {
            login = login.set_password(percent_decode(password));
        }

        let tls = url.scheme() == "rediss";
        let ca = url.take("ca").map(PathBuf::from);
        if ca.is_some() && !tls {
            return Err(invalid("ca= needs rediss:"));
        }
        let second = Duration::from_secs(1);
        let options = Self {
            host,
            port,
            tls,
            ca,
            login,
            namespace: namespace(url.take("ns"))?,
            timeout: url.take_duration("timeout")?.unwrap_or(5 * second),
            connect_timeout: url.take_duration("connect_timeout")?.unwrap_or(5 * second),
            replicas: match url.take("wait") {
                None => 0,
                Some(text) => text.parse().map_err(|_| invalid("wait= is not a number of replicas"))?,
            },
            shown,
        };
        if options.timeout.is_zero() || options.connect_timeout.is_zero() {
            return Err(invalid("a timeout of zero leaves no time for any answer"));
        }
        url.finish(KNOWN)?;
        Ok(options)
    }
}

fn split_port(address: &str) -> Result<(String, u16)> {
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match address.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    if host.is_empty() {
        return Err(invalid("the store's host is missing"));
    }
    let port = port.map_or(Ok(6379), str::parse).map_err(|_| invalid("the store's port is not a number"))?;
    Ok((host.to_owned(), port))
}

/// The namespace becomes the hash tag of every key, which a brace would cut short.
fn namespace(text: Option<String>) -> Result<String> {
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
        assert_eq!((options.host.as_str(), options.port), ("db", 7000));
        assert_eq!((options.login.username(), options.login.password()), (Some("app"), Some("p@ss")));
        assert_eq!((options.login.db(), options.namespace.as_str(), options.timeout.as_secs()), (3, "prod", 2));
    }

    #[test]
    fn an_ipv6_host_keeps_its_colons() {
        let options = read("redis://[::1]").unwrap();
        assert_eq!((options.host.as_str(), options.port), ("::1", 6379));
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
