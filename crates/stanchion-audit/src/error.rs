//! What is wrong with a file that people wrote, or with what they asked for.

use std::fmt;

/// Where, what, and what to do about it.
///
/// ```
/// use stanchion_audit::error::Error;
/// let error = Error::new("there is no such key: `exlude`").at("stanchion-audit.toml", 3).hint("did you mean `exclude`?");
/// assert_eq!(error.to_string(), "stanchion-audit.toml:3: there is no such key: `exlude`; did you mean `exclude`?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file, if it is about one.
    pub path: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Error {
    /// An error that is about no file yet.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::error::Error::new("git was not found").to_string(), "git was not found");
    /// ```
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: None, line: None, message: message.into(), hint: None }
    }

    /// Says in which file and line; line 0 stands for the whole file.
    ///
    /// ```
    /// let error = stanchion_audit::error::Error::new("cannot be read").at("b.json", 0);
    /// assert_eq!(error.to_string(), "b.json: cannot be read");
    /// ```
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, line: u32) -> Self {
        self.path = Some(path.into());
        self.line = (line > 0).then_some(line);
        self
    }

    /// Says what to do.
    ///
    /// ```
    /// let error = stanchion_audit::error::Error::new("it is too large").hint("exclude it");
    /// assert_eq!(error.to_string(), "it is too large; exclude it");
    /// ```
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{path}:{line}: ")?,
            (Some(path), None) => write!(f, "{path}: ")?,
            _ => {}
        }
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for Error {}

/// The line, from 1, in which byte `at` of `text` stands.
pub(crate) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at.min(text.len())).unwrap_or_default();
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX).saturating_add(1)
}

/// The known word that is meant by `word`, if one is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no slips, and the table below grows with the square.
    let word: Vec<char> = word.chars().take(64).flat_map(char::to_lowercase).collect();
    known
        .into_iter()
        .map(|name| (distance(&word, &name.to_lowercase().chars().collect::<Vec<_>>()), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= 1 + name.chars().count() / 4)
        .map(|(_, name)| name)
}

/// How many letters must be put in, left out or replaced to make `b` of `a`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for ((y, above), diagonal) in b.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or(0);
            next.push((above + 1).min(left + 1).min(diagonal + usize::from(x != y)));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_finds_none() {
        let known = ["include", "exclude", "rules", "RC101"];
        assert_eq!(nearest("exlude", known), Some("exclude"));
        assert_eq!(nearest("rc101", known), Some("RC101"));
        assert_eq!(nearest("deployment", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn lines_count_from_one_and_end_with_the_text() {
        assert_eq!([line_of("a\nb", 0), line_of("a\nb", 2), line_of("a\nb", 99), line_of("", 5)], [1, 2, 2, 1]);
    }
}
