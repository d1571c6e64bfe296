//! What a repetition is known by: the caller's key, or what is asked.

use std::sync::Arc;
use std::time::Duration;

use crate::{Error, ErrorKind, Fingerprint, Result};

/// The longest idempotency key, in bytes.
///
/// ```
/// assert!(stanchion_core::CallKey::new("k".repeat(stanchion_core::CALL_KEY_MAX_BYTES)).is_ok());
/// ```
pub const CALL_KEY_MAX_BYTES: usize = 255;

/// An idempotency key: the caller's own, or derived from what is asked.
///
/// ```
/// use stanchion_core::CallKey;
/// assert_eq!(CallKey::new("order-77")?.as_str(), "order-77");
/// assert!(CallKey::new("").is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallKey {
    text: Arc<str>,
    sent_ms: Option<u64>,
    window: Option<Duration>,
}

impl CallKey {
    /// The caller's key: 1 to 255 bytes of UTF-8 without control characters, compared byte by byte.
    ///
    /// A key that is a UUID of version 7 carries its time: see [`sent_at`](Self::sent_at).
    ///
    /// # If it fails
    /// `Invalid`, naming the rule.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, ErrorKind};
    /// assert_eq!(CallKey::new("k".repeat(300)).unwrap_err().kind(), ErrorKind::Invalid);
    /// ```
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let why = if text.is_empty() {
            "the idempotency key is empty"
        } else if text.len() > CALL_KEY_MAX_BYTES {
            "the idempotency key is longer than 255 bytes"
        } else if text.chars().any(char::is_control) {
            "the idempotency key contains a control character"
        } else {
            return Ok(Self { text: text.into(), sent_ms: uuid7_ms(text), window: None });
        };
        Err(Error::new(ErrorKind::Invalid, why)
            .with("bytes", text.len())
            .hint("a key is 1 to 255 bytes of UTF-8 without control characters; a UUID is a good one"))
    }

    /// A key from what is asked: identical calls while the first one runs, and within `window` after its answer was
    /// recorded, are one call. By the store's clock, exact to its tick.
    ///
    /// Two calls that are meant to be two need keys of their own, or no key at all.
    ///
    /// # If it fails
    /// `Invalid` for a window of nothing or of more than 30 days.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stanchion_core::{CallKey, Fingerprint};
    /// let asked = Fingerprint::of_json(r#"{"to": "bob"}"#)?;
    /// assert_eq!(CallKey::derived(asked, Duration::from_secs(2))?.window(), Some(Duration::from_secs(2)));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn derived(from: Fingerprint, window: Duration) -> Result<Self> {
        if window < Duration::from_millis(1) || window > Duration::from_secs(30 * 24 * 60 * 60) {
            return Err(Error::new(ErrorKind::Invalid, "a window is 1 ms to 30 days")
                .with("window", format_args!("{window:?}")));
        }
        Ok(Self { text: format!("derived:{from}").into(), sent_ms: None, window: Some(window) })
    }

    /// A key as a claim has kept it.
    pub(crate) fn stored(text: &str, sent_ms: Option<u64>, window: Option<Duration>) -> Result<Self> {
        Ok(Self { sent_ms, window, ..Self::new(text)? })
    }

    /// Adds when the caller first sent the call, in milliseconds of Unix time. With it, a key whose record is gone
    /// is refused instead of run again.
    ///
    /// ```
    /// # use stanchion_core::CallKey;
    /// assert_eq!(CallKey::new("order-77")?.first_sent(1_700_000_000_000).sent_at(), Some(1_700_000_000_000));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn first_sent(mut self, unix_ms: u64) -> Self {
        self.sent_ms = Some(unix_ms);
        self
    }

    /// The text.
    ///
    /// ```
    /// # use stanchion_core::CallKey;
    /// assert_eq!(CallKey::new("k")?.as_str(), "k");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// When the key was made, in milliseconds of Unix time, if it says so.
    ///
    /// ```
    /// # use stanchion_core::CallKey;
    /// assert_eq!(CallKey::new("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")?.sent_at(), Some(1_645_557_742_000));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn sent_at(&self) -> Option<u64> {
        self.sent_ms
    }

    /// How long a derived key counts.
    ///
    /// ```
    /// # use stanchion_core::CallKey;
    /// assert_eq!(CallKey::new("k")?.window(), None);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn window(&self) -> Option<Duration> {
        self.window
    }
}

/// The time of a UUID of version 7: its first 48 bits. With version and variant, few texts look like one by chance.
fn uuid7_ms(text: &str) -> Option<u64> {
    let dashes = [8, 13, 18, 23];
    let shaped = text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| if dashes.contains(&i) { b == b'-' } else { b.is_ascii_hexdigit() })
        && text.as_bytes()[14] == b'7'
        && matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
    shaped.then(|| u64::from_str_radix(&text[..13].replace('-', ""), 16).ok()).flatten()
}
