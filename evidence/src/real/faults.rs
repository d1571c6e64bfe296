//! Which fault comes when, from a seed, and how many there were.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stanchion_testkit::{FaultProxy, Plan, Rates};

use super::dice::Dice;
use super::engines::Ground;
use super::fleet::Fleet;

/// Of requests through a proxy. Most faults are of this kind, because they are the cheapest.
const RATES: Rates = Rates {
    lose_reply: 0.003,
    lose_request: 0.001,
    delay: 0.003,
    delay_reply: 0.002,
    duplicate: 0.004,
    reset: 0.001,
    longest_delay: Duration::from_millis(30),
};

/// How far the clock of a server jumps, in seconds. Back only a little: a lease that was granted before lasts longer by as much,
/// and whoever waits for a holder that died waits as much longer, which is not promised to be short.
const JUMPS: [i64; 4] = [120, 3600, -5, -2];

/// Faults done, by kind.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// Too short for a lease to end: it changes who comes first, and is no fault by itself.
const SHORT: &str = "short pause";

/// How many faults these are.
pub(super) fn sum(counts: &Counts) -> u64 {
    counts.iter().filter(|(kind, _)| **kind != SHORT).map(|(_, count)| count).sum()
}

/// One number for each kind of fault that is not the proxies': the first faults have one of each.
const FIRST: [u64; 6] = [10, 40, 60, 75, 88, 95];

pub(super) struct Faults {
    dice: Dice,
    next: Instant,
    /// Between two faults that are not the proxies', on average.
    every: Duration,
    /// So many calls are acknowledged between two of them, so that a slow machine is not all faults.
    calls: u64,
    /// Acknowledged when the last one was done, and when that was.
    last: (u64, Instant),
    injected: u64,
    done: Counts,
    /// How far the server's clock is ahead of the machine's, in seconds.
    ahead: i64,
}

/// Kinds that a run on such ground must have had, else it shows less than it says; these it did not have.
pub(super) fn missing(ground: &Ground, counts: &Counts) -> Vec<&'static str> {
    let mut kinds = vec!["kill", "pause"];
    if !ground.proxies.is_empty() {
        kinds.extend(["lost reply", "lost request", "delay", "reset", "cut", restart(ground)]);
        kinds.extend(ground.doubles.then_some("duplicate"));
    }
    kinds.extend(ground.machines.first().filter(|machine| machine.has_clock()).map(|_| "clock jump"));
    kinds.retain(|kind| counts.get(kind).is_none_or(|count| *count == 0));
    kinds
}

/// After SIGKILL nothing is flushed.
const fn restart(ground: &Ground) -> &'static str {
    if ground.survives_kills { "restart" } else { "clean restart" }
}

impl Faults {
    pub(super) fn new(ground: &Ground, seed: u64) -> Self {
        // Where a lock that was left behind stands for long, the work between two faults is longer, too.
        let (every, calls) = if ground.proxies.is_empty() {
            (Duration::from_millis(40), 50)
        } else {
            (ground.takeover / 4, 200 * ground.takeover.as_secs().max(1))
        };
        for (number, proxy) in ground.proxies.iter().enumerate() {
            proxy.set_plan(Plan::seeded(seed.wrapping_mul(31).wrapping_add(number as u64), RATES));
        }
        let dice = Dice::of(&[seed, 0xfa01]);
        let now = Instant::now();
        Self { dice, next: now, every, calls, last: (0, now), injected: 0, done: Counts::new(), ahead: 0 }
    }

    fn is_due(&self, acknowledged: u64) -> bool {
        let now = Instant::now();
        let (before, when) = self.last;
        now >= self.next && (acknowledged >= before + self.calls || now >= when + self.every * 10)
    }

    /// The next fault, if its time has come.
    pub(super) async fn inject(&mut self, ground: &Ground, fleet: &mut Fleet) {
        if !self.is_due(fleet.acknowledged()) {
            return;
        }
        self.next = Instant::now() + self.every.mul_f64(0.01 * (20 + self.dice.below(160)) as f64);
        let target = self.one(fleet.size());
        let draw = match FIRST.get(usize::try_from(self.injected).unwrap_or(usize::MAX)) {
            Some(draw) => *draw,
            None => self.dice.below(100),
        };
        let before = self.total();
        match (draw, ground.proxies.is_empty()) {
            (0..35, _) => self.kill(fleet, target),
            (35..50, _) => {
                let time = ground.takeover.mul_f64(0.01 * (110 + self.dice.below(100)) as f64);
                self.pause(fleet, target, time, "pause");
            }
            (_, true) => {
                let time = Duration::from_millis(5 + self.dice.below(40));
                self.pause(fleet, target, time, SHORT);
            }
            (50..70, _) => self.wire(ground, |proxy| proxy.cut_all(), "cut"),
            (70..85, _) => {
                let one = self.one(ground.proxies.len());
                ground.proxies[one].blackhole(true);
                tokio::time::sleep(Duration::from_millis(50 + self.dice.below(200))).await;
                ground.proxies[one].blackhole(false);
                self.count("silence");
            }
            (85..92, _) => self.restart(ground).await,
            _ => self.jump(ground),
        }
        // Nobody may have been there to be killed or stopped.
        if self.total() > before || draw >= 90 {
            self.injected += 1;
            self.last = (fleet.acknowledged(), Instant::now());
        }
    }

    fn total(&self) -> u64 {
        self.done.values().sum()
    }

    /// Two at most stand still, so that the others go on; who has not begun yet would be spared its faults.
    fn pause(&mut self, fleet: &mut Fleet, target: usize, time: Duration, kind: &'static str) {
        let standing = (0..fleet.size()).filter(|number| fleet.stands(*number)).count();
        if standing < 2 && !fleet.stands(target) && fleet.works(target) {
            fleet.pause(target, time);
            self.count(kind);
        }
    }

    fn kill(&mut self, fleet: &mut Fleet, target: usize) {
        if fleet.works(target) {
            fleet.kill(target);
            self.count("kill");
        }
    }

    fn wire(&mut self, ground: &Ground, fault: impl Fn(&FaultProxy), kind: &'static str) {
        fault(&ground.proxies[self.one(ground.proxies.len())]);
        self.count(kind);
    }

    async fn restart(&mut self, ground: &Ground) {
        let server = ground.machines[self.one(ground.machines.len())].server();
        if ground.survives_kills {
            server.kill();
        }
        server.restart().await;
        self.count(restart(ground));
    }

    /// Always the first server's: that a majority of clocks jumps is not promised to be harmless.
    fn jump(&mut self, ground: &Ground) {
        let ahead = self.ahead + JUMPS[self.one(JUMPS.len())];
        if ground.machines.first().is_some_and(|machine| machine.set_clock(ahead)) {
            self.ahead = ahead;
            self.count("clock jump");
        }
    }

    fn one(&mut self, of: usize) -> usize {
        usize::try_from(self.dice.below(of as u64)).unwrap_or(0)
    }

    fn count(&mut self, kind: &'static str) {
        *self.done.entry(kind).or_default() += 1;
    }

    /// All faults so far.
    pub(super) fn counts(&self, ground: &Ground) -> Counts {
        let mut counts = self.done.clone();
        for proxy in &ground.proxies {
            let seen = proxy.counts();
            for (kind, number) in [
                ("lost reply", seen.lost_replies),
                ("lost request", seen.lost_requests),
                ("delay", seen.delayed + seen.delayed_replies),
                ("duplicate", seen.duplicated),
                ("reset", seen.resets),
            ] {
                *counts.entry(kind).or_default() += number;
            }
        }
        counts
    }

    /// No more faults. The clock stays where it is.
    pub(super) fn stop(ground: &Ground) {
        for proxy in &ground.proxies {
            proxy.set_plan(Plan::pass());
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_pauses_are_counted_and_are_no_faults() {
        let counts = super::Counts::from([("kill", 2), ("pause", 1), ("short pause", 7)]);
        assert_eq!(super::sum(&counts), 3);
    }
}
