//! Mutated programs, the whole way from files to reports. Nothing may panic, take long or need much memory, and the same
//! program must give the same report.
//!
//! A short run is part of the tests; `cargo xtask fuzz audit --seconds 3600 --seed 7` makes a long one.

mod seeds;

use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stanchion_audit::audit;
use stanchion_audit::baseline::Baseline;
use stanchion_audit::checklist::{self, Subject};
use stanchion_audit::config::Config;
use stanchion_audit::diff::Changes;
use stanchion_audit::format::{Format, Look};
use stanchion_testkit::fuzz::{Meter, Random, Spent, Watch, mutate};

use self::seeds::{Seed, seeds};
use crate::files_of;

/// A program of a few files costs less, however it looks. Debug builds are slower.
const MOST: Spent = Spent { time: Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 8 }), memory: 400 << 20 };

/// Other names for files, so that they find each other.
const NAMES: &[&str] = &["a", "b", "index", "main", "__init__", "mod", "sub/a", "sub/index", "sub/__init__", "src/lib"];

struct File {
    path: String,
    text: String,
}

/// A few mutated files. Some are as they were, so that the others have something to work with.
fn program(random: &mut Random, seeds: &[Seed]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for _ in 0..1 + random.below(5) {
        let (seed, other) = (&seeds[random.below(seeds.len())], &seeds[random.below(seeds.len())]);
        let ending = seed.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_code = matches!(ending, "ts" | "js" | "mjs" | "py" | "go" | "rs");
        let path = if is_code && random.once_in(2) {
            // TypeScript is parsed by three grammars.
            let ending = if ending == "ts" { random.pick(&["ts", "tsx", "js", "ts"]) } else { ending };
            format!("{}.{ending}", random.pick(NAMES))
        } else {
            seed.name.clone()
        };
        let text = if random.once_in(8) { seed.text.clone() } else { mutate(random, &seed.text, &other.text) };
        files.retain(|file| file.path != path);
        files.push(File { path, text });
    }
    files
}

fn write(files: &[File], folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    for File { path, text } in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// All that a run of the program shows, in every format.
fn look(files: &[File], folder: &Path) -> String {
    let find = |name: &str| files.iter().find(|file| file.path == name);
    let config = find("stanchion-audit.toml").and_then(|file| Config::parse(&file.path, &file.text).ok());
    let mut config = config.unwrap_or_default();
    let is_model = |file: &&File| file.path.ends_with(".toml") && file.text.contains("language");
    config.models = files.iter().filter(is_model).map(|file| file.path.clone()).collect();
    let audited = match audit(folder, &[folder.to_owned()], &config) {
        Ok(audited) => audited,
        // A model that cannot be used; the rest can be looked at all the same.
        Err(_) => {
            config.models.clear();
            audit(folder, &[folder.to_owned()], &config).unwrap()
        }
    };
    let mut report = audited.report;
    report.millis = 0;
    let baseline = Baseline::of(&report.findings);
    assert_eq!(Baseline::parse("baseline.json", &baseline.to_text()).unwrap(), baseline);
    if let Some(known) = find("baseline.json").and_then(|file| Baseline::parse(&file.path, &file.text).ok()) {
        report.gone = known.mark(&mut report.findings);
    }
    let mut shown = format!("{:?}", audited.deployment);
    if let Some(diff) = find("changes.diff") {
        let changes = Changes::parse(diff.text.as_bytes());
        report.findings.iter().for_each(|finding| writeln!(shown, "{}", changes.concern(finding)).unwrap());
    }
    let mut out = Vec::new();
    for (_, format) in Format::ALL {
        format.write(&mut out, &report, &|path| audited_text(folder, path), Look::default()).unwrap();
    }
    shown.push_str(std::str::from_utf8(&out).unwrap());
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.code, finding.path.as_str(), finding.line, checklist::Severity::High))
        .collect();
    let answers = checklist::fill(&found, &audited.deployment, &[Subject::Lock]);
    shown.push_str(&checklist::text(&answers, &checklist::score(&found, &answers)));
    shown
}

fn audited_text(folder: &Path, path: &str) -> Option<Arc<str>> {
    fs::read_to_string(folder.join(path)).ok().map(Into::into)
}

/// What is wrong with a program.
fn judge(files: &[File], folder: &Path, twice: bool, spent: &mut Spent) -> Option<String> {
    write(files, folder);
    let meter = Meter::start();
    let first = catch_unwind(AssertUnwindSafe(|| look(files, folder)));
    *spent = meter.stop();
    let Ok(first) = first else { return Some("panic".to_owned()) };
    if spent.time > MOST.time || spent.memory > MOST.memory {
        return Some(format!("too much: {spent}"));
    }
    if twice && look(files, folder) != first {
        return Some("two runs, two reports".to_owned());
    }
    None
}

/// Runs for so long; what goes wrong is kept in `kept`.
fn fuzz(seconds: u64, seed: u64, kept: &Path) -> Result<String, String> {
    let seeds = seeds();
    let (start, end) = (Instant::now(), Duration::from_secs(seconds));
    let (folder, mut random) = (kept.join(format!("now-{seed}")), Random::new(seed));
    // After an overflow of the stack nothing can be said any more: the program that did it lies there.
    let watch = Watch::start(&folder, Duration::from_secs(300));
    let (mut runs, mut files_run, mut bytes, mut bad) = (0_u64, 0, 0, Vec::new());
    let (mut worst, mut spent) = (Spent::default(), Spent::default());
    let said = Arc::new(Mutex::new(String::new()));
    let (hook, sink) = (std::panic::take_hook(), Arc::clone(&said));
    std::panic::set_hook(Box::new(move |info| *sink.lock().unwrap() = info.to_string()));
    while start.elapsed() < end && bad.len() < 20 {
        let files = program(&mut random, &seeds);
        runs += 1;
        files_run += files.len();
        bytes += files.iter().map(|file| file.text.len()).sum::<usize>();
        watch.begin();
        let problem = judge(&files, &folder, random.once_in(16), &mut spent);
        worst.time = worst.time.max(spent.time);
        worst.memory = worst.memory.max(spent.memory);
        if let Some(problem) = problem {
            let place: PathBuf = kept.join(format!("bad-{seed}-{runs}"));
            write(&files, &place);
            bad.push(format!("{}: {problem} {}", place.display(), said.lock().unwrap()));
            eprintln!("{}", bad.last().unwrap());
            said.lock().unwrap().clear();
        }
        if runs.is_multiple_of(2_000) {
            eprintln!("{runs} programs, {} s", start.elapsed().as_secs());
        }
    }
    std::panic::set_hook(hook);
    fs::remove_dir_all(&folder).ok();
    let line = format!(
        "seed {seed}: {runs} programs of {files_run} files, {} KiB, in {} s; at worst {worst}; {} bad",
        bytes >> 10,
        start.elapsed().as_secs(),
        bad.len()
    );
    if bad.is_empty() { Ok(line) } else { Err(format!("{line}\n{}", bad.join("\n"))) }
}

/// Looks again at a program that was kept: at each file alone, then at all.
fn replay(folder: &Path) {
    let mut paths = Vec::new();
    files_of(folder, &mut paths);
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    let read = |path: &PathBuf| File { path: name(path), text: fs::read_to_string(path).unwrap() };
    let mut programs: Vec<(String, Vec<File>)> = paths.iter().map(|path| (name(path), vec![read(path)])).collect();
    programs.push(("all".to_owned(), paths.iter().map(read).collect()));
    let place = tempfile::tempdir().unwrap();
    let mut bad = 0;
    for (name, files) in programs {
        let mut spent = Spent::default();
        let problem = judge(&files, &place.path().join("program"), true, &mut spent);
        bad += usize::from(problem.is_some());
        eprintln!("{name}: {spent}; {}", problem.as_deref().unwrap_or("fine"));
    }
    assert_eq!(bad, 0);
}

/// `STANCHION_FUZZ_SECONDS` and `STANCHION_FUZZ_SEED` make another run; `STANCHION_FUZZ_KEEP` is where bad programs go;
/// with `STANCHION_FUZZ_REPLAY`, one of them is looked at again.
#[test]
fn mutated_programs_break_nothing() {
    if let Some(folder) = std::env::var_os("STANCHION_FUZZ_REPLAY") {
        return replay(Path::new(&folder));
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (seconds, seed) = (number("STANCHION_FUZZ_SECONDS").unwrap_or(4), number("STANCHION_FUZZ_SEED").unwrap_or(7));
    let kept = std::env::var_os("STANCHION_FUZZ_KEEP")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-audit"), PathBuf::from);
    match fuzz(seconds, seed, &kept) {
        Ok(line) => eprintln!("{line}"),
        Err(problem) => panic!("{problem}"),
    }
}
