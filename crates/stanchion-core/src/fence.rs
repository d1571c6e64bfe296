//! Versions and fencing tokens.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ErrorKind, Owner, Result, planted};

/// A record's version: strictly increasing per key for ever, also across delete and expiry,
/// because every version is drawn from one counter per store.
///
/// ```
/// use stanchion_core::Version;
/// assert!(Version::new(2) > Version::new(1));
/// assert_eq!(Version::new(7).to_string(), "7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// The version with this number.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Version::new(3).get(), 3);
    /// ```
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Version::new(3).get(), 3);
    /// ```
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Proof of a lease: its version, and the nonce of its owner.
///
/// A store that checks tokens accepts a higher number, or the same number **with the same nonce**.
/// The nonce matters after a fail-over that lost the counter: two holders may then carry one number.
/// Never compare numbers alone.
///
/// ```
/// use stanchion_core::{FencingToken, Owner};
/// let old = FencingToken::new(1, Owner::from_bits(10));
/// let new = FencingToken::new(2, Owner::from_bits(11));
/// let twin = FencingToken::new(2, Owner::from_bits(12));
/// assert!(new.supersedes(Some(&old)));
/// assert!(new.supersedes(Some(&new)));
/// assert!(!old.supersedes(Some(&new)));
/// assert!(!twin.supersedes(Some(&new)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FencingToken {
    number: u64,
    nonce: u64,
}

impl FencingToken {
    /// The token of the lease with this number and owner.
    ///
    /// ```
    /// use stanchion_core::{FencingToken, Owner};
    /// assert_eq!(FencingToken::new(4, Owner::from_bits(1)).number(), 4);
    /// ```
    #[must_use]
    pub const fn new(number: u64, owner: Owner) -> Self {
        Self { number, nonce: owner.nonce() }
    }

    /// The token with this number and nonce, as read back from a store.
    ///
    /// ```
    /// use stanchion_core::FencingToken;
    /// assert_eq!(FencingToken::from_parts(4, 9).nonce(), 9);
    /// ```
    #[must_use]
    pub const fn from_parts(number: u64, nonce: u64) -> Self {
        Self { number, nonce }
    }

    /// The number. It orders the holders of one key.
    ///
    /// ```
    /// # use stanchion_core::FencingToken;
    /// assert_eq!(FencingToken::from_parts(4, 9).number(), 4);
    /// ```
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The owner's public half.
    ///
    /// ```
    /// # use stanchion_core::FencingToken;
    /// assert_eq!(FencingToken::from_parts(4, 9).nonce(), 9);
    /// ```
    #[must_use]
    pub const fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The nonce as 16 hex digits: what `STANCHION_LEASE_ID` and the SQL guards carry.
    ///
    /// ```
    /// # use stanchion_core::FencingToken;
    /// assert_eq!(FencingToken::from_parts(4, 255).lease_id(), "00000000000000ff");
    /// ```
    #[must_use]
    pub fn lease_id(&self) -> String {
        format!("{:016x}", self.nonce)
    }

    /// May this token touch a resource whose highest token so far is `seen`?
    ///
    /// ```
    /// # use stanchion_core::FencingToken;
    /// assert!(FencingToken::from_parts(1, 1).supersedes(None));
    /// ```
    #[must_use]
    pub fn supersedes(&self, seen: Option<&Self>) -> bool {
        if planted!("fence-not-strict") {
            return seen.is_none_or(|seen| self.number >= seen.number);
        }
        seen.is_none_or(|seen| self.number > seen.number || self == seen)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.nonce)
    }
}

impl FromStr for FencingToken {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.split_once('-')
            .filter(|(number, nonce)| {
                let digits = |text: &str, digit: fn(&u8) -> bool| text.as_bytes().iter().all(digit);
                nonce.len() == 16 && digits(nonce, u8::is_ascii_hexdigit) && digits(number, u8::is_ascii_digit)
            })
            .and_then(|(number, nonce)| {
                Some(Self { number: number.parse().ok()?, nonce: u64::from_str_radix(nonce, 16).ok()? })
            })
            .ok_or_else(|| Error::new(ErrorKind::Invalid, "a fencing token is NUMBER-16HEXDIGITS"))
    }
}
