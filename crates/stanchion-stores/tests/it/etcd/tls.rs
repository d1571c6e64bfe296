//! `etcds:` with an authority of one's own and client certificates.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Etcd;

use super::{open, refused, request};

fn openssl(words: &[&str]) {
    let made = Command::new("openssl").args(words).output().expect("openssl makes the test's certificates");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// `NAME.pem` and `NAME.key` of an authority.
fn authority(folder: &Path, name: &str) -> String {
    let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
    let subject = format!("/CN={name}");
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    let words = [&["req", "-x509"][..], &curve, &["-subj", &subject]].concat();
    openssl(&[&words[..], &["-keyout", &path("key"), "-out", &path("pem")]].concat());
    path("pem")
}

/// `NAME.pem` and `NAME.key`, vouched for by an authority.
fn certificate(folder: &Path, name: &str, by: &str) -> String {
    let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
    let subject = format!("/CN={name}");
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let words = [&["req"][..], &curve, &["-subj", &subject]].concat();
    openssl(&[&words[..], &["-keyout", &path("key"), "-out", &path("csr")]].concat());
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n").unwrap();
    let names = folder.join("names").display().to_string();
    let key = by.replace(".pem", ".key");
    let signed = ["x509", "-req", "-days", "2", "-CAcreateserial", "-extfile", &names, "-CA", by, "-CAkey", &key];
    openssl(&[&signed[..], &["-in", &path("csr"), "-out", &path("pem")]].concat());
    path("pem")
}

#[tokio::test]
async fn both_sides_show_a_certificate_and_trust_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (authority(folder.path(), "ours"), authority(folder.path(), "foreign"));
    let (server_cert, client_cert) =
        (certificate(folder.path(), "server", &ours), certificate(folder.path(), "client", &ours));
    let stranger = certificate(folder.path(), "stranger", &foreign);
    let key = |certificate: &str| certificate.replace(".pem", ".key");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Etcd::options()
        .also_listen(format!("https://127.0.0.1:{port}"))
        .arg("--cert-file")
        .arg(&server_cert)
        .arg("--key-file")
        .arg(key(&server_cert))
        .arg("--client-cert-auth")
        .arg("--trusted-ca-file")
        .arg(&ours)
        .start()
        .await;

    let shown = format!("cert={client_cert}&key={}", key(&client_cert));
    let opened = open(&format!("etcds://127.0.0.1:{port}?ca={ours}&{shown}")).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
    let by_option = open(&format!("etcd://127.0.0.1:{port}?tls=true&ca={ours}&{shown}")).await;
    by_option.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(!by_option.shown.contains(&key(&client_cert)), "the path of a key is nobody's business");

    let strange = format!("cert={stranger}&key={}", key(&stranger));
    for url in [
        format!("etcds://127.0.0.1:{port}?ca={foreign}&{shown}"),
        format!("etcds://127.0.0.1:{port}?ca={ours}"),
        format!("etcds://127.0.0.1:{port}?ca={ours}&{strange}"),
        format!("etcd://127.0.0.1:{port}"),
        format!("etcds://127.0.0.1:{}?ca={ours}", server.port()),
        format!("etcds://127.0.0.1:{plain}?ca={ours}"),
    ] {
        let e = refused(&url).await;
        assert_eq!(e.kind(), ErrorKind::Unavailable, "{url}: {e}");
    }
}
