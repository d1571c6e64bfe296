//! What is wrong with a specification: all of it at once, each with its place and the next step.

use std::fmt;

/// More than this many problems are one: the wrong file.
const PROBLEMS_MAX: usize = 50;

/// One thing that is wrong.
///
/// ```
/// use stanchion_race::Spec;
/// let wrong = Spec::parse("version = 1\nnmae = \"x\"\n", "probe.toml").unwrap_err();
/// let problem = wrong.problems().iter().find(|it| it.key == "nmae").unwrap();
/// assert_eq!(problem.line, 2);
/// assert!(problem.next.contains("`name`"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecProblem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key from the top, as `call.0.times`; empty if the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What is allowed there; may be empty.
    pub allowed: String,
    /// What to do; may be empty.
    pub next: String,
}

/// Everything that is wrong with a specification, in the order of the file. Nothing of it was run.
///
/// ```
/// use stanchion_race::Spec;
/// let wrong = Spec::parse("version = 2", "probe.toml").unwrap_err();
/// assert!(wrong.to_string().contains("probe.toml:1:11 (version)"), "{wrong}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    origin: String,
    problems: Vec<SpecProblem>,
    left_out: usize,
}

impl SpecError {
    pub(super) fn new(origin: &str, mut problems: Vec<SpecProblem>) -> Self {
        problems.sort_by(|a, b| (a.line, a.column, &a.key).cmp(&(b.line, b.column, &b.key)));
        let left_out = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        Self { origin: origin.to_owned(), problems, left_out }
    }

    /// The problems; of more than 50 the first 50.
    ///
    /// ```
    /// # use stanchion_race::Spec;
    /// assert!(!Spec::parse("", "p.toml").unwrap_err().problems().is_empty());
    /// ```
    #[must_use]
    pub fn problems(&self) -> &[SpecProblem] {
        &self.problems
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            let SpecProblem { line, column, key, what, allowed, next } = problem;
            write!(f, "{}error: {what}\n  --> {}:{line}:{column}", if nth == 0 { "" } else { "\n" }, self.origin)?;
            if !key.is_empty() {
                write!(f, " ({key})")?;
            }
            if !allowed.is_empty() {
                write!(f, "\n  = allowed: {allowed}")?;
            }
            if !next.is_empty() {
                write!(f, "\n  = next: {next}")?;
            }
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}
