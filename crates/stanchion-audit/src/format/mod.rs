//! What people, agents and other programs see of a run.

pub mod agent;
pub mod github;
pub mod json;
pub mod junit;
pub mod sarif;
mod snippet;
pub mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::str::FromStr;

use serde::Serialize;

use crate::baseline::Entry;
use crate::error::Error;
use crate::finding::{Confidence, Finding, Fix, Marks, Role, Scope, Severity, Sources, Step, Surface};

/// Something that is no finding and that people should know: a file that was not analysed, a suppression without a reason.
///
/// ```
/// let note = stanchion_audit::format::Note { path: "a.ts".into(), line: 3, text: "not understood".into() };
/// assert_eq!(note.to_string(), "a.ts:3: not understood");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Note {
    /// The file; empty if it is about all of them.
    pub path: String,
    /// The line; 0 for the whole file.
    pub line: u32,
    /// What.
    pub text: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 if self.path.is_empty() => f.write_str(&self.text),
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// All of a run. Findings are [finished](crate::finding::finish); suppressed and known ones are among them.
///
/// ```
/// let report = stanchion_audit::format::Report::default();
/// assert_eq!(report.open().count(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// What else is to be said.
    pub notes: Vec<Note>,
    /// What the baseline has and the code has no more.
    pub gone: Vec<Entry>,
    /// How many files were read.
    pub files: usize,
    /// How many lines they have.
    pub lines: usize,
    /// How long it took.
    pub millis: u64,
    /// How many files and folders were not analysed; the notes say why.
    pub left_out: usize,
    /// How many files were not understood as a whole, and how many entry points not followed to their end.
    pub partly: usize,
}

impl Report {
    /// The findings that are neither suppressed nor in the baseline.
    ///
    /// ```
    /// # use stanchion_audit::format::{Report, sample};
    /// let report = Report { findings: vec![sample()], ..Report::default() };
    /// assert_eq!(report.open().count(), 1);
    /// ```
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// Whether an open finding is at least this severe.
    ///
    /// ```
    /// # use stanchion_audit::{finding::Severity, format::{Report, sample}};
    /// let report = Report { findings: vec![sample()], ..Report::default() };
    /// assert!(report.fails(Severity::Medium));
    /// assert!(!Report::default().fails(Severity::Low));
    /// ```
    #[must_use]
    pub fn fails(&self, on: Severity) -> bool {
        self.open().any(|finding| finding.severity >= on)
    }

    /// The line that closes a run: how much was found, in how much, how quickly, and what was left out.
    ///
    /// ```
    /// # use stanchion_audit::format::{Report, sample};
    /// let report = Report { findings: vec![sample()], files: 2, lines: 30, millis: 4, left_out: 1, ..Report::default() };
    /// assert_eq!(report.closing(), "1 finding (1 high) in 2 files, 30 lines, 4 ms; 1 not analysed");
    /// ```
    #[must_use]
    pub fn closing(&self) -> String {
        self.summary().line()
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut rules = BTreeMap::new();
        for finding in self.open() {
            let count: &mut Count = rules.entry(finding.code).or_default();
            count.name = finding.name;
            match finding.severity {
                Severity::High => count.high += 1,
                Severity::Medium => count.medium += 1,
                Severity::Low => count.low += 1,
            }
        }
        let sum = |of: fn(&Count) -> usize| rules.values().map(of).sum();
        Summary {
            files: self.files,
            lines: self.lines,
            millis: self.millis,
            left_out: self.left_out,
            partly: self.partly,
            findings: self.open().count(),
            high: sum(|count| count.high),
            medium: sum(|count| count.medium),
            low: sum(|count| count.low),
            suppressed: self.findings.iter().filter(|finding| finding.marks.suppressed.is_some()).count(),
            known: self.findings.iter().filter(|f| f.marks.suppressed.is_none() && f.marks.known == Some(true)).count(),
            gone: self.gone.len(),
            rules,
        }
    }
}

/// The sums; only open findings count by rule and severity.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) files: usize,
    pub(crate) lines: usize,
    pub(crate) millis: u64,
    pub(crate) left_out: usize,
    pub(crate) partly: usize,
    pub(crate) findings: usize,
    pub(crate) high: usize,
    pub(crate) medium: usize,
    pub(crate) low: usize,
    pub(crate) suppressed: usize,
    pub(crate) known: usize,
    pub(crate) gone: usize,
    pub(crate) rules: BTreeMap<&'static str, Count>,
}

impl Summary {
    fn line(&self) -> String {
        let plural =
            |count: usize, word: &str| if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") };
        let listed = |parts: &[(usize, &str)]| {
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
        };
        let found = match self.findings {
            0 => "no findings".to_owned(),
            count => {
                let by = listed(&[(self.high, "high"), (self.medium, "medium"), (self.low, "low")]);
                format!("{} ({by})", plural(count, "finding"))
            }
        };
        let (files, lines) = (plural(self.files, "file"), plural(self.lines, "line"));
        let mut line = format!("{found} in {files}, {lines}, {} ms", self.millis);
        let others = listed(&[
            (self.left_out, "not analysed"),
            (self.partly, "in part only"),
            (self.suppressed, "suppressed"),
            (self.known, "in the baseline"),
            (self.gone, "gone from the baseline"),
        ]);
        if !others.is_empty() {
            line.push_str(&format!("; {others}"));
        }
        line
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Count {
    pub(crate) name: &'static str,
    pub(crate) high: usize,
    pub(crate) medium: usize,
    pub(crate) low: usize,
}

/// A format.
///
/// ```
/// use stanchion_audit::format::Format;
/// assert_eq!("sarif".parse::<Format>().unwrap(), Format::Sarif);
/// assert!("xml".parse::<Format>().unwrap_err().to_string().contains("junit"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    Text,
    /// One line each, for agents.
    Agent,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// JUnit XML, for build servers.
    Junit,
}

impl Format {
    /// All formats by their names.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::format::Format::ALL[0].0, "text");
    /// ```
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("text", Self::Text),
        ("agent", Self::Agent),
        ("json", Self::Json),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("junit", Self::Junit),
    ];

    /// Writes the report. `look` matters to [`Format::Text`] only.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// ```
    /// # use stanchion_audit::format::{Format, Look, Report, sample};
    /// let report = Report { findings: vec![sample()], ..Report::default() };
    /// let mut out = Vec::new();
    /// Format::Agent.write(&mut out, &report, &|_| None, Look::default())?;
    /// assert!(out.starts_with(b"src/store.ts:5: RC101 high/high host: "));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(self, out: &mut impl Write, report: &Report, sources: Sources<'_>, look: Look) -> io::Result<()> {
        match self {
            Self::Text => text::write(out, report, sources, look),
            Self::Agent => agent::write(out, report),
            Self::Json => json::write(out, report),
            Self::Sarif => sarif::write(out, report, sources),
            Self::Github => github::write(out, report),
            Self::Junit => junit::write(out, report),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(name, _)| *name).collect();
            Error::new(format!("there is no format `{word}`")).hint(format!("allowed: {}", names.join(", ")))
        })
    }
}

/// How text looks.
///
/// ```
/// let look = stanchion_audit::format::Look { colour: true, ..Default::default() };
/// assert_eq!(look.width, 100);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours, for a terminal.
    pub colour: bool,
    /// How many columns there are; fewer than 40 count as 40.
    pub width: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { colour: false, width: 100 }
    }
}

/// `12`, or `12-14`.
pub(crate) fn lines(first: u32, last: u32) -> String {
    if last > first { format!("{first}-{last}") } else { first.to_string() }
}

/// One line without anything that could move a terminal's cursor: white space becomes a blank, other control characters `�`.
/// Marks that turn the direction of text go, too: they can make code look like other code.
pub(crate) fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_whitespace() {
            if !flat.ends_with(' ') {
                flat.push(' ');
            }
        } else {
            flat.push(visible(letter));
        }
    }
    flat.trim().to_owned()
}

/// The letter itself, or `�` for one that does something other than being seen.
pub(crate) fn visible(letter: char) -> char {
    let turns =
        matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if letter.is_control() || turns { '\u{fffd}' } else { letter }
}

/// A finding for examples and tests.
#[doc(hidden)]
#[must_use]
pub fn sample() -> Finding {
    let step = |role, line, end_line, note: &str| Step {
        role,
        path: "src/store.ts".into(),
        line,
        end_line,
        note: note.into(),
    };
    Finding {
        code: "RC101",
        name: "lost-update-file",
        path: "src/store.ts".into(),
        line: 5,
        end_line: 5,
        severity: Severity::High,
        confidence: Confidence::High,
        scope: Scope::Host,
        message: "`notes.json` is read, changed and written back; what another process writes in between is lost"
            .into(),
        why: "the file is shared by all processes of the host, and no lock is held".into(),
        fix: Fix {
            plain: "hold flock on a lock file from the read to the write".into(),
            stanchion: "stanchion wrap -- COMMAND".into(),
        },
        flow: vec![
            step(Role::Read, 2, 2, "reads all notes"),
            step(Role::Window, 3, 4, ""),
            step(Role::Write, 5, 5, "writes all notes"),
        ],
        function: "add".into(),
        resource: "file notes.json".into(),
        surface: Surface::Product,
        marks: Marks::default(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SOURCE: &str = "export async function add(note) {\n  const all = JSON.parse(await readFile(path));\n  \
        const more = await describe(note);\n  all.push(more);\n  await writeFile(path, JSON.stringify(all));\n}\n";

    /// A report with one open finding, one suppressed and one known.
    pub(crate) fn report() -> Report {
        let at = |line, code| Finding { line, end_line: line, code, ..sample() };
        let mut findings = vec![sample(), at(6, "RC301"), at(7, "RC302")];
        crate::finding::finish(&mut findings, &|_| Some(SOURCE.into()));
        findings[1].marks.suppressed = Some("one process".into());
        findings[2].marks.known = Some(true);
        findings[0].marks.known = Some(false);
        let notes = vec![Note { path: "big.js".into(), line: 0, text: "too large: not analysed".into() }];
        Report { findings, notes, gone: vec![], files: 12, lines: 3456, millis: 78, left_out: 1, partly: 0 }
    }

    #[test]
    fn only_open_findings_count_and_fail() {
        let mut report = report();
        let summary = report.summary();
        assert_eq!((summary.findings, summary.high, summary.suppressed, summary.known), (1, 1, 1, 1));
        assert!(report.fails(Severity::High));
        report.findings[0].marks.known = Some(true);
        assert!(!report.fails(Severity::Low));
    }

    #[test]
    fn nothing_in_a_text_can_move_the_cursor_or_turn_the_line() {
        assert_eq!(flat(" a\r\n\tb\u{1b}[2Jc\u{202e}d\u{7f} "), "a b\u{fffd}[2Jc\u{fffd}d\u{fffd}");
    }
}
