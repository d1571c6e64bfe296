//! Is this delivery really from the sender, and fresh?
//!
//! [`StandardWebhooks`] and [`Stripe`] check the **raw bytes** of the body, as they came from the socket: a body
//! that was parsed and written again has another signature. Both compare in constant time, accept any of several
//! secrets (so that a secret can be replaced without losing a delivery), and refuse a time stamp that is too old
//! **or** too far ahead.
//!
//! A valid signature does not say that the event is new: senders deliver again, for days. Remember
//! [`Verified::id`] for at least as long as the sender retries.

mod rejected;
mod secret;
mod standard;
mod stripe;
mod tolerance;

pub use rejected::Rejected;
pub use standard::StandardWebhooks;
pub use stripe::Stripe;
pub use tolerance::{TOLERANCE_DEFAULT, TOLERANCE_MAX};

use crate::header;

/// The most secrets that one verifier holds. Two are enough for a rotation; each costs one pass over the body.
///
/// ```
/// use stanchion_http::webhook::{SECRETS_MAX, Stripe};
/// assert!(Stripe::new(vec!["whsec_0123456789abcdef"; SECRETS_MAX + 1]).is_err());
/// ```
pub const SECRETS_MAX: usize = 8;

/// The longest header that is looked at, in bytes.
const HEADER_MAX: usize = 4096;

/// A delivery whose signature and time stamp are good.
///
/// ```
/// use stanchion_http::webhook::Verified;
/// let delivery = Verified { id: Some("msg_1".into()), signed_at: 1_700_000_000 };
/// assert_eq!(delivery.id.as_deref(), Some("msg_1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The event's own name, the same in every delivery of it: what to remember. Standard Webhooks always has
    /// one; Stripe has it as `id` in the JSON body, so it is `None` where the body is something else.
    pub id: Option<String>,
    /// When this delivery was signed, in seconds since 1970. Differs between deliveries of one event.
    pub signed_at: u64,
}

/// The only value of `name`, as printable ASCII of a bounded length.
fn only<'h>(headers: &'h http::HeaderMap, name: &'static str) -> Result<&'h str, Rejected> {
    let malformed = |why| Rejected::Malformed { header: name, why };
    let value = header::only(headers, name).map_err(|_| malformed("it is sent more than once"))?;
    let value = value.ok_or(Rejected::MissingHeader { header: name })?;
    if value.is_empty() {
        return Err(malformed("it is empty"));
    }
    if value.len() > HEADER_MAX {
        return Err(malformed("it is longer than 4096 bytes"));
    }
    value.to_str().map_err(|_| malformed("it contains something other than printable ASCII"))
}

/// Seconds since 1970, written as a sender writes them: digits alone, no leading zero.
fn unix_seconds(text: &str, header: &'static str) -> Result<u64, Rejected> {
    // Twelve digits reach the year 33658, and no sum of two such numbers can overflow.
    let plain = (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse()
        .ok()
        .filter(|_| plain)
        .ok_or(Rejected::Malformed { header, why: "the time stamp is not a number of seconds since 1970" })
}

/// The system's time in seconds since 1970.
fn system_now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the sender's stamp is wall-clock time; nothing else can judge it")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_secs())
}
