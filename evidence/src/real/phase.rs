//! One engine: the guarded workload under faults, what is left of it, and the control.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::engines::{Engine, Ground};
use super::faults::{self, Counts, Faults};
use super::fleet::Fleet;
use super::judge::{Verdict, judge};
use super::orders::{Orders, Protected};
use super::settle::settle;
use super::stale;

/// Enough for one engine; what is left of its time goes to the others.
const CALLS: u64 = 100_000;
const FAULTS: u64 = 1_000;

const WORKERS: usize = 4;
const TASKS: u64 = 16;
const CHAINS: u64 = 48;
/// How often the control gets another chance to fail, and how long each is.
const CHANCES: u64 = 4;
const CHANCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(5);

pub(super) struct Trial {
    pub(super) seed: u64,
    pub(super) time: Duration,
    pub(super) program: PathBuf,
}

/// What was seen of one engine.
pub(super) struct Outcome {
    pub(super) version: String,
    pub(super) guarded: Verdict,
    pub(super) faults: Counts,
    pub(super) control: Verdict,
    /// The control lost writes, and where there are keys, did calls twice.
    pub(super) caught: bool,
    pub(super) seconds: f64,
    pub(super) void: Vec<String>,
    /// Where the journals are, if something was wrong.
    pub(super) logs: Option<PathBuf>,
}

impl Trial {
    pub(super) async fn run(self, engine: &'static Engine) -> Result<Outcome, String> {
        let begun = Instant::now();
        let folder = tempfile::Builder::new().prefix("stanchion-real-").tempdir().map_err(|e| e.to_string())?;
        let ground = (engine.start)(folder.path()).await.map_err(|skip| skip.to_string())?;
        let (guarded, faults, mut void) = self.guarded(&ground, folder.path()).await?;
        let control = self.control(&ground, folder.path()).await?;
        void.extend(faults::missing(&ground, &faults).iter().map(|kind| format!("no fault of the kind {kind:?}")));
        void.extend(unseen(&ground, &guarded).map(str::to_owned));
        let logs = (guarded.violations > 0).then(|| folder.keep());
        let seconds = begun.elapsed().as_secs_f64();
        let (version, caught) = (ground.version.clone(), is_caught(&ground, &control));
        Ok(Outcome { version, guarded, faults, control, caught, seconds, void, logs })
    }

    async fn guarded(&self, ground: &Ground, folder: &Path) -> Result<(Verdict, Counts, Vec<String>), String> {
        let orders = self.orders(ground, folder, "guarded", true)?;
        let mut fleet = Fleet::start(self.program.clone(), orders.clone(), WORKERS);
        let mut faults = Faults::new(ground, self.seed);
        let until = Instant::now() + self.time.mul_f64(0.85);
        loop {
            fleet.look();
            faults.inject(ground, &mut fleet).await;
            let counts = faults.counts(ground);
            let complete = faults::missing(ground, &counts).is_empty();
            let enough = fleet.acknowledged() >= CALLS && faults::sum(&counts) >= FAULTS && complete;
            // A slow machine gets the same time again for what has not happened yet.
            let now = Instant::now();
            if enough || now >= until && (complete || now >= until + self.time) {
                break;
            }
            tokio::time::sleep(TICK).await;
        }
        Faults::stop(ground);
        let mut void = fleet.end().await;
        if ground.leases {
            void.extend(stale::write(&self.program, ground, &orders).await.err());
        }
        let settled = settle(ground, &orders).await.map_err(|e| format!("what is left cannot be read: {e}"))?;
        let counts = faults.counts(ground);
        let doubled = counts.get("duplicate").copied().unwrap_or(0);
        let verdict = judge(&orders, &settled, doubled).map_err(|e| format!("the journals cannot be read: {e}"))?;
        Ok((verdict, counts, void))
    }

    /// The same workload with the guard off, and nobody disturbed: that they meet is enough to lose and to repeat.
    async fn control(&self, ground: &Ground, folder: &Path) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        for chance in 0..CHANCES {
            let orders = self.orders(ground, folder, &format!("control{chance}"), false)?;
            let mut fleet = Fleet::start(self.program.clone(), orders.clone(), WORKERS);
            let until = Instant::now() + CHANCE;
            while Instant::now() < until {
                fleet.look();
                tokio::time::sleep(TICK).await;
            }
            fleet.end().await;
            let settled = settle(ground, &orders).await.map_err(|e| format!("the control's end: {e}"))?;
            verdict = judge(&orders, &settled, 0).map_err(|e| format!("the control's journals: {e}"))?;
            if is_caught(ground, &verdict) {
                break;
            }
        }
        Ok(verdict)
    }

    fn orders(&self, ground: &Ground, folder: &Path, prefix: &str, guarded: bool) -> Result<Orders, String> {
        let orders = Orders {
            url: ground.url.clone(),
            protected: ground.protected.clone(),
            folder: folder.to_owned(),
            name: String::new(),
            prefix: prefix.to_owned(),
            guarded,
            lease: ground.lease,
            tasks: TASKS,
            chains: CHAINS,
            first_step: 0,
            is_late: false,
            seed: self.seed,
        };
        fs::create_dir_all(orders.files()).map_err(|e| format!("no folder for the journals: {e}"))?;
        Ok(orders)
    }
}

/// What has to happen in a run, else it shows less than it says.
fn unseen(ground: &Ground, guarded: &Verdict) -> impl Iterator<Item = &'static str> {
    let reasons = [
        (guarded.acknowledged == 0, "nothing was acknowledged"),
        (has_records(ground) && guarded.repeated == 0, "no answer was given to a repetition"),
        (ground.leases && guarded.fenced == 0, "nobody came too late for the fence"),
    ];
    reasons.into_iter().filter(|(missing, _)| *missing).map(|(_, reason)| reason)
}

const fn is_caught(ground: &Ground, control: &Verdict) -> bool {
    control.lost > 0 && (control.doubled > 0 || !has_records(ground))
}

const fn has_records(ground: &Ground) -> bool {
    matches!(ground.protected, Protected::Records)
}
