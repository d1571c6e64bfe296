//! One call, and what happens to it on its way.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::history::{Counted, Record};
use crate::schedule::{Fault, Step};
use crate::target::{Asked, Instance, Link, Ready, Reply};

/// One call, ready to be released.
pub(super) struct Prepared {
    pub(super) step: Step,
    pub(super) id: String,
    pub(super) asked: Asked,
    pub(super) instance: Arc<Instance>,
    /// Where the second copy goes.
    pub(super) second: Option<Arc<Instance>>,
    pub(super) limit: Duration,
    /// Its answer is kept whole.
    pub(super) keeps: bool,
    /// A process that was killed and does not start again is judged, and does not end the round.
    pub(super) may_stay_away: bool,
    /// How many may be under way at once.
    pub(super) places: Arc<Semaphore>,
}

/// Asks once, for at most `limit`; waiting for a restart counts.
pub(crate) async fn ask(instance: &Instance, asked: &Asked, limit: Duration) -> Reply {
    let asking = async {
        match instance.link().await {
            Ok(link) => link.ask(asked, Ready::Nothing, None).await,
            Err(why) => Reply::Undelivered(why),
        }
    };
    timeout(limit, asking).await.unwrap_or_else(|_| too_late(limit))
}

fn too_late(limit: Duration) -> Reply {
    Reply::Silent(format!("no answer in {} s", limit.as_secs()))
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

impl Prepared {
    /// Waits for the release, and sees the call through. `Err` if an instance could not be started again.
    pub(super) async fn run(
        self,
        mut released: watch::Receiver<Option<Instant>>,
        ready: watch::Sender<usize>,
    ) -> Result<Record, String> {
        let fault = self.step.fault;
        let cut = match fault {
            Some(Fault::Reset { after_us }) => Some(us(after_us)),
            _ => None,
        };
        let mut ahead = None;
        let mut place = Arc::clone(&self.places).try_acquire_owned().ok();
        if let Some(link) = self.instance.link().await.ok().filter(|_| place.is_some()) {
            let prepared = timeout(self.limit, link.prepare(cut.is_some())).await;
            ahead = Some((link, prepared.unwrap_or(Ready::Nothing)));
        }
        ready.send_modify(|count| *count += 1);
        let release = released.wait_for(Option::is_some).await.ok().and_then(|at| *at);
        let Some(release) = release else { return Err("the round was given up".into()) };
        let delay = self.step.waits();
        if !delay.is_zero() {
            sleep_until(release + delay).await;
        }
        if place.is_none() {
            place = Arc::clone(&self.places).acquire_owned().await.ok();
        }
        let started = Instant::now();
        // Its end is its answer, however long the process is away.
        let delivered = async { (self.deliver(ahead, cut).await, Instant::now()) };
        let ((reply, mut ended), disturbed) = tokio::join!(delivered, self.disturb());
        drop(place);
        let disturbed = disturbed?;
        if let Some(Fault::Delay { after_us, .. }) = fault {
            sleep(us(after_us)).await;
            ended = Instant::now();
        }
        let is_dropped = matches!(fault, Some(Fault::LostReply));
        let reply = match reply {
            Reply::Answer(_) | Reply::Refused { .. } if is_dropped => Reply::Silent("its answer was dropped".into()),
            reply => reply,
        };
        let Counted { end, nothing_ran, why, answer, is_garbage } = reply.into();
        let since = |at: Instant| u64::try_from((at - release).as_micros()).unwrap_or(u64::MAX);
        Ok(Record {
            n: self.step.n,
            call: self.step.call,
            instance: self.step.instance,
            id: self.id,
            started_us: since(started),
            ended_us: since(ended),
            disturbed_us: disturbed.map(|(from, to)| (since(from), since(to))),
            end,
            nothing_ran,
            why,
            fault,
            answer: answer.as_ref().map(|answer| answer.shown.clone()),
            given: answer.filter(|_| self.keeps),
            is_garbage,
        })
    }

    async fn deliver(&self, ahead: Option<(Arc<Link>, Ready)>, cut: Option<Duration>) -> Reply {
        let first = async {
            // Started again since: what was prepared is of the killed process.
            let now = self.instance.link().await;
            match (ahead, now) {
                (Some((link, ready)), Ok(now)) if Arc::ptr_eq(&link, &now) => link.ask(&self.asked, ready, cut).await,
                (_, Ok(now)) => now.ask(&self.asked, Ready::Nothing, cut).await,
                (_, Err(why)) => Reply::Undelivered(why),
            }
        };
        let first = async { timeout(self.limit, first).await.unwrap_or_else(|_| too_late(self.limit)) };
        let (Some(second), Some(Fault::Duplicate { after_us, .. })) = (&self.second, self.step.fault) else {
            return first.await;
        };
        let second = async {
            sleep(us(after_us)).await;
            ask(second, &self.asked, self.limit).await
        };
        better(tokio::join!(first, second))
    }

    /// Stops or kills the process while the call is under way, and says from when to when.
    async fn disturb(&self) -> Result<Option<(Instant, Instant)>, String> {
        match self.step.fault {
            Some(Fault::Pause { after_us, ms }) => {
                sleep(us(after_us)).await;
                let from = Instant::now();
                self.instance.pause(Duration::from_millis(ms)).await;
                Ok(Some((from, Instant::now())))
            }
            Some(Fault::Kill { after_us, restart_ms }) => {
                sleep(us(after_us)).await;
                let from = Instant::now();
                let again = self.instance.kill(Duration::from_millis(restart_ms)).await;
                match again {
                    Err(why) if !self.may_stay_away => Err(format!("instance {}: {why}", self.step.instance)),
                    _ => Ok(Some((from, Instant::now()))),
                }
            }
            _ => Ok(None),
        }
    }
}

/// Of two deliveries of one call: acknowledged if either is, and without effect only if both are.
fn better((first, second): (Reply, Reply)) -> Reply {
    match (first, second) {
        (answer @ Reply::Answer(_), _) | (_, answer @ Reply::Answer(_)) => answer,
        (silent @ (Reply::Silent(_) | Reply::Garbage(_)), _) | (_, silent @ (Reply::Silent(_) | Reply::Garbage(_))) => {
            silent
        }
        (Reply::Undelivered(_), other) | (other, Reply::Undelivered(_)) => other,
        (Reply::Refused { what, may_have_run: one }, Reply::Refused { may_have_run: other, .. }) => {
            Reply::Refused { what, may_have_run: one || other }
        }
    }
}
