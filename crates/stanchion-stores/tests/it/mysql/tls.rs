//! `ssl-mode` and `ssl-ca` against a server that takes encrypted connections only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use stanchion_core::{Cond, ErrorKind, Owner, Ran};
use stanchion_testkit::engines::MariaDb;

use super::{key, open, refused, request};
use crate::common::certificate::{key_of, self_signed};

/// `NAME.pem` and `NAME.key`, for 127.0.0.1. The server runs as somebody else, who must be able to read them.
fn certificate(folder: &Path, name: &str) -> String {
    let certificate = self_signed(folder, name, "test");
    for (path, mode) in [(folder, 0o755), (key_of(&certificate).as_ref(), 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    certificate
}

async fn encrypted(certificate: &str) -> MariaDb {
    let key = key_of(certificate);
    let options = MariaDb::options().setting(format!("ssl-cert={certificate}")).setting(format!("ssl-key={key}"));
    options.setting("require-secure-transport=ON").start().await
}

/// One lock and one record, there and back.
async fn works(url: &str) {
    let store = open(url).await;
    let grant = store.locks.try_acquire(&request(url), Owner::random()).await.unwrap();
    let records = store.records.unwrap();
    records.put(&key(url), "kept".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&key(url)).await.unwrap().unwrap().value, "kept");
    store.locks.release(&grant).await.unwrap();
}

/// The server refuses what is not encrypted, so every success below is.
#[tokio::test]
async fn tls_trusts_the_given_authority_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, foreign] = ["ours", "foreign"].map(|name| certificate(folder.path(), name));
    let server = encrypted(&ours).await;
    let url = |host: &str, options: &str| format!("{}?{options}", server.url().replace("127.0.0.1", host));
    for good in [
        format!("ssl-mode=verify_identity&ssl-ca={ours}"),
        format!("ssl-mode=required&ssl-ca={ours}"),
        format!("ssl-ca={ours}&mode=session&prefix=other_"),
        "ssl-mode=required".to_owned(),
        "ssl-mode=preferred".to_owned(),
        String::new(),
    ] {
        works(&url("127.0.0.1", &good)).await;
    }
    // Without an authority nobody asks who answers.
    works(&url("localhost", "ssl-mode=required")).await;
    let mut bad = vec![("none of the built-in authorities", url("127.0.0.1", "ssl-mode=verify_identity"))];
    for mode in ["verify_identity", "required", "preferred"] {
        bad.push(("another authority", url("127.0.0.1", &format!("ssl-mode={mode}&ssl-ca={foreign}"))));
        bad.push(("another host", url("localhost", &format!("ssl-mode={mode}&ssl-ca={ours}"))));
    }
    for (why, bad) in bad {
        let e = refused(&bad).await;
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{why}: {e}");
        assert!(e.to_string().contains("certificate"), "{why}: {e}");
        assert!(e.next_step().unwrap().contains("ssl-ca"), "{why}: {:?}", e.next_step());
    }
    let e = refused(&url("localhost", "ssl-mode=required&ssl-ca=/no/such/file")).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(e.to_string().contains("/no/such/file"), "{e}");
    let e = refused(&url("localhost", &format!("ssl-mode=required&ssl-ca={}", key_of(&ours)))).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Invalid, Ran::No), "no certificate in the file: {e}");
}

#[tokio::test]
async fn plain_text_to_a_server_that_wants_tls_is_denied_with_the_option_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let server = encrypted(&certificate(folder.path(), "ours")).await;
    let e = refused(&format!("{}?ssl-mode=disabled", server.url())).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
    assert!(e.next_step().unwrap().contains("ssl-mode=required"), "{:?}", e.next_step());
}
