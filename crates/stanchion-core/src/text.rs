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

/// The known word that is closest to `word`, if it is close: at most a third of its letters are wrong.
///
/// ```
/// use stanchion_core::text::nearest;
/// assert_eq!(nearest("wiat", ["ttl", "wait"]), Some("wait"));
/// assert_eq!(nearest("banana", ["ttl", "wait"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word this long was not mistyped, and the table below grows with it.
    if word.chars().count() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1);
    let ranked = known.into_iter().map(|candidate| (distance(word, candidate), candidate));
    ranked.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

/// How many letters must be added, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_close_and_other_words_are_not() {
        let known = ["wait", "ttl", "max_hold", "response_cap", "rate"];
        for (word, meant) in [
            ("wiat", "wait"),
            ("tll", "ttl"),
            ("maxhold", "max_hold"),
            ("max-hold", "max_hold"),
            ("response_cpa", "response_cap"),
        ] {
            assert_eq!(nearest(word, known), Some(meant), "{word}");
        }
        for word in ["banana", "x", "timeout", ""] {
            assert_eq!(nearest(word, known), None, "{word}");
        }
        assert_eq!(nearest(&"w".repeat(65), known), None);
    }
}
