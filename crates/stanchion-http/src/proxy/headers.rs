//! Headers on their way through a proxy.

use std::net::IpAddr;

use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const HOST_WAS: HeaderName = HeaderName::from_static("x-forwarded-host");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Who is at the other end of the connection that a request came on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// Does it ask for a WebSocket? Without one it has no use for an answer; other upgrades may be ignored (RFC 9110 7.8).
pub(super) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let asked = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    asked.flat_map(|value| value.split(',')).any(|protocol| {
        let name = protocol.split('/').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("websocket")
    })
}

/// Removes what is meant for one connection only (RFC 9110 7.6.1).
pub(super) fn strip(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let fixed = [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in listed.iter().chain(&fixed) {
        headers.remove(name);
    }
}

/// Says where the request came from. The host is the upstream's own from here on.
pub(super) fn forwarded(headers: &mut HeaderMap, peer: Option<Peer>) {
    let before = headers.get_all(FOR).iter().filter_map(|value| value.to_str().ok());
    let chain: Vec<_> = before.map(str::to_owned).chain(peer.map(|Peer(address)| address.to_string())).collect();
    if let Ok(chain) = HeaderValue::from_str(&chain.join(", ")) {
        headers.insert(FOR, chain);
    }
    if let Some(host) = headers.remove(HOST) {
        headers.entry(HOST_WAS).or_insert(host);
    }
    headers.entry(PROTO).or_insert(HeaderValue::from_static("http"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_connection_header_lists_is_removed_as_well() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Own"),
            ("connection", "x-other"),
            ("x-own", "1"),
            ("x-other", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("x-kept", "1"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-kept"]);
    }

    #[test]
    fn each_proxy_adds_its_caller() {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("shop.example"))]);
        headers.insert(FOR, HeaderValue::from_static("10.0.0.1"));
        forwarded(&mut headers, Some(Peer([127, 0, 0, 1].into())));
        assert_eq!(headers[FOR], "10.0.0.1, 127.0.0.1");
        assert_eq!(
            (&headers[HOST_WAS], &headers[PROTO]),
            (&HeaderValue::from_static("shop.example"), &HeaderValue::from_static("http"))
        );
        assert!(!headers.contains_key(HOST));
    }
}
