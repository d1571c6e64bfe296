//! `cargo xtask evidence [--seconds N] [--seed S] [--layer NAME]...`: every layer of evidence, their reports in `docs/evidence.jsonl`, and
//! `docs/evidence.md` from these.
//!
//! Each layer is a process of its own, so that one that breaks does not take the others with it; the museum is a build of
//! its own, because its bugs are planted by a `--cfg` that no other build may have.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::shell::{Outcome, capture, cargo, say, step, workspace};
use crate::{engines, peers};

/// In this order on the page, with the share of the time that each is given.
const LAYERS: &[(&str, u64)] =
    &[("models", 10), (SIMULATION, 60), ("schedules", 5), ("gateway", 5), ("real", 80), ("crash", 56), (MUSEUM, 4)];
/// Comes last and has all the time that the others leave: they end when they have enough (crash points that are left untried make
/// that layer void), and worlds are never enough.
const SIMULATION: &str = "simulation";
/// Its controls come after its worlds.
const CONTROLS_SECONDS: u64 = 10;
const MUSEUM: &str = "museum";
/// Optimised, but not as one whole: that would take longer to build than most layers run.
const PROFILE: &str = "evidence";
const CFG: &str = "--cfg stanchion_museum";
const USAGE: &str = "`cargo xtask evidence [--seconds N] [--seed S] [--layer NAME]...`; N is for all layers together";

struct Plan {
    seconds: u64,
    seed: u64,
    only: Vec<String>,
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let plan = plan(args)?;
    engines::run(&[])?;
    peers::run(&[])?;
    let folder = workspace().join("target/evidence-reports");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let asked = |name: &str| plan.only.is_empty() || plan.only.iter().any(|only| only == name);
    let program = build(None)?;
    let parts: u64 = LAYERS.iter().map(|(_, share)| share).sum();
    let (last, first): (Vec<_>, Vec<_>) = LAYERS.iter().copied().partition(|(name, _)| *name == SIMULATION);
    let mut left = plan.seconds;
    for (layer, share) in first.into_iter().chain(last).filter(|(name, _)| asked(name)) {
        let share = (plan.seconds * share / parts).max(1);
        let is_rest = layer == SIMULATION && plan.only.is_empty();
        let seconds = if is_rest { left.saturating_sub(CONTROLS_SECONDS).max(1) } else { share };
        let program = if layer == MUSEUM { &build(Some(CFG))? } else { &program };
        let began = Instant::now();
        step(layer, || report(program, layer, seconds, plan.seed, &folder))?;
        left = left.saturating_sub(began.elapsed().as_secs());
    }
    match LAYERS.iter().find(|(layer, _)| !folder.join(format!("{layer}.json")).exists()) {
        Some((layer, _)) => {
            say(&format!("no docs/evidence.md: {layer} has left no report yet"));
            Ok(())
        }
        None => step("docs/evidence.md", || page(&program, &folder)),
    }
}

fn plan(args: &[String]) -> Outcome<Plan> {
    let mut plan = Plan { seconds: 3_550, seed: 1, only: Vec::new() };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(USAGE.into()) };
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number; {USAGE}"));
        match name.as_str() {
            "--seconds" => plan.seconds = number()?,
            "--seed" => plan.seed = number()?,
            "--layer" if LAYERS.iter().any(|(layer, _)| layer == value) => plan.only.push(value.clone()),
            _ => return Err(format!("`{name} {value}`? {USAGE}")),
        }
    }
    Ok(plan)
}

/// The program that runs layers, with the bugs of `cfg` planted or without any.
fn build(cfg: Option<&str>) -> Outcome<PathBuf> {
    let target = workspace().join(if cfg.is_some() { "target/museum" } else { "target" });
    let mut command = cargo(&["build", "--profile", PROFILE, "-p", "stanchion-evidence", "-p", "stanchion"]);
    command.arg("--target-dir").arg(&target);
    if let Some(cfg) = cfg {
        command.env("RUSTFLAGS", cfg);
    }
    let status = command.status().map_err(|e| format!("cannot run cargo: {e}"))?;
    if status.success() {
        Ok(target.join(PROFILE).join("stanchion-evidence"))
    } else {
        Err(format!("cargo ended with {status}"))
    }
}

/// Whether it held or not, what it saw belongs on the page: only a layer without a report is a failure here.
fn report(program: &Path, layer: &str, seconds: u64, seed: u64, folder: &Path) -> Outcome {
    // A run that is stopped must not take the report of the one before with it.
    let (path, staged) = (folder.join(format!("{layer}.json")), folder.join(format!("{layer}.json.new")));
    let file = File::create(&staged).map_err(|e| format!("{}: {e}", staged.display()))?;
    let status = Command::new(program)
        .current_dir(workspace())
        .args([layer, "--json", "--seconds", &seconds.to_string(), "--seed", &seed.to_string(), "--ground", &ground()])
        .env("STANCHION_ENGINES", engines::folder())
        .env("STANCHION_PEERS", peers::folder())
        .stdin(Stdio::null())
        .stdout(file)
        .status()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    match status.code() {
        Some(0) => say("    held"),
        Some(1) => say("    VIOLATED"),
        Some(3) => say("    void"),
        _ => return Err(format!("{layer} ended with {status}")),
    }
    fs::rename(&staged, &path).map_err(|e| format!("{}: {e}", path.display()))
}

fn page(program: &Path, folder: &Path) -> Outcome {
    let mut all = Vec::new();
    for (layer, _) in LAYERS {
        let path = folder.join(format!("{layer}.json"));
        all.extend(fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    let reports = workspace().join("docs/evidence.jsonl");
    fs::write(&reports, all).map_err(|e| format!("{}: {e}", reports.display()))?;
    let output = Command::new(program)
        .arg("--document")
        .arg(&reports)
        .output()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let target = workspace().join("docs/evidence.md");
    fs::write(&target, &output.stdout).map_err(|e| format!("{}: {e}", target.display()))?;
    match output.status.code() {
        Some(0) => Ok(()),
        Some(1) => Err("something that is promised was violated; see docs/evidence.md".into()),
        Some(3) => Err("a layer proves nothing; see docs/evidence.md".into()),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn ground() -> String {
    let first = |program: &str, args: &[&str]| {
        let text = capture(Command::new(program).current_dir(workspace()).args(args)).unwrap_or_default();
        text.lines().next().unwrap_or("unknown").trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let [commit, rust, kernel] =
        [first("git", &["describe", "--always", "--dirty"]), first("rustc", &["--version"]), first("uname", &["-sr"])];
    format!("Commit {commit}; {rust}; {kernel}; {cores} cores.")
}
