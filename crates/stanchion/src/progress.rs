//! How far a run is, on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::output::columns;

/// A run that is over sooner needs no bar.
const FIRST: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(100);
const WIDTH: usize = 24;

/// A bar on stderr; takes itself away in the end.
pub(crate) struct Bar {
    /// When it may be drawn next, and whether it has been; `None` where nobody sees it.
    next: Option<Mutex<(Instant, bool)>>,
}

impl Bar {
    pub(crate) fn new() -> Self {
        Self { next: std::io::stderr().is_terminal().then(|| Mutex::new((Instant::now() + FIRST, false))) }
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.next.is_some()
    }

    /// Called by many threads. One that finds another at it goes on: the next one tells as much.
    pub(crate) fn tell(&self, doing: &str, done: usize, total: usize) {
        let Some(Ok(mut next)) = self.next.as_ref().map(Mutex::try_lock) else { return };
        let now = Instant::now();
        if now >= next.0 {
            *next = (now + BETWEEN, true);
            // A line that goes on below could not be taken away.
            let most = columns(std::io::stderr()).map_or(usize::MAX, |columns| columns.saturating_sub(1));
            let line: String = drawn(doing, done, total).chars().take(most).collect();
            write!(std::io::stderr(), "\r\u{1b}[2K{line}").unwrap_or_default();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let drawn = self.next.as_ref().and_then(|next| next.lock().ok()).is_some_and(|next| next.1);
        if drawn {
            write!(std::io::stderr(), "\r\u{1b}[2K").unwrap_or_default();
        }
    }
}

fn drawn(doing: &str, done: usize, total: usize) -> String {
    if total == 0 {
        return doing.to_owned();
    }
    let full = (done.min(total) * WIDTH) / total;
    format!("[{}{}] {:>3} %  {doing}", "=".repeat(full), " ".repeat(WIDTH - full), done.min(total) * 100 / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        let drawn = |done, total| drawn("parsing", done, total);
        assert_eq!(drawn(0, 0), "parsing");
        assert_eq!(drawn(1, 4), format!("[======{}]  25 %  parsing", " ".repeat(18)));
        assert_eq!(drawn(9, 4), format!("[{}] 100 %  parsing", "=".repeat(24)));
    }
}
