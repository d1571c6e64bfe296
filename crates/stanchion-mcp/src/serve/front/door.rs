//! Who may come in: the host that was asked for, the page that asks, and the token.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};
use sha2::{Digest as _, Sha256};

use crate::serve::Visitor;

/// The name of everybody, where nobody has a token.
///
/// ```
/// assert_eq!(stanchion_mcp::serve::ANONYMOUS, "anonymous");
/// ```
pub const ANONYMOUS: &str = "anonymous";

/// Somebody who may call, known by a token. Only its digest is kept.
///
/// ```
/// let alice = stanchion_mcp::serve::Principal::with_token("alice", "s3cret");
/// assert_eq!(format!("{alice:?}"), r#"Principal("alice")"#);
/// ```
#[derive(Clone)]
pub struct Principal {
    name: Arc<str>,
    digest: [u8; 32],
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.name).finish()
    }
}

impl Principal {
    /// Known by this token.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Principal;
    /// let _alice = Principal::with_token("alice", "s3cret");
    /// ```
    #[must_use]
    pub fn with_token(name: &str, token: &str) -> Self {
        Self::with_digest(name, Sha256::digest(token.as_bytes()).into())
    }

    /// Known by a token with this SHA-256.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Principal;
    /// let _alice = Principal::with_digest("alice", [7; 32]);
    /// ```
    #[must_use]
    pub fn with_digest(name: &str, digest: [u8; 32]) -> Self {
        Self { name: name.into(), digest }
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Host,
    Origin,
    NoToken,
    WrongToken,
}

/// The rules of the door.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) principals: Vec<Principal>,
    /// Lower case; with a port, only that one.
    pub(super) hosts: Vec<String>,
    /// Lower case, as in `https://app.example.com`.
    pub(super) origins: Vec<String>,
    pub(super) listen: SocketAddr,
}

impl Door {
    /// Host and origin: a page that a browser has loaded from elsewhere must not reach us through it.
    pub(super) fn admits(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refused> {
        let host = match (headers.get(HOST), uri.authority()) {
            (Some(value), _) => value.to_str().ok().map(str::to_ascii_lowercase),
            (None, Some(authority)) => Some(authority.as_str().to_ascii_lowercase()),
            (None, None) => None,
        };
        let several = headers.get_all(HOST).iter().count() > 1;
        let host = host.filter(|host| !several && self.is_our_host(host)).ok_or(Refused::Host)?;
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if origin.to_str().is_ok_and(|origin| self.is_our_origin(origin, &host)) => Ok(()),
            _ => Err(Refused::Origin),
        }
    }

    /// The origin of the page that asks, if it was named as one whose pages may read what they are told. Pages of this machine
    /// are no such: any program here can serve one.
    pub(super) fn page(&self, headers: &HeaderMap, uri: &Uri) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN).filter(|_| self.admits(headers, uri).is_ok())?;
        let named = self.origins.contains(&origin.to_str().ok()?.to_ascii_lowercase());
        named.then(|| origin.clone())
    }

    fn is_our_host(&self, host: &str) -> bool {
        let (name, port) = split(host);
        if self.hosts.iter().any(|allowed| allowed == host || allowed == name) {
            return true;
        }
        if self.listen.ip().is_loopback() {
            return is_loopback(name) && port.unwrap_or(80) == self.listen.port();
        }
        // Elsewhere an address cannot be a name that was bent to us. A name can, but is of no use without a token.
        name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
            || (self.hosts.is_empty() && !self.principals.is_empty())
    }

    fn is_our_origin(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some(from) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
            return false;
        };
        let ((from, _), (name, _)) = (split(from), split(host));
        from == name || (is_loopback(from) && is_loopback(name))
    }

    /// Who it is.
    pub(super) fn visitor(&self, headers: &HeaderMap) -> Result<Visitor, Refused> {
        if self.principals.is_empty() {
            return Ok(Visitor { principal: ANONYMOUS.into() });
        }
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else { return Err(Refused::NoToken) };
        let text = value.to_str().map_err(|_| Refused::WrongToken)?;
        let token = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token else { return Err(Refused::NoToken) };
        let digest: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        // All are compared, each to its end: the time says nothing of how close a token was, or whose it is.
        let mut found = None;
        for principal in &self.principals {
            if same(&principal.digest, &digest) {
                found = Some(principal);
            }
        }
        let principal = found.ok_or(Refused::WrongToken)?;
        Ok(Visitor { principal: Arc::clone(&principal.name) })
    }
}

fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b))) == 0
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Name and port.
fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => {
            (name, port.parse().ok())
        }
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(listen: &str, tokens: bool, hosts: &[&str], origins: &[&str]) -> Door {
        Door {
            principals: if tokens { vec![Principal::with_token("alice", "t")] } else { Vec::new() },
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            listen: listen.parse().unwrap(),
        }
    }

    fn admits(door: &Door, host: Option<&str>, origin: Option<&str>) -> Result<(), Refused> {
        let mut headers = HeaderMap::new();
        host.map(|host| headers.insert(HOST, host.parse().unwrap()));
        origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
        door.admits(&headers, &"/x".parse().unwrap())
    }

    #[test]
    fn only_our_own_names_reach_a_loopback_listener() {
        let local = door("127.0.0.1:8080", false, &[], &[]);
        for host in ["localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080"] {
            assert_eq!(admits(&local, Some(host), None), Ok(()), "{host}");
        }
        for host in
            ["localhost", "localhost:81", "evil.com:8080", "evil.com", "127.0.0.1.evil.com:8080", "", "10.0.0.1:8080"]
        {
            assert_eq!(admits(&local, Some(host), None), Err(Refused::Host), "{host}");
        }
        assert_eq!(admits(&local, None, None), Err(Refused::Host));
        let named = door("127.0.0.1:8080", false, &["mcp.test", "other.test:9"], &[]);
        for (host, fine) in [("mcp.test", true), ("mcp.test:99", true), ("other.test:9", true), ("other.test:8", false)]
        {
            assert_eq!(admits(&named, Some(host), None).is_ok(), fine, "{host}");
        }
    }

    #[test]
    fn elsewhere_a_name_needs_a_token_or_leave() {
        let open = door("0.0.0.0:80", false, &[], &[]);
        assert_eq!(admits(&open, Some("10.1.2.3"), None), Ok(()));
        assert_eq!(admits(&open, Some("mcp.example.com"), None), Err(Refused::Host));
        let guarded = door("0.0.0.0:80", true, &[], &[]);
        assert_eq!(admits(&guarded, Some("mcp.example.com"), None), Ok(()));
        let named = door("0.0.0.0:80", true, &["mcp.example.com"], &[]);
        assert_eq!(admits(&named, Some("mcp.example.com"), None), Ok(()));
        assert_eq!(admits(&named, Some("evil.example.com"), None), Err(Refused::Host));
    }

    #[test]
    fn a_page_from_elsewhere_is_refused() {
        let local = door("127.0.0.1:8080", false, &[], &["https://app.example.com"]);
        let host = Some("127.0.0.1:8080");
        for origin in ["http://127.0.0.1:8080", "http://localhost:6274", "https://app.example.com"] {
            assert_eq!(admits(&local, host, Some(origin)), Ok(()), "{origin}");
        }
        for origin in
            ["http://evil.com", "null", "https://app.example.com.evil.com", "file://", "http://localhost.evil.com"]
        {
            assert_eq!(admits(&local, host, Some(origin)), Err(Refused::Origin), "{origin}");
        }
    }

    #[test]
    fn a_token_says_who_it_is() {
        let door = Door {
            principals: vec![Principal::with_token("alice", "a-token"), Principal::with_token("bob", "b-token")],
            ..door("127.0.0.1:1", false, &[], &[])
        };
        let who = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            door.visitor(&headers).map(|visitor| visitor.principal.to_string())
        };
        assert_eq!(who("Bearer a-token"), Ok("alice".to_owned()));
        assert_eq!(who("bearer  b-token"), Ok("bob".to_owned()));
        assert_eq!(who("Bearer a-toke"), Err(Refused::WrongToken));
        assert_eq!(who("Bearer "), Err(Refused::WrongToken));
        assert_eq!(who("Basic a-token"), Err(Refused::NoToken));
        assert_eq!(door.visitor(&HeaderMap::new()).map(|_| ()), Err(Refused::NoToken));
    }
}
