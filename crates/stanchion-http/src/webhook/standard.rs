//! Standard Webhooks 1.0, symmetric signatures (`v1`).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use http::HeaderMap;
use stanchion_core::{Error, ErrorKind, Result};

use super::secret::{SIGNATURE_BYTES, Secrets};
use super::tolerance::Tolerance;
use super::{Rejected, Verified, only, unix_seconds};

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

/// The longest `webhook-id`. It becomes a key of a record.
const ID_MAX: usize = 255;

/// Secrets are written with and without padding.
const SECRET_BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Verifies deliveries by the [Standard Webhooks](https://www.standardwebhooks.com) rules: the headers
/// `webhook-id`, `webhook-timestamp` and `webhook-signature`, HMAC-SHA256 over `id.timestamp.body`.
///
/// Signatures of other schemes in the list are skipped. Ed25519 (`v1a`) is not supported: a delivery that has
/// only such a signature is refused as [`Rejected::UnsupportedScheme`].
///
/// ```
/// use http::HeaderMap;
/// use stanchion_http::webhook::{Rejected, StandardWebhooks};
///
/// let webhooks = StandardWebhooks::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])?;
/// let mut headers = HeaderMap::new();
/// headers.insert("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".parse()?);
/// headers.insert("webhook-timestamp", "1614265330".parse()?);
/// headers.insert("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".parse()?);
///
/// let delivery = webhooks.verify(&headers, br#"{"test": 2432232314}"#, 1_614_265_400)?;
/// assert_eq!(delivery.id.as_deref(), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
/// let forged = webhooks.verify(&headers, br#"{"test": 2432232315}"#, 1_614_265_400);
/// assert_eq!(forged, Err(Rejected::NoSecretMatched));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StandardWebhooks {
    secrets: Secrets,
    tolerance: Tolerance,
}

impl StandardWebhooks {
    /// A verifier that accepts any of these secrets: `whsec_` and the base64 form of 24 to 64 bytes.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: no secret, too many, or one that is not written so. The error does not show it.
    ///
    /// ```
    /// use stanchion_http::webhook::StandardWebhooks;
    /// let e = StandardWebhooks::new(["whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]).unwrap_err();
    /// assert!(e.to_string().contains("Ed25519"));
    /// ```
    pub fn new<T: AsRef<str>>(secrets: impl IntoIterator<Item = T>) -> Result<Self> {
        Ok(Self { secrets: Secrets::read(secrets, key)?, tolerance: Tolerance::DEFAULT })
    }

    /// How far the time stamp may be from now, in both directions. [Five minutes](super::TOLERANCE_DEFAULT) unless
    /// told otherwise.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: less than a second, or more than [`TOLERANCE_MAX`](super::TOLERANCE_MAX).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_http::webhook::StandardWebhooks;
    /// let webhooks = StandardWebhooks::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])?;
    /// assert!(webhooks.clone().tolerance(Duration::ZERO).is_err());
    /// let strict = webhooks.tolerance(Duration::from_secs(30))?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn tolerance(mut self, tolerance: Duration) -> Result<Self> {
        self.tolerance = Tolerance::new(tolerance)?;
        Ok(self)
    }

    /// Checks one delivery at the time `now`, in seconds since 1970. `body` is what came from the socket.
    ///
    /// # If it fails
    /// [`Rejected`] says why. Time is judged last, so "too old" is only ever said about an authentic delivery.
    ///
    /// ```
    /// # use stanchion_http::webhook::{Rejected, StandardWebhooks};
    /// # let webhooks = StandardWebhooks::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])?;
    /// let missing = webhooks.verify(&http::HeaderMap::new(), b"{}", 1_614_265_400);
    /// assert_eq!(missing, Err(Rejected::MissingHeader { header: "webhook-id" }));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn verify(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Result<Verified, Rejected> {
        let id = event_id(headers)?;
        let stamp = only(headers, TIMESTAMP)?;
        let signed_at = unix_seconds(stamp, TIMESTAMP)?;
        let signatures = signatures(only(headers, SIGNATURE)?)?;
        let signed = [id.as_bytes(), b".", stamp.as_bytes(), b".", body];
        if !self.secrets.match_any(&signed, &signatures) {
            return Err(Rejected::NoSecretMatched);
        }
        self.tolerance.check(signed_at, now)?;
        Ok(Verified { id: Some(id.to_owned()), signed_at })
    }

    /// [`verify`](Self::verify) by the system's clock.
    ///
    /// # If it fails
    /// As `verify`. A machine whose clock is off by more than the tolerance refuses everything, and says so.
    ///
    /// ```
    /// # use stanchion_http::webhook::StandardWebhooks;
    /// # let webhooks = StandardWebhooks::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])?;
    /// assert!(webhooks.verify_now(&http::HeaderMap::new(), b"{}").is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn verify_now(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejected> {
        self.verify(headers, body, super::system_now())
    }
}

/// A dot would let one signature stand for two different splits of the same signed text.
fn event_id(headers: &HeaderMap) -> Result<&str, Rejected> {
    let id = only(headers, ID)?;
    let malformed = |why| Rejected::Malformed { header: ID, why };
    if id.len() > ID_MAX {
        return Err(malformed("the id is longer than 255 bytes"));
    }
    if id.contains('.') {
        return Err(malformed("the id contains a dot"));
    }
    if id.bytes().any(|b| !b.is_ascii_graphic()) {
        return Err(malformed("the id contains white space"));
    }
    Ok(id)
}

/// The `v1` signatures of the list. Those that cannot be one are left out, as are other schemes.
fn signatures(list: &str) -> Result<Vec<[u8; SIGNATURE_BYTES]>, Rejected> {
    let malformed = |why| Rejected::Malformed { header: SIGNATURE, why };
    let (mut found, mut others, mut broken) = (Vec::new(), false, false);
    for entry in list.split_ascii_whitespace() {
        match entry.split_once(',') {
            Some(("v1", text)) => match STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok()) {
                Some(signature) => found.push(signature),
                None => broken = true,
            },
            Some(_) => others = true,
            None => return Err(malformed("an entry has no comma between scheme and signature")),
        }
    }
    match (found.is_empty(), broken, others) {
        (false, ..) => Ok(found),
        (_, true, _) => Err(malformed("a v1 signature is not the base64 form of 32 bytes")),
        (_, _, true) => Err(Rejected::UnsupportedScheme {
            header: SIGNATURE,
            supported: "v1, HMAC-SHA256; v1a, Ed25519, is not supported",
        }),
        _ => Err(malformed("it has no signature")),
    }
}

fn key(text: &str) -> Result<Vec<u8>> {
    if text.starts_with("whsk_") || text.starts_with("whpk_") {
        return Err(Error::new(ErrorKind::Unsupported, "Ed25519 webhook keys (whsk_, whpk_) are not supported")
            .hint("let the sender sign with a symmetric secret (whsec_)"));
    }
    let refuse = || {
        Error::new(ErrorKind::Invalid, "not a Standard Webhooks secret")
            .hint("it is written as whsec_ and the base64 form of 24 to 64 bytes")
    };
    let base64 = text.strip_prefix("whsec_").ok_or_else(refuse)?;
    // Any longer text cannot decode to 64 bytes; this bounds the work.
    let key = if base64.len() <= 88 { SECRET_BASE64.decode(base64).map_err(|_| refuse())? } else { Vec::new() };
    if (24..=64).contains(&key.len()) { Ok(key) } else { Err(refuse()) }
}
