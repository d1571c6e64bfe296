//! The `consul:` URL, read once.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::{Address, timeouts};
use crate::tls::Files;
use crate::url::percent_decode;

pub(super) const KNOWN: &[&str] =
    &["ns", "dc", "timeout", "connect_timeout", "lock_delay", "node", "ca", "cert", "key", "durability"];

/// Consul's own limit.
const DELAY_MOST: Duration = Duration::from_secs(60);

/// Where the agent is and how to speak to it. Holds the token, so it has no `Debug`.
pub(super) struct Options {
    pub(super) agent: Address,
    pub(super) tls: Option<Files>,
    pub(super) token: Option<String>,
    pub(super) namespace: String,
    pub(super) datacenter: Option<String>,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) lock_delay: Duration,
    /// The node that sessions hang on, if not the agent's own.
    pub(super) node: Option<String>,
    /// The URL without secrets.
    pub(super) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("consul://[token@]host[:8500]/?ns=stanchion")
}

impl Options {
    /// `environment` is what `CONSUL_HTTP_TOKEN` says; a token in the URL goes first.
    pub(super) fn read(url: &mut StoreUrl, environment: Option<String>) -> Result<Self> {
        let tls = url.scheme() == "consuls";
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's host is missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (address, path) = place.split_once('/').unwrap_or((place, ""));
        if !path.is_empty() {
            return Err(invalid("consul: has no path; the prefix of all names is ns="));
        }
        let agent = Address::parse(address, if tls { 8501 } else { 8500 })?;
        // `token`, `:token` and `anything:token` are all in use.
        let token = user_info.rsplit(':').next().filter(|token| !token.is_empty()).map(percent_decode);
        let token = token.or(environment).filter(|token| !token.is_empty());
        if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(invalid("the token has characters that no token has"));
        }
        let shown = url.to_string();
        let files = Files::take(url, tls)?;
        let [timeout, connect_timeout] = timeouts(url)?;
        let options = Self {
            agent,
            tls: tls.then_some(files),
            token,
            namespace: namespace(url.take("ns"))?,
            datacenter: word(url.take("dc"), "dc= is letters, digits, - _ and .")?,
            timeout,
            connect_timeout,
            lock_delay: url.take_duration("lock_delay")?.unwrap_or(Duration::from_secs(15)),
            node: word(url.take("node"), "node= is letters, digits, - _ and .")?,
            shown,
        };
        if options.lock_delay > DELAY_MOST {
            return Err(invalid("lock_delay= is 0s to 60s"));
        }
        url.finish(KNOWN)?;
        Ok(options)
    }
}

fn namespace(text: Option<String>) -> Result<String> {
    let text = text.unwrap_or_else(|| "stanchion".to_owned());
    let word = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)
    };
    if text.len() > 64 || !text.split('/').all(word) {
        return Err(invalid("ns= is 1 to 64 letters, digits, - _ . in parts divided by /"));
    }
    Ok(text)
}

fn word(text: Option<String>, why: &'static str) -> Result<Option<String>> {
    let text = text.filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| !text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))) {
        return Err(invalid(why));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::read(&mut StoreUrl::parse(text)?, Some("from-env".to_owned()))
    }

    #[test]
    fn the_url_names_host_port_token_and_delay() {
        let options = read("consul://s3cret@db:7000/?ns=team/app&lock_delay=0s&dc=east").unwrap();
        assert_eq!((options.agent.to_string().as_str(), options.token.as_deref()), ("db:7000", Some("s3cret")));
        assert_eq!((options.namespace.as_str(), options.lock_delay), ("team/app", Duration::ZERO));
        assert_eq!(options.datacenter.as_deref(), Some("east"));
        assert!(!options.shown.contains("s3cret") && options.shown.contains("db:7000"), "{}", options.shown);
        let plain = read("consul://db").unwrap();
        assert_eq!(
            (plain.agent.port, plain.token.as_deref(), plain.lock_delay.as_secs()),
            (8500, Some("from-env"), 15)
        );
        assert_eq!(read("consuls://[::1]").unwrap().agent.port, 8501);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "consul:",
            "consul://",
            "consul://h:x",
            "consul://h/path",
            "consul://h?ns=/a",
            "consul://h?ns=a//b",
            "consul://h?ns=..",
            "consul://h?ca=/x",
            "consuls://h?cert=/x",
            "consul://h?tpyo=1",
            "consul://h?timeout=0s",
            "consul://h?lock_delay=2m",
            "consul://h?node=a%20b",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
