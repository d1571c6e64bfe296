//! What a run costs.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What something cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Of all threads, so that other work on the machine does not count; without `/proc`, by the clock.
    pub time: Duration,
    /// The most bytes at once, beyond those before; 0 without `/proc`.
    pub memory: u64,
}

impl Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s of processor time and {} MiB", self.time.as_secs_f32(), self.memory >> 20)
    }
}

/// Measures what this process does from [`start`](Self::start) to [`stop`](Self::stop).
#[derive(Debug)]
pub struct Meter {
    clock: Instant,
    time: Option<Duration>,
    memory: u64,
}

impl Meter {
    /// From now on.
    pub fn start() -> Self {
        // The peak counts from now on.
        fs::write("/proc/self/clear_refs", "5").ok();
        Self { clock: Instant::now(), time: processor_time(), memory: status("VmRSS:") }
    }

    /// What it was.
    pub fn stop(self) -> Spent {
        let time = self.time.zip(processor_time()).map_or_else(|| self.clock.elapsed(), |(then, now)| now - then);
        Spent { time, memory: status("VmHWM:").saturating_sub(self.memory) }
    }
}

fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    // A hundred a second on every Linux that we know.
    Some(Duration::from_millis(ticks * 10))
}

fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() << 10
}

/// Ends the process when a program hangs: the thread that looks at it cannot be ended.
#[derive(Debug)]
pub struct Watch {
    clock: Instant,
    since: Arc<AtomicU64>,
}

impl Watch {
    /// Looks from now on; `folder` is said to be what hangs.
    pub fn start(folder: &Path, most: Duration) -> Self {
        let watch = Self { clock: Instant::now(), since: Arc::new(AtomicU64::new(0)) };
        let (clock, since, folder) = (watch.clock, Arc::clone(&watch.since), folder.to_owned());
        std::thread::spawn(move || {
            loop {
                std::thread::park_timeout(Duration::from_secs(1));
                if Arc::strong_count(&since) == 1 {
                    return;
                }
                if clock.elapsed().as_secs().saturating_sub(since.load(Ordering::Relaxed)) > most.as_secs() {
                    eprintln!("{} runs for more than {} s", folder.display(), most.as_secs());
                    std::process::abort();
                }
            }
        });
        watch
    }

    /// The next program begins.
    pub fn begin(&self) {
        self.since.store(self.clock.elapsed().as_secs(), Ordering::Relaxed);
    }
}
