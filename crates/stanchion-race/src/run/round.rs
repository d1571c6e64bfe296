//! One round: start, set up, release, read back, tear down, stop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::call::{Prepared, ask};
use super::ground::{AFTERWARDS, Ground, READ, SETUP, TEARDOWN};
use super::history::{Counted, End, Played, Record, Stop};
use crate::oracle::{Violation, judge};
use crate::schedule::{Fault, Schedule};
use crate::spec::{Before, Call, Request, Vars};
use crate::target::{Answer, Asked, Instance, Reply};

/// Whether calls are released together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Race,
    OneByOne,
}

/// More connections than this are not open at once: file descriptors are few. Pipes need none.
const AT_ONCE_MAX: usize = 256;

/// How often is looked before something counts as broken; more often while calls may still run.
const LOOKS: usize = 2;
const LOOKS_OPEN: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What belongs to one round.
struct Scene<'g, 'a> {
    ground: &'g Ground<'a>,
    play: u64,
    vars: Vars,
    instances: Vec<Arc<Instance>>,
    /// Goes after the processes that work in it.
    _dir: TempDir,
}

/// Plays a schedule. However it ends, every process that it started is gone.
pub(crate) async fn play(ground: &Ground<'_>, schedule: &Schedule, mode: Mode) -> Result<Played, Stop> {
    play_until(ground, schedule, mode, ground.deadline()).await
}

/// The same with a time of its own.
pub(super) async fn play_until(
    ground: &Ground<'_>,
    schedule: &Schedule,
    mode: Mode,
    until: Instant,
) -> Result<Played, Stop> {
    let out_of_time = |_| {
        ground.cut_short.store(true, Ordering::Relaxed);
        Stop::OutOfTime
    };
    let scene = timeout_at(until, Scene::start(ground, schedule, mode)).await.map_err(out_of_time)??;
    let played = timeout_at(until, Box::pin(scene.play(schedule, mode))).await;
    scene.end().await;
    played.map_err(out_of_time)?
}

impl<'g, 'a> Scene<'g, 'a> {
    async fn start(ground: &'g Ground<'a>, schedule: &Schedule, mode: Mode) -> Result<Self, Stop> {
        let dir = tempfile::Builder::new().prefix("stanchion-race-").tempdir();
        let dir = dir.map_err(|error| Stop::Inconclusive(format!("no folder for the round: {error}")))?;
        let vars = ground.vars(schedule, dir.path());
        if let Some(recorder) = &ground.recorder {
            recorder.begin(schedule.round_seed(), mode == Mode::Race);
        }
        let instances = ground.start(schedule, &vars).await?;
        Ok(Self { ground, play: ground.next_play(), vars, instances, _dir: dir })
    }

    async fn play(&self, schedule: &Schedule, mode: Mode) -> Result<Played, Stop> {
        let spec = self.ground.spec;
        if let Err(why) = self.prepare("setup", &spec.setup, SETUP).await {
            // What the target did says more than that a call was not answered.
            self.look_after(schedule, &[]).await?;
            return Err(Stop::Inconclusive(why));
        }
        let before = match spec.before() {
            Before::Unasked => None,
            Before::Helps => self.read(0).await.ok(),
            Before::Needed => Some(
                self.read(0)
                    .await
                    .map_err(|why| Stop::Inconclusive(format!("nothing could be read before the round: {why}")))?,
            ),
        };
        let (began, records) = match mode {
            Mode::Race => self.race(schedule).await?,
            Mode::OneByOne => self.one_by_one(schedule).await,
        };
        self.look_after(schedule, &records).await?;
        let afterwards = if spec.expect.answers { self.afterwards(began).await } else { Vec::new() };
        let mut played = Played {
            schedule: schedule.clone(),
            vars: self.vars.clone(),
            records,
            afterwards,
            before,
            reads: Vec::new(),
            read_us: Vec::new(),
            effects: Vec::new(),
            upstream_faults: BTreeMap::new(),
            unclean: None,
        };
        self.look_until_settled(&mut played, began).await?;
        let torn_down = self.prepare("teardown", &spec.teardown, TEARDOWN).await;
        // A folder and processes of its own make the next round clean anyway.
        played.unclean = torn_down.err().filter(|_| spec.target.command.is_empty());
        Ok(played)
    }

    /// Nobody comes back.
    async fn end(&self) {
        let mut ending = JoinSet::new();
        for instance in &self.instances {
            let instance = Arc::clone(instance);
            ending.spawn(async move { instance.end().await });
        }
        ending.join_all().await;
    }

    fn vars(&self, n: usize, number: u64, instance: usize) -> Vars {
        Vars { id: self.ground.id(self.play, number), n, i: instance, ..self.vars.clone() }
    }

    /// Asks one instance one thing.
    async fn ask(&self, request: &Request, vars: &Vars) -> Counted {
        self.ground.sent.fetch_add(1, Ordering::Relaxed);
        let Some(instance) = self.instances.get(vars.i) else {
            return Reply::Undelivered("there is no such instance".into()).into();
        };
        ask(instance, &Asked::fill(request, vars), self.ground.spec.limits.call).await.into()
    }

    /// Calls that must succeed, one after the other.
    async fn prepare(&self, name: &str, calls: &[Call], from: u64) -> Result<(), String> {
        let each = calls.iter().flat_map(|call| std::iter::repeat_n(call, call.times));
        for (n, call) in each.enumerate() {
            let vars = self.vars(n, from + u64::try_from(n).unwrap_or(0), 0);
            let counted = self.ask(&call.request, &vars).await;
            if let Some(why) = counted.why {
                return Err(format!("the {name} call {} was not acknowledged: {why}", call.request.title()));
            }
        }
        Ok(())
    }

    async fn read(&self, instance: usize) -> Result<Answer, String> {
        let Some(read) = &self.ground.spec.read else { return Err("there is no [read]".into()) };
        let counted =
            self.ask(&read.request, &self.vars(0, READ + u64::try_from(instance).unwrap_or(0), instance)).await;
        let why = || format!("{}: {}", read.request.title(), counted.why.unwrap_or_default());
        counted.answer.ok_or_else(why)
    }

    /// What is left. A call without an answer may still run, and what it has half done is no race: only what stays counts.
    async fn look_until_settled(&self, played: &mut Played, began: Instant) -> Result<(), Stop> {
        let is_open = played.all().any(Record::is_doubtful);
        for _ in 0..if is_open { LOOKS_OPEN } else { LOOKS } {
            self.look(played, began).await?;
            // No look changes that a call was not answered.
            let is_state = |violation: &Violation| violation.expectation != "answers";
            if !judge(self.ground.spec, played).violations.iter().any(is_state) {
                break;
            }
            sleep(BETWEEN_LOOKS).await;
        }
        Ok(())
    }

    async fn look(&self, played: &mut Played, began: Instant) -> Result<(), Stop> {
        played.reads.clear();
        played.read_us.clear();
        if self.ground.spec.read.is_some() {
            for instance in 0..self.instances.len() {
                let started = us_since(began);
                played.reads.push(self.read(instance).await);
                played.read_us.push((started, us_since(began)));
            }
        }
        let Some(recorder) = &self.ground.recorder else { return Ok(()) };
        recorder.quiet().await;
        let too_much = || Stop::Inconclusive("the recorder was asked more than 100000 times".into());
        (played.effects, played.upstream_faults) = recorder.seen().ok_or_else(too_much)?;
        Ok(())
    }

    async fn one_by_one(&self, schedule: &Schedule) -> (Instant, Vec<Record>) {
        let began = Instant::now();
        let mut records = Vec::new();
        for step in &schedule.steps {
            let vars = self.vars(step.n, u64::try_from(step.n).unwrap_or(0), step.instance);
            records.extend(self.record(step.call, &vars, began).await);
        }
        (began, records)
    }

    /// Each kind of call once on each instance, when all faults are over.
    async fn afterwards(&self, began: Instant) -> Vec<Record> {
        let mut records = Vec::new();
        for instance in 0..self.instances.len() {
            for call in 0..self.ground.spec.calls.len() {
                let n = instance * self.ground.spec.calls.len() + call;
                let vars = self.vars(n, AFTERWARDS + u64::try_from(n).unwrap_or(0), instance);
                records.extend(self.record(call, &vars, began).await);
            }
        }
        records
    }

    async fn record(&self, call: usize, vars: &Vars, began: Instant) -> Option<Record> {
        let request = &self.ground.spec.calls.get(call)?.request;
        let started_us = us_since(began);
        let Counted { end, nothing_ran, why, answer, is_garbage } = self.ask(request, vars).await;
        let (n, instance, id, ended_us) = (vars.n, vars.i, vars.id.clone(), us_since(began));
        let given = answer.clone().filter(|_| self.ground.spec.keeps_answer(call));
        let answer = answer.map(|answer| answer.shown);
        Some(Record {
            n,
            call,
            instance,
            id,
            started_us,
            ended_us,
            disturbed_us: None,
            end,
            nothing_ran,
            why,
            fault: None,
            answer,
            given,
            is_garbage,
        })
    }

    /// All at one moment, which is told with what came of them.
    async fn race(&self, schedule: &Schedule) -> Result<(Instant, Vec<Record>), Stop> {
        let spec = self.ground.spec;
        let (release, released) = watch::channel(None);
        let (ready, mut all_ready) = watch::channel(0);
        let most = if spec.target.kind.is_http() { AT_ONCE_MAX } else { Semaphore::MAX_PERMITS };
        let places = Arc::new(Semaphore::new(most));
        let mut calls = JoinSet::new();
        for step in &schedule.steps {
            let second = match step.fault {
                Some(Fault::Duplicate { instance, .. }) => self.instances.get(instance).cloned(),
                _ => None,
            };
            let found = spec.calls.get(step.call).zip(self.instances.get(step.instance).cloned());
            let Some((call, instance)) = found else {
                return Err(Stop::Inconclusive(format!("call {} of the schedule does not fit", step.n)));
            };
            self.ground.sent.fetch_add(1 + usize::from(second.is_some()), Ordering::Relaxed);
            let vars = self.vars(step.n, u64::try_from(step.n).unwrap_or(0), step.instance);
            let asked = Asked::fill(&call.request, &vars);
            let (step, id, limit) = (step.clone(), vars.id, spec.limits.call);
            let (keeps, may_stay_away) = (spec.keeps_answer(step.call), spec.expect.readable);
            let places = Arc::clone(&places);
            let call = Prepared { step, id, asked, instance, second, limit, keeps, may_stay_away, places };
            calls.spawn(call.run(released.clone(), ready.clone()));
        }
        let waiting = schedule.steps.len();
        drop(all_ready.wait_for(|count| *count >= waiting).await);
        for (i, instance) in self.instances.iter().enumerate() {
            let at_once = schedule.steps.iter().filter(|step| step.instance == i && step.waits().is_zero()).count();
            if let Ok(link) = instance.link().await {
                link.together(at_once);
            }
        }
        let began = Instant::now();
        release.send_replace(Some(began));
        let mut records = Vec::new();
        while let Some(call) = calls.join_next().await {
            let ended = call.map_err(|error| Stop::Inconclusive(error.to_string()))?;
            let record = ended.map_err(Stop::Inconclusive)?;
            self.ground.watch.ended(&record);
            records.push(record);
        }
        for instance in &self.instances {
            // A call that was never made is not waited for any longer.
            if let Ok(link) = instance.link().await {
                link.together(0);
            }
        }
        records.sort_by_key(|record| record.n);
        Ok((began, records))
    }

    /// A target that ends by itself, or says what no target may, makes every conclusion worthless.
    async fn look_after(&self, schedule: &Schedule, records: &[Record]) -> Result<(), Stop> {
        if let Some(garbage) = records.iter().find(|record| record.is_garbage) {
            let (n, i, why) = (garbage.n, garbage.instance, garbage.why.as_deref().unwrap_or_default());
            return Err(Stop::Inconclusive(format!("instance {i} of the target gave call {n} {why}")));
        }
        let killed = schedule.steps.iter().filter(|step| matches!(step.fault, Some(Fault::Kill { .. })));
        let killed: BTreeSet<usize> = killed.map(|step| step.instance).collect();
        for (i, instance) in self.instances.iter().enumerate() {
            if let Some(trouble) = instance.trouble().await {
                let after = if killed.contains(&i) { ", after it was killed and started again" } else { "" };
                return Err(Stop::Inconclusive(format!("instance {i} of the target failed{after}: {trouble}")));
            }
        }
        Ok(())
    }
}

fn us_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}

impl Played {
    /// Why nothing can be concluded from it: no call was acknowledged.
    pub(crate) fn void(&self) -> Option<String> {
        if self.records.iter().any(|record| record.is(End::Acknowledged)) {
            return None;
        }
        let first = self.records.iter().find_map(|record| record.why.as_deref()).unwrap_or("nothing was called");
        Some(format!("no call was acknowledged; the first one: {first}"))
    }
}
