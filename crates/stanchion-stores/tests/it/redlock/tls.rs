//! `redlocks:` against nodes with a certificate of their own.

use std::net::TcpListener;

use stanchion_core::{ErrorKind, Owner, Ran, Released};
use stanchion_testkit::engines::Redis;

use super::{open, refused, request};
use crate::common::certificate::{key_of, self_signed};

/// A node, and its port for TLS. With `ca`, clients must show a certificate that it vouches for.
async fn encrypted(certificate: &str, ca: Option<&str>) -> (Redis, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let key = key_of(certificate);
    let mut options = Redis::options();
    for (name, value) in [
        ("--tls-port", port.to_string().as_str()),
        ("--tls-cert-file", certificate),
        ("--tls-key-file", &key),
        ("--tls-ca-cert-file", ca.unwrap_or(certificate)),
        ("--tls-auth-clients", if ca.is_some() { "yes" } else { "no" }),
    ] {
        options = options.arg(name).arg(value);
    }
    (options.start().await, port)
}

fn url(scheme: &str, host: &str, nodes: &[(Redis, u16)], options: &str) -> String {
    let places: Vec<_> = nodes.iter().map(|(_, port)| format!("{host}:{port}")).collect();
    format!("{scheme}://{}/?quarantine=0s&node_timeout=10s&connect_timeout=5s{options}", places.join(","))
}

#[tokio::test]
async fn tls_trusts_the_given_authority_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, foreign] = ["ours", "foreign"].map(|name| self_signed(folder.path(), name, name));
    let mut nodes = Vec::new();
    for _ in 0..3 {
        nodes.push(encrypted(&ours, None).await);
    }
    let good = url("redlocks", "127.0.0.1", &nodes, &format!("&ca={ours}"));
    let (locks, other) = (open(&good).await.locks, open(&good).await.locks);
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let e = other.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);

    for (why, bad) in [
        ("another authority", url("redlocks", "127.0.0.1", &nodes, &format!("&ca={foreign}"))),
        ("none of the system's authorities", url("redlocks", "127.0.0.1", &nodes, "")),
        ("another host", url("redlocks", "localhost", &nodes, &format!("&ca={ours}"))),
    ] {
        let e = refused(&bad).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{why}: {e}");
        assert!(e.to_string().contains("certificate") && e.to_string().contains("3 of 3"), "{why}: {e}");
        assert!(e.next_step().unwrap().contains("ca="), "{why}: {:?}", e.next_step());
    }
    let e = refused(&url("redlocks", "127.0.0.1", &nodes, "&ca=/no/such/file")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}

#[tokio::test]
async fn plain_text_to_nodes_that_want_tls_is_refused_with_the_scheme_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let ours = self_signed(folder.path(), "ours", "test");
    let mut nodes = Vec::new();
    for _ in 0..3 {
        nodes.push(encrypted(&ours, None).await);
    }
    let e = refused(&url("redlock", "127.0.0.1", &nodes, "")).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("redlocks:"), "{e}; {:?}", e.next_step());
    // And the other way round: TLS is not left out where the nodes have none.
    let plain = nodes.into_iter().map(|(node, _)| (node.port(), node)).map(|(port, node)| (node, port));
    let e = refused(&url("redlocks", "127.0.0.1", &plain.collect::<Vec<_>>(), &format!("&ca={ours}"))).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("redlock:"), "{e}; {:?}", e.next_step());
}

/// One node with a certificate of another authority is one node that is away.
#[tokio::test]
async fn a_node_that_nobody_vouches_for_has_no_vote_and_a_client_shows_its_own_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, client, foreign] = ["ours", "client", "foreign"].map(|name| self_signed(folder.path(), name, name));
    let mut nodes = vec![encrypted(&foreign, Some(&client)).await];
    for _ in 0..2 {
        nodes.push(encrypted(&ours, Some(&client)).await);
    }
    let own = format!("&ca={ours}&cert={client}&key={}", key_of(&client));
    let locks = open(&url("redlocks", "127.0.0.1", &nodes, &own)).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(super::plain(&nodes[0].0, &["DBSIZE"]).await, redis::Value::Int(0), "nothing went to the stranger");
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);

    let e = refused(&url("redlocks", "127.0.0.1", &nodes, &format!("&ca={ours}"))).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "no certificate of our own: {e}");
    assert!(e.next_step().is_some(), "{e}");
}
