//! A call in one line for a person.

use std::time::Duration;

use stanchion_core::text::duration;
use stanchion_mcp::calls::{Entry, Verdict};

use crate::exit::escaped;

/// How much of a receipt is shown where a person will type it again.
const SHORT: usize = 12;

pub(super) fn line(entry: &Entry) -> String {
    let call = match entry {
        Entry::Call(call) => call,
        Entry::Dropped(lost) => {
            return format!(
                "{}  {} calls are missing here: pid {} could not write them down",
                time(lost.at_ms),
                lost.dropped,
                lost.pid
            );
        }
    };
    let mut said = vec![format!("took {}", micros(call.took_us))];
    if !call.locks.is_empty() {
        said.push(format!("waited {}", micros(call.waited_us)));
        // A call that was refused never held what it waited for.
        if call.held_us > 0 {
            said.push(format!("held {}", micros(call.held_us)));
        }
        said.push(format!("lock {}", call.locks.join(", ")));
    }
    if call.epoch > 1 && call.verdict != Verdict::Replayed {
        said.push(format!("attempt {}", call.epoch));
    }
    if let Some(receipt) = &call.receipt {
        said.push(format!("receipt {}", receipt.chars().take(SHORT).collect::<String>()));
    }
    if let Some(arguments) = &call.arguments {
        said.push(arguments.get().to_owned());
    }
    let verdict = match &call.detail {
        Some(detail) => format!("{} {detail}", call.verdict),
        None => call.verdict.to_string(),
    };
    let name = format!("{} {}", call.server, call.tool);
    escaped(&format!("{}  {verdict:<18}  {name}  {}", time(call.at_ms), said.join(" · ")))
}

pub(super) fn micros(us: u64) -> String {
    match us {
        0..1000 => format!("{us}µs"),
        1000..10_000 => format!("{}.{}ms", us / 1000, us % 1000 / 100),
        _ => duration(Duration::from_micros(us)),
    }
}

/// In UTC: what the local time was depends on who asks.
pub(super) fn time(unix_ms: u64) -> String {
    let (days, seconds) = (unix_ms / 86_400_000, unix_ms / 1000 % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The date of a day since 1970, counted in years that begin in March, so that the leap day comes last.
const fn date(days: u64) -> (u64, u64, u64) {
    let since_0000_march = days + 719_468;
    let era = since_0000_march / 146_097;
    let in_era = since_0000_march % 146_097;
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, said) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (951_868_800, "2000-03-01 00:00:00Z"),
            (1_709_164_800, "2024-02-29 00:00:00Z"),
            (1_767_225_599, "2025-12-31 23:59:59Z"),
            (1_794_700_800, "2026-11-15 00:00:00Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(time(seconds * 1000 + 999), said);
        }
    }

    #[test]
    fn short_times_keep_their_digits() {
        for (us, said) in
            [(0, "0µs"), (999, "999µs"), (1000, "1.0ms"), (9999, "9.9ms"), (10_000, "10ms"), (2_500_000, "2s")]
        {
            assert_eq!(micros(us), said);
        }
    }
}
