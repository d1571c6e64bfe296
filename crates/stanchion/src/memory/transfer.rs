//! `memory export` and `memory import`.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_memory::{Changed, Memory, MemoryError, Mutation, Notice, Query, Selection};

use super::{Kind, Opened, failed};
use crate::exit::{DAMAGED, escaped, print, say};

/// More than any memory that an agent can use; without a limit, a wrong path fills the machine.
const INPUT_MAX: u64 = 1 << 30;
/// So many damaged lines are shown.
const SHOWN: usize = 20;

pub(super) async fn export(opened: &Opened, output: Option<&Path>, force: bool) -> Result<u8> {
    let text = stanchion_memory::export(opened.memory.as_ref()).await.map_err(failed)?;
    let Some(output) = output else {
        let mut out = io::stdout().lock();
        return match out.write_all(&text).and_then(|()| out.flush()) {
            // A reader that went away (`| head`) has what it wanted.
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::new(ErrorKind::Unavailable, "standard output cannot be written").because(e))
            }
            _ => Ok(0),
        };
    };
    if let Kind::File(file) = &opened.kind
        && output.canonicalize().is_ok_and(|output| output == *file)
    {
        return Err(Error::new(ErrorKind::Invalid, "the memory file cannot be exported onto itself")
            .with("file", output.display()));
    }
    write(output, &text, force)?;
    say(&format!("stanchion: exported {} to {}", opened.shown, output.display()));
    Ok(0)
}

/// All of it or nothing: beside its place, and then under its name.
fn write(output: &Path, text: &[u8], force: bool) -> Result<()> {
    let wrong = |e: io::Error| {
        let error = Error::new(ErrorKind::Invalid, "the export cannot be written").with("file", output.display());
        match e.kind() {
            io::ErrorKind::AlreadyExists => error.hint("it is there already; --force replaces it"),
            _ => error.because(e),
        }
    };
    if !force && output.symlink_metadata().is_ok() {
        return Err(wrong(io::ErrorKind::AlreadyExists.into()));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut staged = tempfile::Builder::new().prefix(".stanchion-export-").tempfile_in(folder).map_err(wrong)?;
    staged.write_all(text).and_then(|()| staged.as_file().sync_all()).map_err(wrong)?;
    let named = if force { staged.persist(output) } else { staged.persist_noclobber(output) };
    named.map(drop).map_err(|e| wrong(e.error))
}

pub(super) async fn import(opened: &Opened, input: &Path) -> Result<u8> {
    let text = read(input)?;
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let memory = Progress::new(Arc::clone(&opened.memory), lines);
    let done = stanchion_memory::import(&memory, &text).await;
    memory.clear();
    let imported = done.map_err(|error| {
        failed(error).hint("what was added before stays; import again, it adds only what is missing")
    })?;
    imported.notices.iter().for_each(|notice| say(&format!("stanchion: warning: {}", escaped(&notice.text))));
    print(&format!(
        "imported into {}: entities {} new, {} with more observations, {} known; relations {} new, {} known",
        opened.shown,
        imported.entities_created,
        imported.entities_merged,
        imported.entities_skipped,
        imported.relations_created,
        imported.relations_skipped,
    ));
    if imported.types_kept > 0 {
        say(&format!(
            "stanchion: warning: {} entities have another type in the file; it was not taken over",
            imported.types_kept
        ));
    }
    if imported.damaged.is_empty() {
        return Ok(0);
    }
    say(&format!("error: {} damaged pieces were not imported", imported.damaged.len()));
    for damaged in imported.damaged.iter().take(SHOWN) {
        say(&format!("  line {}: {}", damaged.line, escaped(&damaged.reason)));
    }
    if imported.damaged.len() > SHOWN {
        say(&format!("  and {} more", imported.damaged.len() - SHOWN));
    }
    Ok(DAMAGED)
}

fn read(input: &Path) -> Result<Vec<u8>> {
    let wrong = |what: &'static str| Error::new(ErrorKind::Invalid, what).with("file", input.display());
    let mut text = Vec::new();
    let read = if input == Path::new("-") {
        io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut text)
    } else {
        std::fs::File::open(input).and_then(|file| file.take(INPUT_MAX + 1).read_to_end(&mut text))
    };
    match read {
        Ok(_) if text.len() as u64 > INPUT_MAX => Err(wrong("the file is larger than 1 GiB")),
        Ok(_) => Ok(text),
        Err(e) => Err(wrong("the file cannot be read").because(e)),
    }
}

/// Says how far an import has come, on a terminal, once it takes long.
#[derive(Debug)]
struct Progress {
    memory: Arc<dyn Memory>,
    lines: usize,
    done: AtomicUsize,
    /// When it was last said; `None` where nobody looks.
    shown: Option<Mutex<Instant>>,
}

/// Less often, nobody sees it move; more often, it is work.
const EVERY: Duration = Duration::from_millis(250);

impl Progress {
    fn new(memory: Arc<dyn Memory>, lines: usize) -> Self {
        let shown = io::stderr().is_terminal().then(|| Mutex::new(Instant::now()));
        Self { memory, lines, done: AtomicUsize::new(0), shown }
    }

    fn show(&self, more: usize) {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        let Some(shown) = &self.shown else { return };
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.elapsed() >= EVERY {
            *shown = Instant::now();
            let share = (done * 100 / self.lines.max(1)).min(100);
            let bar = "#".repeat(share / 4);
            write!(io::stderr(), "\rimporting [{bar:<25}] {share:>3} %").unwrap_or_default();
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            write!(io::stderr(), "\r\x1b[K").unwrap_or_default();
        }
    }
}

#[async_trait]
impl Memory for Progress {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        // Observations are those of entities which have been counted.
        let more = match &mutation {
            Mutation::CreateEntities(entities) => entities.len(),
            Mutation::CreateRelations(relations) => relations.len(),
            _ => 0,
        };
        let changed = self.memory.change(mutation).await?;
        self.show(more);
        Ok(changed)
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        self.memory.read(query).await
    }

    async fn changed(&self) {
        self.memory.changed().await;
    }
}
