//! Waiting for the lock, and saying so.

use std::cell::Cell;
use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use stanchion_core::text::duration;
use stanchion_core::{Acquire, Leases, Locks, Result, Wait};
use tokio::time::Instant;

use super::child::Signals;
use crate::exit::say;
use crate::lock;

/// Shorter waits are not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) enum Waited {
    Acquired(Leases),
    /// Our own user wants us to leave the queue.
    Interrupted(u8),
}

pub(super) async fn acquire(locks: &Locks, requests: &[Acquire], quiet: bool, signals: &mut Signals) -> Result<Waited> {
    let shown = Shown { live: std::io::stderr().is_terminal(), quiet, lines: Cell::new(0), since: Instant::now() };
    let acquiring = locks.acquire_all(requests);
    // Beside the others: a store that is slow to list must hold up neither a signal nor the lock itself.
    let telling = tell(&shown, locks, requests);
    let outcome = tokio::select! {
        biased;
        signal = signals.next() => Ok(Waited::Interrupted(signal.number())),
        leases = acquiring => leases.map(Waited::Acquired),
        never = telling, if !quiet && requests.iter().any(|req| req.wait != Wait::No) => match never {},
    };
    shown.clear();
    if matches!(outcome, Ok(Waited::Acquired(_))) {
        shown.acquired(requests);
    }
    outcome
}

/// Says now and then what we wait for, until somebody else ends it.
async fn tell(shown: &Shown, locks: &Locks, requests: &[Acquire]) -> Infallible {
    loop {
        tokio::time::sleep(PATIENCE).await;
        shown.waiting(locks, requests).await;
    }
}

/// What the user has been told.
struct Shown {
    live: bool,
    quiet: bool,
    lines: Cell<u32>,
    since: Instant,
}

impl Shown {
    /// On a terminal one line that changes; elsewhere one line, once.
    async fn waiting(&self, locks: &Locks, requests: &[Acquire]) {
        if !self.live && self.lines.get() > 0 {
            return;
        }
        self.lines.set(self.lines.get() + 1);
        for req in requests {
            let Ok(Some(info)) = lock::find(&**locks.backend(), &req.key).await else { continue };
            let Some(holder) = info.holders.first() else { continue };
            let ahead = match info.waiters.len() {
                0 | 1 => String::new(),
                n => format!(" · {} in line", n),
            };
            let text = format!("stanchion: waiting for '{}' · {holder}{ahead}", req.key);
            if self.live {
                write!(std::io::stderr(), "\r\x1b[2K{text}").unwrap_or_default();
            } else {
                say(&text);
            }
            return;
        }
    }

    fn clear(&self) {
        if self.live && self.lines.get() > 0 {
            write!(std::io::stderr(), "\r\x1b[2K").unwrap_or_default();
        }
    }

    fn acquired(&self, requests: &[Acquire]) {
        if !self.quiet && self.lines.get() > 0 {
            let names = requests.iter().map(|req| format!("'{}'", req.key)).collect::<Vec<_>>().join(", ");
            say(&format!("stanchion: acquired {names} after {}", duration(self.since.elapsed())));
        }
    }
}
