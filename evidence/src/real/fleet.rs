//! The worker processes: started, heard, stopped, killed, started again.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use stanchion_testkit::process::Child;

use super::orders::{Orders, VARIABLE};

/// How long a busy machine may take to end calls that nothing disturbs any more.
const ENDING: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(10);

pub(super) struct Fleet {
    program: PathBuf,
    orders: Orders,
    slots: Vec<Slot>,
    /// Of lives that are over.
    acknowledged: u64,
    /// The furthest of all.
    step: u64,
    /// Workers that ended without being told to.
    pub(super) deserters: Vec<String>,
}

struct Slot {
    child: Child,
    name: String,
    life: u64,
    resume: Option<Instant>,
    acknowledged: u64,
}

impl Fleet {
    pub(super) fn start(program: PathBuf, orders: Orders, size: usize) -> Self {
        let mut fleet = Self { program, orders, slots: Vec::new(), acknowledged: 0, step: 0, deserters: Vec::new() };
        for number in 0..size {
            let slot = fleet.spawn(number, 0);
            fleet.slots.push(slot);
        }
        fleet
    }

    fn spawn(&self, number: usize, life: u64) -> Slot {
        let name = format!("w{number}.{life}");
        let orders = Orders { name: name.clone(), first_step: self.step, ..self.orders.clone() };
        let text = serde_json::to_string(&orders).expect("orders are plain data");
        let child = Child::spawn(Command::new(&self.program).env(VARIABLE, text));
        Slot { child, name, life, resume: None, acknowledged: 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// Acknowledged calls of all lives.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged + self.slots.iter().map(|slot| slot.acknowledged).sum::<u64>()
    }

    pub(super) fn stands(&self, number: usize) -> bool {
        self.slots[number].resume.is_some()
    }

    /// Whether the worker of this slot has begun to work.
    pub(super) fn works(&self, number: usize) -> bool {
        self.slots[number].acknowledged > 0
    }

    /// Hears all, wakes those whose time has come, replaces those that are gone.
    pub(super) fn look(&mut self) {
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            if slot.resume.is_some_and(|due| Instant::now() >= due) {
                slot.child.resume();
                slot.resume = None;
            }
            self.step = self.step.max(slot.hear());
            if let Some(status) = slot.child.ended() {
                self.deserters.push(format!("worker {} ended by itself: {status}", slot.name));
                self.replace(number);
            }
        }
    }

    pub(super) fn kill(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        slot.child.kill();
        self.step = self.step.max(slot.hear());
        self.replace(number);
    }

    fn replace(&mut self, number: usize) {
        self.acknowledged += self.slots[number].acknowledged;
        self.slots[number] = self.spawn(number, self.slots[number].life + 1);
    }

    pub(super) fn pause(&mut self, number: usize, time: Duration) {
        let slot = &mut self.slots[number];
        slot.child.pause();
        slot.resume = Some(Instant::now() + time);
    }

    /// Every call that was begun comes to its end, undisturbed. Returns who did not end as told.
    pub(super) async fn end(mut self) -> Vec<String> {
        for slot in &mut self.slots {
            slot.child.resume();
            slot.child.close_stdin();
        }
        let until = Instant::now() + ENDING;
        for slot in &mut self.slots {
            let status = loop {
                match slot.child.ended() {
                    None if Instant::now() < until => tokio::time::sleep(TICK).await,
                    status => break status,
                }
            };
            match status {
                Some(status) if status.success() => {}
                Some(status) => self.deserters.push(format!("worker {} ended with {status}", slot.name)),
                None => {
                    self.deserters.push(format!("worker {} still had calls {ENDING:?} after the faults", slot.name))
                }
            }
        }
        self.deserters
    }
}

impl Slot {
    /// `AT ACKNOWLEDGED STEP`, the last one counts.
    fn hear(&mut self) -> u64 {
        let mut furthest = 0;
        while let Some(line) = self.child.try_line() {
            let mut numbers = line.split(' ').skip(1).filter_map(|word| word.parse().ok());
            self.acknowledged = numbers.next().unwrap_or(self.acknowledged);
            furthest = numbers.next().unwrap_or(furthest).max(furthest);
        }
        furthest
    }
}
