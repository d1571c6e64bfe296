//! The worker process: many tasks that change what they share, until it is told to end or killed.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stanchion_core::{Guard, Idempotency, Locks, Result, Versioned};
use stanchion_stores::Opened;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::dice::Dice;
use super::journal::Journal;
use super::orders::{Chain, Orders, VARIABLE};
use super::place::Place;
use super::{keyed, locked, optimistic, stale};

/// How long a store may be away before a worker gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the driver hears how far it is.
const NEWS: Duration = Duration::from_millis(50);

pub(super) struct Worker {
    pub(super) orders: Orders,
    pub(super) place: Place,
    pub(super) locks: Locks,
    /// Only where the store has records.
    pub(super) records: Option<(Versioned, Guard)>,
    pub(super) journal: Journal,
    pub(super) effects: Journal,
    acknowledged: AtomicU64,
    step: AtomicU64,
    ending: AtomicBool,
}

/// Whether this process was started as a worker.
#[must_use]
pub fn is_worker() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Does what the orders say.
#[must_use]
pub fn work() -> ExitCode {
    let told = std::env::var(VARIABLE).unwrap_or_default();
    let orders: Orders = match serde_json::from_str(&told) {
        Ok(orders) => orders,
        Err(e) => return failed(&format!("{VARIABLE} is no order: {e}")),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&format!("no runtime: {e}")),
    };
    let name = orders.name.clone();
    let worked = runtime.block_on(async {
        let worker = Arc::new(Worker::open(orders).await?);
        if worker.orders.is_late {
            return stale::hold(&worker).await;
        }
        worker.run().await;
        Ok::<_, stanchion_core::Error>(())
    });
    // What still runs in the background is as if it were killed: that is what this is about.
    runtime.shutdown_background();
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => failed(&format!("worker {name}: {e}")),
    }
}

/// To the driver. One that is gone does not listen any more, and has closed our input.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

/// Opens a store that may be away just now.
pub(super) async fn open(url: &str) -> Result<Opened> {
    let until = Instant::now() + PATIENCE;
    loop {
        match stanchion_stores::open(url).await {
            Err(_) if Instant::now() < until => tokio::time::sleep(Duration::from_millis(50)).await,
            opened => return opened,
        }
    }
}

impl Worker {
    pub(super) async fn open(orders: Orders) -> Result<Self> {
        let opened = open(&orders.url).await?;
        let place = Place::open(&orders, opened.records.clone()).await?;
        let broken = |e| stanchion_core::Error::new(stanchion_core::ErrorKind::Unexpected, "no journal").because(e);
        let journal = Journal::open(&orders.journal()).map_err(broken)?;
        let effects = Journal::open(&orders.effects()).map_err(broken)?;
        let locks = Locks::shared(Arc::clone(&opened.locks));
        let records = opened.records.map(|records| {
            let claims = Idempotency::new(Arc::clone(&records), opened.locks);
            let claims = match opened.fused {
                Some(fused) => claims.fused(fused),
                None => claims,
            };
            (Versioned::shared(records), Guard::with(claims, locks.clone()))
        });
        Ok(Self {
            step: AtomicU64::new(orders.first_step),
            orders,
            place,
            locks,
            records,
            journal,
            effects,
            acknowledged: AtomicU64::new(0),
            ending: AtomicBool::new(false),
        })
    }

    async fn run(self: &Arc<Self>) {
        self.listen();
        let mut tasks = JoinSet::new();
        for number in 0..self.orders.tasks {
            let worker = Arc::clone(self);
            tasks.spawn(async move { worker.task(number).await });
        }
        let told = async {
            loop {
                self.tell();
                tokio::time::sleep(NEWS).await;
            }
        };
        tokio::select! {
            _ = tasks.join_all() => {}
            () = told => {}
        }
        self.tell();
    }

    /// The end of standard input is the order to end, and the sign that the driver is gone.
    fn listen(self: &Arc<Self>) {
        let worker = Arc::clone(self);
        std::thread::spawn(move || {
            while std::io::stdin().lock().read_line(&mut String::new()).is_ok_and(|read| read > 0) {}
            worker.ending.store(true, Ordering::Relaxed);
        });
    }

    fn tell(&self) {
        let (acknowledged, step) = (self.acknowledged.load(Ordering::Relaxed), self.step.load(Ordering::Relaxed));
        say(&format!("AT {acknowledged} {step}"));
    }

    async fn task(&self, number: u64) {
        let name = self.orders.name.bytes().fold(0, |hash: u64, byte| hash.wrapping_mul(31) + u64::from(byte));
        let mut dice = Dice::of(&[self.orders.seed, name, number]);
        let mut floor = 0;
        let mut step = self.orders.first_step;
        for turn in 0.. {
            if self.ending.load(Ordering::Relaxed) {
                return;
            }
            let op = format!("{}-{number}-{turn}", self.orders.name);
            let chain = dice.below(self.orders.chains);
            let acknowledged = match (&self.records, dice.below(10)) {
                (Some((_, guard)), 0..5) => {
                    let done = keyed::call(self, guard, &mut dice, &op, number, step).await;
                    step += 1;
                    self.step.fetch_max(step, Ordering::Relaxed);
                    done
                }
                (Some((values, _)), 5..8) => {
                    optimistic::update(self, values, &mut dice, &op, Chain::Optimistic(chain)).await
                }
                _ => locked::increment(self, &mut dice, &op, Chain::Locked(chain), &mut floor).await,
            };
            self.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
            if acknowledged == 0 {
                // A store that is away refuses at once; asking it without a pause would only take the processor.
                tokio::time::sleep(Duration::from_millis(1 + dice.below(10))).await;
            }
        }
    }
}
