//! `https` upstreams: trusted by the system's roots, or not spoken to.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use stanchion_testkit::process::{Child, is_helper};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::support::*;

fn certificate(folder: &Path, name: &str) -> [String; 2] {
    let [key, pem] = ["key", "pem"].map(|kind| folder.join(format!("{name}.{kind}")).display().to_string());
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &pem])
        .output()
        .expect("openssl makes the test's certificates");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    [key, pem]
}

/// An upstream behind TLS; it answers every request with this result.
async fn serve([key, pem]: &[String; 2]) -> u16 {
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let config =
        tokio_rustls::rustls::ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_file(pem).unwrap()],
                PrivateKeyDer::from_pem_file(key).unwrap(),
            )
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever does not trust us ends the handshake.
            let Ok(mut tls) = acceptor.accept(stream).await else { continue };
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                assert!(tls.read_buf(&mut request).await.unwrap() > 0);
            }
            let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"over TLS"}]}}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            tls.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn tls_trusts_the_systems_roots_and_no_others() {
    if is_helper() {
        let url = std::env::var("UPSTREAM").unwrap();
        let store = Store::fresh().await;
        let gateway = Gateway::start(&store, LOCKED, &url).await;
        let got = post(gateway.addr, &[BOTH], &call("1", Some("k"))).await;
        return println!("GOT {}", got.problem().unwrap_or_else(|| got.texts()));
    }
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (certificate(folder.path(), "ours"), certificate(folder.path(), "foreign"));
    let url = format!("https://127.0.0.1:{}/mcp", serve(&ours).await);
    for ([_, trusted], wanted) in [(&ours, "over TLS"), (&foreign, "upstream_failed")] {
        let mut helper = Child::rerun_this_test_with(&[("SSL_CERT_FILE", trusted), ("UPSTREAM", &url)]);
        assert_eq!(helper.expect_line("GOT", SOON).await, wanted);
    }
}
