//! The call log: one JSON line for each call, written beside the calls and never in their way.

mod file;
mod line;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::Path;
use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Result};

pub use self::file::rotated;
use self::file::{Appender, ROTATE_AT};
pub use self::line::{CallLine, Dropped, Entry, Verdict, key_digest, parse};
use self::writer::{Closing, Shared};

/// The log's file in the state folder.
///
/// ```
/// assert_eq!(stanchion_mcp::calls::FILE_NAME, "calls.jsonl");
/// ```
pub const FILE_NAME: &str = "calls.jsonl";

/// Takes a line of each call. A clone writes to the same file.
///
/// Writing never delays a call and never fails it: a line goes into a bounded queue, and one thread writes what it
/// finds there. Lines that find the queue full, or the disk, are dropped; how many is written as a line of its own and
/// counted as `stanchion_call_log_dropped_total`.
///
/// Several processes may write to one file. At 64 MiB it becomes [`rotated`], so that the last 64 MiB can always be read.
///
/// ```
/// use stanchion_mcp::calls::{CallLine, CallLog, Entry, Verdict, parse};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("calls.jsonl");
/// let log = CallLog::open(&path)?;
/// log.log(CallLine::new("memory", "local", "create_entities", Verdict::Done));
/// log.flush()?;
/// let text = std::fs::read_to_string(path)?;
/// assert!(matches!(parse(text.trim()), Some(Entry::Call(line)) if line.tool == "create_entities"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CallLog(Option<Arc<Closing>>);

impl CallLog {
    /// A log that keeps nothing.
    ///
    /// ```
    /// use stanchion_mcp::calls::{CallLine, CallLog, Verdict};
    /// CallLog::none().log(CallLine::new("memory", "local", "read_graph", Verdict::Passed));
    /// ```
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Writes to the end of this file, which is made if need be, for its user alone.
    ///
    /// ```
    /// let dir = tempfile::tempdir()?;
    /// let log = stanchion_mcp::calls::CallLog::open(dir.path().join("calls.jsonl"))?;
    /// assert!(log.is_on());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # If it fails
    /// [`Denied`](ErrorKind::Denied): the file cannot be written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), ROTATE_AT)
    }

    fn open_with(path: &Path, rotate_at: u64) -> Result<Self> {
        let denied = |e: io::Error| {
            Error::new(ErrorKind::Denied, "the call log cannot be written")
                .with("file", path.display())
                .because(e)
                .hint("set STANCHION_HOME to a folder you can write to")
        };
        let file = Appender::new(path.to_owned(), rotate_at).map_err(denied)?;
        Self::start(move |batch| file.append(batch)).map_err(denied)
    }

    fn start(append: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        Ok(Self(Some(Arc::new(Closing::new(Shared::start(append)?)))))
    }

    /// Whether lines are kept. Without, nobody has to make them.
    ///
    /// ```
    /// assert!(!stanchion_mcp::calls::CallLog::none().is_on());
    /// ```
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a line. Arguments longer than 64 KiB are left out; their length is not.
    ///
    /// ```
    /// use stanchion_mcp::calls::{CallLine, CallLog, Verdict};
    /// let log = CallLog::none();
    /// log.log(CallLine::new("memory", "local", "create_entities", Verdict::Refused));
    /// ```
    pub fn log(&self, line: CallLine) {
        if let Some(log) = &self.0 {
            log.push(line);
        }
    }

    /// Blocks until all lines that were added before are in the file, for five seconds at most.
    ///
    /// ```
    /// stanchion_mcp::calls::CallLog::none().flush()?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    ///
    /// # If it fails
    /// [`Unavailable`](ErrorKind::Unavailable): some lines are not in the file. The calls themselves are not affected.
    pub fn flush(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |log| log.flush())
    }
}
