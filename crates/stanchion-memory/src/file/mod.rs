//! A graph in a JSONL file that many processes share: the official server's file.

mod care;
mod change;
mod check;
mod disk;
mod lines;
mod place;
mod reader;
mod record;
mod view;
mod writer;

#[cfg(test)]
mod crash_tests;

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_stores::Durability;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub use self::check::{Checked, check};

use self::place::Place;
use self::reader::Reader;
use self::record::Stamp;
use self::writer::{Job, Writer};
use crate::{Changed, Damaged, Memory, MemoryError, Mutation, Notice, Outcome, Query, Selection};

/// So many mutations of one process may wait.
const WAITING: usize = 1024;
/// How often it is looked whether others have written, while somebody wants to know.
const WATCH: Duration = Duration::from_millis(250);

/// The graph in a file of lines.
pub(crate) fn read_lines(bytes: &[u8]) -> (Selection, Vec<Damaged>) {
    let mut view = view::View::default();
    view.take(bytes);
    (view.graph.into_selection(), view.damaged)
}

/// How the file is written.
///
/// ```
/// use stanchion_memory::{Compat, FileOptions};
/// assert_eq!(FileOptions::default().compat, Compat::Append);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// What official readers of the same file may meet.
    pub compat: Compat,
    /// How long a write waits for those of other processes.
    pub wait: Duration,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { durability: Durability::Process, compat: Compat::Append, wait: Duration::from_secs(20) }
    }
}

/// What official readers of the same file may meet.
///
/// ```
/// assert_eq!("strict".parse::<stanchion_memory::Compat>()?, stanchion_memory::Compat::Strict);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// New entities and relations are added at the end: an official reader can meet an unfinished last line, and its call fails.
    #[default]
    Append,
    /// The file is always replaced as a whole: it takes longer the larger the graph is.
    Strict,
}

impl std::str::FromStr for Compat {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "append" => Ok(Self::Append),
            "strict" => Ok(Self::Strict),
            _ => Err(Error::new(ErrorKind::Invalid, "unknown way of writing")
                .with("value", text.chars().take(40).collect::<String>())
                .hint("allowed: append, strict")),
        }
    }
}

/// What has to be told, once.
#[derive(Debug, Default)]
struct Notices {
    open: Mutex<Vec<Notice>>,
    said: Mutex<HashSet<String>>,
}

/// The graph in a file. Any number of processes may have it open.
///
/// Reads take no lock. Writes take one that all processes share, in order of arrival, and are acknowledged when they
/// are in the file.
///
/// ```
/// use stanchion_memory::{Entity, FileMemory, FileOptions, Memory, Mutation, Query};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("memory.jsonl");
/// let (ours, theirs) = (FileMemory::open(&path, FileOptions::default())?, FileMemory::open(&path, FileOptions::default())?);
/// let ada = Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] };
/// ours.change(Mutation::CreateEntities(vec![ada.clone()])).await?;
/// assert_eq!(theirs.read(Query::All).await?.0.entities, [ada]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct FileMemory {
    options: FileOptions,
    reader: Arc<Reader>,
    writer: Arc<Mutex<Writer>>,
    jobs: mpsc::Sender<Job>,
    /// How many jobs are not done yet: nobody overtakes them.
    waiting: AtomicUsize,
    /// As the file was when somebody was last told of a change.
    told: Mutex<Option<Option<Stamp>>>,
}

impl FileMemory {
    /// The graph in the file at `path`, which need not be there yet; its folder must.
    ///
    /// # If it fails
    /// `Invalid` if the path is a folder or its folder is missing, `Denied` if it may not be read.
    ///
    /// ```
    /// use stanchion_memory::{FileMemory, FileOptions};
    /// let error = FileMemory::open("/no/such/folder/memory.jsonl", FileOptions::default()).unwrap_err();
    /// assert!(error.to_string().contains("does not exist"));
    /// ```
    pub fn open(path: impl AsRef<Path>, options: FileOptions) -> Result<Self> {
        let place = Place::of(path.as_ref())?;
        let (view, notices) = (Arc::new(RwLock::default()), Arc::new(Notices::default()));
        let writer = Writer::new(place.clone(), options, Arc::clone(&view), Arc::clone(&notices));
        let (writer, reader) = (Arc::new(Mutex::new(writer)), Arc::new(Reader { place, view, notices }));
        reader.check()?;
        let (jobs, to_do) = mpsc::channel(WAITING);
        let fail = |e| Error::new(ErrorKind::Unavailable, "cannot start the thread that writes").because(e);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(fail)?;
        let (writing, reading) = (Arc::clone(&writer), Arc::clone(&reader));
        let work = move || {
            // Ahead of the first call. Whatever is wrong, that call is told.
            reading.refresh().ok();
            writer::run(&writing, &runtime, to_do);
        };
        std::thread::Builder::new().name("stanchion-memory".into()).spawn(work).map_err(fail)?;
        Ok(Self { options, reader, writer, jobs, waiting: AtomicUsize::new(0), told: Mutex::default() })
    }

    /// The file itself, where `path` was a link to it.
    ///
    /// ```
    /// # use stanchion_memory::{FileMemory, FileOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let memory = FileMemory::open(folder.path().join("memory.jsonl"), FileOptions::default())?;
    /// assert!(memory.path().ends_with("memory.jsonl"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.reader.place.file
    }

    /// Has it done by the thread that writes.
    async fn wait_for(&self, mutation: Mutation) -> Result<Outcome, MemoryError> {
        let _waiting = Waiting::new(&self.waiting);
        let (answer, answered) = oneshot::channel();
        let job = Job { mutation, until: Instant::now() + self.options.wait, answer };
        let gone = || {
            let what = "the thread that writes has ended";
            Error::new(ErrorKind::Unexpected, what).with("path", self.path().display())
        };
        self.jobs.send(job).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// One who waits; also if it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[async_trait]
impl Memory for FileMemory {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        let at_once = match self.waiting.load(Ordering::Acquire) {
            0 => self.writer.try_lock().ok().and_then(|mut writer| writer.serve_now(&mutation)),
            _ => None,
        };
        let outcome = match at_once {
            Some(done) => done?,
            None => self.wait_for(mutation).await?,
        };
        Ok(Changed { outcome, notices: self.reader.notices.take() })
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        self.reader.refresh()?;
        let selection = self.reader.view.read().unwrap_or_else(PoisonError::into_inner).graph.select(&query);
        Ok((selection, self.reader.notices.take()))
    }

    async fn changed(&self) {
        loop {
            // A file that cannot be looked at has not changed as far as anybody can tell.
            if let Ok(now) = Stamp::at(self.path()) {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                let before = told.replace(now);
                if before.is_some_and(|before| before != now) {
                    return;
                }
            }
            tokio::time::sleep(WATCH).await;
        }
    }
}
