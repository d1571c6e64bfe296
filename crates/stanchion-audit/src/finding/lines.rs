//! The lines of a file, and what of them counts for a fingerprint.

use std::sync::Arc;

use super::Sources;

/// Of a statement, this many lines and bytes count for its fingerprint: minified files have lines of megabytes.
const STATEMENT_LINES: usize = 20;
const STATEMENT_BYTES: usize = 4096;

/// The statement's text with white space between words as one blank, and none beside brackets and the like, so that a formatter
/// changes nothing. A comment that suppresses is no part of it.
pub(super) fn normalised(lines: &Lines, first: u32, last: u32) -> String {
    let mut text = String::new();
    for number in (first..=last.max(first)).take(STATEMENT_LINES) {
        let line = lines.get(number).unwrap_or_default();
        let line =
            line.split_once("stanchion-audit:").map_or(line, |(code, _)| code.trim_end_matches(['/', '#', '*', ' ']));
        for letter in line.chars().chain([' ']) {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            if !letter.is_whitespace() {
                if text.ends_with(' ') && !(is_word(letter) && text.trim_end().ends_with(is_word)) {
                    text.pop();
                }
                text.push(letter);
            } else if !text.ends_with(' ') {
                text.push(' ');
            }
            if text.len() >= STATEMENT_BYTES {
                return text;
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The lines of the file that was asked for last: findings come file by file.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    path: String,
    text: Option<Arc<str>>,
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn open(&mut self, path: &str, sources: Sources<'_>) {
        if self.path == path && self.text.is_some() {
            return;
        }
        self.text = sources(path);
        path.clone_into(&mut self.path);
        self.starts.clear();
        if let Some(text) = &self.text {
            self.starts.push(0);
            self.starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        }
    }

    /// The line with this number, from 1, without its end.
    pub(crate) fn get(&self, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let text = self.text.as_deref()?;
        let end = self.starts.get(index + 1).map_or(text.len(), |next| next - 1);
        Some(text.get(start..end)?.trim_end_matches('\r'))
    }
}
