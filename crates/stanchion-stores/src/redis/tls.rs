//! `rediss:`: TLS with the system's certificates, or one's own.

use std::path::Path;
use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Result};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Trusts the certificates in `ca`, or those of the system.
pub(super) fn connector(ca: Option<&Path>) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let refuse = |why: String| {
                Error::new(ErrorKind::Invalid, "ca= cannot be read").with("path", path.display()).with("cause", why)
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| refuse(e.to_string()))? {
                let certificate = certificate.map_err(|e| refuse(e.to_string()))?;
                roots.add(certificate).map_err(|e| refuse(e.to_string()))?;
            }
        }
        None => {
            // A single unreadable certificate of the system must not lock us out; none at all does.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "there is no certificate to trust")
            .hint("give the server's authority as ca=PATH of a PEM file"));
    }
    // The provider is named, so that the outcome does not depend on what else is linked in.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "TLS cannot be set up").because(e))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
