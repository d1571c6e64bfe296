//! One node: its connection, and whether its vote counts.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ::redis::{Cmd, Value};
use stanchion_core::redlock::Trust;
use stanchion_core::{BootTime, Clock as _, ErrorKind, Result, SystemClock, text};
use tokio::time::Instant;

use super::names::Names;
use super::op::{self, Op};
use crate::redis::fault::Fault;
use crate::redis::link::{Hub, Link};
use crate::redis::options::Options;
use crate::redis::script::Script;

pub(super) type Answer = Result<Value, Fault>;

/// Requests that wait for one connection; the others go on without this node.
const WAITING_MOST: usize = 64;
/// After a connection failed, requests fail at once for this long.
const PAUSE: Duration = Duration::from_millis(100);

/// One of the independent servers.
#[derive(Debug)]
pub(super) struct Node {
    hub: Hub,
    state: Mutex<State>,
    /// When it last answered, in nanoseconds of our clock: the life of its present self reaches at least so far.
    heard: AtomicU64,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct State {
    trust: Trust,
    /// The connection whose greeting is known.
    met: Weak<Link>,
    run: String,
    failed: Option<(Instant, Fault)>,
}

impl Node {
    pub(super) fn new(options: Options, quarantine: Duration) -> Result<Self> {
        let state = State { trust: Trust::new(quarantine), met: Weak::new(), run: String::new(), failed: None };
        let hub = Hub::new(options)?.greeting();
        Ok(Self { hub, state: Mutex::new(state), heard: AtomicU64::new(0), waiting: AtomicUsize::new(0) })
    }

    pub(super) fn name(&self) -> &str {
        &self.hub.options.shown
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Serves operations; `serving` is all of them. A node whose vote does not count is only told what every node is told.
    pub(super) async fn serve<'a>(
        &self,
        names: &Names,
        ops: impl ExactSizeIterator<Item = &'a Op>,
        serving: &(&Script, Cmd),
    ) -> Vec<Answer> {
        let count = ops.len();
        let all = |fault: Fault| vec![Err(fault); count];
        let link = match self.link().await {
            Ok(link) => link,
            Err(fault) => return all(fault),
        };
        if let Err(fault) = self.trusted() {
            let told: Vec<&Op> = ops.filter(|op| !op.needs_trust()).collect();
            if !told.is_empty() {
                let (script, command) = op::serving(names, told.into_iter());
                drop(self.eval(&link, script, &command).await);
            }
            return all(fault);
        }
        match (self.eval(&link, serving.0, &serving.1).await, count) {
            (answer, 1) => vec![answer],
            (Ok(Value::Array(answers)), _) if answers.len() == count => answers.into_iter().map(apart).collect(),
            (Ok(_), _) => all(Fault::Garbled),
            (Err(fault), _) => all(fault),
        }
    }

    /// Runs a script, if this node's vote counts.
    pub(super) async fn ask(&self, script: &Script, command: &Cmd) -> Answer {
        let link = self.link().await?;
        self.trusted()?;
        self.eval(&link, script, command).await
    }

    /// Runs a script whatever the node's vote is worth, and only then says whether the answer counts.
    pub(super) async fn tell(&self, script: &Script, command: &Cmd) -> Answer {
        let link = self.link().await?;
        let answer = self.eval(&link, script, command).await;
        self.trusted()?;
        answer
    }

    /// `NOSCRIPT` proves that nothing ran, so only then it is loaded and sent again.
    async fn eval(&self, link: &Arc<Link>, script: &Script, command: &Cmd) -> Answer {
        let mut answer = self.hub.send_apart_on(link, command).await;
        if answer.as_ref().is_err_and(Fault::no_script) {
            self.hub.send_on(link, script.load()).await?;
            answer = self.hub.send_apart_on(link, command).await;
        }
        if answer.is_ok() {
            self.heard.store(nanos(SystemClock.now()), Ordering::Relaxed);
        }
        answer
    }

    /// A connection whose greeting was looked at. Bounded in number and time, so that a dead node costs little.
    pub(super) async fn link(&self) -> Result<Arc<Link>, Fault> {
        if let Some(link) = self.hub.living() {
            self.meet(&link);
            return Ok(link);
        }
        let failed = self.state().failed.clone();
        if let Some((at, fault)) = failed
            && at.elapsed() < PAUSE
        {
            return Err(fault);
        }
        let _place = Place::take(&self.waiting)
            .ok_or_else(|| Fault::NotSent(ErrorKind::Unavailable, "Redis cannot be reached: connecting".to_owned()))?;
        match self.hub.link().await {
            Ok(link) => {
                self.meet(&link);
                Ok(link)
            }
            Err(fault) => {
                self.state().failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }

    fn meet(&self, link: &Arc<Link>) {
        let mut state = self.state();
        if std::ptr::eq(state.met.as_ptr(), Arc::as_ptr(link)) {
            return;
        }
        state.met = Arc::downgrade(link);
        state.failed = None;
        let Some(greeting) = &link.greeting else { return };
        let run = field(&greeting.info, "run_id").unwrap_or_default().to_owned();
        let heard = Some(self.heard.load(Ordering::Relaxed)).filter(|at| *at > 0);
        let heard = heard.map(|at| BootTime::from_boot(Duration::from_nanos(at)));
        state.trust.met(&run, uptime(&greeting.info), greeting.answered, heard);
        let left = state.trust.left(SystemClock.now());
        if !state.run.is_empty() && state.run != run && !left.is_zero() {
            let left = text::duration(left);
            tracing::warn!(node = self.name(), %left, "the node has restarted: no vote for a while");
        }
        state.run = run;
    }

    fn trusted(&self) -> Result<(), Fault> {
        let left = self.state().trust.left(SystemClock.now());
        if left.is_zero() {
            return Ok(());
        }
        let why = format!("restarted lately, and may have forgotten leases: no vote for {}", text::duration(left));
        Err(Fault::NotSent(ErrorKind::Unavailable, why))
    }

    /// How long its vote does not count yet, and its run id; nothing before the first connection.
    pub(super) fn standing(&self) -> Option<(Duration, String)> {
        let state = self.state();
        (!state.run.is_empty()).then(|| (state.trust.left(SystemClock.now()), state.run.clone()))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to one of several operations, which may be a refusal of its own.
fn apart(answer: Value) -> Answer {
    match answer {
        Value::ServerError(error) => Err(Fault::lost(&error.into())),
        answer => Ok(answer),
    }
}

fn nanos(at: BootTime) -> u64 {
    u64::try_from(at.since_boot().as_nanos()).unwrap_or(u64::MAX)
}

/// How long the node has been up at least. It tells the difference of two whole seconds, which may be one more.
fn uptime(info: &str) -> Duration {
    let told = field(info, "uptime_in_seconds").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_secs(told.saturating_sub(1))
}

/// A line of `INFO`.
pub(super) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// One of those who wait for a connection.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(count: &'a AtomicUsize) -> Option<Self> {
        let place = Self(count);
        // Counted down again by the drop, also if it was too many.
        (count.fetch_add(1, Ordering::Relaxed) < WAITING_MOST).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_not_taken_to_be_older_than_it_is() {
        let told = |text: &str| uptime(&format!("# Server\r\nrun_id:a\r\nuptime_in_seconds:{text}\r\n"));
        assert_eq!(told("1"), Duration::ZERO, "a start at 0.9 s and a question at 1.1 s are told as 1 s");
        assert_eq!(told("61"), Duration::from_secs(60));
        assert_eq!((told("0"), told("x"), uptime("")), Default::default());
    }
}
