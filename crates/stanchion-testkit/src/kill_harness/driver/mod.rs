//! The test's side: gives work, injects faults, and asks for everything at the end.

mod choose;
mod inject;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::faults::{self, Done, Fault, Killed, Point};
use super::log::{Effect, Log};
use super::profile::{Dice, Plan};
use super::report::Report;
use super::slot::{Job, Slot};
use super::watch::Watch;
use super::worker::How;
use super::{Design, Disturb, Setup, Stores, oracle};
use crate::eventually;

const WORKERS: usize = 4;
const DIARY: &str = "driver.log";
const TICK: Duration = Duration::from_millis(1);
/// How long a fault waits for its point, and how often it is tried.
const ARMED: Duration = Duration::from_secs(3);
const TRIES: usize = 24;
/// How long the store may take to answer after all faults.
const ANSWERS: Duration = Duration::from_secs(30);
/// More keys for a fault that met nobody, as there may have been nothing new to call, and for a control that shows nothing yet;
/// so many times.
const MORE: usize = 32;
const ROUNDS: usize = 16;
/// Of the keys, so many are for the death of all workers at once.
const SPARE: usize = 8;
/// How much of the diary tells why a run is void.
const TAIL: usize = 40;

#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    begun: bool,
    answers: u32,
    definite: bool,
    /// The same for the other caller, who knows the key.
    begun_by_mallory: bool,
    /// Its owner was killed, and it is kept for a fault that needs such a call.
    reserved: bool,
}

struct Armed {
    fault: Fault,
    slot: usize,
    since: Instant,
    /// For a random moment: when.
    at: Instant,
    /// For a fault in the judgement over a dead owner: whose call.
    orphan: Option<usize>,
}

struct Driver<'a> {
    plan: Plan,
    folder: TempDir,
    variables: &'a [(&'a str, &'a str)],
    slots: Vec<Slot>,
    dice: Dice,
    keys: Vec<KeyState>,
    faults: VecDeque<Fault>,
    planned: usize,
    tries: usize,
    /// Somebody else was served under a key of another.
    served_other: bool,
    /// A key was used for something else.
    asked_other: bool,
    /// How often the control went on because nothing was to be seen.
    rounds: usize,
    armed: Option<Armed>,
    done: Done,
    watch: Watch,
    seq: u64,
    /// What was done when: to read a failure by.
    diary: Log,
    started: Instant,
    disturb: Option<Disturb<'a>>,
    disturbing: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

pub(super) async fn run<'a>(
    setup: &Setup,
    variables: &'a [(&'a str, &'a str)],
    stores: Stores,
    disturb: Option<Disturb<'a>>,
) -> Report {
    let plan = Plan::new(setup);
    let mut dice = Dice(setup.seed);
    let faults = VecDeque::from(faults::plan(setup, &mut dice));
    let folder = tempfile::tempdir().expect("a folder for the logs");
    let slots = (0..WORKERS).map(|number| Slot::start(number, &plan, folder.path(), variables)).collect();
    let mut driver = Driver {
        keys: vec![KeyState::default(); plan.keys.saturating_sub(SPARE)],
        planned: faults.len(),
        watch: Watch::new(&stores),
        plan,
        diary: Log::open(&folder.path().join(DIARY)),
        started: Instant::now(),
        folder,
        variables,
        slots,
        dice,
        faults,
        tries: 0,
        served_other: false,
        asked_other: false,
        rounds: 0,
        armed: None,
        done: Done::default(),
        seq: 0,
        disturb,
        disturbing: None,
    };
    driver.chaos().await;
    driver.more_keys(SPARE);
    if setup.random_kills > 0 {
        driver.kill_all().await;
    }
    let asked = driver.ask_for_everything().await;
    let Driver { plan, folder, watch, done, .. } = driver;
    let claims = OnceCell::new();
    eventually(ANSWERS, "the store answers after all faults", || async {
        watch.list(&plan).await.is_ok_and(|found| claims.set(found).is_ok())
    })
    .await;
    let claims = claims.into_inner().expect("they were just listed");
    let mut report = oracle::judge(setup, &plan, folder.path(), &done, &claims, watch, &asked);
    if setup.design == Design::Guard && !report.is_good() {
        report.logs = Some(folder.keep());
    }
    report
}

impl Driver<'_> {
    fn note(&self, what: &str) {
        self.diary.line(&format!("{:6} {what}", self.started.elapsed().as_millis()));
    }

    /// The end of the diary.
    fn lately(&self) -> String {
        let lines = super::log::read(&self.folder.path().join(DIARY));
        let last = &lines[lines.len().saturating_sub(TAIL)..];
        last.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("\n")
    }

    async fn chaos(&mut self) {
        // Who comes late finds nothing new to call.
        while !self.slots.iter().all(Slot::runs) {
            self.hear().await;
            tokio::time::sleep(TICK).await;
        }
        while !self.has_enough() || !self.slots.iter().all(Slot::is_idle) {
            self.hear().await;
            self.inject().await;
            self.prolong();
            if self.faults.is_empty() && self.armed.is_none() {
                self.keys.iter_mut().for_each(|key| key.reserved = false);
            }
            for number in 0..self.slots.len() {
                if self.slots[number].is_idle()
                    && !self.has_enough()
                    && let Some(call) = self.choose(number)
                {
                    self.give(number, call);
                }
            }
            self.watch.look_if_due(&self.plan, self.folder.path()).await;
            tokio::time::sleep(TICK).await;
        }
    }

    /// Every fault was injected, every key was answered twice, and everything was seen that the run has to show.
    fn has_enough(&self) -> bool {
        let asked = |key: &KeyState| key.definite && key.answers >= 2;
        self.faults.is_empty()
            && self.armed.is_none()
            && self.disturbing.is_none()
            && self.unseen().is_none()
            && self.keys.iter().all(asked)
    }

    /// What nobody has done yet, and somebody has to.
    fn unseen(&self) -> Option<How> {
        match (self.planned > 0 && self.plan.design == Design::Guard, self.served_other, self.asked_other) {
            (true, false, _) => Some(How::OtherPrincipal),
            (true, _, false) => Some(How::OtherPayload),
            _ => None,
        }
    }

    /// The control shows what happens without locks: as long as no two calls have met, there are more.
    fn prolong(&mut self) {
        if self.plan.design == Design::Seed
            && self.rounds < ROUNDS
            && self.has_enough()
            && oracle::collisions(&Effect::read_all(self.folder.path())).is_empty()
        {
            self.rounds += 1;
            self.more_keys(MORE);
        }
    }

    fn more_keys(&mut self, count: usize) {
        self.keys.resize(self.keys.len() + count, KeyState::default());
    }

    async fn hear(&mut self) {
        for slot in &mut self.slots {
            slot.resume_if_due();
            let Some((job, kind)) = slot.answer().await else { continue };
            let Some((index, how)) = job.call else { continue };
            self.served_other |= how == How::OtherPrincipal && kind == "ok";
            self.asked_other |= how == How::OtherPayload;
            if how.principal() == super::profile::ALICE && how != How::OtherPayload {
                let key = &mut self.keys[index];
                key.answers += 1;
                key.definite |= matches!(kind.as_str(), "ok" | "failed" | "unknown" | "pending");
                // The control never learns what became of a lost answer.
                key.definite |= self.plan.design == Design::Seed && key.answers >= 4;
            }
        }
    }

    fn give(&mut self, number: usize, call: Option<(usize, How)>) {
        self.seq += 1;
        match call {
            Some((index, How::OtherPrincipal)) => self.keys[index].begun_by_mallory = true,
            Some((index, _)) => self.keys[index].begun = true,
            None => {}
        }
        let job = Job { seq: self.seq, call, since: Instant::now() };
        if self.disturbing.is_some() {
            self.done.disturbed.extend(job.open());
        }
        self.slots[number].give(job);
    }

    /// All workers die at once, in the middle of calls; then twice the lease passes.
    async fn kill_all(&mut self) {
        let spare = self.keys.len() - SPARE;
        for number in 0..self.slots.len() {
            self.give(number, Some((spare + number % SPARE, How::Reject)));
        }
        tokio::time::sleep(Duration::from_millis(self.dice.roll(15) as u64)).await;
        for slot in &mut self.slots {
            let open = slot.kill().and_then(|job| job.open());
            self.done.kills.push(Killed { point: Point::Random, open });
        }
        tokio::time::sleep(self.plan.lease * 2).await;
        self.slots.truncate(1);
        self.slots[0].start_again(&self.plan, self.folder.path(), self.variables);
    }

    /// Every key, asked for by one worker: what it says, and how long it took.
    async fn ask_for_everything(&mut self) -> Vec<(usize, String, Duration)> {
        while !self.slots[0].is_idle() {
            self.slots[0].answer().await;
            tokio::time::sleep(TICK).await;
        }
        let mut asked = Vec::new();
        let mut in_vain = false;
        for index in 0..self.keys.len() {
            let since = Instant::now();
            let kind = loop {
                let kind = self.ask(index).await;
                // It had no effect, as the first attempt of some keys, or a worker without time held it up past its short lease
                // and did not send it: that is an answer, and another call ends it.
                let held_up = kind == "error UNAVAILABLE" && self.planned > 0;
                if in_vain || !(kind == "none" || held_up) {
                    break kind;
                }
                in_vain = since.elapsed() >= oracle::PROMPT;
            };
            asked.push((index, kind, since.elapsed()));
        }
        // What nobody asks for is judged by a sweep; where the store has no clock, by the second, which has seen it stand.
        self.sweep().await;
        if self.done.kills.is_empty() {
            return asked;
        }
        tokio::time::sleep(self.plan.lease * 2).await;
        self.sweep().await;
        asked
    }

    async fn sweep(&mut self) {
        self.give(0, None);
        while self.slots[0].answer().await.is_none() {
            tokio::time::sleep(TICK).await;
        }
    }

    async fn ask(&mut self, index: usize) -> String {
        self.give(0, Some((index, How::Final)));
        loop {
            if let Some((_, kind)) = self.slots[0].answer().await {
                return kind;
            }
            tokio::time::sleep(TICK / 4).await;
        }
    }
}
