//! The verdict on one screen.

use std::fmt;

use super::{Ends, Found, Minimal, Outcome, Verdict};
use crate::oracle::Violation;
use crate::spec::Origin;

/// More do not fit on a screen.
const VIOLATIONS_SHOWN: usize = 3;
const CALLS_SHOWN: usize = 8;

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} acknowledged", self.acknowledged)?;
        for (count, word) in [(self.failed, "failed"), (self.unknown, "unknown")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Minimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", plural(self.calls, "call"), plural(self.instances, "instance"))?;
        if self.faults > 0 {
            write!(f, ", {}", plural(self.faults, "fault"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.outcome, self.name)?;
        let Origin { code, fingerprint, read, write } = &self.origin;
        let parts = [("", code), ("finding ", fingerprint), ("reads at ", read), ("writes at ", write)];
        let parts: Vec<_> =
            parts.iter().filter_map(|(word, part)| part.as_ref().map(|part| format!("{word}{part}"))).collect();
        if !parts.is_empty() {
            writeln!(f, "{}", parts.join(", "))?;
        }
        if let Some(reason) = &self.reason {
            writeln!(f, "{reason}")?;
        }
        if let Some(found) = &self.found {
            self.race(found, f)?;
        }
        if self.outcome == Outcome::NothingFound {
            let rounds = usize::try_from(self.rounds).unwrap_or(usize::MAX);
            write!(f, "{} in {}", self.calls, plural(rounds, "schedule"))?;
            if !self.faults.is_empty() {
                let faults: Vec<_> = self.faults.iter().map(|(name, count)| format!("{count} {name}")).collect();
                write!(f, ", with {}", faults.join(", "))?;
            }
            if let Some(stopped) = &self.stopped {
                write!(f, "; stopped {stopped}")?;
            }
            writeln!(f, " · again: --seed {}", self.seed)?;
            writeln!(f, "A race that was not found is not refuted: the schedules may have missed it.")?;
        }
        Ok(())
    }
}

impl Verdict {
    fn race(&self, found: &Found, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = found.violations.first();
        let what = first.map_or_else(String::new, |violation| violation.what.clone());
        write!(f, "{what}")?;
        if let Some(minimal) = &self.minimal {
            write!(f, " · minimal: {minimal}")?;
        }
        writeln!(f, " · replay: --seed {}", self.seed)?;
        writeln!(f, "found in round {} ({})", found.round, found.calls)?;
        let mut told: Vec<&Violation> = Vec::new();
        for violation in &found.violations {
            // Instances that show the same are told once.
            let is_same = |it: &Violation| (it.expectation, &it.what) == (violation.expectation, &violation.what);
            if told.iter().any(|it| is_same(it)) || told.len() == VIOLATIONS_SHOWN {
                continue;
            }
            told.push(violation);
            let on: Vec<String> = found
                .violations
                .iter()
                .filter(|it| is_same(it))
                .filter_map(|it| it.instance)
                .map(|it| it.to_string())
                .collect();
            write!(f, "  {}", violation.expectation)?;
            if !on.is_empty() {
                write!(f, ", read on instance {}", on.join(", "))?;
            }
            writeln!(f, ": {}", violation.what)?;
            for example in &violation.examples {
                writeln!(f, "    {example}")?;
            }
        }
        let Some(minimal) = &self.minimal else { return Ok(()) };
        writeln!(f, "the smallest schedule{}:", if minimal.is_complete { "" } else { " so far" })?;
        for record in minimal.history.iter().take(CALLS_SHOWN) {
            let fault = record.fault.map_or(String::new(), |fault| format!(", {}", fault.name()));
            let (from, to) = (record.started_us, record.ended_us);
            writeln!(
                f,
                "  {from:>7} to {to:>7} µs  call {} on instance {}: {}{fault}",
                record.n, record.instance, record.end
            )?;
        }
        if minimal.history.len() > CALLS_SHOWN {
            writeln!(f, "  and {} more", minimal.history.len() - CALLS_SHOWN)?;
        }
        Ok(())
    }
}
