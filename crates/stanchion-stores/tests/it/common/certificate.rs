//! Certificates for servers and clients of one test.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// A key and no password for it.
pub(crate) const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

pub(crate) fn openssl<Word: AsRef<OsStr>>(folder: &Path, words: impl IntoIterator<Item = Word>) {
    let made = Command::new("openssl").args(words).current_dir(folder).output();
    let made = made.expect("openssl makes the test's certificates");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// `NAME.pem` and `NAME.key` in the folder: a certificate for this machine that vouches for itself. The path of the first.
pub(crate) fn self_signed(folder: &Path, name: &str, subject: &str) -> String {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
    let subject = format!("/CN={subject}");
    let says = ["-days", "2", "-subj", &subject, "-addext", "subjectAltName=IP:127.0.0.1"];
    let end = ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate];
    openssl(folder, [&["req", "-x509"][..], &KEY, &says, &end].concat());
    folder.join(certificate).display().to_string()
}

/// Where the key of a certificate is.
pub(crate) fn key_of(certificate: &str) -> String {
    certificate.replace(".pem", ".key")
}
