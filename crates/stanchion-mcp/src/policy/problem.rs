//! What is wrong with a policy file: all of it at once, each with its place and its cure.

use std::fmt;

use stanchion_core::{Error, ErrorKind};

/// More than this many problems are one: the wrong file.
const PROBLEMS_MAX: usize = 100;

/// Where something stands in a file: line and column, from 1.
///
/// ```
/// use stanchion_mcp::policy::Place;
/// assert_eq!(Place { line: 3, column: 7 }.to_string(), "3:7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One thing that is wrong, or worth a warning.
///
/// ```
/// use stanchion_mcp::policy::PolicyFile;
/// let wrong = PolicyFile::parse("[defaults]\nwiat = \"5s\"\n", "stanchion.toml").unwrap_err();
/// let problem = &wrong.problems()[0];
/// assert_eq!((problem.key.as_str(), problem.place.line), ("defaults.wiat", 2));
/// assert_eq!(problem.did_you_mean.as_deref(), Some("wait"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// The key, from the top: `servers.memory.tools.create_entities.wait`. Empty if the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What is allowed there.
    pub allowed: Option<String>,
    /// A word that is known and looks like the one that is not.
    pub did_you_mean: Option<String>,
    /// The offending text. Never of a value that may be secret: environment, commands, addresses, tokens.
    pub(super) excerpt: Option<Excerpt>,
}

/// `before` is shown in front of what is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) before: String,
    pub(super) marked: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.place.line.to_string();
        let margin = " ".repeat(number.len());
        write!(f, "{}\n{margin}--> {}:{}", self.what, self.file, self.place)?;
        if !self.key.is_empty() {
            write!(f, " ({})", self.key)?;
        }
        if let Some(Excerpt { before, marked }) = &self.excerpt {
            let (indent, marks) = (" ".repeat(before.chars().count()), "^".repeat(marked.chars().count().max(1)));
            write!(f, "\n{margin} |\n{number} | {before}{marked}\n{margin} | {indent}{marks}")?;
        }
        if let Some(word) = &self.did_you_mean {
            write!(f, "\n{margin} = did you mean `{word}`?")?;
        }
        if let Some(allowed) = &self.allowed {
            write!(f, "\n{margin} = allowed: {allowed}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a policy file, in the order of the file. Nothing of it was used.
///
/// ```
/// use stanchion_core::{Error, ErrorKind};
/// use stanchion_mcp::policy::PolicyFile;
/// let wrong = PolicyFile::parse("[defaults]\nwait = 5\nmode = \"both\"\n", "p.toml").unwrap_err();
/// assert_eq!(wrong.problems().len(), 2);
/// assert!(wrong.to_string().contains("p.toml:2:8 (defaults.wait)"), "{wrong}");
/// assert_eq!(Error::from(wrong).kind(), ErrorKind::Invalid);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    problems: Vec<Problem>,
    left_out: usize,
}

impl PolicyError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| (a.place, &a.key).cmp(&(b.place, &b.key)));
        problems.dedup_by(|a, b| a.place == b.place && a.what == b.what);
        let left_out = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        Self { problems, left_out }
    }

    /// The problems; of more than 100 the first 100.
    ///
    /// ```
    /// # use stanchion_mcp::policy::PolicyFile;
    /// assert_eq!(PolicyFile::parse("server = 1", "p.toml").unwrap_err().problems().len(), 1);
    /// ```
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            write!(f, "{}error: {problem}", if nth == 0 { "" } else { "\n" })?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyError {}

impl From<PolicyError> for Error {
    fn from(wrong: PolicyError) -> Self {
        let count = wrong.problems.len() + wrong.left_out;
        let problems = if count == 1 { "problem" } else { "problems" };
        Self::new(ErrorKind::Invalid, format!("the policy file cannot be used: {count} {problems}\n{wrong}")).hint(
            "`stanchion policy check FILE` checks it again, `stanchion policy schema` tells editors what is allowed",
        )
    }
}
