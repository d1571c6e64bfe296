//! `rediss:` against a server with a certificate of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Redis;

use super::{open, refused, request};

fn certificate(folder: &Path, name: &str) -> String {
    let (key, certificate) = (folder.join(format!("{name}.key")), folder.join(format!("{name}.pem")));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
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
async fn tls_trusts_the_given_authority_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (certificate(folder.path(), "ours"), certificate(folder.path(), "foreign"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let key = ours.replace(".pem", ".key");
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
