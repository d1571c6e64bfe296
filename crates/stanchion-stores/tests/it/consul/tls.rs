//! `consuls:` against an agent with a certificate of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Consul;

use super::{open, refused, request};

/// A certificate that vouches for itself, for the agent and for a client.
fn certificate(folder: &Path, name: &str) -> String {
    let (key, certificate) = (folder.join(format!("{name}.key")), folder.join(format!("{name}.pem")));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", &format!("/CN={name}"), "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl makes the test's certificates");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    certificate.display().to_string()
}

#[tokio::test]
async fn tls_trusts_the_given_authority_and_shows_our_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, client, foreign] = ["ours", "client", "foreign"].map(|name| certificate(folder.path(), name));
    let (key, client_key) = (ours.replace(".pem", ".key"), client.replace(".pem", ".key"));
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
