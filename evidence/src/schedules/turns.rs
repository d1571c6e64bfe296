//! Callers that share one computation: single-flight, init-once, and permits of a limiter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{Cond, Key, Limiter, Once, RecordStore as _, Result, SingleFlight, Wait};
use tokio::sync::Notify;

use super::explore::{Client, Judge, Told, Verdict, World};
use super::stops::Stops;

const LEASE: Duration = Duration::from_secs(60 * 60);
const LIMIT: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    SingleFlight,
    Once,
    Limiter,
    /// Planted: the first computes, the others wait to be told; nobody tells them if it is dropped.
    WaitToBeTold,
    /// Planted: reads how many there were, writes one more, whoever has written meanwhile.
    CountUnfenced,
}

struct Turns {
    world: World,
    how: How,
    runs: Arc<AtomicU32>,
}

pub(super) fn turns(world: World, how: How) -> Box<dyn Judge> {
    Box::new(Turns { world, how, runs: Arc::default() })
}

/// One process.
#[derive(Clone)]
struct Process {
    flights: SingleFlight,
    once: Once,
    limiter: Limiter,
    told: Arc<(AtomicU32, Notify)>,
}

impl Process {
    fn new(store: &super::stops::Stepped) -> Result<Self> {
        Ok(Self {
            flights: SingleFlight::new(store.clone()).lease(LEASE)?.wait(Wait::Forever),
            once: Once::new(store.clone()).lease(LEASE)?.wait(Wait::Forever),
            limiter: Limiter::new(store.clone(), LIMIT, LEASE)?,
            told: Arc::default(),
        })
    }
}

async fn compute(i: usize, runs: &AtomicU32, stops: &Stops) -> Result<Bytes> {
    runs.fetch_add(1, Ordering::SeqCst);
    stops.stop("compute", false).await;
    Ok(i.to_string().into())
}

async fn one(i: usize, how: How, process: Process, world: World, runs: Arc<AtomicU32>) -> Result<String> {
    let (key, stops) = (Key::new("k")?, &world.stops);
    let value = match how {
        How::SingleFlight => process.flights.get_or_compute(&key, async || compute(i, &runs, stops).await).await?,
        How::Once => process.once.run(&key, async |_| compute(i, &runs, stops).await).await?,
        How::Limiter => {
            return Ok(
                if process.limiter.try_take(&key).await?.is_allowed() { "allowed" } else { "refused" }.to_owned()
            );
        }
        How::WaitToBeTold => {
            let (first, told) = &*process.told;
            if first.fetch_add(1, Ordering::SeqCst) == 0 {
                let value = compute(i, &runs, stops).await?;
                told.notify_waiters();
                value
            } else {
                told.notified().await;
                "told".into()
            }
        }
        How::CountUnfenced => {
            let found = world.store.get(&key).await?;
            let count = found.as_ref().map_or(0, |record| record.value.len());
            if count >= LIMIT as usize {
                return Ok("refused".to_owned());
            }
            stops.stop("write", false).await;
            let now = world.store.inner.get(&key).await?;
            let cond = now.map_or(Cond::Absent, |record| Cond::Version(record.version));
            world.store.inner.put(&key, vec![1; count + 1].into(), cond, None).await?;
            return Ok("allowed".to_owned());
        }
    };
    Ok(String::from_utf8_lossy(&value).into_owned())
}

impl Turns {
    fn values(told: &[Told]) -> Vec<&String> {
        told.iter().flatten().filter(|said| !said.starts_with("failed")).collect()
    }
}

impl Judge for Turns {
    fn clients(&mut self) -> Vec<Client> {
        let processes: Vec<_> = (0..2).filter_map(|_| Process::new(&self.world.store).ok()).collect();
        let client = |i: usize| -> Client {
            // The planted one is about waiters of one process.
            let process = if self.how == How::WaitToBeTold { 0 } else { i % 2 };
            let told = one(i, self.how, processes[process].clone(), self.world.clone(), Arc::clone(&self.runs));
            Box::pin(async move { told.await.unwrap_or_else(|error| format!("failed: {}", error.kind())) })
        };
        (0..self.world.clients).map(client).collect()
    }

    fn at_rest<'a>(&'a self, told: &'a [Told], calm: bool) -> Verdict<'a> {
        Box::pin(async move {
            let values = Self::values(told);
            if calm && values.len() < told.iter().flatten().count() {
                return Some(("L1", format!("no operation failed, and they say {told:?}")));
            }
            let runs = self.runs.load(Ordering::SeqCst);
            let undisturbed = calm && told.iter().all(Option::is_some);
            match self.how {
                How::Limiter | How::CountUnfenced => {
                    let allowed = values.iter().filter(|said| **said == "allowed").count();
                    let too_few = undisturbed && allowed < (LIMIT as usize).min(told.len());
                    let is_wrong = allowed > LIMIT as usize || too_few;
                    is_wrong.then(|| ("S5", format!("{allowed} were allowed of {LIMIT}")))
                }
                How::SingleFlight | How::Once if undisturbed && runs != 1 => {
                    Some(("S4", format!("{runs} computed at once")))
                }
                How::Once if values.iter().any(|value| *value != values[0]) => {
                    Some(("S4", format!("they differ: {told:?}")))
                }
                How::SingleFlight | How::Once | How::WaitToBeTold => None,
            }
        })
    }

    fn in_the_end<'a>(&'a self, told: &'a [Told]) -> Verdict<'a> {
        Box::pin(async move {
            if self.how != How::Once {
                return None;
            }
            let once = Once::new(self.world.store.inner.clone()).wait(Wait::No);
            let again = async { once.run(&Key::new("k")?, async |_| Ok("newcomer".into())).await }.await;
            let again = match again {
                Ok(value) => String::from_utf8_lossy(&value).into_owned(),
                Err(error) => return Some(("L1", format!("the key is stuck: {error}"))),
            };
            let differs = Self::values(told).iter().any(|value| **value != again);
            differs.then(|| ("S4", format!("they were told {told:?}, and it says {again}")))
        })
    }
}
