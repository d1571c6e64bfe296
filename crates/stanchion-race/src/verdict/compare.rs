//! The same schedules without the guard and with it.

use std::fmt;

use serde::Serialize;

use super::text::{Line, plural, time, whole};
use super::{Outcome, Tone, Verdict};

/// What the guard did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Guarding {
    /// How it was started, for people.
    pub by: String,
    /// Calls of tools that it saw.
    pub calls: u64,
    /// Of these, how many it held a lock for.
    pub locked: u64,
    /// How many it refused.
    pub refused: u64,
    /// The longest wait for a lock.
    pub longest_wait_us: u64,
    /// All that it did is in its log. Else the numbers are the least that it did, and nothing follows from a 0.
    pub is_complete: bool,
}

/// Two runs of one seed. The guarded one decides: that is what is to be relied on.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
/// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
/// use stanchion_race::{Comparison, Guarding, Outcome, race};
/// let bare = race(&spec, &Default::default()).await;
/// let guarded = race(&spec.started_by(&["env".into()]), &Default::default()).await;
/// let both = Comparison { bare, guarded, guard: Guarding::default() };
/// assert_eq!(both.outcome(), Outcome::Inconclusive);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Without the guard.
    pub bare: Verdict,
    /// With it.
    pub guarded: Verdict,
    /// What it did.
    pub guard: Guarding,
}

#[derive(Serialize)]
struct Json<'c> {
    version: u32,
    name: &'c str,
    outcome: Outcome,
    says: String,
    guard: &'c Guarding,
    bare: &'c Verdict,
    guarded: &'c Verdict,
}

impl Comparison {
    /// That of the guarded run.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.guarded.outcome
    }

    /// What follows from both, and what does not.
    #[must_use]
    pub fn says(&self) -> String {
        match (self.bare.outcome, self.guarded.outcome) {
            (Outcome::Race, Outcome::NothingFound) => {
                "What raced without the guard held with it, in the same schedules and others.".into()
            }
            (_, Outcome::NothingFound) => {
                "Without the guard no race was found either: this says nothing about what the guard is good for.".into()
            }
            (_, Outcome::Race) if self.guard.locked == 0 && !self.guard.is_complete => {
                "Whether the guard took a lock is not known: its log is not complete. Without it nothing can be said about \
                 what the guard is good for here."
                    .into()
            }
            (_, Outcome::Race) if self.guard.locked == 0 => {
                "The guard took no lock: the tools say that they only read (readOnlyHint), or the policy lets them pass. \
                 Where they write, say so in a policy: --policy FILE."
                    .into()
            }
            (_, Outcome::Race) => {
                "The guard cannot help here: calls under its lock are one at a time, and the state is wrong nevertheless. \
                 Perhaps the server keeps state in its own memory (one process for all: `stanchion serve`), a call is \
                 delivered twice without a key, or not all writers go through the guard."
                    .into()
            }
            (_, Outcome::Inconclusive) => {
                format!("With the guard nothing can be said: {}", self.guarded.reason.as_deref().unwrap_or_default())
            }
        }
    }

    fn headline(&self) -> (&'static str, Tone) {
        match (self.bare.outcome, self.guarded.outcome) {
            (Outcome::Race, Outcome::NothingFound) => ("the guard holds", Tone::Good),
            (_, Outcome::NothingFound) => ("nothing found, with the guard or without", Tone::Good),
            (_, Outcome::Race) => ("race found through the guard", Tone::Bad),
            (_, Outcome::Inconclusive) => ("inconclusive", Tone::Doubtful),
        }
    }

    /// What it says first: a few words, and their tone.
    pub(super) fn title(&self) -> (String, Tone) {
        let (words, tone) = self.headline();
        (format!("{words}: {}", self.guarded.name), tone)
    }

    /// Both in a few words, on one line.
    pub(super) fn gist(&self) -> String {
        format!("bare: {} · guarded: {}", self.bare.gist(), self.guarded.gist())
    }

    /// What the guard did, in words.
    pub(super) fn guard_did(&self) -> String {
        let Guarding { by, calls, locked, refused, longest_wait_us, is_complete } = &self.guard;
        let refused = if *refused > 0 { format!(", {refused} refused") } else { String::new() };
        let least =
            if *is_complete { "" } else { "; the log is not complete: what a guard did that was killed is missing" };
        format!(
            "guard: {by}; in its log {locked} of {} under a lock, longest wait {}{refused}{least}",
            plural(whole(*calls), "call"),
            time(*longest_wait_us)
        )
    }

    /// Names, and what each side has under them.
    pub(super) fn rows(&self) -> Vec<[String; 3]> {
        let row = |name: &str, of: &dyn Fn(&Verdict) -> String| [name.to_owned(), of(&self.bare), of(&self.guarded)];
        let mut rows = vec![row("verdict", &|it| it.outcome.words().0.to_owned())];
        for name in &self.bare.expect {
            rows.push(row(name, &|it| it.of(name)));
        }
        let stopped = |it: &Verdict| it.stopped.as_ref().map_or_else(String::new, |why| format!(", stopped {why}"));
        rows.push(row("schedules", &|it| format!("{}{}", it.rounds, stopped(it))));
        rows.push(row("calls", &|it| it.calls.to_string()));
        rows.push(row("faults", &|it| if it.faults.is_empty() { "none".into() } else { it.faults_met() }));
        rows.push(row("minimal", &|it| it.minimal.as_ref().map_or_else(|| "-".into(), ToString::to_string)));
        rows.push(row("took", &|it| time(it.milliseconds.saturating_mul(1000))));
        rows
    }

    /// One screen of it.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let (text, tone) = self.title();
        let mut lines = vec![Line { text, tone }, Line::plain(self.gist()), Line::plain("")];
        let rows = self.rows();
        let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (names, bare) = (wide(0), wide(1).clamp(4, 40));
        lines.push(Line::plain(format!("{:names$}  {:bare$}  guarded", "", "bare")));
        for [name, one, other] in &rows {
            lines.push(Line::plain(format!("{name:names$}  {one:bare$}  {other}")));
        }
        lines.push(Line::plain(""));
        lines.push(Line::plain(self.guard_did()));
        lines.push(Line::plain(self.says()));
        if self.guarded.outcome == Outcome::NothingFound {
            lines.push(Line::plain(self.guarded.bound()));
        }
        let reason = self.bare.reason.as_deref().filter(|_| self.bare.outcome == Outcome::Inconclusive);
        lines.extend(reason.map(|reason| Line::plain(format!("Without the guard nothing can be said: {reason}"))));
        let again = format!("again: {} --through-guard", self.guarded.again());
        lines.push(Line::plain(again));
        let side = [(&self.guarded, "with the guard"), (&self.bare, "without the guard")];
        let shown = side.iter().find_map(|(side, how)| Some((side, side.minimal.as_ref()?, how)));
        if let Some((side, minimal, how)) = shown {
            let from = lines.len();
            side.smallest(minimal, &mut lines);
            if let Some(first) = lines.get_mut(from) {
                first.text = format!("{how}, {}", first.text);
            }
        }
        lines
    }

    /// Everything, for programs.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Self { bare, guarded, guard } = self;
        let (outcome, says) = (self.outcome(), self.says());
        let json = Json { version: 1, name: &guarded.name, outcome, says, guard, bare, guarded };
        serde_json::to_string_pretty(&json).unwrap_or_default()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", line.text))
    }
}

impl Verdict {
    /// What became of one expectation.
    fn of(&self, name: &str) -> String {
        let broken = self.found.iter().flat_map(|found| &found.violations).find(|it| it.expectation == name);
        match (broken, self.outcome) {
            (Some(violation), _) => violation.what.clone(),
            (None, Outcome::Inconclusive) => "not judged".into(),
            (None, _) => "holds".into(),
        }
    }
}
