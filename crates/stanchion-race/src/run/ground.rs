//! What stays the same over all rounds of a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::history::Stop;
use super::watch::Watch;
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use crate::schedule::random::mix;
use crate::spec::{Spec, Target, Vars};
use crate::target::{Instance, Plan, free_port};

/// Numbers of calls that are not raced begin here, so that no two of a round have the same id.
pub(super) const SETUP: u64 = 1 << 21;
pub(super) const TEARDOWN: u64 = 2 << 21;
pub(super) const AFTERWARDS: u64 = 3 << 21;
pub(super) const READ: u64 = 4 << 21;

pub(crate) struct Ground<'a> {
    pub(crate) spec: &'a Spec,
    target: Arc<Target>,
    root: String,
    allow_remote: Arc<[String]>,
    pub(crate) recorder: Option<Recorder>,
    /// Where ids come from.
    ids: u64,
    plays: AtomicU64,
    pub(crate) sent: AtomicUsize,
    /// A process was killed before it had ended by itself.
    pub(super) cut_short: Arc<AtomicBool>,
    pub(super) watch: Arc<Watch>,
    deadline: Instant,
}

impl<'a> Ground<'a> {
    pub(crate) async fn new(spec: &'a Spec, seed: u64, root: &Path, allow_remote: &[String]) -> Result<Self, String> {
        let recorder = match &spec.upstream {
            Some(_) => Some(Recorder::start(spec).await.map_err(|error| format!("no recorder: {error}"))?),
            None => None,
        };
        // A server that runs on, or finds its store by itself, keeps what earlier runs left; it must not be mistaken for what this one leaves.
        let ids = if keeps(spec) { random()? } else { mix(seed) };
        Ok(Self {
            spec,
            target: Arc::new(spec.target.clone()),
            root: root.to_string_lossy().into_owned(),
            allow_remote: allow_remote.into(),
            recorder,
            ids,
            plays: AtomicU64::new(0),
            sent: AtomicUsize::new(0),
            cut_short: Arc::default(),
            watch: Arc::default(),
            deadline: Instant::now() + spec.limits.run,
        })
    }

    pub(super) fn watched(mut self, watch: Option<&Arc<Watch>>) -> Self {
        self.watch = watch.cloned().unwrap_or_default();
        self
    }

    /// What a round leaves is there in the next one.
    pub(crate) fn keeps(&self) -> bool {
        keeps(self.spec)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn next_play(&self) -> u64 {
        self.plays.fetch_add(1, Ordering::Relaxed)
    }

    /// Another one for every call of a run: the numbers differ, and mixing keeps them apart.
    pub(super) fn id(&self, play: u64, number: u64) -> String {
        format!("{:016x}", mix(self.ids.wrapping_add((play << 24) | number)))
    }

    pub(super) fn vars(&self, schedule: &Schedule, dir: &Path) -> Vars {
        Vars {
            round: schedule.round,
            seed: schedule.round_seed(),
            dir: dir.to_string_lossy().into_owned(),
            root: self.root.clone(),
            upstream: self.recorder.as_ref().map(Recorder::url).unwrap_or_default(),
            ..Vars::default()
        }
    }

    /// Starts the instances of a round, all at once.
    pub(super) async fn start(&self, schedule: &Schedule, vars: &Vars) -> Result<Vec<Arc<Instance>>, Stop> {
        let plans = (0..schedule.instances).map(|i| {
            let port = free_port().map_err(|error| Stop::Inconclusive(format!("no free port: {error}")))?;
            let vars = Vars { i, port, ..vars.clone() };
            let (target, allow_remote) = (Arc::clone(&self.target), Arc::clone(&self.allow_remote));
            Ok(Plan { target, vars, allow_remote, cut_short: Arc::clone(&self.cut_short) })
        });
        let mut starting = tokio::task::JoinSet::new();
        for (i, plan) in plans.collect::<Result<Vec<_>, Stop>>()?.into_iter().enumerate() {
            starting.spawn(async move { (i, Instance::start(plan).await) });
        }
        let mut started = Vec::new();
        while let Some(next) = starting.join_next().await {
            let (i, instance) = next.map_err(|error| Stop::Inconclusive(error.to_string()))?;
            let instance = instance
                .map_err(|why| Stop::Inconclusive(format!("instance {i} of the target does not start: {why}")))?;
            started.push((i, Arc::new(instance)));
        }
        started.sort_by_key(|(i, _)| *i);
        Ok(started.into_iter().map(|(_, instance)| instance).collect())
    }
}

fn keeps(spec: &Spec) -> bool {
    spec.target.command.is_empty() || spec.target.is_inherited
}

/// From the system, for runs without a seed.
pub(crate) fn random() -> Result<u64, String> {
    getrandom::u64().map_err(|error| format!("no random number: {error}"))
}
