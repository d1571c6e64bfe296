//! `cargo xtask test [FILTER...]`: everything, with one honest line at the end.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::engines;
use crate::guarantees;
use crate::peers;
use crate::shared::Shared;
use crate::shell::{Outcome, capture, cargo, say, step};
use crate::summary::{self, Counts, Runner};

/// More than these in one run are no accident of the machine.
const SECOND_TRIES_MOST: usize = 3;

/// Tests by name.
#[derive(Default)]
struct Seen {
    passed: BTreeSet<String>,
    /// Failed, and passed when they were tried again. No promise may rest on one of these.
    again: BTreeSet<String>,
}

pub(crate) fn run(filters: &[String]) -> Outcome {
    let has_nextest = capture(&mut cargo(&["nextest", "--version"])).is_ok();
    prepare(has_nextest)?;
    let shared = Shared::open(engines::folder().join(format!("shared-{}", std::process::id())))?;
    let notes = engines::folder().join(format!("skips-{}", std::process::id()));
    let mut total = Counts::default();
    let mut failures = Vec::new();
    let mut seen = Seen::default();
    let (runner, tests) =
        if has_nextest { (Runner::Nextest, nextest(filters)) } else { (Runner::Libtest, libtest(filters)) };
    let runs = [("tests", runner, tests), ("doc tests", Runner::Libtest, doctests(filters))];
    for (heading, runner, mut command) in runs {
        command.env("STANCHION_SKIPS", &notes).env("STANCHION_ENGINES", engines::folder());
        command.env("STANCHION_PEERS", peers::folder()).env("STANCHION_SHARED", shared.folder());
        let mut counts = Counts::default();
        if let Err(failure) = step(heading, || follow(&mut command, runner, &mut counts, &mut seen)) {
            // A run that broke before it could count, at a compiler error for one, is not "0 failed".
            counts.failed = counts.failed.max(1);
            failures.push(failure);
        }
        if runner == Runner::Nextest && !filters.is_empty() {
            // nextest also calls those skipped that the filter did not ask for.
            counts.skipped = 0;
        }
        total += counts;
    }
    drop(shared);
    let skips = take_skips(&notes);
    if filters.is_empty()
        && let Err(failure) = step("guarantees", || guarantees::compare(&seen.passed, &skips))
    {
        total.failed += 1;
        failures.push(failure);
    }
    if seen.again.len() > SECOND_TRIES_MOST {
        total.failed += 1;
        failures.push(format!("{} tests needed a second try; {SECOND_TRIES_MOST} may", seen.again.len()));
    }
    seen.again.iter().for_each(|test| say(&format!("SECOND TRY: {test} (its first failure is above)")));
    // A skipped test returns early, so its runner took it for passed.
    let moved = skips.len().min(total.passed);
    total.passed -= moved;
    total.skipped += moved;
    skips.iter().for_each(|skip| say(&format!("SKIPPED: {skip}")));
    failures.iter().for_each(|failure| say(&format!("FAILED: {failure}")));
    say(&format!("{total}"));
    match (total.failed, total.passed) {
        (0, 0) => Err("no test has such a name".to_owned()),
        (0, _) => Ok(()),
        _ => Err("some tests failed".to_owned()),
    }
}

/// Fetching mostly waits for the network and building does not, so the one costs little beside the other.
fn prepare(has_nextest: bool) -> Outcome {
    thread::scope(|scope| {
        let fetched = scope.spawn(|| engines::run(&[]).and_then(|()| peers::run(&[])));
        let mut build = tests(if has_nextest { &["nextest", "run"] } else { &["test"] });
        build.args(["--workspace", "--no-run"]).stdin(Stdio::null());
        // What does not compile is told, and counted, by the run of the tests.
        step("build", || build.status().map_err(|e| format!("cannot run {build:?}: {e}")))?;
        fetched.join().map_err(|_panic| "the fetching of engines and peers panicked".to_owned())?
    })
}

fn nextest(filters: &[String]) -> Command {
    let mut command = tests(&["nextest", "run", "--workspace", "--status-level", "pass"]);
    // Many tests mostly wait: for a lease to end, for a server to start.
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    command.arg(format!("--test-threads={}", 3 * cores));
    if !filters.is_empty() {
        // The filter may name doc tests only; that nothing at all ran is noticed at the end.
        command.arg("--no-tests=pass");
    }
    command.args(filters);
    command
}

fn libtest(filters: &[String]) -> Command {
    let mut command = tests(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    command.arg("--").args(filters);
    command
}

fn doctests(filters: &[String]) -> Command {
    let mut command = tests(&["test", "--workspace", "--no-fail-fast", "--doc"]);
    command.arg("--").args(filters);
    command
}

fn tests(args: &[&str]) -> Command {
    let mut command = cargo(args);
    command.env("CARGO_TERM_COLOR", if std::io::stdout().is_terminal() { "always" } else { "never" });
    command
}

/// Runs a test command, shows all that it writes, and adds up its closing lines.
fn follow(command: &mut Command, runner: Runner, total: &mut Counts, seen: &mut Seen) -> Outcome {
    let (reader, writer) = std::io::pipe().map_err(|e| format!("no pipe: {e}"))?;
    let errors = writer.try_clone().map_err(|e| format!("no pipe: {e}"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    // The command owns the pipe's writing ends; while it does, reading never ends.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    let mut stdout = std::io::stdout();
    while lines.read_until(b'\n', &mut line).map_err(|e| format!("cannot read the tests' output: {e}"))? > 0 {
        stdout.write_all(&line).ok();
        let text = String::from_utf8_lossy(&line);
        if let Some(counts) = summary::read(runner, &text) {
            *total += counts;
        }
        seen.passed.extend(summary::passed(runner, &text));
        seen.again.extend(summary::second_try(runner, &text));
        line.clear();
    }
    let status = child.wait().map_err(|e| format!("cannot wait for the tests: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{:?} ended with {status}", command.get_args().collect::<Vec<_>>()))
    }
}

fn take_skips(notes: &Path) -> Vec<String> {
    let text = fs::read_to_string(notes).unwrap_or_default();
    fs::remove_file(notes).ok();
    let mut skips: Vec<_> = text.lines().map(str::to_owned).collect();
    skips.sort();
    skips.dedup();
    skips
}
