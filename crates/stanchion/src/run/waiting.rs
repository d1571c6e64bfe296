//! Waiting for the lock, and saying so.

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

pub(super) async fn acquire(locks: &Locks, requests: &[Acquire], quiet: bool) -> Result<Waited> {
    let mut signals = Signals::for_waiting()?;
    let mut shown = Shown { live: std::io::stderr().is_terminal(), quiet, lines: 0, since: Instant::now() };
    let acquiring = locks.acquire_all(requests);
    tokio::pin!(acquiring);
    let mut next = Instant::now() + PATIENCE;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                shown.clear();
                return Ok(Waited::Interrupted(signal.number()));
            }
            leases = &mut acquiring => {
                shown.clear();
                let leases = leases?;
                shown.acquired(requests);
                return Ok(Waited::Acquired(leases));
            }
            () = tokio::time::sleep_until(next), if !quiet && requests.iter().any(|req| req.wait != Wait::No) => {
                next = Instant::now() + PATIENCE;
                shown.waiting(locks, requests).await;
            }
        }
    }
}

/// What the user has been told.
struct Shown {
    live: bool,
    quiet: bool,
    lines: u32,
    since: Instant,
}

impl Shown {
    /// On a terminal one line that changes; elsewhere one line, once.
    async fn waiting(&mut self, locks: &Locks, requests: &[Acquire]) {
        if !self.live && self.lines > 0 {
            return;
        }
        self.lines += 1;
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
        if self.live && self.lines > 0 {
            write!(std::io::stderr(), "\r\x1b[2K").unwrap_or_default();
        }
    }

    fn acquired(&self, requests: &[Acquire]) {
        if !self.quiet && self.lines > 0 {
            let names = requests.iter().map(|req| format!("'{}'", req.key)).collect::<Vec<_>>().join(", ");
            say(&format!("stanchion: acquired {names} after {}", duration(self.since.elapsed())));
        }
    }
}
