//! What is locked or remembered, and who asks.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Error, ErrorKind, Result, planted};

/// The longest key, in bytes of UTF-8.
///
/// ```
/// assert!(stanchion_core::Key::new("x".repeat(stanchion_core::KEY_MAX_BYTES)).is_ok());
/// ```
pub const KEY_MAX_BYTES: usize = 512;

/// The first character of our own keys. Users' keys have no control characters, and sort behind it.
const RESERVED: char = '\u{1}';

/// What is locked or remembered: 1 to 512 bytes of UTF-8 without control characters.
///
/// Cheap to clone.
///
/// ```
/// use stanchion_core::Key;
/// let key = Key::new("budget:atlas")?;
/// assert_eq!(key.as_str(), "budget:atlas");
/// assert!(Key::new("").is_err());
/// assert!(Key::new("line\nbreak").is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// Checks the text and makes a key of it.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`], naming the rule that was broken.
    ///
    /// ```
    /// use stanchion_core::{ErrorKind, Key};
    /// assert_eq!(Key::new("x".repeat(513)).unwrap_err().kind(), ErrorKind::Invalid);
    /// ```
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let refuse = |why: &'static str| {
            Err(Error::new(ErrorKind::Invalid, why)
                .with("key", format_args!("{:?}", text.chars().take(40).collect::<String>()))
                .hint("a key is 1 to 512 bytes of UTF-8 without control characters"))
        };
        if text.is_empty() {
            return refuse("the key is empty");
        }
        if text.len() > KEY_MAX_BYTES {
            return refuse("the key is longer than 512 bytes");
        }
        if text.chars().any(char::is_control) {
            return refuse("the key contains a control character");
        }
        Ok(Self(text.into()))
    }

    /// A key as a store gives it back: one that [`new`](Self::new) made, or one of our own. For implementors
    /// of [`RecordStore::scan`](crate::RecordStore::scan).
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: no key of ours looks like that.
    ///
    /// ```
    /// # use stanchion_core::Key;
    /// assert_eq!(Key::from_store("\u{1}lock/deploy")?.as_str(), "\u{1}lock/deploy");
    /// assert!(Key::from_store("a\nb").is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn from_store(text: &str) -> Result<Self> {
        let unmarked = text.strip_prefix(RESERVED).unwrap_or(text);
        // Our own keys are a user's key with a space in front, so they may be a little longer.
        match unmarked.split_once('/').filter(|_| unmarked.len() < text.len()) {
            Some((_, users)) => Self::new(users).map(|_| Self(text.into())),
            None => Self::new(text),
        }
    }

    /// Does a listing of `prefix` show this key? Our own keys show only to those who ask for them.
    ///
    /// ```
    /// # use stanchion_core::Key;
    /// assert!(Key::new("deploy")?.is_listed_under("dep"));
    /// assert!(!Key::from_store("\u{1}lock/deploy")?.is_listed_under(""));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn is_listed_under(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix) && !(prefix.is_empty() && self.0.starts_with(RESERVED))
    }

    /// A key of our own in `space`. It begins with a control character, so no key of a user can meet it.
    pub(crate) fn reserved(space: &'static str, text: &str) -> Self {
        Self(format!("{RESERVED}{space}/{text}").into())
    }

    /// The text.
    ///
    /// ```
    /// # use stanchion_core::Key;
    /// assert_eq!(Key::new("a")?.as_str(), "a");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name this key goes by in metrics: everything that tells two resources apart becomes `*`,
    /// so that the number of labels stays small.
    ///
    /// ```
    /// # use stanchion_core::Key;
    /// assert_eq!(Key::new("budget:atlas-7")?.class(), "budget:*");
    /// assert_eq!(Key::new("deploy")?.class(), "deploy");
    /// assert_eq!(Key::new("user-755")?.class(), "user-*");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn class(&self) -> String {
        let (head, tail) = match self.0.find([':', '/']) {
            Some(at) => self.0.split_at(at + 1),
            None => (&*self.0, ""),
        };
        let mut class = String::with_capacity(head.len() + 1);
        for c in head.chars() {
            match c {
                '0'..='9' if class.ends_with('*') => {}
                '0'..='9' => class.push('*'),
                c => class.push(c),
            }
        }
        if !tail.is_empty() {
            class.push('*');
        }
        class
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl FromStr for Key {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

/// Who holds: 128 random bits, drawn anew for **each acquisition**, so that a late release can
/// never free somebody else's lock. It is a secret: `Debug` shows only the nonce.
///
/// ```
/// use stanchion_core::Owner;
/// let (a, b) = (Owner::random(), Owner::random());
/// assert_ne!(a, b);
/// assert_eq!(a.to_hex().parse::<Owner>()?, a);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(u128);

impl Owner {
    /// A new owner from the system's random source.
    ///
    /// # Panics
    /// If the operating system has no random source; no lock can be safe then.
    ///
    /// ```
    /// assert_ne!(stanchion_core::Owner::random(), stanchion_core::Owner::random());
    /// ```
    #[must_use]
    pub fn random() -> Self {
        if planted!("owner-per-process") {
            return Self(u128::from(std::process::id()));
        }
        Self(crate::random::u128())
    }

    /// The owner with these bits, for models and tests that need to choose.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Owner::from_bits(5).nonce(), 5);
    /// ```
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u128 {
        self.0
    }

    /// The half that may be shown: it tells two holders with the same fence number apart.
    ///
    /// ```
    /// # use stanchion_core::Owner;
    /// assert_eq!(Owner::from_bits(1 << 64 | 9).nonce(), 9);
    /// ```
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what we want")]
    pub const fn nonce(self) -> u64 {
        self.0 as u64
    }

    /// All bits as 32 hex digits, for the engine's storage.
    ///
    /// ```
    /// # use stanchion_core::Owner;
    /// assert_eq!(Owner::from_bits(255).to_hex().len(), 32);
    /// ```
    #[must_use]
    pub fn to_hex(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl FromStr for Owner {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        u128::from_str_radix(text, 16)
            .ok()
            .filter(|_| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()))
            .map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Invalid, "an owner is 32 hex digits"))
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner(…{:016x})", self.nonce())
    }
}
