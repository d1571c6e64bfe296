//! TLS as the store URL asks for it: the system's certificates or one's own, and a client certificate if there is one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use stanchion_core::{Error, ErrorKind, Result};

use crate::StoreUrl;

/// The options of [`Files::take`].
pub(crate) const OPTIONS: [&str; 3] = ["ca", "cert", "key"];

/// The PEM files that a URL names: `ca=`, `cert=` and `key=`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    ca: Option<PathBuf>,
    own: Option<(PathBuf, PathBuf)>,
}

impl Files {
    /// Takes the options out of the URL.
    ///
    /// # If it fails
    /// `Invalid` when one of `cert=` and `key=` is missing, or when they are given where nothing is encrypted.
    pub(crate) fn take(url: &mut StoreUrl, encrypted: bool) -> Result<Self> {
        let [ca, cert, key] = OPTIONS.map(|option| url.take(option).map(PathBuf::from));
        let refuse = |why| Error::new(ErrorKind::Invalid, why).hint("see `stanchion help stores`");
        if !encrypted && (ca.is_some() || cert.is_some() || key.is_some()) {
            return Err(refuse("ca=, cert= and key= need an encrypted scheme"));
        }
        let own = match (cert, key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((cert, key)),
            _ => return Err(refuse("cert= and key= go together")),
        };
        Ok(Self { ca, own })
    }

    /// Reads the files.
    ///
    /// # If it fails
    /// `Invalid` with the option and the path of what cannot be used.
    pub(crate) fn config(&self) -> Result<ClientConfig> {
        // The provider is named, so that the outcome does not depend on what else is linked in.
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::new(ErrorKind::Unexpected, "TLS cannot be set up").because(e))?
            .with_root_certificates(self.roots()?);
        match &self.own {
            None => Ok(builder.with_no_client_auth()),
            Some((cert, key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unusable("key", key, e))?;
                let chain = certificates("cert", cert)?;
                builder.with_client_auth_cert(chain, secret).map_err(|e| unusable("cert", cert, e))
            }
        }
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(path) => {
                for certificate in certificates("ca", path)? {
                    roots.add(certificate).map_err(|e| unusable("ca", path, e))?;
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
        Ok(roots)
    }
}

fn certificates(option: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    found.map_err(|e| unusable(option, path, e))
}

fn unusable(option: &'static str, path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, "a PEM file cannot be used")
        .with("option", option)
        .with("path", path.display())
        .with("cause", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_encryption_and_half_a_pair_are_refused() {
        let take = |text: &str, encrypted| Files::take(&mut StoreUrl::parse(text).unwrap(), encrypted);
        assert!(take("x://h?ca=/a.pem", false).is_err());
        assert!(take("x://h?cert=/a.pem", true).is_err());
        assert!(take("x://h?cert=/a.pem&key=/b.pem", true).is_ok());
        let missing = take("x://h?ca=/nowhere/a.pem", true).unwrap().config().unwrap_err();
        assert!(missing.to_string().contains("/nowhere/a.pem"), "{missing}");
    }
}
