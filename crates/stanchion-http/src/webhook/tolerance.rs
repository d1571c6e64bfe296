//! How far a time stamp may be from now, in both directions.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use super::Rejected;

/// How far a delivery's time stamp may be from now, unless told otherwise: five minutes.
///
/// ```
/// assert_eq!(stanchion_http::webhook::TOLERANCE_DEFAULT.as_secs(), 300);
/// ```
pub const TOLERANCE_DEFAULT: Duration = Duration::from_secs(300);

/// The widest tolerance: one hour. Beyond that the time stamp would protect nothing.
///
/// ```
/// use stanchion_http::webhook::{Stripe, TOLERANCE_MAX};
/// assert!(Stripe::new(["whsec_0123456789abcdef"])?.tolerance(TOLERANCE_MAX * 2).is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
pub const TOLERANCE_MAX: Duration = Duration::from_secs(3600);

/// Whole seconds, 1 to 3600.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance(u64);

impl Tolerance {
    pub(super) const DEFAULT: Self = Self(TOLERANCE_DEFAULT.as_secs());

    pub(super) fn new(tolerance: Duration) -> Result<Self> {
        if tolerance.as_secs() == 0 || tolerance > TOLERANCE_MAX {
            return Err(Error::new(ErrorKind::Invalid, "the tolerance is outside its range")
                .with("tolerance", stanchion_core::text::duration(tolerance))
                .hint("use 1s to 1h; 5m is usual"));
        }
        Ok(Self(tolerance.as_secs()))
    }

    /// Both directions: a stamp that is only checked for its age can be dated ahead and used for years.
    pub(super) fn check(self, signed_at: u64, now: u64) -> Result<(), Rejected> {
        let (age_s, ahead_s) = (now.saturating_sub(signed_at), signed_at.saturating_sub(now));
        if age_s > self.0 {
            return Err(Rejected::TooOld { age_s, tolerance_s: self.0 });
        }
        if ahead_s > self.0 {
            return Err(Rejected::TooFarInTheFuture { ahead_s, tolerance_s: self.0 });
        }
        Ok(())
    }
}
