//! `natss:` against a server with a certificate of its own.

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Nats;

use super::{open, refused, request};
use crate::common::certificate::{key_of, self_signed};

#[tokio::test]
async fn tls_trusts_the_given_authority_and_no_other_and_shows_its_own_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (self_signed(folder.path(), "ours", "test"), self_signed(folder.path(), "foreign", "test"));
    let key = key_of(&ours);
    let tls = format!("tls {{ cert_file: \"{ours}\", key_file: \"{key}\", ca_file: \"{ours}\", verify: true }}");
    let server = Nats::options().config(tls).start().await;
    let at = format!("natss://127.0.0.1:{}", server.port());

    let locks = open(&format!("{at}/?ca={ours}&cert={ours}&key={key}")).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();

    let e = refused(&format!("{at}/?ca={foreign}&cert={ours}&key={key}")).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "a certificate that nobody vouches for: {e}");
    let e = refused(&format!("{at}/?ca={ours}")).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "no certificate of our own: {e}");
    let e = refused(&format!("{at}/?ca=/no/such/file")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}

#[tokio::test]
async fn tls_is_not_left_out_when_the_server_has_none() {
    let server = Nats::start().await;
    let folder = tempfile::tempdir().unwrap();
    let ours = self_signed(folder.path(), "ours", "test");
    let e = refused(&format!("natss://127.0.0.1:{}/?ca={ours}", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
}
