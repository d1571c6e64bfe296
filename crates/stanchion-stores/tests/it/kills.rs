//! Four worker processes go through the same keys, die with SIGKILL in the middle of their transactions, and are started
//! again until each of them has an answer for each key.
//!
//! A test is its own worker: it calls [`fleet`], and [`Worker::here`] in the processes that this starts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "a worker speaks to its test")]

use std::collections::BTreeMap;
use std::time::Duration;

use stanchion_testkit::process::{Child, is_helper};

const KEYS: usize = 200;
const WORKERS: usize = 4;
/// How long a worker may be silent; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(60);
/// One in so many passes of a point is the last of its process.
const RISK: u64 = 14;

/// Where a worker can die: the claim written, the effect written, the answer written, somewhere in the commit, after it.
const POINTS: [&str; 5] = ["claimed", "written", "done", "committing", "committed"];

/// What became of the fleet.
pub(crate) struct Report {
    /// Of each key, what each worker was told.
    pub(crate) answers: BTreeMap<String, Vec<String>>,
    kills: BTreeMap<String, u32>,
}

impl Report {
    /// Exactly one effect for each key, and each worker was told of that one.
    ///
    /// # Panics
    /// If not.
    pub(crate) fn assert_once(&self, effects: &BTreeMap<String, Vec<String>>) {
        self.assert_deadly();
        let once = |bodies: &Vec<String>| bodies.len() == 1;
        let wrong: Vec<_> = effects.iter().filter(|(_, bodies)| !once(bodies)).collect();
        assert!(wrong.is_empty(), "more than one effect: {wrong:?}");
        assert_eq!(effects.len(), KEYS, "an effect for each key");
        for (key, answers) in &self.answers {
            assert_eq!(answers, &vec![effects[key][0].clone(); WORKERS], "{key}");
        }
    }

    /// The same harness finds what is wrong with a design that is.
    pub(crate) fn assert_doubled(&self, effects: &BTreeMap<String, Vec<String>>) {
        self.assert_deadly();
        let doubled = effects.values().filter(|bodies| bodies.len() > 1).count();
        eprintln!("control: {doubled} of {KEYS} keys had more than one effect");
        assert!(doubled > 0, "the harness finds nothing wrong with two transactions, so it proves nothing");
    }

    fn assert_deadly(&self) {
        eprintln!("kills: {:?}", self.kills);
        assert!(self.kills.values().sum::<u32>() >= 30, "too few kills: {:?}", self.kills);
        assert!(POINTS.iter().all(|point| self.kills.contains_key(*point)), "not everywhere: {:?}", self.kills);
        assert_eq!(self.answers.len(), KEYS);
    }
}

/// Runs the workers on `target` until all have all their answers.
pub(crate) async fn fleet(target: &str) -> Report {
    let lives: [_; WORKERS] = [live(0, target), live(1, target), live(2, target), live(3, target)].map(Box::pin);
    let [a, b, c, d] = lives;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let mut report = Report { answers: BTreeMap::new(), kills: BTreeMap::new() };
    for (answers, kills) in [a, b, c, d] {
        for (key, body) in answers {
            report.answers.entry(key).or_default().push(body);
        }
        for point in kills {
            *report.kills.entry(point).or_default() += 1;
        }
    }
    report
}

/// All lives of one worker: its answers, and where it died.
async fn live(worker: usize, target: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut answers, mut deaths) = (Vec::new(), Vec::new());
    while answers.len() < KEYS {
        let (worker, life, from) = (worker.to_string(), deaths.len().to_string(), answers.len().to_string());
        let variables = [("TARGET", target), ("WORKER", &worker), ("LIFE", &life), ("FROM", &from)];
        let mut child = Child::rerun_this_test_with(&variables);
        let mut dying = None;
        while let Some(line) = child.next_line(PATIENCE).await {
            let said = line.rsplit_once(" ... ").map_or(line.as_str(), |(_, said)| said);
            if let Some(answer) = said.strip_prefix("ANSWER ") {
                let (key, body) = answer.split_once(' ').unwrap();
                answers.push((key.to_owned(), body.to_owned()));
            } else if let Some(point) = said.strip_prefix("DYING ") {
                dying = Some(point.to_owned());
            }
        }
        assert!(dying.is_some() || answers.len() == KEYS, "worker {worker} ended with {} answers", answers.len());
        deaths.extend(dying);
        assert!(deaths.len() < 500, "no end of it");
    }
    (answers, deaths)
}

/// This process, if it is one of the fleet.
pub(crate) struct Worker {
    pub(crate) target: String,
    number: usize,
    from: usize,
    /// xorshift: where we die is drawn from worker and life alone.
    state: u64,
    runs: u32,
}

impl Worker {
    pub(crate) fn here() -> Option<Self> {
        let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
        is_helper().then(|| Self {
            target: std::env::var("TARGET").unwrap(),
            number: number("WORKER"),
            from: number("FROM"),
            state: (((number("WORKER") as u64 + 1) << 32) | (number("LIFE") as u64 + 1))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15),
            runs: 0,
        })
    }

    /// The keys that are left: two workers in the same order, one backwards, one in leaps.
    pub(crate) fn keys(&self) -> impl Iterator<Item = String> + use<> {
        let number = self.number;
        (self.from..KEYS)
            .map(move |i| match number {
                0 | 1 => i,
                2 => KEYS - 1 - i,
                _ => i * 7 % KEYS,
            })
            .map(|i| format!("key{i:03}"))
    }

    /// A body that no other run can have made.
    pub(crate) fn body(&mut self) -> String {
        self.runs += 1;
        format!("by-worker{}-pid{}-run{}", self.number, std::process::id(), self.runs)
    }

    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 8
    }

    /// Perhaps the end.
    pub(crate) fn pass(&mut self, point: &str) {
        if self.draw().is_multiple_of(RISK) {
            println!("DYING {point}");
            die();
        }
    }

    /// Perhaps the end, a moment from now, while the caller goes on.
    pub(crate) fn pass_soon(&mut self, point: &str) {
        if self.draw().is_multiple_of(RISK) {
            println!("DYING {point}");
            let soon = Duration::from_micros(self.draw() % 400);
            std::thread::spawn(move || {
                let start = std::time::Instant::now();
                while start.elapsed() < soon {
                    std::hint::spin_loop();
                }
                die();
            });
        }
    }

    pub(crate) fn answer(&self, key: &str, body: &str) {
        println!("ANSWER {key} {body}");
    }
}

/// SIGKILL: no destructor, no flush, no farewell to the server.
pub(crate) fn die() -> ! {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    unreachable!("nobody survives that")
}
