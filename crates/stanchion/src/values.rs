//! What people write for times, sizes and the like.

use std::time::Duration;

use stanchion_core::text::parse_duration;
use stanchion_core::{Error, Wait};

/// Our own parsers, with the hint kept: clap shows only the text.
pub(crate) fn parse<T: std::str::FromStr<Err = Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e| describe(&e))
}

fn describe(e: &Error) -> String {
    e.next_step().map_or_else(|| e.to_string(), |hint| format!("{e}; {hint}"))
}

pub(crate) fn parse_wait(text: &str) -> Result<Wait, String> {
    match text {
        "forever" => Ok(Wait::Forever),
        "0" | "0s" => Ok(Wait::No),
        _ => parse_duration(text).map(Wait::For).map_err(|e| describe(&e)),
    }
}

pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|e| describe(&e))
}

/// Shorter than this, a silence is a pause.
const SILENCE_MIN: Duration = Duration::from_secs(30);

pub(crate) fn parse_silence(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        silence if silence < SILENCE_MIN => Err("allowed: 30s or more; a shorter silence may be a pause".to_owned()),
        silence => Ok(silence),
    }
}

pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit {
        "" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        _ => None,
    };
    let bytes = shift.and_then(|shift| number.parse::<usize>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write a whole number, alone or with KiB or MiB, as in 64KiB".to_owned())
}
