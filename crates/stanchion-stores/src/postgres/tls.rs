//! `sslmode`, with the meanings libpq gave it.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use stanchion_core::{Error, ErrorKind, Result};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is checked of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    Nothing,
    Chain,
    ChainAndName,
}

/// A connector for TLS. `roots` is a file of certificates; without it the system's are trusted.
pub(crate) fn connector(check: Check, roots: Option<&str>) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "TLS cannot be set up").because(e))?;
    let config = if check == Check::Nothing {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Lenient { inner: None, provider }))
    } else {
        let store = Arc::new(roots.map_or_else(system, file)?);
        if check == Check::ChainAndName {
            builder.with_root_certificates(store)
        } else {
            let inner = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(&provider))
                .build()
                .map_err(|e| Error::new(ErrorKind::Invalid, "the root certificates cannot be used").because(e))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Lenient { inner: Some(inner), provider }))
        }
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn file(path: &str) -> Result<RootCertStore> {
    if path == "system" {
        return system();
    }
    let refuse = |why: &'static str| Error::new(ErrorKind::Invalid, why).with("sslrootcert", path);
    let mut store = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(Path::new(path))
        .map_err(|e| refuse("the root certificates cannot be read").because(e))?;
    for certificate in found {
        let certificate = certificate.map_err(|e| refuse("the root certificates cannot be read").because(e))?;
        store.add(certificate).map_err(|e| refuse("a root certificate is not valid").because(e))?;
    }
    if store.is_empty() {
        return Err(refuse("the file holds no certificate"));
    }
    Ok(store)
}

fn system() -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "this system has no root certificates")
            .hint("name a file: sslrootcert=/path/to/ca.pem"));
    }
    Ok(store)
}

/// `prefer` and `require` encrypt without asking who answers; `verify-ca` asks, but takes any name.
#[derive(Debug)]
struct Lenient {
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
