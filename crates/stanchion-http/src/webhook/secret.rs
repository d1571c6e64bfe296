//! Secrets: never shown, compared in constant time.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use stanchion_core::{Error, ErrorKind, Result};

use super::SECRETS_MAX;

/// The length of an HMAC-SHA256.
pub(super) const SIGNATURE_BYTES: usize = 32;

/// One to [`SECRETS_MAX`] keys, ready to hash.
#[derive(Clone)]
pub(super) struct Secrets(Vec<Hmac<Sha256>>);

impl Secrets {
    /// Reads each text with `key`, which must not put the text into its error.
    pub(super) fn read<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
        key: impl Fn(&str) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let mut keyed = Vec::new();
        for text in texts {
            if keyed.len() == SECRETS_MAX {
                return Err(Error::new(ErrorKind::Invalid, "too many webhook secrets")
                    .with("most", SECRETS_MAX)
                    .hint("keep the current secret and the one before it"));
            }
            let key = key(text.as_ref())?;
            let mac = Hmac::new_from_slice(&key)
                .map_err(|e| Error::new(ErrorKind::Invalid, "the webhook secret has an unusable length").because(e))?;
            keyed.push(mac);
        }
        if keyed.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "no webhook secret is given")
                .hint("copy the endpoint's signing secret from the sender's settings"));
        }
        Ok(Self(keyed))
    }

    /// Whether one of `signatures` is that of `parts`, joined, under one of the secrets.
    pub(super) fn match_any(&self, parts: &[&[u8]], signatures: &[[u8; SIGNATURE_BYTES]]) -> bool {
        self.0.iter().any(|keyed| {
            let mut mac = keyed.clone();
            parts.iter().for_each(|part| mac.update(part));
            signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
        })
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (hidden)", self.0.len())
    }
}
