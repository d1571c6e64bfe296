//! `consuls:` against an agent with a certificate of its own.

use std::net::TcpListener;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Consul;

use super::{open, refused, request};
use crate::common::certificate::{key_of, self_signed};

#[tokio::test]
async fn tls_trusts_the_given_authority_and_shows_our_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, client, foreign] = ["ours", "client", "foreign"].map(|name| self_signed(folder.path(), name, name));
    let (key, client_key) = (key_of(&ours), key_of(&client));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = Consul::options()
        .setting(format!("ports {{ https = {port} }}"))
        .setting(format!("cert_file = {ours:?}\nkey_file = {key:?}\nca_file = {client:?}"))
        .setting("verify_incoming_https = true")
        .start()
        .await;
    let url = format!("consuls://127.0.0.1:{port}/?ca={ours}");
    let locks = open(&format!("{url}&cert={client}&key={client_key}")).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();

    let e = refused(&url).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "the agent asks for a certificate: {e}");
    let e = refused(&format!("consuls://127.0.0.1:{port}/?ca={foreign}&cert={client}&key={client_key}")).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "a certificate that nobody vouches for: {e}");
    let e = refused(&format!("{url}&cert={client}&key=/no/such/file")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}
