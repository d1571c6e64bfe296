//! `stanchion-evidence LAYER…`: runs layers, prints their reports; exit 0 held, 1 violated, 2 usage, 3 void.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use stanchion_evidence::budget::Budget;
use stanchion_evidence::document::{document, read};
use stanchion_evidence::report::{Meaning, Report};
use stanchion_evidence::{LAYERS, Layer};

/// What Stanchion promises, tried layer by layer.
#[derive(Parser)]
struct Arguments {
    /// Which layers to run; all of them, in order, if none is named.
    layers: Vec<String>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For each layer.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// For the simulation alone, in place of a time: as many give the same worlds, and the same trace of them.
    #[arg(long)]
    worlds: Option<u64>,
    /// One report per line.
    #[arg(long)]
    json: bool,
    /// Runs nothing, and prints the page that these reports make; a line of the file is a report.
    #[arg(long, value_name = "REPORTS", conflicts_with_all = ["layers", "json"])]
    document: Option<PathBuf>,
    /// What the report says of the commit and the machine.
    #[arg(long, default_value = "")]
    ground: String,
}

fn main() -> ExitCode {
    if let Some(code) = stanchion_evidence::worker::asked() {
        return code;
    }
    let arguments = Arguments::parse();
    if let Some(reports) = &arguments.document {
        return match read(reports) {
            Ok(reports) => {
                print(&document(&reports));
                verdict(&reports)
            }
            Err(reason) => usage(&reason),
        };
    }
    let unknown: Vec<_> = arguments.layers.iter().filter(|name| !LAYERS.iter().any(|l| l.name == **name)).collect();
    if !unknown.is_empty() {
        let known: Vec<_> = LAYERS.iter().map(|layer| layer.name).collect();
        return usage(&format!("no layer is called {unknown:?}; there are {known:?}"));
    }
    if arguments.worlds.is_some() && arguments.layers != ["simulation"] {
        return usage("only the simulation has worlds to be counted: `simulation --worlds N`");
    }
    let asked = |layer: &&Layer| arguments.layers.is_empty() || arguments.layers.iter().any(|name| name == layer.name);
    let reports: Vec<_> = LAYERS.iter().filter(asked).map(|layer| run(layer, &arguments)).collect();
    verdict(&reports)
}

fn run(layer: &Layer, arguments: &Arguments) -> Report {
    let (start, done) = (Instant::now(), AtomicBool::new(false));
    let budget =
        Budget { worlds: arguments.worlds, ..Budget::new(arguments.seed, Duration::from_secs(arguments.seconds)) };
    let mut report = thread::scope(|scope| {
        let clock = std::io::stderr().is_terminal().then(|| scope.spawn(|| show_time(layer, &budget, start, &done)));
        // Also if it panics: the scope waits for the clock.
        let ending = Ending(&done);
        let report = (layer.run)(&budget);
        drop(ending);
        if let Some(clock) = clock {
            clock.thread().unpark();
        }
        report
    });
    (report.seconds, report.given) = (start.elapsed().as_secs_f64(), arguments.seconds);
    report.ground.clone_from(&arguments.ground);
    let text = if arguments.json {
        serde_json::to_string(&report).expect("a report is plain data") + "\n"
    } else {
        report.text()
    };
    print(&text);
    report
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// For a person who waits: how long this layer has run, and about how long it will.
fn show_time(layer: &Layer, budget: &Budget, start: Instant, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        eprint!("\r{}: {} s of about {} s ", layer.name, start.elapsed().as_secs(), budget.time.as_secs());
        thread::park_timeout(Duration::from_secs(1));
    }
    eprint!("\r\x1b[K");
}

fn verdict(reports: &[Report]) -> ExitCode {
    let meanings = || reports.iter().map(Report::meaning);
    if meanings().any(|meaning| meaning == Meaning::Violated) {
        ExitCode::from(1)
    } else if meanings().any(|meaning| meaning == Meaning::Void) {
        ExitCode::from(3)
    } else {
        ExitCode::SUCCESS
    }
}

fn usage(reason: &str) -> ExitCode {
    eprintln!("stanchion-evidence: {reason}");
    ExitCode::from(2)
}

fn print(text: &str) {
    // Whoever stopped reading still gets the exit code.
    std::io::stdout().write_all(text.as_bytes()).ok();
}
