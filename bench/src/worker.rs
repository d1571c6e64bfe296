//! The worker's side: say READY, wait for GO, run closed loops until the window ends, print the tally.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use crate::cell::Cell;
use crate::job::{Job, Tally};
use crate::pause::{Pause, pause_thread};
use crate::{Outcome, say, subjects};

pub(crate) fn main(job: &str) -> Outcome {
    let tally = subjects::run(&serde_json::from_str(job)?)?;
    say(&serde_json::to_string(&tally)?);
    Ok(())
}

/// A task's own handle to the lock under test.
pub(crate) trait Client: Send + 'static {
    type Held: Send;
    fn take(&mut self) -> impl Future<Output = Outcome<Self::Held>> + Send;
    fn give(&mut self, held: Self::Held) -> impl Future<Output = Outcome> + Send;
}

/// The same for code that blocks its thread.
pub(crate) trait BlockingClient: Send {
    fn take(&mut self) -> Outcome;
    fn give(&mut self) -> Outcome;
}

/// When to count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

impl Window {
    /// Tells the parent that everything is connected, and begins when it says so.
    pub(crate) fn open(job: &Job) -> Outcome<Self> {
        say("READY");
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        if line.trim() != "GO" {
            return Err("the parent is gone".into());
        }
        let start = Instant::now() + Duration::from_millis(job.warm_up_ms);
        Ok(Self { start, end: start + Duration::from_millis(job.measured_ms) })
    }

    pub(crate) fn has(&self, at: Instant) -> bool {
        at >= self.start && at < self.end
    }
}

/// One task's count.
#[derive(Debug, Default)]
struct Count {
    tally: Tally,
    operations: u64,
}

impl Count {
    fn finish(mut self) -> Tally {
        self.tally.tasks = vec![self.operations];
        self.tally
    }

    fn operation(&mut self, window: Window, asked: Instant) {
        let done = Instant::now();
        if window.has(done) {
            self.operations += 1;
            self.tally.times.record(done - asked);
        }
    }

    fn hold(&mut self, window: Window, asked: Instant, got: Instant, left: Instant) {
        if got >= window.start {
            self.tally.times.record(got - asked);
        }
        if window.has(got) {
            self.operations += 1;
        }
        let inside = left.min(window.end).saturating_duration_since(got.max(window.start));
        self.tally.hold_ns += u64::try_from(inside.as_nanos()).unwrap_or(0);
    }
}

fn cell(job: &Job, task: usize) -> Outcome<Option<Cell>> {
    let id = (job.process * job.tasks + task) as u64;
    job.cell.as_deref().map(|path| Cell::open(path, id)).transpose()
}

/// A runtime of one thread, as all Rust subjects use.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Runs one task per client.
pub(crate) async fn run_tasks<C: Client>(job: &Job, clients: Vec<C>) -> Outcome<Tally> {
    let cells = (0..clients.len()).map(|task| cell(job, task)).collect::<Outcome<Vec<_>>>()?;
    let (window, hold) = (Window::open(job)?, job.hold());
    let tasks: Vec<_> = clients
        .into_iter()
        .zip(cells)
        .map(|(client, cell)| tokio::spawn(one_task(client, cell, window, hold)))
        .collect();
    let mut tally = Tally::default();
    for task in tasks {
        tally.merge(task.await??);
    }
    Ok(tally)
}

async fn one_task<C: Client>(mut client: C, cell: Option<Cell>, window: Window, hold: Duration) -> Outcome<Tally> {
    let (mut count, pause) = (Count::default(), Pause::new()?);
    loop {
        let asked = Instant::now();
        if asked >= window.end {
            return Ok(count.finish());
        }
        let held = client.take().await?;
        let Some(cell) = &cell else {
            client.give(held).await?;
            count.operation(window, asked);
            continue;
        };
        let got = Instant::now();
        let overlaps = cell.enter()?;
        pause.pause(hold).await?;
        count.tally.overlaps += overlaps + cell.leave()?;
        let left = Instant::now();
        client.give(held).await?;
        count.hold(window, asked, got, left);
    }
}

/// Runs one thread per client.
pub(crate) fn run_threads<C: BlockingClient>(job: &Job, clients: Vec<C>) -> Outcome<Tally> {
    let cells = (0..clients.len()).map(|task| cell(job, task)).collect::<Outcome<Vec<_>>>()?;
    let (window, hold) = (Window::open(job)?, job.hold());
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .zip(cells)
            .map(|(client, cell)| scope.spawn(move || one_thread(client, cell, window, hold)))
            .collect();
        let mut tally = Tally::default();
        for thread in threads {
            tally.merge(thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok(tally)
    })
}

fn one_thread(mut client: impl BlockingClient, cell: Option<Cell>, window: Window, hold: Duration) -> Outcome<Tally> {
    let mut count = Count::default();
    loop {
        let asked = Instant::now();
        if asked >= window.end {
            return Ok(count.finish());
        }
        client.take()?;
        let Some(cell) = &cell else {
            client.give()?;
            count.operation(window, asked);
            continue;
        };
        let got = Instant::now();
        let overlaps = cell.enter()?;
        pause_thread(hold);
        count.tally.overlaps += overlaps + cell.leave()?;
        let left = Instant::now();
        client.give()?;
        count.hold(window, asked, got, left);
    }
}
