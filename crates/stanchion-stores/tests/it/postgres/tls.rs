//! `sslmode` against a server with a certificate of its own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;

use stanchion_core::{ErrorKind, Owner};
use stanchion_testkit::engines::Postgres;

use super::{PATIENCE, open, plain, refused, request};
use crate::common::certificate::{KEY, openssl};

/// Gives the running server a certificate for `localhost`, and returns the file of the authority that signed it.
async fn encrypt(server: &Postgres) -> PathBuf {
    let data = server.dir().join("data");
    let authority = ["-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt"];
    openssl(&data, [&["req", "-x509"][..], &KEY, &authority].concat());
    let asked = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    openssl(&data, [&["req"][..], &KEY, &asked, &["-keyout", "server.key", "-out", "server.csr"]].concat());
    let by = ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(&data, [&by[..], &["-copy_extensions", "copy", "-days", "2", "-out", "server.crt"]].concat());
    let (certificate, key) = (data.join("server.crt"), data.join("server.key"));
    let owner = fs::metadata(&data).unwrap();
    for file in [&certificate, &key] {
        chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let client = plain(&server.url()).await;
    client.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    stanchion_testkit::eventually(PATIENCE, "the server encrypts", || async {
        plain(&server.url()).await.query_one("SHOW ssl", &[]).await.is_ok_and(|row| row.get::<_, String>(0) == "on")
    })
    .await;
    data.join("ca.crt")
}

/// How many of our connections are encrypted, and how many are not.
async fn connections(server: &Postgres) -> (i64, i64) {
    let sql = "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl)
        FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'stanchion'";
    let row = plain(&server.url()).await.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn sslmode_means_what_libpq_says() {
    let server = Postgres::start().await;
    let e = refused(&format!("{}?sslmode=require", server.url())).await;
    assert_eq!(e.kind(), ErrorKind::Unavailable, "no TLS there: {e}");
    let roots = encrypt(&server).await;
    let url = |host: &str, options: &str| format!("{}?{options}", server.url().replace("127.0.0.1", host));

    let plainly = open(&url("127.0.0.1", "sslmode=disable")).await;
    assert_eq!(connections(&server).await, (0, 1));
    drop(plainly);
    for good in [
        url("127.0.0.1", ""),
        url("127.0.0.1", "sslmode=require"),
        url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={}", roots.display())),
        url("localhost", &format!("sslmode=verify-full&sslrootcert={}", roots.display())),
    ] {
        let store = open(&good).await;
        store.locks.try_acquire(&request(&good), Owner::random()).await.unwrap();
        stanchion_testkit::eventually(PATIENCE, "only its encrypted connection is there", || async {
            connections(&server).await == (1, 0)
        })
        .await;
        drop(store);
        stanchion_testkit::eventually(PATIENCE, "it is closed", || async { connections(&server).await == (0, 0) })
            .await;
    }
    for bad in [
        url("localhost", "sslmode=verify-full&sslrootcert=system"),
        url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={}", roots.display())),
    ] {
        let e = refused(&bad).await;
        assert_eq!(e.kind(), ErrorKind::Unavailable, "{bad}: {e}");
        assert!(e.to_string().contains("certificate"), "{e}");
    }
}
