//! The `redlock:` URL, read once.

use std::collections::BTreeSet;
use std::time::Duration;

use stanchion_core::redlock::NODES_MAX;
use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;
use crate::address::Address;
use crate::redis::options::{Options, login, namespace};
use crate::tls::Files;

const KNOWN: &[&str] = &[
    "ns",
    "node_timeout",
    "connect_timeout",
    "drift",
    "fence",
    "max_ttl",
    "quarantine",
    "ca",
    "cert",
    "key",
    "durability",
];

/// The nodes, and the rules that all clients of them must share.
pub(super) struct Settings {
    pub(super) nodes: Vec<Options>,
    pub(super) namespace: String,
    /// The fence counts when a quorum has it; else it is the highest number of one round.
    pub(super) write_back: bool,
    /// What a node's clock may gain on ours in one ttl, beyond what every lease allows for.
    pub(super) drift: Duration,
    pub(super) max_ttl: Duration,
    pub(super) quarantine: Duration,
    pub(super) node_timeout: Duration,
    pub(super) shown: String,
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why).hint("redlock://[user:password@]host1[:port],host2[:port],host3[:port][/db]")
}

impl Settings {
    pub(super) fn read(url: &mut StoreUrl) -> Result<Self> {
        let shown = url.to_string();
        let rest = url.rest().strip_prefix("//").ok_or_else(|| invalid("the store's hosts are missing"))?;
        let (user_info, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (addresses, db) = place.split_once('/').unwrap_or((place, ""));
        let db = match db {
            "" => 0,
            text => text.parse().map_err(|_| invalid("the store's database is not a number"))?,
        };
        let login = login(user_info, db);
        let addresses = Address::parse_all(addresses, 6379)?;
        if addresses.len() > NODES_MAX {
            return Err(invalid("too many nodes").with("most", NODES_MAX));
        }
        if addresses.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len() < addresses.len() {
            return Err(invalid("a node is named twice: its vote would count twice"));
        }

        let tls = url.scheme() == "redlocks";
        let tls = Files::take(url, tls).map(|files| tls.then_some(files))?;
        let namespace = namespace(url.take("ns"))?;
        let second = Duration::from_secs(1);
        let node_timeout = url.take_duration("node_timeout")?.unwrap_or(second);
        let connect_timeout = url.take_duration("connect_timeout")?.unwrap_or(node_timeout);
        if node_timeout.is_zero() || connect_timeout.is_zero() {
            return Err(invalid("a timeout of zero leaves no time for any answer"));
        }
        let write_back = url.take_choice("fence", &["quorum", "time"])? == "quorum";
        let drift = url.take_duration("drift")?.unwrap_or_default();
        let max_ttl = url.take_duration("max_ttl")?.unwrap_or(60 * second);
        let quarantine = url.take_duration("quarantine")?.unwrap_or(max_ttl);
        url.finish(KNOWN)?;

        let node = |server: Address| Options {
            shown: server.to_string(),
            server,
            tls: tls.clone(),
            login: login.clone(),
            namespace: namespace.clone(),
            timeout: node_timeout,
            connect_timeout,
            replicas: 0,
        };
        let nodes = addresses.into_iter().map(node).collect();
        Ok(Self { nodes, namespace, write_back, drift, max_ttl, quarantine, node_timeout, shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings> {
        Settings::read(&mut StoreUrl::parse(text)?)
    }

    #[test]
    fn every_node_gets_the_login_and_the_database() {
        let settings = read("redlock://app:p%40ss@a,b:7000,[::1]:7001/3?ns=prod&node_timeout=200ms").unwrap();
        let places: Vec<_> = settings.nodes.iter().map(|node| node.server.to_string()).collect();
        assert_eq!(places, ["a:6379", "b:7000", "[::1]:7001"]);
        for node in &settings.nodes {
            assert_eq!((node.login.username(), node.login.password()), (Some("app"), Some("p@ss")));
            assert_eq!((node.login.db(), node.timeout.as_millis()), (3, 200));
        }
        assert!(settings.write_back);
        assert_eq!((settings.max_ttl, settings.quarantine), (Duration::from_secs(60), Duration::from_secs(60)));
        assert!(!settings.shown.contains("p%40ss"), "{}", settings.shown);
    }

    #[test]
    fn the_quarantine_follows_the_longest_ttl_unless_it_is_given() {
        assert_eq!(read("redlock://a,b,c?max_ttl=5m").unwrap().quarantine, Duration::from_secs(300));
        assert!(read("redlock://a,b,c?max_ttl=5m&quarantine=0s").unwrap().quarantine.is_zero());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "redlock:",
            "redlock://",
            "redlock://a,,b",
            "redlock://a:x,b",
            "redlock://a,b,a",
            "redlock://a,b,c/x",
            "redlock://a,b,c?ns={a}",
            "redlock://a,b,c?ca=/x",
            "redlock://a,b,c?tpyo=1",
            "redlock://a,b,c?fence=maybe",
            "redlock://a,b,c?node_timeout=0s",
            "redlock://a,b,c?wait=1",
        ] {
            assert_eq!(read(text).map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
