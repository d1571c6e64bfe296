//! Who writes the memory file in this process: takes the lock, makes sure that it knows the file, writes what was asked for
//! meanwhile together, and only then answers.
//!
//! Whatever may take time happens on a thread of its own. What is added at the end while nobody else writes is done by its caller:
//! to wake a thread and be woken by it takes longer than the write.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use stanchion_core::{Acquire, Error, ErrorKind, Grant, Key, LockBackend as _, Owner, Result, Wait};
use stanchion_stores::{Durability, FileLocks};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::disk::Disk;
use super::lines::Batch;
use super::place::{Place, trouble};
use super::record::{Ledger, Phase, Record, Stamp};
use super::view::View;
use super::{Compat, FileOptions, Notices};
use crate::{EntityNotFound, MemoryError, Mutation, Outcome};

/// So many mutations are written together, or as many as this takes; then it is another process's turn.
const GROUP: usize = 64;
const TURN: Duration = Duration::from_millis(100);
/// A foreign program that replaces the file again and again is given so many chances to stop.
const TRIES: usize = 8;

/// A mutation, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) mutation: Mutation,
    pub(super) until: Instant,
    pub(super) answer: oneshot::Sender<Result<Outcome, MemoryError>>,
}

/// What became of one mutation.
type Done = Result<Outcome, EntityNotFound>;

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) place: Place,
    pub(super) options: FileOptions,
    pub(super) disk: Disk,
    pub(super) view: Arc<RwLock<View>>,
    pub(super) notices: Arc<Notices>,
    /// The file, open at its end. While it is, no other gets its number.
    pub(super) end: Option<(Stamp, Arc<File>)>,
    /// Made with the first mutation: who only reads leaves nothing behind.
    tools: Option<Tools>,
}

#[derive(Debug)]
struct Tools {
    locks: FileLocks,
    key: Key,
    ledger: Ledger,
}

/// Serves until nobody can ask any more.
pub(super) fn run(writer: &Mutex<Writer>, runtime: &Runtime, mut jobs: mpsc::Receiver<Job>) {
    let mut group = Vec::new();
    loop {
        if group.is_empty() {
            let Some(first) = jobs.blocking_recv() else { return };
            group.push(first);
        }
        while group.len() < GROUP
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
        }
        group = writer.lock().unwrap_or_else(PoisonError::into_inner).serve(runtime, group);
    }
}

impl Writer {
    pub(super) fn new(place: Place, options: FileOptions, view: Arc<RwLock<View>>, notices: Arc<Notices>) -> Self {
        Self { place, options, disk: Disk::default(), view, notices, end: None, tools: None }
    }

    /// Does as many of these as there is time for in one turn, and returns the rest.
    pub(super) fn serve(&mut self, runtime: &Runtime, mut group: Vec<Job>) -> Vec<Job> {
        // Whoever has gone before it began has not asked.
        group.retain(|job| !job.answer.is_closed());
        let grant = match self.enter(runtime, &mut group) {
            Ok(Some(grant)) => grant,
            Ok(None) => return group,
            Err(e) => return fail_all(group, &e),
        };
        let mut done = Vec::with_capacity(group.len());
        let failed = self.write_all(&mut group, &mut done);
        if let Some(tools) = &self.tools {
            tools.locks.release_now(&grant);
        }
        done.into_iter().for_each(|(job, outcome)| tell(job, outcome.map_err(MemoryError::from)));
        match failed {
            Ok(()) => group,
            Err(e) => fail_all(group, &e),
        }
    }

    /// Takes the lock for these jobs. Those that have waited long enough are told so; `None` if none is left.
    fn enter(&mut self, runtime: &Runtime, group: &mut Vec<Job>) -> Result<Option<Grant>> {
        if group.is_empty() {
            return Ok(None);
        }
        if self.tools.is_none() {
            self.tools = Some(Tools::open(&self.place)?);
        }
        let Some(Tools { locks, key, .. }) = &self.tools else { return Ok(None) };
        let (request, owner) = (Acquire::new(key.clone()).wait(Wait::For(self.options.wait)), Owner::random());
        runtime.block_on(async {
            loop {
                let busy = match locks.try_acquire(&request, owner).await {
                    Ok(grant) => return Ok(Some(grant)),
                    Err(e) if e.kind() == ErrorKind::Contended => e,
                    Err(e) => return Err(e),
                };
                let now = Instant::now();
                for late in group.extract_if(.., |job| job.until <= now) {
                    let hint = "nothing was written; another process is writing the memory file: call again later";
                    let mut error = Error::new(ErrorKind::Contended, "the memory file stayed busy")
                        .with("path", self.place.file.display())
                        .hint(hint);
                    if let Some(holder) = busy.holder() {
                        error = error.held_by(holder.clone());
                    }
                    tell(late, Err(error.into()));
                }
                let Some(until) = group.iter().map(|job| job.until).min() else {
                    locks.withdraw(&request, owner).await;
                    return Ok(None);
                };
                locks.wait(&request, owner, until).await?;
            }
        })
    }

    /// Does the jobs, one batch after the other, and moves them to `done`. What is left in `group` was not done: for want of
    /// time, or for the reason that is returned.
    fn write_all(&mut self, group: &mut Vec<Job>, done: &mut Vec<(Job, Done)>) -> Result<()> {
        let (mut tries, began) = (0, std::time::Instant::now());
        while !group.is_empty() && (done.is_empty() || began.elapsed() < TURN) {
            let written = self.know_the_file().and_then(|()| self.write_some(group.iter().map(|job| &job.mutation)));
            if !matches!(written, Ok(Some(_))) {
                // The graph in memory may be ahead of the file.
                *self.view() = View::default();
            }
            match written? {
                Some(outcomes) => done.extend(group.drain(..outcomes.len()).zip(outcomes)),
                None if tries < TRIES => tries += 1,
                None => {
                    return Err(Error::new(ErrorKind::Unavailable, "another program keeps changing the memory file")
                        .with("path", self.place.file.display())
                        .hint("nothing was written; end the other program, or put `stanchion wrap` in front of it"));
                }
            }
        }
        Ok(())
    }

    /// What this process knows. Held for moments only: readers wait for it.
    pub(super) fn view(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a mutation at once, on this thread. `None`, and nothing has happened, if that could take time: then it is a job.
    pub(super) fn serve_now(&mut self, mutation: &Mutation) -> Option<Result<Outcome, MemoryError>> {
        let is_quick = self.options.compat == Compat::Append && self.options.durability == Durability::Process;
        let adds = matches!(mutation, Mutation::CreateEntities(_) | Mutation::CreateRelations(_));
        let Tools { locks, key, .. } = self.tools.as_ref().filter(|_| is_quick && adds)?;
        let grant = locks.try_now(&Acquire::new(key.clone()).wait(Wait::No), Owner::random()).ok()?;
        let done = self.write_now(mutation);
        if let Some(tools) = &self.tools {
            tools.locks.release_now(&grant);
        }
        done
    }

    fn write_now(&mut self, mutation: &Mutation) -> Option<Result<Outcome, MemoryError>> {
        let known = self.knows_the_file(&mut self.view());
        if !known.ok()? {
            return None;
        }
        let written = self.write_some(std::iter::once(mutation));
        if !matches!(written, Ok(Some(_))) {
            *self.view() = View::default();
        }
        match written {
            Ok(outcomes) => outcomes?.pop().map(|outcome| outcome.map_err(MemoryError::from)),
            Err(e) => Some(Err(e.into())),
        }
    }

    /// Plans as many mutations as can be written together, and writes them. `None` if somebody else has changed the file meanwhile,
    /// and it has to be looked at again.
    fn write_some<'a>(&mut self, mutations: impl Iterator<Item = &'a Mutation>) -> Result<Option<Vec<Done>>> {
        let shared = Arc::clone(&self.view);
        let mut view = shared.write().unwrap_or_else(PoisonError::into_inner);
        if view.chain.is_none() {
            // A reader has met a stranger since we looked.
            return Ok(None);
        }
        let (mut batch, mut outcomes) = (Batch::default(), Vec::new());
        for mutation in mutations {
            let (plan, outcome) = match view.graph.plan(mutation) {
                Ok(planned) => planned,
                Err(missing) => {
                    outcomes.push(Err(missing));
                    continue;
                }
            };
            match plan.only_adds() && self.options.compat == Compat::Append {
                true => {
                    batch.add(&plan, self.options.durability == Durability::Power);
                    view.graph.apply(plan);
                }
                false if plan.is_empty() => {}
                false if outcomes.is_empty() => {
                    let prepared = self.prepare(&view, plan)?;
                    drop(view);
                    let Some(prepared) = prepared else { return Ok(None) };
                    return Ok(self.replace(prepared)?.then(|| vec![Ok(outcome)]));
                }
                false => break,
            }
            outcomes.push(Ok(outcome));
        }
        if batch.bytes.is_empty() {
            return Ok(Some(outcomes));
        }
        let appended = self.append(&mut view, batch)?;
        drop(view);
        let Some(appended) = appended else { return Ok(None) };
        self.settle(appended)?;
        Ok(Some(outcomes))
    }

    /// Removes what a writer that died has left.
    pub(super) fn forget(&self, path: &Path) -> std::io::Result<()> {
        match self.disk.remove(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// What the last writer has left to be known.
    pub(super) fn record(&self) -> Option<Record> {
        self.tools.as_ref().and_then(|tools| tools.ledger.read())
    }

    /// Writes down what is going on, before it goes on.
    pub(super) fn note(&self, record: &Record) -> Result<()> {
        let Some(tools) = &self.tools else { return Ok(()) };
        let written = tools.ledger.write(&self.disk, record);
        written.map_err(|e| trouble("cannot note what becomes of the memory file", &self.place.state_folder(), e))
    }

    /// Writes down that it is over. If that cannot be written, the next one has more to read, and nothing else.
    pub(super) fn note_settled(&self, chain: u64, stamp: Option<Stamp>) {
        let record = Record { phase: Phase::Settled, chain, stamp, added: Vec::new() };
        if let Err(error) = self.note(&record) {
            tracing::warn!(%error, "the next writer has to read the whole memory file");
        }
    }
}

impl Tools {
    fn open(place: &Place) -> Result<Self> {
        let folder = place.state_folder();
        // The file is what has to survive, not the fence of a lock that nobody checks.
        let locks = FileLocks::open(&folder, Durability::Process)?;
        let ledger = Ledger::open(&folder.join("state"));
        let ledger = ledger.map_err(|e| trouble("cannot write beside the memory file", &folder, e))?;
        Ok(Self { locks, key: Key::new("memory")?, ledger })
    }
}

/// A number that no other state has.
pub(super) fn new_chain() -> u64 {
    Owner::random().nonce()
}

fn tell(job: Job, outcome: Result<Outcome, MemoryError>) {
    // Whoever does not wait any more can read.
    job.answer.send(outcome).ok();
}

fn fail_all(group: Vec<Job>, e: &Error) -> Vec<Job> {
    group.into_iter().for_each(|job| tell(job, Err(e.repeated().into())));
    Vec::new()
}
