//! `etcds:` with an authority of one's own and client certificates.

use std::net::TcpListener;
use std::path::Path;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Etcd;

use super::{open, refused, request};
use crate::common::certificate::{KEY, key_of, openssl};

/// `NAME.pem` and `NAME.key` of an authority.
fn authority(folder: &Path, name: &str) -> String {
    let (certificate, key, subject) = (format!("{name}.pem"), format!("{name}.key"), format!("/CN={name}"));
    let end = ["-days", "2", "-subj", &subject, "-keyout", &key, "-out", &certificate];
    openssl(folder, [&["req", "-x509"][..], &KEY, &end].concat());
    folder.join(certificate).display().to_string()
}

/// `NAME.pem` and `NAME.key`, vouched for by an authority.
fn certificate(folder: &Path, name: &str, by: &str) -> String {
    let [certificate, key, asked] = ["pem", "key", "csr"].map(|end| format!("{name}.{end}"));
    openssl(folder, [&["req"][..], &KEY, &["-subj", &format!("/CN={name}"), "-keyout", &key, "-out", &asked]].concat());
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n").unwrap();
    let signed =
        ["x509", "-req", "-days", "2", "-CAcreateserial", "-extfile", "names", "-CA", by, "-CAkey", &key_of(by)];
    openssl(folder, [&signed[..], &["-in", &asked, "-out", &certificate]].concat());
    folder.join(certificate).display().to_string()
}

#[tokio::test]
async fn both_sides_show_a_certificate_and_trust_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (authority(folder.path(), "ours"), authority(folder.path(), "foreign"));
    let (server_cert, client_cert) =
        (certificate(folder.path(), "server", &ours), certificate(folder.path(), "client", &ours));
    let stranger = certificate(folder.path(), "stranger", &foreign);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Etcd::options()
        .also_listen(format!("https://127.0.0.1:{port}"))
        .arg("--cert-file")
        .arg(&server_cert)
        .arg("--key-file")
        .arg(key_of(&server_cert))
        .arg("--client-cert-auth")
        .arg("--trusted-ca-file")
        .arg(&ours)
        .start()
        .await;

    let shown = format!("cert={client_cert}&key={}", key_of(&client_cert));
    let opened = open(&format!("etcds://127.0.0.1:{port}?ca={ours}&{shown}")).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    opened.locks.release(&grant).await.unwrap();
    let by_option = open(&format!("etcd://127.0.0.1:{port}?tls=true&ca={ours}&{shown}")).await;
    by_option.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(!by_option.shown.contains(&key_of(&client_cert)), "the path of a key is nobody's business");

    let strange = format!("cert={stranger}&key={}", key_of(&stranger));
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
