//! The queue between calls and the file, and the thread that empties it.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Result};

use super::line::{CallLine, Dropped};

/// Lines, and bytes of what has no fixed size, that wait for the disk.
pub(super) const LINES_MAX: usize = 8192;
pub(super) const BYTES_MAX: usize = 8 << 20;

/// How long the first line of a batch waits for others: one wake-up of the writer serves them all.
const LINGER: Duration = Duration::from_millis(20);

/// How much room stays reserved between two batches.
const LINES_KEPT: usize = 256;
const BYTES_KEPT: usize = 64 << 10;

const FLUSH_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
struct Queue {
    lines: Vec<CallLine>,
    bytes: usize,
    /// Lost since this was last written down.
    dropped: u64,
    /// The writer waits for a first line, and has to be woken for it.
    asleep: bool,
    closing: bool,
    farewell: bool,
    ended: bool,
    /// How many lines have ever been queued, how many of them are written or lost, and how many somebody waits for.
    queued: u64,
    settled: u64,
    wanted: u64,
}

impl Queue {
    fn hurry(&self) -> bool {
        self.closing || self.wanted > self.settled || self.lines.len() >= LINES_MAX / 2 || self.bytes >= BYTES_MAX / 2
    }
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    settled: Condvar,
}

impl Shared {
    pub(super) fn start(append: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Self::default());
        let writer = Arc::clone(&shared);
        std::thread::Builder::new().name("call-log".into()).stack_size(256 << 10).spawn(move || writer.run(append))?;
        Ok(shared)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, mut line: CallLine) {
        line.bound();
        let weight = line.weight();
        let mut queue = self.queue();
        if queue.lines.len() >= LINES_MAX || queue.bytes + weight > BYTES_MAX {
            queue.dropped += 1;
            drop(queue);
            return count_dropped(1);
        }
        queue.lines.push(line);
        queue.bytes += weight;
        queue.queued += 1;
        // Waking costs more than all the rest: only for the first of a batch, and when the room gets scarce.
        let wake =
            std::mem::take(&mut queue.asleep) || queue.lines.len() == LINES_MAX / 2 || queue.bytes >= BYTES_MAX / 2;
        drop(queue);
        if wake {
            self.wake.notify_one();
        }
    }

    pub(super) fn flush(&self) -> Result<()> {
        let mut queue = self.queue();
        let target = queue.queued;
        queue.wanted = target;
        self.wake.notify_one();
        let waiting = self.settled.wait_timeout_while(queue, FLUSH_WITHIN, |q| q.settled < target && !q.ended);
        let (queue, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        let missing = target.saturating_sub(queue.settled) + queue.dropped;
        if missing == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "some lines are missing in the call log").with("lines", missing))
    }

    /// The writer's thread.
    fn run(&self, mut append: impl FnMut(&[u8]) -> io::Result<()>) {
        let (mut lines, mut text, mut failing) = (Vec::new(), Vec::new(), false);
        while let Some(dropped) = self.take(&mut lines) {
            serialise(&lines, dropped, &mut text);
            let number = lines.len() as u64;
            lines.clear();
            lines.shrink_to(LINES_KEPT);
            let written = if text.len() > 1 { append(&text) } else { Ok(()) };
            text.clear();
            text.shrink_to(BYTES_KEPT);
            let mut queue = self.queue();
            queue.settled += number;
            if let Err(error) = &written {
                queue.dropped += number + dropped;
                drop(queue);
                count_dropped(number);
                if !failing {
                    tracing::warn!(%error, "the call log cannot be written; calls go on without it");
                }
            }
            failing = written.is_err();
            self.settled.notify_all();
        }
        self.queue().ended = true;
        self.settled.notify_all();
    }

    /// Waits for lines and takes them all, with the number of those that were lost before; `None` at the end.
    fn take(&self, lines: &mut Vec<CallLine>) -> Option<u64> {
        let mut queue = self.queue();
        if queue.closing && queue.lines.is_empty() {
            // Lines that were lost are said once more at the end; a disk that is still full does not keep us.
            let said = std::mem::replace(&mut queue.farewell, true);
            return (!said && queue.dropped > 0).then(|| std::mem::take(&mut queue.dropped));
        }
        while queue.lines.is_empty() && !queue.hurry() {
            queue.asleep = true;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.asleep = false;
        let lingering = self.wake.wait_timeout_while(queue, LINGER, |queue| !queue.hurry());
        queue = lingering.unwrap_or_else(PoisonError::into_inner).0;
        queue.bytes = 0;
        std::mem::swap(&mut queue.lines, lines);
        Some(std::mem::take(&mut queue.dropped))
    }
}

/// Each line as JSON after a first line feed, which the file may need (see [`super::file::Appender::append`]).
fn serialise(lines: &[CallLine], dropped: u64, text: &mut Vec<u8>) {
    text.push(b'\n');
    if dropped > 0 {
        add(&Dropped::now(dropped), text);
    }
    for line in lines {
        add(line, text);
    }
}

fn add(line: &impl serde::Serialize, text: &mut Vec<u8>) {
    let start = text.len();
    if serde_json::to_writer(&mut *text, line).is_err() {
        // Nothing in a line can fail to be JSON.
        return text.truncate(start);
    }
    // Arguments are as the caller wrote them: a line feed in them is white space, because in a string it is escaped.
    for byte in &mut text[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    text.push(b'\n');
}

fn count_dropped(number: u64) {
    metrics::counter!("stanchion_call_log_dropped_total").increment(number);
}

/// The handle that all clones share: with the last of them, what is queued is still written.
#[derive(Debug)]
pub(super) struct Closing(Arc<Shared>);

impl Closing {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Deref for Closing {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.closing = true;
        self.0.wake.notify_one();
        let waiting = self.0.settled.wait_timeout_while(queue, FLUSH_WITHIN, |queue| !queue.ended);
        drop(waiting.unwrap_or_else(PoisonError::into_inner));
    }
}
