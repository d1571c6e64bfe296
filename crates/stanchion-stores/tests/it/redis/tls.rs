//! `rediss:` against a server with a certificate of its own.

use std::net::TcpListener;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Redis;

use super::{open, refused, request};
use crate::common::certificate::{key_of, self_signed};

#[tokio::test]
async fn tls_trusts_the_given_authority_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (self_signed(folder.path(), "ours", "test"), self_signed(folder.path(), "foreign", "test"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let key = key_of(&ours);
    let _server = Redis::options()
        .arg("--tls-port")
        .arg(port.to_string())
        .arg("--tls-cert-file")
        .arg(&ours)
        .arg("--tls-key-file")
        .arg(&key)
        .arg("--tls-auth-clients")
        .arg("no")
        .arg("--tls-ca-cert-file")
        .arg(&ours)
        .start()
        .await;

    let locks = open(&format!("rediss://127.0.0.1:{port}/0?ca={ours}")).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();

    let e = refused(&format!("rediss://127.0.0.1:{port}/0?ca={foreign}")).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "a certificate that nobody vouches for: {e}");
    let e = refused(&format!("rediss://127.0.0.1:{port}/0?ca=/no/such/file")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}
