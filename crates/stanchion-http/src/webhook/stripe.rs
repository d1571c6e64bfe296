//! Stripe's signatures (`v1`).

use std::time::Duration;

use http::HeaderMap;
use stanchion_core::{Error, ErrorKind, Result};

use super::secret::{SIGNATURE_BYTES, Secrets};
use super::tolerance::Tolerance;
use super::{Rejected, Verified, only, unix_seconds};

const SIGNATURE: &str = "stripe-signature";

/// Verifies deliveries from Stripe: the header `Stripe-Signature: t=…,v1=…`, HMAC-SHA256 over `t.body`.
///
/// Unlike Stripe's own libraries it refuses stamps from the future too, and its tolerance cannot be switched off.
/// Other schemes in the header (`v0`, used for test events) are skipped.
///
/// ```
/// use http::HeaderMap;
/// use stanchion_http::webhook::Stripe;
///
/// let stripe = Stripe::new(["whsec_test_secret_0123456789"])?;
/// let mut headers = HeaderMap::new();
/// let signature = "t=1700000000,v1=0f06c232d18bc676bfacfc5240a2cfe4559e99421aacd50637b2ba2c7262e338";
/// headers.insert("stripe-signature", signature.parse()?);
///
/// let delivery = stripe.verify(&headers, br#"{"id":"evt_1","object":"event"}"#, 1_700_000_010)?;
/// assert_eq!(delivery.id.as_deref(), Some("evt_1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Stripe {
    secrets: Secrets,
    tolerance: Tolerance,
}

impl Stripe {
    /// A verifier that accepts any of these endpoint secrets, written as Stripe shows them (`whsec_…`). The whole
    /// text is the key; it is not base64.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: no secret, too many, or one that Stripe does not make. The error does not show it.
    ///
    /// ```
    /// use stanchion_http::webhook::Stripe;
    /// assert!(Stripe::new(["sk_live_an_api_key_is_not_a_webhook_secret"]).is_err());
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
    /// # use stanchion_http::webhook::Stripe;
    /// let stripe = Stripe::new(["whsec_test_secret_0123456789"])?.tolerance(Duration::from_secs(60))?;
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
    /// # use stanchion_http::webhook::{Rejected, Stripe};
    /// # let stripe = Stripe::new(["whsec_test_secret_0123456789"])?;
    /// let missing = stripe.verify(&http::HeaderMap::new(), b"{}", 1_700_000_010);
    /// assert_eq!(missing, Err(Rejected::MissingHeader { header: "stripe-signature" }));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn verify(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Result<Verified, Rejected> {
        let (stamp, signatures) = read(only(headers, SIGNATURE)?)?;
        let signed_at = unix_seconds(stamp, SIGNATURE)?;
        if !self.secrets.match_any(&[stamp.as_bytes(), b".", body], &signatures) {
            return Err(Rejected::NoSecretMatched);
        }
        self.tolerance.check(signed_at, now)?;
        Ok(Verified { id: event_id(body), signed_at })
    }

    /// [`verify`](Self::verify) by the system's clock.
    ///
    /// # If it fails
    /// As `verify`. A machine whose clock is off by more than the tolerance refuses everything, and says so.
    ///
    /// ```
    /// # use stanchion_http::webhook::Stripe;
    /// # let stripe = Stripe::new(["whsec_test_secret_0123456789"])?;
    /// assert!(stripe.verify_now(&http::HeaderMap::new(), b"{}").is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn verify_now(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejected> {
        self.verify(headers, body, super::system_now())
    }
}

/// The stamp as it was signed, and the `v1` signatures.
fn read(header: &str) -> Result<(&str, Vec<[u8; SIGNATURE_BYTES]>), Rejected> {
    let malformed = |why| Rejected::Malformed { header: SIGNATURE, why };
    let (mut stamp, mut found, mut others, mut broken) = (None, Vec::new(), false, false);
    for part in header.split(',') {
        match part.split_once('=') {
            Some(("t", _)) if stamp.is_some() => return Err(malformed("it has two time stamps")),
            Some(("t", text)) => stamp = Some(text),
            Some(("v1", text)) => match from_hex(text) {
                Some(signature) => found.push(signature),
                None => broken = true,
            },
            Some(_) => others = true,
            None => return Err(malformed("a part is not name=value")),
        }
    }
    let stamp = stamp.ok_or_else(|| malformed("it has no time stamp"))?;
    match (found.is_empty(), broken, others) {
        (false, ..) => Ok((stamp, found)),
        (_, true, _) => Err(malformed("a v1 signature is not 64 lower-case hex digits")),
        (_, _, true) => Err(Rejected::UnsupportedScheme { header: SIGNATURE, supported: "v1, HMAC-SHA256" }),
        _ => Err(malformed("it has no signature")),
    }
}

/// Exactly what the sender writes: one text per signature, so no second spelling of it is accepted.
fn from_hex(text: &str) -> Option<[u8; SIGNATURE_BYTES]> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    let text: &[u8; SIGNATURE_BYTES * 2] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; SIGNATURE_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// The event's `id` in the body. Only called once the signature is known to be good.
fn event_id(body: &[u8]) -> Option<String> {
    let event: serde_json::Value = serde_json::from_slice(body).ok()?;
    event.get("id")?.as_str().map(str::to_owned)
}

fn key(text: &str) -> Result<Vec<u8>> {
    let known = text.starts_with("whsec_") && (16..=255).contains(&text.len());
    if known && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(text.as_bytes().to_vec());
    }
    Err(Error::new(ErrorKind::Invalid, "not a Stripe endpoint secret")
        .hint("copy the endpoint's signing secret, whsec_…, without white space; an API key (sk_…) is another thing"))
}
