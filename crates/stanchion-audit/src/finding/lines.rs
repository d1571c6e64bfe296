//! The lines of a file.

use std::sync::Arc;

use super::Sources;

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

    /// All from here on: from a column, from 1 and in bytes, or from the first word of the line.
    pub(super) fn from(&self, line: u32, column: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let text = self.text.as_deref()?.get(*self.starts.get(index)?..)?;
        let column = usize::try_from(column).ok()?.saturating_sub(1);
        text.get(column..).or(Some(text))
    }
}
