//! The verdict on one screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::fate::{Fate, Fates};
use super::{Ends, Found, Minimal, Outcome, Verdict};
use crate::oracle::Violation;
use crate::run::Record;
use crate::spec::Origin;

/// More do not fit on a screen.
const VIOLATIONS_SHOWN: usize = 3;
const CALLS_SHOWN: usize = 8;
/// How wide the time of the smallest schedule is drawn.
const WIDTH: u64 = 24;
/// Fewer schedules bound nothing.
const BOUND_LEAST: u64 = 4;

/// What a line says, for whoever paints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tone {
    /// Nothing of its own.
    Plain,
    /// Something is wrong.
    Bad,
    /// Nothing is wrong.
    Good,
    /// Nobody knows.
    Doubtful,
}

/// One line of a verdict. Its text may come from the target: whoever prints it to a terminal makes control characters visible.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Without its end.
    pub text: String,
    /// How it may be painted.
    pub tone: Tone,
}

impl Line {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

pub(super) fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// With the unit that a person would take.
pub(crate) fn time(us: u64) -> String {
    match us {
        0..1000 => format!("{us} µs"),
        1000..10_000 => format!("{}.{} ms", us / 1000, us % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1000),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
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
        if !self.upstream.is_empty() {
            write!(f, ", {} at the recorder", plural(self.upstream.values().sum(), "fault"))?;
        }
        Ok(())
    }
}

fn counted(faults: &BTreeMap<&str, usize>) -> impl Iterator<Item = String> {
    faults.iter().map(|(name, count)| format!("{count} {name}"))
}

impl Minimal {
    /// By name, those of its calls and those at the recorder.
    fn faults_met(&self) -> String {
        let mut of_calls: BTreeMap<&str, usize> = BTreeMap::new();
        for fault in self.schedule.steps.iter().filter_map(|step| step.fault) {
            *of_calls.entry(fault.name()).or_default() += 1;
        }
        let upstream = counted(&self.upstream).map(|fault| format!("{fault} at the recorder"));
        counted(&of_calls).chain(upstream).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", line.text))
    }
}

impl Outcome {
    pub(super) const fn words(self) -> (&'static str, Tone) {
        match self {
            Self::Race => ("race found", Tone::Bad),
            Self::NothingFound => ("nothing found", Tone::Good),
            Self::Inconclusive => ("inconclusive", Tone::Doubtful),
        }
    }
}

impl Verdict {
    /// One screen of it.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
    /// # let verdict = stanchion_race::race(&spec, &Default::default()).await;
    /// assert_eq!(verdict.lines()[0].text, "inconclusive: x");
    /// # });
    /// ```
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let (word, tone) = self.outcome.words();
        let mut lines = vec![Line { text: format!("{word}: {}", self.name), tone }];
        let mut add = |text: String| lines.push(Line::plain(text));
        let Origin { code, fingerprint, read, write } = &self.origin;
        let parts = [("", code), ("finding ", fingerprint), ("reads at ", read), ("writes at ", write)];
        let parts: Vec<_> =
            parts.iter().filter_map(|(word, part)| part.as_ref().map(|part| format!("{word}{part}"))).collect();
        if !parts.is_empty() {
            add(parts.join(", "));
        }
        if let Some(reason) = &self.reason {
            add(reason.clone());
        }
        if self.outcome == Outcome::NothingFound {
            let mut text = self.total();
            if self.void > 0 {
                let void = plural(whole(self.void), "other");
                text.push_str(&format!(" ({void} without an acknowledged call left out)"));
            }
            if !self.faults.is_empty() {
                text.push_str(&format!(", with {}", self.faults_met()));
            }
            if let Some(stopped) = &self.stopped {
                text.push_str(&format!("; stopped {stopped}"));
            }
            add(format!("{text} · again: {}", self.again()));
            add(self.bound());
            add("A race that was not found is not refuted: the schedules may have missed it.".into());
        }
        if let Some(found) = &self.found {
            self.race(found, &mut lines);
        }
        lines
    }

    /// What plays the same schedules.
    #[must_use]
    pub fn again(&self) -> String {
        if self.is_replayed { "the same --schedule".into() } else { format!("--seed {}", self.seed) }
    }

    /// All calls of all schedules.
    pub(super) fn total(&self) -> String {
        format!("{} in {}", self.calls, plural(whole(self.rounds), "schedule"))
    }

    /// Faults that calls met, by name.
    pub(super) fn faults_met(&self) -> String {
        counted(&self.faults).collect::<Vec<_>>().join(", ")
    }

    /// The rule of three: what happens with probability p stays away n times with (1 - p)^n, which is below 5 % from p = 3/n on.
    pub(super) fn bound(&self) -> String {
        let n = self.rounds;
        if n < BOUND_LEAST {
            return format!("0 violations in {}: too few to say how rare one is.", plural(whole(n), "schedule"));
        }
        // Rounded up: it is a bound.
        let percent = match 300_000_u64.div_ceil(n) {
            thousandths @ 10_000.. => thousandths.div_ceil(1000).to_string(),
            thousandths @ 100.. => format!("{}.{}", thousandths.div_ceil(100) / 10, thousandths.div_ceil(100) % 10),
            thousandths => format!("0.{:02}", thousandths.div_ceil(10)),
        };
        format!("0 violations in {n} schedules: the next shows one with p < 3/{n} ({percent} %), at 95 %.")
    }

    /// What happened to the calls, in a few words.
    pub(super) fn gist(&self) -> String {
        let of_each = |name: &&str| ["every", "once"].contains(name);
        match (&self.found, &self.sound) {
            (Some(found), _) => found.violations.first().map(|it| it.what.clone()).unwrap_or_default(),
            (_, Some(sound)) if self.expect.iter().any(of_each) => {
                format!("{}, {} kept", sound.calls, sound.calls.acknowledged)
            }
            (_, Some(sound)) => format!("{}, {} holds", sound.calls, self.expect.join(", ")),
            _ => "nothing can be said".into(),
        }
    }

    fn race(&self, found: &Found, lines: &mut Vec<Line>) {
        let mut first = self.gist();
        if let Some(minimal) = &self.minimal {
            first.push_str(&format!(" · minimal: {minimal}"));
        }
        lines.push(Line::plain(format!("{first} · replay: {}", self.again())));
        lines.push(Line::plain(format!("found in round {} ({})", found.round, found.calls)));
        for (violation, on) in told(&found.violations).iter().take(VIOLATIONS_SHOWN) {
            let on = if on.is_empty() { String::new() } else { format!(", read on instance {}", on.join(", ")) };
            lines.push(Line::plain(format!("  {}{on}: {}", violation.expectation, violation.what)));
            lines.extend(violation.examples.iter().map(|example| Line::plain(format!("    {example}"))));
        }
        if let Some(minimal) = &self.minimal {
            self.smallest(minimal, lines);
        }
    }

    pub(super) fn smallest(&self, minimal: &Minimal, lines: &mut Vec<Line>) {
        let shown = &minimal.history[..minimal.history.len().min(CALLS_SHOWN)];
        let end = shown.iter().map(|record| record.ended_us).max().unwrap_or(0).max(1);
        let so_far = if minimal.is_complete { "" } else { " so far" };
        let faults = minimal.faults_met();
        let with = if faults.is_empty() { String::new() } else { format!(", with {faults}") };
        lines.push(Line::plain(format!("the smallest schedule{so_far}, over {}{with}:", time(end))));
        let fates = Fates::new(self, &minimal.violations);
        let most = shown.iter().map(|record| record.n.to_string().len()).max().unwrap_or(0);
        for record in shown {
            let (fate, n, on) = (fates.of(record), record.n, record.instance);
            let mut text = format!("  call {n:<most$} on instance {on}  [{}]  {}", drawn(record, end), record.end);
            if let Some(fate) = fate {
                text.push_str(&format!(", {}", fate.word()));
            }
            if let Some(fault) = record.fault {
                text.push_str(&format!(", {}", fault.name()));
            }
            let is_wrong = matches!(fate, Some(Fate::Lost | Fate::Doubled | Fate::Conflicting));
            lines.push(Line { text, tone: if is_wrong { Tone::Bad } else { Tone::Plain } });
        }
        if minimal.history.len() > CALLS_SHOWN {
            lines.push(Line::plain(format!("  and {} more", minimal.history.len() - CALLS_SHOWN)));
        }
        if let Some(name) = minimal.fixed {
            lines.push(Line::plain(format!(
                "  no call was dropped: `{name}` is a fixed number for all of them together"
            )));
        }
        let reads: BTreeSet<usize> = minimal.violations.iter().flat_map(|it| it.conflicting_reads.clone()).collect();
        for on in reads {
            lines.push(Line { text: format!("  read-back of instance {on}: in conflict"), tone: Tone::Bad });
        }
    }
}

/// Instances that show the same are told once.
pub(super) fn told(violations: &[Violation]) -> Vec<(&Violation, Vec<String>)> {
    let mut told: Vec<(&Violation, Vec<String>)> = Vec::new();
    for violation in violations {
        let is_same = |it: &Violation| (it.expectation, &it.what) == (violation.expectation, &violation.what);
        let on = violation.instance.map(|instance| instance.to_string());
        match told.iter_mut().find(|(it, _)| is_same(it)) {
            Some((_, instances)) => instances.extend(on),
            None => told.push((violation, on.into_iter().collect())),
        }
    }
    told
}

/// From its beginning to its end; at least one sign.
fn drawn(record: &Record, end: u64) -> String {
    let place = |us: u64| us.min(end).saturating_mul(WIDTH) / end;
    let from = place(record.started_us).min(WIDTH - 1);
    let to = place(record.ended_us).max(from + 1);
    (0..WIDTH).map(|at| if (from..to).contains(&at) { '=' } else { ' ' }).collect()
}
