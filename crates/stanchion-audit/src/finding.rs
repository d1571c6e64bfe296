//! What a rule found, and by what it is known again when lines move.

mod lines;
mod statement;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub(crate) use self::lines::Lines;
use self::statement::normalised;
pub use self::words::{Confidence, Role, Scope, Severity, Surface};
use crate::catalogue::Rule;

/// Gives the text of a file of the tree; `None` if it cannot be read.
///
/// ```
/// let sources: stanchion_audit::finding::Sources<'_> = &|path| std::fs::read_to_string(path).ok().map(Into::into);
/// assert!(sources("/nowhere").is_none());
/// ```
pub type Sources<'a> = &'a dyn Fn(&str) -> Option<Arc<str>>;

/// How to get rid of it.
///
/// ```
/// use stanchion_audit::finding::Fix;
/// let fix = Fix { plain: "append instead of rewriting".into(), stanchion: "stanchion run --lock notes -- CMD".into() };
/// assert!(fix.stanchion.starts_with("stanchion run"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fix {
    /// Without a library.
    pub plain: String,
    /// With Stanchion.
    pub stanchion: String,
}

/// One line, or some, on the way from the read to the write.
///
/// ```
/// use stanchion_audit::finding::{Role, Step};
/// let step = Step { role: Role::Read, path: "a.ts".into(), line: 3, end_line: 3, note: "all notes".into() };
/// assert_eq!(step.role.as_str(), "read");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Step {
    /// What it has to do with the race.
    pub role: Role,
    /// The file, from the tree's root, with `/`.
    pub path: String,
    /// The first line, from 1.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
    /// What happens here; may be empty.
    pub note: String,
}

/// By what a finding is known again, and what became of it.
///
/// ```
/// assert!(stanchion_audit::finding::Marks::default().suppressed.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Where its statement begins in its first line, from 1 and in bytes; 0: with the line.
    pub column: u32,
    /// By what it is known again; empty before [`finish`].
    pub fingerprint: String,
    /// The reason why a comment suppresses it.
    pub suppressed: Option<String>,
    /// Whether the baseline has it; `None` without a baseline.
    pub known: Option<bool>,
}

/// A race.
///
/// ```
/// use stanchion_audit::finding::{Confidence, Finding, Fix, Marks, Scope, Severity, Surface};
/// let finding = Finding {
///     code: "RC302",
///     name: "non-atomic-write",
///     path: "src/store.py".into(),
///     line: 9,
///     end_line: 9,
///     severity: Severity::Medium,
///     confidence: Confidence::High,
///     scope: Scope::Host,
///     message: "`state.json` is written in place".into(),
///     why: "a reader in another process sees half of it".into(),
///     fix: Fix { plain: "write a new file and rename it".into(), stanchion: "none needed".into() },
///     flow: vec![],
///     function: "Store.save".into(),
///     resource: "file self.path".into(),
///     surface: Surface::Product,
///     marks: Marks::default(),
/// };
/// assert!(finding.is_open());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's code, as in `RC101`.
    pub code: &'static str,
    /// The rule's name, as in `lost-update-file`.
    pub name: &'static str,
    /// The file, from the tree's root, with `/`.
    pub path: String,
    /// The first line of the statement that does the harm, from 1.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// Whom a lock would have to keep out.
    pub scope: Scope,
    /// What happens, in one sentence.
    pub message: String,
    /// Why nothing prevents it: the argument about scopes, in words.
    pub why: String,
    /// How to get rid of it.
    pub fix: Fix,
    /// The way from the read to the write.
    pub flow: Vec<Step>,
    /// The path of the function, as in `Store.save`.
    pub function: String,
    /// What is raced for, as in `file this.path`.
    pub resource: String,
    /// What the file is for.
    pub surface: Surface,
    /// What became of it.
    pub marks: Marks,
}

impl Finding {
    /// A finding of this rule about these lines, with the rule's severity; everything else is to be filled in.
    ///
    /// ```
    /// use stanchion_audit::{catalogue, finding::{Finding, Scope}};
    /// let rule = catalogue::rule("RC303").unwrap();
    /// let finding = Finding { scope: Scope::Host, ..Finding::new(rule, "src/save.py", 4, 5) };
    /// assert_eq!((finding.code, finding.severity), ("RC303", rule.severity));
    /// ```
    #[must_use]
    pub fn new(rule: &Rule, path: &str, line: u32, end_line: u32) -> Self {
        Self {
            code: rule.code,
            name: rule.name,
            path: path.to_owned(),
            line,
            end_line,
            severity: rule.severity,
            confidence: Confidence::High,
            scope: Scope::Process,
            message: String::new(),
            why: String::new(),
            fix: Fix::default(),
            flow: vec![],
            function: String::new(),
            resource: String::new(),
            surface: Surface::Product,
            marks: Marks::default(),
        }
    }

    /// By what it is known again: never by its line. Empty before [`finish`].
    ///
    /// ```
    /// # use stanchion_audit::{finding::{self, Finding}, format::sample};
    /// let mut findings = vec![sample()];
    /// finding::finish(&mut findings, &|_| Some("write( text )\n".into()));
    /// assert_eq!(findings[0].fingerprint().len(), 16);
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.marks.fingerprint
    }

    /// Neither suppressed nor in the baseline: somebody has to act.
    ///
    /// ```
    /// # use stanchion_audit::{finding::Finding, format::sample};
    /// let mut finding: Finding = sample();
    /// assert!(finding.is_open());
    /// finding.marks.suppressed = Some("one process by design".into());
    /// assert!(!finding.is_open());
    /// ```
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.marks.suppressed.is_none() && self.marks.known != Some(true)
    }

    /// Whether somebody who reads the other one knows this one, but for the ways to it.
    fn is_told_by(&self, other: &Self) -> bool {
        (&self.path, self.line, self.end_line, self.code, &self.function, &self.resource)
            == (&other.path, other.line, other.end_line, other.code, &other.function, &other.resource)
    }

    /// Other ways to the same line: each of them has to be closed, too.
    fn tells_also(&mut self, flow: Vec<Step>) {
        for step in flow {
            if self.flow.len() >= STEPS_MOST {
                return;
            }
            let same = |known: &Step| (known.role, known.line, &known.path) == (step.role, step.line, &step.path);
            if !self.flow.iter().any(same) {
                self.flow.push(step);
            }
        }
    }

    fn digest(&self, statement: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.code, &self.path, &self.function, &self.resource, statement] {
            // The length keeps `a` + `bc` apart from `ab` + `c`.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Steps that are added from others at the same line.
const STEPS_MOST: usize = 128;

/// Puts findings in order (path, line, code), keeps one of those that say the same of the same line (the surest) with the
/// ways of all, and gives each its fingerprint: the first 16 hex digits of SHA-256 over code, path, function, resource and statement, without
/// regard to white space, comments and whatever else a formatter changes. The second of two equal ones gets `#2`.
///
/// ```
/// # use stanchion_audit::{finding, format::sample};
/// let mut findings = vec![sample(), sample()];
/// findings[1].line = 8;
/// findings[1].end_line = 8;
/// finding::finish(&mut findings, &|_| Some("x = 1\n".repeat(9).into()));
/// assert_eq!(format!("{}#2", findings[0].fingerprint()), findings[1].fingerprint());
/// ```
pub fn finish(findings: &mut Vec<Finding>, sources: Sources<'_>) {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup_by(|again, kept| {
        let same = again.is_told_by(kept);
        if same {
            kept.tells_also(std::mem::take(&mut again.flow));
        }
        same
    });
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut lines = Lines::default();
    for finding in findings {
        lines.open(&finding.path, sources);
        let statement = lines.from(finding.line, finding.marks.column).unwrap_or_default();
        let digest = finding.digest(&normalised(&finding.path, statement));
        let count = seen.entry(digest.clone()).or_default();
        *count += 1;
        finding.marks.fingerprint = if *count == 1 { digest } else { format!("{digest}#{count}") };
    }
}

/// What the order of findings goes by; after path, line and code only so that it is total.
fn order(finding: &Finding) -> impl Ord + '_ {
    let place = (&finding.path, finding.line, finding.code, finding.end_line, &finding.function, &finding.resource);
    let best = (Reverse(finding.severity), Reverse(finding.confidence), finding.flow.len());
    (place, best, (&finding.message, &finding.flow, &finding.why, &finding.fix, finding.scope, finding.surface))
}

#[cfg(test)]
mod tests;
