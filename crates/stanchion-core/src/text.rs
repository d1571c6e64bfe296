//! Words for people.

use std::time::Duration;

/// A duration as a person says it: `850ms`, `12s`, `3m20s`, `2h05m`.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::text::duration;
/// assert_eq!(duration(Duration::from_millis(850)), "850ms");
/// assert_eq!(duration(Duration::from_secs(200)), "3m20s");
/// ```
#[must_use]
pub fn duration(d: Duration) -> String {
    match d.as_secs() {
        0 => format!("{}ms", d.as_millis()),
        s @ 1..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
    }
}

/// Reads what [`duration`] writes, and every sum of `ms`, `s`, `m`, `h`, `d` parts: `1m30s`, `250ms`.
///
/// # If it fails
/// [`Invalid`](crate::ErrorKind::Invalid), naming the text; a bare number is refused, because its unit would be a guess.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::text::parse_duration;
/// assert_eq!(parse_duration("1m30s")?, Duration::from_secs(90));
/// assert!(parse_duration("-3s").is_err() && parse_duration("10").is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
pub fn parse_duration(text: &str) -> crate::Result<Duration> {
    let refuse = || {
        crate::Error::new(crate::ErrorKind::Invalid, "not a duration")
            .with("value", format_args!("{text:?}"))
            .hint("write a whole number and a unit, as in 250ms, 30s, 5m, 1h30m")
    };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut sum) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let number: u64 = rest[..digits].parse().map_err(|_| refuse())?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let millis = match &rest[digits..unit] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(refuse()),
        };
        let part = Duration::from_millis(number.checked_mul(millis).ok_or_else(refuse)?);
        sum = sum.checked_add(part).ok_or_else(refuse)?;
        rest = &rest[unit..];
    }
    if text.is_empty() { Err(refuse()) } else { Ok(sum) }
}
