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

use super::change::Written;
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
            self.tools = Some(Tools::open(&self.place, self.options.durability)?);
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
    fn write_all(
        &mut self,
        group: &mut Vec<Job>,
        done: &mut Vec<(Job, Result<Outcome, EntityNotFound>)>,
    ) -> Result<()> {
        let shared = Arc::clone(&self.view);
        let mut view = shared.write().unwrap_or_else(PoisonError::into_inner);
        let (mut tries, began) = (0, std::time::Instant::now());
        while !group.is_empty() && (done.is_empty() || began.elapsed() < TURN) {
            let written = self
                .know_the_file(&mut view)
                .and_then(|()| self.write_some(&mut view, group.iter().map(|job| &job.mutation)));
            match written {
                Ok((Written::Yes, outcomes)) => done.extend(group.drain(..outcomes.len()).zip(outcomes)),
                Ok((Written::No, _)) if tries < TRIES => {
                    *view = View::default();
                    tries += 1;
                }
                Ok((Written::No, _)) => {
                    *view = View::default();
                    return Err(Error::new(ErrorKind::Unavailable, "another program keeps replacing the memory file")
                        .with("path", self.place.file.display())
                        .hint("nothing was written; end the other program, or put `stanchion wrap` in front of it"));
                }
                Err(e) => {
                    // The graph in memory may be ahead of the file.
                    *view = View::default();
                    return Err(e);
                }
            }
        }
        Ok(())
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
        let shared = Arc::clone(&self.view);
        let mut view = shared.try_write().ok()?;
        if !self.knows_the_file(&mut view).ok()? {
            return None;
        }
        match self.write_some(&mut view, std::iter::once(mutation)) {
            Ok((Written::Yes, mut outcomes)) => outcomes.pop().map(|outcome| outcome.map_err(MemoryError::from)),
            Ok((Written::No, _)) => {
                *view = View::default();
                None
            }
            Err(e) => {
                *view = View::default();
                Some(Err(e.into()))
            }
        }
    }

    /// Plans as many mutations as can be written together, and writes them.
    fn write_some<'a>(
        &mut self,
        view: &mut RwLockWriteGuard<'_, View>,
        mutations: impl Iterator<Item = &'a Mutation>,
    ) -> Result<(Written, Vec<Result<Outcome, EntityNotFound>>)> {
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
                false if outcomes.is_empty() => return Ok((self.replace(view, plan)?, vec![Ok(outcome)])),
                false => break,
            }
            outcomes.push(Ok(outcome));
        }
        let written = if batch.bytes.is_empty() { Written::Yes } else { self.append(view, batch)? };
        Ok((written, outcomes))
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

    /// Writes down what is going on.
    pub(super) fn note(&self, phase: Phase, chain: u64, stamp: Option<Stamp>) -> Result<()> {
        let Some(tools) = &self.tools else { return Ok(()) };
        let written = tools.ledger.write(&self.disk, &Record { phase, chain, stamp });
        written.map_err(|e| trouble("cannot note what becomes of the memory file", &self.place.state_folder(), e))
    }
}

impl Tools {
    fn open(place: &Place, durability: Durability) -> Result<Self> {
        let folder = place.state_folder();
        let locks = FileLocks::open(&folder, durability)?;
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
