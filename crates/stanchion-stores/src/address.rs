//! What the URLs of servers have in common: addresses and time-outs.

use std::fmt;
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// `host`, `host:port`, `[::1]` or `[::1]:port`.
    ///
    /// # If it fails
    /// `Invalid`.
    pub(crate) fn parse(text: &str, usual: u16) -> Result<Self> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/@[]".contains(&byte)) {
            return Err(invalid("the store's host is missing"));
        }
        let port = port.map_or(Ok(usual), str::parse).map_err(|_| invalid("the store's port is not a number"))?;
        Ok(Self { host: host.to_owned(), port })
    }

    /// Several, divided by commas.
    #[cfg(any(test, feature = "redlock", feature = "etcd", feature = "zookeeper", feature = "nats"))]
    pub(crate) fn parse_all(text: &str, usual: u16) -> Result<Vec<Self>> {
        text.split(',').map(|one| Self::parse(one, usual)).collect()
    }
}

/// As it is dialled: an IPv6 host has brackets.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// `timeout=` for an answer and `connect_timeout=` for a connection, 5 s each if they are not given.
///
/// # If it fails
/// `Invalid` for zero.
pub(crate) fn timeouts(url: &mut StoreUrl) -> Result<[Duration; 2]> {
    let mut found = [Duration::from_secs(5); 2];
    for (found, option) in found.iter_mut().zip(["timeout", "connect_timeout"]) {
        if let Some(asked) = url.take_duration(option)? {
            *found = asked;
        }
        if found.is_zero() {
            return Err(invalid("a timeout of zero leaves no time for any answer").with("option", option));
        }
    }
    Ok(found)
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("see `stanchion help stores` for the shape of the URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_as_it_is_dialled() {
        for (text, shown) in [("a", "a:7"), ("a:1", "a:1"), ("[::1]", "[::1]:7"), ("[::1]:2", "[::1]:2")] {
            assert_eq!(Address::parse(text, 7).unwrap().to_string(), shown);
        }
        for text in ["", ":1", "a:x", "a:70000", "a b", "[]", "u@a"] {
            assert!(Address::parse(text, 7).is_err(), "{text}");
        }
        assert_eq!(Address::parse_all("a,b:2", 1).unwrap().len(), 2);
        assert!(Address::parse_all("a,,b", 1).is_err());
    }
}
