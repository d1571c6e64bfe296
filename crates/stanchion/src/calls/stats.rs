//! Calls, counted by server and tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use comfy_table::{Table, presets};
use serde_json::{Map, Value, json};
use stanchion_core::Result;
use stanchion_core::text::duration;
use stanchion_mcp::calls::{CallLine, Entry, Verdict, parse};

use super::read::{self, Lines};
use super::show::micros;
use super::{none_yet, say_damaged, unreadable};
use crate::exit::{escaped, print, say};

/// Shown even where there are none: these are what the log is asked for.
const ALWAYS: [Verdict; 4] = [Verdict::Done, Verdict::Replayed, Verdict::Refused, Verdict::Unknown];

#[derive(Default)]
struct Counts {
    tools: BTreeMap<(String, String), Tool>,
    missing: u64,
    damaged: u64,
}

#[derive(Default)]
struct Tool {
    calls: u64,
    verdicts: BTreeMap<Verdict, u64>,
    refused: BTreeMap<String, u64>,
    waited: Vec<u64>,
    held: Vec<u64>,
    took: Vec<u64>,
}

pub(super) fn run(path: &Path, since: Duration, json: bool) -> Result<u8> {
    let failed = unreadable(path);
    let since_ms = wall_clock_ms().saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let current = read::open(path).map_err(&failed)?;
    let mut counts = Counts::default();
    for mut file in read::newest_first(path, current.as_ref()).map_err(&failed)? {
        let mut lines = Lines::default();
        let mut each = |line: &[u8]| counts.add(line, since_ms);
        lines.read(&mut file, &mut each).map_err(&failed)?;
        lines.end(&mut each);
    }
    counts.tools.values_mut().for_each(Tool::sort);
    if json {
        print(&counts.to_json(since_ms).to_string());
        return Ok(0);
    }
    if !counts.tools.is_empty() {
        print(&counts.table());
    } else if current.is_none() {
        none_yet(path);
    } else {
        say(&format!("no calls within {}\nhint: --since 7d looks further back", duration(since)));
    }
    if counts.missing > 0 {
        say(&format!("stanchion: {} calls were not written down, and are missing here", counts.missing));
    }
    say_damaged(counts.damaged);
    Ok(0)
}

impl Counts {
    fn add(&mut self, line: &[u8], since_ms: u64) {
        match std::str::from_utf8(line).ok().and_then(parse) {
            None => self.damaged += 1,
            Some(Entry::Call(call)) if call.at_ms >= since_ms => self.add_call(*call),
            Some(Entry::Dropped(lost)) if lost.at_ms >= since_ms => self.missing += lost.dropped,
            Some(_) => {}
        }
    }

    fn add_call(&mut self, call: CallLine) {
        let tool = self.tools.entry((call.server, call.tool)).or_default();
        tool.calls += 1;
        *tool.verdicts.entry(call.verdict).or_default() += 1;
        if call.verdict == Verdict::Refused {
            *tool.refused.entry(call.detail.unwrap_or_else(|| "other".to_owned())).or_default() += 1;
        }
        // Of calls that take no lock, a time of zero would say that locks are quick.
        if !call.locks.is_empty() {
            tool.waited.push(call.waited_us);
            if call.held_us > 0 {
                tool.held.push(call.held_us);
            }
        }
        tool.took.push(call.took_us);
    }

    /// The busiest first.
    fn sorted(&self) -> Vec<(&(String, String), &Tool)> {
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.calls));
        tools
    }

    fn table(&self) -> String {
        let any = |verdict: &Verdict| self.tools.values().any(|tool| tool.verdicts.contains_key(verdict));
        let verdicts: Vec<_> =
            Verdict::ALL.into_iter().filter(|verdict| ALWAYS.contains(verdict) || any(verdict)).collect();
        let mut header = vec!["SERVER".to_owned(), "TOOL".to_owned(), "CALLS".to_owned()];
        header.extend(verdicts.iter().map(|verdict| verdict.as_str().to_uppercase().replace('_', " ")));
        header.extend(["WAITED p50/p99", "HELD p50/p99", "TOOK p50/p99"].map(str::to_owned));
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(header);
        for ((server, name), tool) in self.sorted() {
            let mut row = vec![escaped(server), escaped(name), tool.calls.to_string()];
            row.extend(verdicts.iter().map(|verdict| match verdict {
                Verdict::Refused => tool.refusals(),
                verdict => tool.verdicts.get(verdict).copied().unwrap_or_default().to_string(),
            }));
            row.extend([&tool.waited, &tool.held, &tool.took].map(|times| spread(times)));
            table.add_row(row);
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn to_json(&self, since_ms: u64) -> Value {
        let tools = self.sorted().into_iter().map(|((server, name), tool)| {
            let count = |verdict: Verdict| tool.verdicts.get(&verdict).copied().unwrap_or_default();
            let verdicts: Map<_, _> = Verdict::ALL.iter().map(|v| (v.as_str().to_owned(), json!(count(*v)))).collect();
            json!({
                "server": server, "tool": name, "calls": tool.calls, "verdicts": verdicts, "refused": tool.refused,
                "waited_us": percentiles(&tool.waited), "held_us": percentiles(&tool.held),
                "took_us": percentiles(&tool.took),
            })
        });
        let calls: u64 = self.tools.values().map(|tool| tool.calls).sum();
        json!({
            "since_ms": since_ms, "calls": calls, "missing": self.missing, "damaged": self.damaged,
            "tools": tools.collect::<Vec<_>>(),
        })
    }
}

impl Tool {
    fn sort(&mut self) {
        for times in [&mut self.waited, &mut self.held, &mut self.took] {
            times.sort_unstable();
        }
    }

    fn refusals(&self) -> String {
        if self.refused.is_empty() {
            return "0".to_owned();
        }
        self.refused.iter().map(|(why, number)| format!("{number} {}", escaped(why))).collect::<Vec<_>>().join(", ")
    }
}

/// Of sorted times: the smallest that `percent` of them do not exceed.
fn percentile(times: &[u64], percent: usize) -> Option<u64> {
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied()
}

fn percentiles(times: &[u64]) -> Value {
    json!({ "p50": percentile(times, 50), "p99": percentile(times, 99) })
}

fn spread(times: &[u64]) -> String {
    match (percentile(times, 50), percentile(times, 99)) {
        (Some(half), Some(most)) => format!("{} / {}", micros(half), micros(most)),
        _ => "-".to_owned(),
    }
}

/// To leave out of a listing what is old; nothing is decided by it.
fn wall_clock_ms() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "compared with the wall clock of the log's lines, for a listing")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times: Vec<u64> = (1..=200).collect();
        assert_eq!((percentile(&times, 50), percentile(&times, 99)), (Some(100), Some(198)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 99), percentile(&[], 50)), (Some(7), Some(7), None));
        assert_eq!(percentile(&[1, 100], 99), Some(100));
    }
}
